"""Activation functions on Ascend, one kernel each."""
from __future__ import annotations

from typing import Any

from ..device_memory import loses_digits
from ..kernels._nodes import constant
from ..raw import NAME_OF, Raw
from ._primitives import enter_all, run


def _elu(x: Raw, alpha: float, scale: float, input_scale: float) -> Raw:
    """Compute Elu; Selu and Celu are Elu with scaled input and scaled result."""
    x = x if input_scale == 1 else run("Mul", x, constant(input_scale, x))
    found = run("EluExt", x, at=(float(alpha * input_scale),))
    return found if scale == input_scale else run("Mul", found, constant(scale / input_scale, found))


def _hardtanh(x: Raw, low: float, high: float) -> Raw:
    if loses_digits(low, NAME_OF[x.dtype]) or loses_digits(high, NAME_OF[x.dtype]):
        return run("Minimum", run("Maximum", x, constant(low, x)), constant(high, x))
    return run("Hardtanh", x, low, high)


def _softplus(x: Raw, beta: float, bound: float) -> Raw:
    """Compute log(1 + exp(beta x)) / beta, and x itself where beta x exceeds the bound."""
    if not loses_digits(beta, NAME_OF[x.dtype]) and not loses_digits(bound, NAME_OF[x.dtype]):
        return run("SoftplusExt", x, beta, bound)
    steep = run("Mul", x, constant(beta, x))
    above = run("Greater", steep, constant(bound, x))
    soft = run("Div", run("Log1p", run("Exp", run("Minimum", steep, constant(bound, x)))), constant(beta, x))
    return run("Select", above, x, soft)


def _prelu(x: Raw, weight: Raw) -> Raw:
    """Compute PReLU by its primitive, which takes one weight per channel, as a vector; ``weight`` is already shaped to broadcast."""
    if x.size == 0:  # the primitive's shape check rejects an empty input (2.10)
        return run("Clone", x)
    return run("PReLU", x, run("Reshape", weight, (-1,)))


def _softshrink(x: Raw, lambd: float) -> Raw:
    return run("SoftShrink", x, at=(float(lambd),))


def _hardshrink(x: Raw, lambd: float) -> Raw:
    return run("HShrink", x, at=(float(lambd),))


def _tanhshrink(x: Raw) -> Raw:
    return run("SubExt", x, run("Tanh", x), 1)


def _softsign(x: Raw) -> Raw:
    return run("Div", x, run("AddExt", run("Abs", x), constant(1, x), 1))


def _logsigmoid(x: Raw) -> Any:
    found = run("LogSigmoid", x)
    return found[0] if isinstance(found, tuple) else found  # the other result is a buffer for the gradient


enter_all({
    "relu": "ReLU", "hardtanh": _hardtanh, "leaky_relu": "LeakyReLUExt", "prelu": _prelu, "elu": _elu,
    "gelu": lambda x: run("GeluExt", x, "none"), "gelu_tanh": lambda x: run("GeluExt", x, "tanh"),
    "silu": "SiLU", "mish": "MishExt", "softplus": _softplus, "logsigmoid": _logsigmoid, "hardsigmoid": "HSigmoid",
    "hardswish": "HSwish", "softshrink": _softshrink, "hardshrink": _hardshrink, "threshold": "Threshold",
    "tanhshrink": _tanhshrink, "softsign": _softsign,
})  # fmt: skip

"""Activation functions on Ascend, one kernel each."""
from __future__ import annotations

from functools import partial
from typing import Any

from ..kernels._nodes import constant
from ..raw import Raw
from ._primitives import enter_all, rounds, run
from .elementwise import clamp_to_numbers


def _elu(x: Raw, alpha: float, scale: float, input_scale: float) -> Raw:
    """Compute Elu; Selu and Celu are Elu with scaled input and scaled result."""
    x = x if input_scale == 1 else run("Mul", x, constant(input_scale, x))
    found = run("EluExt", x, at=(float(alpha * input_scale),))
    return found if scale == input_scale else run("Mul", found, constant(scale / input_scale, found))


def _softplus(x: Raw, beta: float, bound: float) -> Raw:
    """Compute log(1 + exp(beta x)) / beta, and x itself where beta x exceeds the bound."""
    if not rounds(x, beta, bound):
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
    "relu": "ReLU", "hardtanh": partial(clamp_to_numbers, "Hardtanh"), "leaky_relu": "LeakyReLUExt", "prelu": _prelu, "elu": _elu,
    "gelu": lambda x: run("GeluExt", x, "none"), "gelu_tanh": lambda x: run("GeluExt", x, "tanh"),
    "silu": "SiLU", "mish": "MishExt", "softplus": _softplus, "logsigmoid": _logsigmoid, "hardsigmoid": "HSigmoid",
    "hardswish": "HSwish", "softshrink": _softshrink, "hardshrink": _hardshrink, "threshold": "Threshold",
    "tanhshrink": _tanhshrink, "softsign": _softsign,
})  # fmt: skip

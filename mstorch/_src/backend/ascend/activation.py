"""Activation functions on Ascend, one kernel each."""
from __future__ import annotations

from functools import partial
from typing import Any

from ..kernels._nodes import constant
from ..raw import Raw
from ._primitives import enter, enters, rounds, run
from .elementwise import clamp_to_numbers


@enters("elu")
def _elu(x: Raw, alpha: float, scale: float, input_scale: float) -> Raw:
    """Compute Elu; Selu and Celu are Elu with scaled input and scaled result."""
    x = x if input_scale == 1 else run("Mul", x, constant(input_scale, x))
    found = run("EluExt", x, at=(float(alpha * input_scale),))
    return found if scale == input_scale else run("Mul", found, constant(scale / input_scale, found))


@enters("softplus")
def _softplus(x: Raw, beta: float, bound: float) -> Raw:
    """Compute log(1 + exp(beta x)) / beta, and x itself where beta x exceeds the bound."""
    if not rounds(x, beta, bound):
        return run("SoftplusExt", x, beta, bound)
    steep = run("Mul", x, constant(beta, x))
    above = run("Greater", steep, constant(bound, x))
    soft = run("Div", run("Log1p", run("Exp", run("Minimum", steep, constant(bound, x)))), constant(beta, x))
    return run("Select", above, x, soft)


@enters("prelu")
def _prelu(x: Raw, weight: Raw) -> Raw:
    """Compute PReLU by its primitive, which takes one weight per channel, as a vector; ``weight`` is already shaped to broadcast."""
    if x.size == 0:  # the primitive's shape check rejects an empty input (2.10)
        return run("Clone", x)
    return run("PReLU", x, run("Reshape", weight, (-1,)))


@enters("softshrink")
def _softshrink(x: Raw, lambd: float) -> Raw:
    return run("SoftShrink", x, at=(float(lambd),))


@enters("hardshrink")
def _hardshrink(x: Raw, lambd: float) -> Raw:
    return run("HShrink", x, at=(float(lambd),))


@enters("tanhshrink")
def _tanhshrink(x: Raw) -> Raw:
    return run("SubExt", x, run("Tanh", x), 1)


@enters("softsign")
def _softsign(x: Raw) -> Raw:
    return run("Div", x, run("AddExt", run("Abs", x), constant(1, x), 1))


@enters("logsigmoid")
def _logsigmoid(x: Raw) -> Any:
    found = run("LogSigmoid", x)
    return found[0] if isinstance(found, tuple) else found  # the other result is a buffer for the gradient


enter("relu", "ReLU")
enter("hardtanh", partial(clamp_to_numbers, "Hardtanh"))
enter("leaky_relu", "LeakyReLUExt")
enter("gelu", lambda x: run("GeluExt", x, "none"))
enter("gelu_tanh", lambda x: run("GeluExt", x, "tanh"))
enter("silu", "SiLU")
enter("mish", "MishExt")
enter("hardsigmoid", "HSigmoid")
enter("hardswish", "HSwish")
enter("threshold", "Threshold")

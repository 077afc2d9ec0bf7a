"""Arithmetic, comparison and bitwise operations on Ascend."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from mindspore import ops

from .. import trace
from ..arrays import Number
from ..kernels._nodes import constant
from ..raw import MS_DTYPE, NAME_OF, Raw, raw_dtype
from ..table import FLOATS, HALVES
from ._primitives import ORDERED, absent, enter, enters, rounds, run

_PATTERN = {"float16": "int16", "bfloat16": "int16", "float32": "int32", "float64": "int64"}


@enters("integer_divide")
def _divide(first: Raw, second: Raw, how: str) -> Raw:
    if how in ("floor", "trunc"):
        return run("DivMod", first, second, how)
    return run("RemainderTensorTensor" if how == "remainder" else "FmodTensor", first, second)


def _passing_over_nan(name: str) -> Callable[..., Any]:
    def extreme(first: Raw, second: Raw) -> Raw:
        found = run("Select", run("NotEqual", second, second), first, run(name, first, second))
        return run("Select", run("NotEqual", first, first), second, found)

    return extreme


@enters("signbit")
def _signbit(x: Raw) -> Raw:
    """Return the sign bit, which is also set for -0.0 and a negative NaN; not for NaN in a graph, which MindSpore has no ViewDtype for."""
    pattern = _PATTERN.get(NAME_OF[raw_dtype(x)])
    if pattern is not None and trace.depends(x):
        x = ops.stop_gradient(x)  # MindSpore would give 1 / 0 a gradient of 0 times infinity
        return run("LogicalOr", run("Less", x, constant(0, x)), run("Less", run("Reciprocal", x), constant(0, x)))
    bits = x if pattern is None else run("ViewDtype", x, MS_DTYPE[pattern])
    return run("Less", bits, constant(0, bits))


@enters("copysign", dtypes=ORDERED)
def _copysign(first: Raw, second: Raw) -> Raw:
    size = run("Abs", first)
    return run("Select", _signbit(second), run("Neg", size), size)


@enters("isnan")
def _is_nan(x: Raw) -> Raw:
    return run("NotEqual", x, x)


@enters("isinf")
def is_infinite(x: Raw) -> Raw:
    """Return whether the absolute value is infinite; the 910B has no IsInf."""
    return run("Equal", run("Abs", x), constant(math.inf, x))


@enters("square")
def _square(x: Raw) -> Raw:
    """Return the square as a product: the 910B rejects Square (CANN 9.0)."""
    return run("Mul", x, x)


@enters("scalar_power")
def _scalar_power(x: Raw, exponent: Number) -> Raw:
    """Return the power with a Python number, which MindSpore rounds to single precision."""
    if NAME_OF[raw_dtype(x)] in ("float64", "complex128"):
        if exponent in (0.5, -0.5) and NAME_OF[raw_dtype(x)] == "float64":  # as torch, of -inf and -0.0
            return run("Sqrt" if exponent == 0.5 else "Rsqrt", x)
        return run("Pow", x, constant(exponent, x))
    return run("PowTensorScalar", x, exponent)


@enters("where")
def _where(condition: Raw, first: Raw, second: Raw) -> Raw:
    return run("Select", condition, first, second)


def _clamp(x: Raw, low: Raw | None, high: Raw | None) -> Raw:
    """Clamp between bounds that are expanded to the result's shape, because the kernel does not broadcast."""
    shape = np.broadcast_shapes(*(tuple(item.shape) for item in (x, low, high) if item is not None))
    wide = x if tuple(x.shape) == shape else run("BroadcastTo", x, at=(tuple(shape),))
    return run("ClampTensor", wide, bound_of(low, shape), bound_of(high, shape))


def bound_of(bound: Raw | None, shape: tuple[int, ...]) -> Raw | None:
    """Return a bound as the kernels that clamp take it: of a shape, 0-d, or None."""
    return bound if bound is None or tuple(bound.shape) in (shape, ()) else run("BroadcastTo", bound, at=(tuple(shape),))


def clamp_to_numbers(name: str, x: Raw, low: float, high: float) -> Raw:
    """Clamp between two numbers, by the primitive of that name unless MindSpore would round them."""
    if rounds(x, low, high):
        return run("Minimum", run("Maximum", x, constant(low, x)), constant(high, x))
    return run(name, x, low, high)


enter("add", lambda x, y: run("AddExt", x, y, 1))
enter("sub", lambda x, y: run("SubExt", x, y, 1))
enter("mul", "Mul")
enter("div", "Div")
enter("neg", "Neg")
enter("pow", "Pow")
enter("integer_power", "Pow")
enter("trunc_divide", lambda x, y: run("DivMod", x, y, "trunc"))
enter("remainder", "RemainderTensorTensor")
enter("fmod", "FmodTensor")
enter("sign", "Sign")
enter("sqrt", "Sqrt")
enter("rsqrt", "Rsqrt")
enter("reciprocal", "Reciprocal")
enter("eq", "Equal")
enter("ne", "NotEqual")
enter("logical_and", "LogicalAnd")
enter("logical_or", "LogicalOr")
enter("logical_xor", "LogicalXor")
enter("logical_not", "LogicalNot")
enter("isfinite", "IsFinite")
enter("bitwise_and", "BitwiseAndTensor")
enter("bitwise_or", "BitwiseOrTensor")
enter("bitwise_xor", "BitwiseXorTensor")
enter("bitwise_not", "BitwiseNot")
enter("bitwise_left_shift", "LeftShift")
enter("bitwise_right_shift", "RightShift")
enter("gcd", "Gcd")
# Complex numbers have no order: CANN's kernels would refuse them, when they are launched and as an error of the device.
enter("floor_divide", lambda x, y: run("DivMod", x, y, "floor"), ORDERED)
enter("maximum", "Maximum", ORDERED)
enter("minimum", "Minimum", ORDERED)
enter("fmax", _passing_over_nan("Maximum"), ORDERED)
enter("fmin", _passing_over_nan("Minimum"), ORDERED)
enter("lt", "Less", ORDERED)
enter("le", "LessEqual", ORDERED)
enter("gt", "Greater", ORDERED)
enter("ge", "GreaterEqual", ORDERED)
enter("clamp", _clamp, tuple(name for name in ORDERED if name != "bool"), {"bool": "uint8"})
enter("heaviside", "Heaviside", FLOATS + HALVES)
absent("MindSpore's NextAfter is wrong in float32 where it runs on the CPU (2.10)", "nextafter")
absent("no kernel of the device takes a number apart into mantissa and exponent", "frexp")

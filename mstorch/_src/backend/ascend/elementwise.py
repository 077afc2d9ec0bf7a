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
from ._primitives import ORDERED, absent, enter, enter_all, rounds, run

_PATTERN = {"float16": "int16", "bfloat16": "int16", "float32": "int32", "float64": "int64"}


def _divide(first: Raw, second: Raw, how: str) -> Raw:
    if how in ("floor", "trunc"):
        return run("DivMod", first, second, how)
    return run("RemainderTensorTensor" if how == "remainder" else "FmodTensor", first, second)


def _passing_over_nan(name: str) -> Callable[..., Any]:
    def extreme(first: Raw, second: Raw) -> Raw:
        found = run("Select", run("NotEqual", second, second), first, run(name, first, second))
        return run("Select", run("NotEqual", first, first), second, found)

    return extreme


def _signbit(x: Raw) -> Raw:
    """Return the sign bit, which is also set for -0.0 and a negative NaN; not for NaN in a graph, which MindSpore has no ViewDtype for."""
    pattern = _PATTERN.get(NAME_OF[raw_dtype(x)])
    if pattern is not None and trace.depends(x):
        x = ops.stop_gradient(x)  # MindSpore would give 1 / 0 a gradient of 0 times infinity
        return run("LogicalOr", run("Less", x, constant(0, x)), run("Less", run("Reciprocal", x), constant(0, x)))
    bits = x if pattern is None else run("ViewDtype", x, MS_DTYPE[pattern])
    return run("Less", bits, constant(0, bits))


def _copysign(first: Raw, second: Raw) -> Raw:
    size = run("Abs", first)
    return run("Select", _signbit(second), run("Neg", size), size)


def _is_nan(x: Raw) -> Raw:
    return run("NotEqual", x, x)


def is_infinite(x: Raw) -> Raw:
    """Return whether the absolute value is infinite; the 910B has no IsInf."""
    return run("Equal", run("Abs", x), constant(math.inf, x))


def _square(x: Raw) -> Raw:
    """Return the square as a product: the 910B rejects Square (CANN 9.0)."""
    return run("Mul", x, x)


def _scalar_power(x: Raw, exponent: Number) -> Raw:
    """Return the power with a Python number, which MindSpore rounds to single precision."""
    if NAME_OF[raw_dtype(x)] in ("float64", "complex128"):
        if exponent in (0.5, -0.5) and NAME_OF[raw_dtype(x)] == "float64":  # as torch, of -inf and -0.0
            return run("Sqrt" if exponent == 0.5 else "Rsqrt", x)
        return run("Pow", x, constant(exponent, x))
    return run("PowTensorScalar", x, exponent)


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


enter_all({
    "add": lambda x, y: run("AddExt", x, y, 1),
    "sub": lambda x, y: run("SubExt", x, y, 1),
    "mul": "Mul", "div": "Div", "neg": "Neg", "pow": "Pow", "integer_power": "Pow", "scalar_power": _scalar_power,
    "trunc_divide": lambda x, y: run("DivMod", x, y, "trunc"),
    "integer_divide": _divide, "remainder": "RemainderTensorTensor", "fmod": "FmodTensor",
    "sign": "Sign", "square": _square, "sqrt": "Sqrt", "rsqrt": "Rsqrt", "reciprocal": "Reciprocal",
    "where": _where, "eq": "Equal", "ne": "NotEqual",
    "logical_and": "LogicalAnd", "logical_or": "LogicalOr", "logical_xor": "LogicalXor", "logical_not": "LogicalNot",
    "isnan": _is_nan, "isinf": is_infinite, "isfinite": "IsFinite", "signbit": _signbit,
    "bitwise_and": "BitwiseAndTensor", "bitwise_or": "BitwiseOrTensor", "bitwise_xor": "BitwiseXorTensor",
    "bitwise_not": "BitwiseNot", "bitwise_left_shift": "LeftShift", "bitwise_right_shift": "RightShift", "gcd": "Gcd",
})  # fmt: skip
# Complex numbers have no order: CANN's kernels would refuse them, when they are launched and as an error of the device.
_ordered: dict[str, Any] = {
    "floor_divide": lambda x, y: run("DivMod", x, y, "floor"), "maximum": "Maximum", "minimum": "Minimum", "copysign": _copysign,
    "fmax": _passing_over_nan("Maximum"), "fmin": _passing_over_nan("Minimum"),
    "lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual",
}  # fmt: skip
for _op, _kernel in _ordered.items():
    enter(_op, _kernel, ORDERED)
enter("clamp", _clamp, tuple(name for name in ORDERED if name != "bool"), {"bool": "uint8"})
enter("heaviside", "Heaviside", FLOATS + HALVES)
absent("MindSpore's NextAfter is wrong in float32 where it runs on the CPU (2.10)", "nextafter")
absent("no kernel of the device takes a number apart into mantissa and exponent", "frexp")

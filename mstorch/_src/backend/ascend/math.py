"""Exponentials, logarithms, rounding and trigonometry on Ascend."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels._nodes import constant
from ..raw import NAME_OF, Raw, raw_dtype
from ..table import COMPLEX, FLOATS, HALVES
from ._primitives import ORDERED, enter, enters, run
from .elementwise import clamp_to_numbers, is_infinite


@enters("logit")
def _logit(x: Raw, low: float | None, high: float | None) -> Raw:
    if low is not None and high is not None:
        # For eps > 0.5, low > high: a clamp would return high everywhere; torch returns low for x < low and high for x > high.
        if low > high:
            bottom, top = (clamp_to_numbers("ClampScalar", x, bound, bound) for bound in (low, high))
            x = run("Select", run("Less", x, bottom), bottom, top)
        else:
            x = clamp_to_numbers("ClampScalar", x, low, high)
    return run("Log", run("Div", x, run("SubExt", constant(1, x), x, 1)))


def _broadcasting(name: str) -> Callable[..., Any]:
    """Return a function that broadcasts two tensors for a primitive that does not broadcast."""

    def call(x: Raw, y: Raw) -> Raw:
        shape = tuple(np.broadcast_shapes(tuple(x.shape), tuple(y.shape)))
        return run(name, *(item if tuple(item.shape) == shape else run("BroadcastTo", item, at=(shape,)) for item in (x, y)))

    return call


@enters("hypot")
def _hypot(x: Raw, y: Raw) -> Raw:
    """Return the hypotenuse of numbers scaled to at most 1, to avoid overflow."""
    x, y = run("Abs", x), run("Abs", y)
    large, small = run("Maximum", x, y), run("Minimum", x, y)
    zero = constant(0, x)
    ratio = run("Select", run("Equal", large, small), run("Select", run("Equal", large, zero), zero, constant(1, x)),
                run("Div", small, large))  # fmt: skip
    found = run("Mul", large, run("Sqrt", run("AddExt", run("Mul", ratio, ratio), constant(1, x), 1)))
    infinite = run("LogicalOr", is_infinite(x), is_infinite(y))
    return run("Select", infinite, constant(math.inf, x), found)


def _abs(x: Raw) -> Raw:
    """Return the absolute value; MindSpore's Abs returns a complex dtype for complex numbers (2.10)."""
    return _hypot(run("Real", x), run("Imag", x)) if NAME_OF[raw_dtype(x)] in COMPLEX else run("Abs", x)


def _sgn(x: Raw) -> Raw:
    """Return the sign; a complex number is divided by its absolute value."""
    if NAME_OF[raw_dtype(x)] not in COMPLEX:
        return run("Sign", x)
    size = _abs(x)
    size = run("Select", run("Equal", size, constant(0, size)), constant(1, size), size)
    return run("Complex", run("Div", run("Real", x), size), run("Div", run("Imag", x), size))


def _angle(x: Raw) -> Raw:
    if NAME_OF[raw_dtype(x)] in COMPLEX:
        return run("Atan2Ext", run("Imag", x), run("Real", x))
    found = run("Select", run("Less", x, constant(0, x)), constant(math.pi, x), constant(0, x))
    return run("Select", run("NotEqual", x, x), x, found)


def _xlog1py(x: Raw, y: Raw) -> Raw:
    found = run("Mul", x, run("Log1p", y))
    nothing = run("LogicalAnd", run("Equal", x, constant(0, x)), run("Equal", y, y))
    return run("Select", nothing, constant(0, x), found)


enter("exp", "Exp")
enter("log", "Log")
enter("tanh", "Tanh")
enter("sigmoid", "Sigmoid")
enter("expm1", "Expm1")
enter("log1p", "Log1p")
enter("log2", "Log2")
enter("log10", "Log10")
enter("exp2", "Exp2")
enter("sin", "Sin")
enter("cos", "Cos")
enter("tan", "Tan")
enter("asin", "AsinExt")
enter("acos", "AcosExt")
enter("atan", "AtanExt")
enter("sinh", "Sinh")
enter("cosh", "Cosh")
enter("asinh", "AsinhExt")
enter("acosh", "AcoshExt")
enter("atanh", "Atanh")
enter("sinc", "Sinc")
enter("floor", "Floor")
enter("ceil", "Ceil")
enter("trunc", "Trunc")
enter("round", "Round")
enter("atan2", "Atan2Ext")
enter("logaddexp", "LogAddExp")
enter("polar", _broadcasting("Polar"))
for _op, _name in {"frac": "Frac", "logaddexp2": "LogAddExp2"}.items():  # CANN computes them for integers, too, and torch does not
    enter(_op, _name, FLOATS + HALVES)
enter("xlogy", "Xlogy", ORDERED)
enter("xlog1py", _xlog1py, ORDERED)
enter("abs", _abs)
enter("sgn", _sgn)
enter("angle", _angle, FLOATS + HALVES + COMPLEX)
enter("complex", _broadcasting("Complex"), FLOATS)
enter("conj", "Conj", COMPLEX)

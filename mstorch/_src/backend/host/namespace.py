"""Functions of NumPy arrays for formulas (``formulas/namespace.py``), rounded as torch rounds them."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ...quiet import quiet, silence
from ..arrays import Array
from ._ufunc import beside_number, exact, number, one, two
from .elementwise import numpy_rsqrt, numpy_scalar_power, numpy_where
from .math import numpy_sigmoid

add, sub, mul, div = two(np.add), two(np.subtract), two(np.multiply), two(np.divide)
neg, abs_ = one(np.negative), one(np.absolute)
exp, log, log1p, expm1, tanh = exact(np.exp), exact(np.log), exact(np.log1p), exact(np.expm1), exact(np.tanh)
both, either = np.logical_and, np.logical_or
sigmoid = numpy_sigmoid
sin, cos, sinh, cosh = exact(np.sin), exact(np.cos), exact(np.sinh), exact(np.cosh)
conj, rsqrt, scalar_power = one(np.conjugate), numpy_rsqrt, numpy_scalar_power


def is_complex(x: Array) -> bool:
    """Return whether the dtype is complex."""
    return x.dtype.kind == "c"


def is_zero(x: Array) -> Any:
    """Return where x is 0."""
    return x == 0


def erf(x: Array) -> Array:
    """Return the error function."""
    return np.asarray(special.erf(x))


def _with_number(ufunc: Any) -> Callable[[Array, float], Array]:
    """Return a ufunc of an array and a number, which is rounded to the array's dtype."""

    def kernel(x: Array, value: float) -> Array:
        scalar = x.dtype.type(value)
        try:
            found = silence.run(ufunc, x, scalar)
        except RuntimeError:  # in a finalizer within another kernel
            found = ufunc(x, scalar)
        return found if found.__class__ is np.ndarray else np.asarray(found)

    return kernel


times, over, plus = _with_number(np.multiply), _with_number(np.divide), _with_number(np.add)
above, less_than = _with_number(np.greater), _with_number(np.less)
at_most, at_least = _with_number(np.less_equal), _with_number(np.greater_equal)


def maximum(x: Array, value: float) -> Array:
    """Return the larger of x and a number; NaN remains."""
    return np.asarray(beside_number(np.maximum, number(value, x), x))


def minimum(x: Array, value: float) -> Array:
    """Return the smaller of x and a number; NaN remains."""
    return np.asarray(beside_number(np.minimum, number(value, x), x))


def where(condition: Array, x: Array | float, y: Array | float) -> Array:
    """Select from ``x`` where the condition holds, else from ``y``."""
    if not isinstance(x, np.ndarray):
        assert isinstance(y, np.ndarray)
        return numpy_where(condition, np.asarray(number(x, y)), y)
    return numpy_where(condition, x, y if isinstance(y, np.ndarray) else np.asarray(number(y, x)))


def settled(x: Array, condition: Array, value: float) -> Array:
    """Return x: nothing is differentiated again."""
    return x


def by_formula(formula: Callable[..., Any]) -> Callable[..., Array]:
    """Return a formula as a kernel of NumPy arrays and numbers."""
    own = sys.modules[__name__]

    def kernel(*args: Any) -> Array:
        with quiet():
            return np.asarray(formula(own, *args))

    return kernel

"""Functions of NumPy arrays for formulas (``formulas/namespace.py``), rounded as torch rounds them."""
from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ...quiet import silent
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


def times(x: Array, value: float) -> Array:
    """Return the product with a number."""
    return np.asarray(silent.multiply(x, number(value, x)))


def over(x: Array, value: float) -> Array:
    """Return the quotient by a number."""
    return np.asarray(silent.divide(x, number(value, x)))


def plus(x: Array, value: float) -> Array:
    """Return the sum with a number."""
    return np.asarray(silent.add(x, number(value, x)))


def maximum(x: Array, value: float) -> Array:
    """Return the larger of x and a number; NaN remains."""
    return np.asarray(beside_number(np.maximum, number(value, x), x))


def minimum(x: Array, value: float) -> Array:
    """Return the smaller of x and a number; NaN remains."""
    return np.asarray(beside_number(np.minimum, number(value, x), x))


def above(x: Array, value: float) -> Any:
    """Return where x is greater than a number."""
    return x > number(value, x)


def less_than(x: Array, value: float) -> Any:
    """Return where x is less than a number."""
    return x < number(value, x)


def at_most(x: Array, value: float) -> Any:
    """Return where x is at most a number."""
    return x <= number(value, x)


def at_least(x: Array, value: float) -> Any:
    """Return where x is at least a number."""
    return x >= number(value, x)


def where(condition: Array, x: Array | float, y: Array | float) -> Array:
    """Select from ``x`` where the condition holds, else from ``y``."""
    if not isinstance(x, np.ndarray):
        assert isinstance(y, np.ndarray)
        return numpy_where(condition, np.asarray(number(x, y)), y)
    return numpy_where(condition, x, y if isinstance(y, np.ndarray) else np.asarray(number(y, x)))


def settled(x: Array, condition: Array, value: float) -> Array:
    """Return x: nothing is differentiated again."""
    return x

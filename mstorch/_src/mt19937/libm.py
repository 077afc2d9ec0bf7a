"""Elementary functions in double precision that agree with the C library in the last bit.

torch's scalar loops call the C library. NumPy's vectorized loops differ from it in the last place for up to a third of the arguments,
depending on the processor. `math` calls the C library at 60 ns per value, and so does SciPy at a fifteenth of that. Fast functions are
checked once against `math` on a sample.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ..quiet import quiet

Doubles = NDArray[np.float64]
Function = Callable[[Doubles], Doubles]

_FEW = 32  # where a loop in Python is faster than NumPy


def _apply(function: Callable[[float], float], x: Doubles) -> Doubles:
    return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


@cache
def _choose(name: str) -> Function:
    """Return the vectorized function if it agrees with the C library, else a loop over the C library's."""
    scalar = _bounded_exp if name == "exp" else getattr(math, name)

    def loop(x: Doubles) -> Doubles:
        return _apply(scalar, x)

    if name == "log":
        def vectorised(x: Doubles) -> Doubles:
            logarithms: Doubles = xlogy(1.0, x)
            return logarithms
    elif name == "exp":
        def vectorised(x: Doubles) -> Doubles:  # NumPy's loop for complex numbers calls the C library
            return np.exp(x.astype(np.complex128)).real
    else:
        vectorised = getattr(np, name)
    sample = np.linspace(2.0**-53, 1.0, 20011)
    if name in ("sin", "cos"):
        sample *= 2.0 * math.pi
    elif name == "exp":
        sample = sample * 1400.0 - 700.0
    return vectorised if np.array_equal(vectorised(sample), loop(sample)) else loop


def log(x: Doubles) -> Doubles:
    """Return the natural logarithm; -inf at zero."""
    if x.size <= _FEW:
        return _apply(lambda value: math.log(value) if value > 0.0 else -math.inf, x)
    with quiet():
        if not x.all():
            result = np.full_like(x, -np.inf)
            result[x != 0.0] = _choose("log")(x[x != 0.0])
            return result
        return _choose("log")(x)


def log1p(x: Doubles) -> Doubles:
    """Return log(1 + x) for x > -1."""
    return _apply(math.log1p, x)


def log1p_for_float32(x: Doubles, factor: float) -> Doubles:
    """Return log1p(x) · factor, accurate enough for its float32 rounding to equal torch's."""
    approximate = np.log1p(x)
    approximate *= factor
    low = (approximate * (1.0 - 2.0**-48)).astype(np.float32)
    high = (approximate * (1.0 + 2.0**-48)).astype(np.float32)
    unsure = np.flatnonzero(low != high)
    if unsure.size:
        approximate[unsure] = log1p(x[unsure]) * factor
    return approximate


def exp(x: Doubles) -> Doubles:
    """Return the exponential; infinity on overflow."""
    if x.size <= _FEW:
        return _apply(_bounded_exp, x)
    with quiet():
        return _choose("exp")(x)


def _bounded_exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def sin(x: Doubles) -> Doubles:
    """Return the sine of angles in [0, 2π]."""
    return _choose("sin")(x)


def cos(x: Doubles) -> Doubles:
    """Return the cosine of angles in [0, 2π]."""
    return _choose("cos")(x)


def tan(x: Doubles) -> Doubles:
    """Return the tangent."""
    return _apply(math.tan, x)

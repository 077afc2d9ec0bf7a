"""Special functions on the host, by SciPy."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ...quiet import quiet
from ..arrays import Array
from ..blocks import blocked
from ..table import define_host
from ._ufunc import FLOATS, HALF

_PASSES = 125  # the cost of a function of SciPy's, which releases the GIL: about 15 nanoseconds per element


def numpy_lgamma(x: Array) -> Array:
    """Return the logarithm of the absolute value of the gamma function; inf at both infinities."""
    return np.where(np.isinf(x), np.abs(x), special.gammaln(x))


for _name, _function in {
    "erfc": special.erfc, "lgamma": numpy_lgamma, "log_ndtr": special.log_ndtr, "i0": special.i0,
    "i0e": special.i0e, "i1": special.i1, "i1e": special.i1e, "bessel_j0": special.j0, "bessel_j1": special.j1,
    "bessel_y0": special.y0, "bessel_y1": special.y1, "modified_bessel_k0": special.k0, "modified_bessel_k1": special.k1,
    "scaled_modified_bessel_k0": special.k0e, "scaled_modified_bessel_k1": special.k1e,
}.items():  # fmt: skip
    define_host(_name, blocked(lambda x, function=_function: np.asarray(function(x)), _PASSES), FLOATS, HALF)


def _in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that computes in float64, as this SciPy function requires."""

    def kernel(x: Array, *rest: Any) -> Array:
        with quiet():
            values = (item.astype(np.float64) if item.__class__ is np.ndarray else item for item in (x, *rest))
            return np.asarray(function(*values), x.dtype)

    return kernel


def _trigamma(x: Array) -> Array:
    """Return the trigamma function; by reflection for x < 1/2, where SciPy's zeta function is undefined."""
    left = x < 0.5
    mirrored = special.zeta(2.0, np.where(left, 1 - x, x))
    return np.where(left, (np.pi / np.sin(np.pi * x)) ** 2 - mirrored, mirrored)


def numpy_polygamma(x: Array, order: int) -> Array:
    """Return the derivative of the given order of the digamma function, in float64."""
    if order < 2:
        return np.asarray(_trigamma(x) if order else special.psi(x))
    return np.asarray((-1.0) ** (order + 1) * special.gamma(order + 1.0) * numpy_zeta(order + 1.0, x))


def numpy_zeta(x: Array | float, q: Array) -> Array:
    """Return the Hurwitz zeta function, which torch leaves undefined for an infinite ``q`` (except for x = 1)."""
    found = special.zeta(x, q)
    return np.where(np.isposinf(q) & (x != 1), np.nan, found)


def _incomplete(function: np.ufunc, at_zero: float) -> Callable[..., Any]:
    """Return an incomplete gamma function whose limits at zero and infinity take precedence over NaN in the other operand."""

    def whole(a: Array, x: Array) -> Array:
        found = np.asarray(function(a, x))
        lost = np.isnan(found)
        if lost.any():
            found = np.where(np.isnan(a) & (x == 0) | np.isposinf(a) & np.isnan(x), at_zero, found)
            found = np.where(np.isnan(a) & np.isposinf(x), 1 - at_zero, found)
        return found

    return whole


def _rounded_steps(function: np.ufunc, steps: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that computes half precision by ``steps``, each of which is rounded, as in torch."""

    def kernel(x: Array) -> Array:
        if x.dtype.itemsize > 2:
            return np.asarray(function(x))
        with quiet():
            for step in steps(x.astype(np.float32)):
                x = np.asarray(step(x.astype(np.float32)), np.float32).astype(x.dtype)
        return x

    return kernel


_ROOT_HALF = np.float32(0.7071067811865476)
define_host("ndtr", _rounded_steps(special.ndtr, lambda _: (
    lambda x: x * _ROOT_HALF, special.erf, lambda x: x + np.float32(1), lambda x: x * np.float32(0.5),
)), (*FLOATS, *HALF))  # fmt: skip
define_host("entr", _rounded_steps(special.entr, lambda x: (
    lambda _: np.log(x), lambda log: np.where(x > 0, -x * log, np.where(x == 0, np.float32(0), np.where(x < 0, -np.float32(np.inf), x))),
)), (*FLOATS, *HALF))  # fmt: skip


for _name, _function in {
    "erfinv": lambda x: np.copysign(special.erfinv(x), x),
    "erfcx": special.erfcx, "ndtri": special.ndtri, "digamma": special.psi, "polygamma": numpy_polygamma,
    "gammainc": _incomplete(special.gammainc, 0.0), "gammaincc": _incomplete(special.gammaincc, 1.0), "zeta": numpy_zeta,
    "airy_ai": lambda x: special.airy(x)[0],
}.items():  # fmt: skip
    define_host(_name, blocked(_in_double(_function), _PASSES), FLOATS, HALF)

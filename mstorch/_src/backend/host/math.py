"""Exponentials, logarithms and trigonometry on the host."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ...quiet import quiet, silent
from ..arrays import Array
from ..blocks import share
from ..onednn import elementwise
from ..onednn.library import FOUND
from ..table import define_host
from ._ufunc import COMPLEX, FLOATS, HALF, INTS, exact, exact_two, exp, log, number, one, two
from .scan import log_of_sum

_BLOCK_COST = 0.5 * elementwise.BLOCK  # nanoseconds that oneDNN needs for a block
_FEW = 1 << 11  # number of elements up to which NumPy takes less time than a call of the library


def share_blocks(work: Callable[[int, int], None], length: int) -> None:
    """Run a oneDNN activation in parts on threads if the array is long."""
    share(work, length, _BLOCK_COST)


def numpy_sigmoid(x: Array) -> Array:
    """Return ``1 / (1 + exp(-x))``, without overflow."""
    if x.size >= _FEW and x.dtype.char == "f" and FOUND:
        return elementwise.forward(elementwise.LOGISTIC, np.ascontiguousarray(x), share_blocks)
    if x.size < _FEW and x.dtype.kind == "f":
        return np.asarray(special.expit(x))
    below = silent.exp(np.negative(np.absolute(x)))
    below += number(1, x)
    # Two exponentials, neither of which overflows, take less time than where.
    found = silent.exp(np.minimum(x, number(0, x)))
    found /= below
    return np.asarray(found)


define_host("exp", exp, FLOATS, HALF)
define_host("log", log, FLOATS, HALF)
define_host("expm1", exact(np.expm1), FLOATS, HALF)
define_host("log2", exact(np.log2), FLOATS, HALF)
define_host("log10", exact(np.log10), FLOATS, HALF)
define_host("sin", exact(np.sin), FLOATS, HALF)
define_host("cos", exact(np.cos), FLOATS, HALF)
define_host("tan", exact(np.tan), FLOATS, HALF)
define_host("tanh", exact(np.tanh), FLOATS, HALF)
define_host("sinh", exact(np.sinh), FLOATS, HALF)
define_host("cosh", exact(np.cosh), FLOATS, HALF)
define_host("asin", exact(np.arcsin), FLOATS, HALF)
define_host("acos", exact(np.arccos), FLOATS, HALF)
define_host("atan", exact(np.arctan), FLOATS, HALF)
define_host("exp2", exact(np.exp2), FLOATS, HALF)
for _name, _function in {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}.items():
    define_host(_name, one(_function), FLOATS, HALF)
define_host("erf", lambda x: np.asarray(special.erf(x)), FLOATS, HALF)
define_host("sigmoid", numpy_sigmoid, FLOATS, HALF)


def numpy_round(x: Array, decimals: int) -> Array:
    """Round to the nearest, ties to even; with ``decimals`` by scaling, as in torch."""
    if not decimals:
        return np.asarray(silent.rint(x))
    scale = number(10.0 ** abs(decimals), x)
    with quiet():
        return np.asarray(np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale)


def numpy_frexp(x: Array) -> tuple[Array, Array]:
    """Return mantissas with absolute value in [0.5, 1) and exponents of two, int32."""
    mantissa, exponent = np.frexp(x)
    return np.asarray(mantissa), np.asarray(exponent, np.int32)


def numpy_sinc(x: Array) -> Array:
    """Return ``sin(pi * x) / (pi * x)``; 1 at 0."""
    with quiet():
        return np.asarray(np.sinc(x)).astype(x.dtype, copy=False)


def numpy_frac(x: Array) -> Array:
    """Return the fractional part, with the sign of the number."""
    return np.asarray(silent.subtract(x, np.trunc(x)))


def numpy_heaviside(x: Array, values: Array) -> Array:
    """Return 0 below zero and for NaN, 1 above, the given value at zero."""
    return np.where(x == 0, values, np.asarray(x > 0).astype(x.dtype))


def _xlog(function: np.ufunc) -> Callable[..., Any]:
    def kernel(x: Array, y: Array) -> Array:
        with quiet():
            # In half precision torch rounds the logarithm, too.
            logarithm = function(y) if y.dtype.itemsize > 2 else np.asarray(function(y.astype(np.float32))).astype(y.dtype)
            nothing = number(0, x)
            return np.asarray(np.where(y != y, y, np.where(x == nothing, nothing, x * logarithm)), x.dtype)

    return kernel


def numpy_logit(x: Array, low: float | None = None, high: float | None = None) -> Array:
    """Return ``log(x / (1 - x))`` for x clamped to ``low`` and ``high``; where ``low`` is above ``high``, it goes first."""
    with quiet():
        if low is not None:
            x = np.where(x < number(low, x), number(low, x), np.where(x > number(high, x), number(high, x), x)).astype(x.dtype)
        odds = (x / (number(1, x) - x)).astype(x.dtype)
        if x.dtype.itemsize > 2:
            return np.asarray(np.log(odds))
        return np.asarray(np.log(odds.astype(np.float32))).astype(x.dtype)  # torch rounds each step


for _name, _function in {"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh}.items():
    define_host(_name, one(_function), FLOATS, HALF)
for _name, _ufunc in {
    "hypot": np.hypot, "copysign": np.copysign, "logaddexp2": np.logaddexp2,
}.items():  # fmt: skip
    define_host(_name, two(_ufunc), FLOATS, HALF)
_real_log1p, _real_logaddexp = exact(np.log1p), two(np.logaddexp)


def numpy_log1p(x: Array) -> Array:
    """Return ``log(1 + x)``, of complex numbers in double precision: NumPy's function loses the real part of small ones."""
    if x.dtype.kind != "c":
        return _real_log1p(x)
    with quiet():
        re, im = x.real.astype(np.float64), x.imag.astype(np.float64)
        beyond = re * (2 + re) + im * im  # |1 + x|² - 1
        near = np.where((beyond == 0) & (np.abs(re) < 0.5), re, 0.5 * np.log1p(beyond))
        found = np.empty(x.shape, x.dtype)
        found.real = np.where(np.isnan(x), np.nan, np.where(np.abs(beyond) < 0.5, near, np.log(np.hypot(1 + re, im))))
        found.imag = np.arctan2(im, 1 + re)
    return found


def numpy_logaddexp(x: Array, y: Array) -> Array:
    """Return ``log(exp(x) + exp(y))``."""
    if x.dtype.kind != "c":
        return _real_logaddexp(x, y)
    with quiet():
        return log_of_sum(*np.broadcast_arrays(x.astype(np.complex128), y.astype(np.complex128))).astype(x.dtype)


define_host("log1p", numpy_log1p, (*FLOATS, *COMPLEX), HALF)
define_host("logaddexp", numpy_logaddexp, (*FLOATS, *COMPLEX), HALF)
define_host("atan2", exact_two(np.arctan2), FLOATS, HALF)
define_host("heaviside", numpy_heaviside, (*FLOATS, *INTS, "bool"), HALF)
define_host("xlogy", _xlog(np.log), (*FLOATS, *HALF))
define_host("xlog1py", _xlog(np.log1p), (*FLOATS, *HALF))
define_host("round", numpy_round, FLOATS, HALF)
define_host("frac", numpy_frac, FLOATS, HALF)
define_host("sinc", numpy_sinc, FLOATS, HALF)
define_host("logit", numpy_logit, (*FLOATS, *HALF))
define_host("nextafter", two(np.nextafter), FLOATS, HALF)
define_host("frexp", numpy_frexp, (*FLOATS, "float16"))

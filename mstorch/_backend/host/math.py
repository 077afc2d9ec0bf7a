"""Exponentials, logarithms and trigonometry on the host."""
from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ..table import define_host
from ._ufunc import FLOATS, HALF, QUIET, number, one, two


def numpy_sigmoid(x: np.ndarray) -> np.ndarray:
    """``1 / (1 + exp(-x))``, without overflow."""
    below = np.exp(np.negative(np.absolute(x)), extobj=QUIET)
    below += number(1, x)
    # Two exponentials, neither of which overflows, cost less than a choice of each element.
    found = np.exp(np.minimum(x, number(0, x)), extobj=QUIET)
    found /= below
    return np.asarray(found)


_UFUNCS = {
    "exp": np.exp, "log": np.log, "expm1": np.expm1, "log1p": np.log1p, "log2": np.log2, "log10": np.log10, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
}  # fmt: skip
for _name, _function in _UFUNCS.items():
    define_host(_name, one(_function), FLOATS, HALF)
define_host("erf", lambda x: np.asarray(special.erf(x)), FLOATS, HALF)
define_host("sigmoid", numpy_sigmoid, FLOATS, HALF)


def numpy_round(x: np.ndarray, decimals: int) -> np.ndarray:
    """To the nearest, ties to even; with decimals by scaling, as torch does."""
    if not decimals:
        return np.asarray(np.rint(x, extobj=QUIET))
    scale = number(10.0 ** abs(decimals), x)
    with np.errstate(all="ignore"):
        return np.asarray(np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale)


def numpy_frac(x: np.ndarray) -> np.ndarray:
    """What comes after the point, with the sign."""
    return np.asarray(np.subtract(x, np.trunc(x), extobj=QUIET))


def _xlog(function: Any) -> Any:
    def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            found = np.where(x == 0, number(0, x), x * function(y))
            return np.asarray(np.where(np.isnan(y), y, found), x.dtype)

    return kernel


def numpy_logit(x: np.ndarray, low: float | None = None, high: float | None = None) -> np.ndarray:
    """``log(x / (1 - x))``, of x between ``low`` and ``high``."""
    with np.errstate(all="ignore"):
        if low is not None:
            x = np.clip(x, number(low, x), number(high, x))
        return np.asarray(np.log(x / (number(1, x) - x)))


# What MindSpore's kernels serve outside of forked processes.
for _name, _function in {"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "exp2": np.exp2}.items():
    define_host(_name, one(_function), FLOATS, HALF, spare=True)
for _name, _function in {
    "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign, "heaviside": np.heaviside, "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2, "xlogy": _xlog(np.log), "xlog1py": _xlog(np.log1p),
}.items():  # fmt: skip
    define_host(_name, two(_function) if isinstance(_function, np.ufunc) else _function, FLOATS, HALF, spare=True)
for _name, _function in {
    "erfc": special.erfc, "lgamma": special.gammaln, "ndtr": special.ndtr, "log_ndtr": special.log_ndtr, "i0": special.i0,
    "i0e": special.i0e, "i1": special.i1, "i1e": special.i1e, "entr": special.entr, "bessel_j0": special.j0, "bessel_j1": special.j1,
    "bessel_y0": special.y0, "bessel_y1": special.y1, "modified_bessel_k0": special.k0, "modified_bessel_k1": special.k1,
    "scaled_modified_bessel_k0": special.k0e, "scaled_modified_bessel_k1": special.k1e,
}.items():  # fmt: skip
    define_host(_name, lambda x, function=_function: np.asarray(function(x)), FLOATS, HALF, spare=True)
define_host("round", numpy_round, FLOATS, HALF, spare=True)
define_host("frac", numpy_frac, FLOATS, HALF, spare=True)
define_host("sinc", lambda x: np.asarray(np.sinc(x)).astype(x.dtype, copy=False), FLOATS, HALF, spare=True)
define_host("logit", numpy_logit, FLOATS, HALF, spare=True)

"""Exponentials, logarithms and trigonometry on the host."""
from __future__ import annotations

import numpy as np
from scipy.special import erf

from ..table import define_host
from ._ufunc import FLOATS, HALF, QUIET, number, one


def numpy_sigmoid(x: np.ndarray) -> np.ndarray:
    """``1 / (1 + exp(-x))``, without overflow."""
    small = np.exp(np.negative(np.absolute(x)), extobj=QUIET)
    below = np.add(small, number(1, x))
    return np.asarray(np.where(x < 0, small / below, number(1, x) / below)).astype(x.dtype, copy=False)


_UFUNCS = {
    "exp": np.exp, "log": np.log, "expm1": np.expm1, "log1p": np.log1p, "log2": np.log2, "log10": np.log10, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
}  # fmt: skip
for _name, _function in _UFUNCS.items():
    define_host(_name, one(_function), FLOATS, HALF)
define_host("erf", lambda x: np.asarray(erf(x)), FLOATS, HALF)
define_host("sigmoid", numpy_sigmoid, FLOATS, HALF)

"""Activations on the host."""
from __future__ import annotations

import numpy as np

from ..table import define_host
from ._ufunc import FLOATS, HALF, INTS, QUIET, number
from .math import numpy_sigmoid


def numpy_relu(x: np.ndarray) -> np.ndarray:
    """The positive part; NaN stays."""
    return np.asarray(np.maximum(x, number(0, x)))


def numpy_silu(x: np.ndarray) -> np.ndarray:
    """``x * sigmoid(x)``."""
    return np.asarray(np.multiply(x, numpy_sigmoid(x), extobj=QUIET))


def numpy_leaky_relu(x: np.ndarray, slope: float) -> np.ndarray:
    """``x`` where positive, else ``slope * x``."""
    return np.where(x > 0, x, np.multiply(x, number(slope, x), extobj=QUIET))


define_host("relu", numpy_relu, (*FLOATS, *INTS), HALF)
define_host("silu", numpy_silu, FLOATS, HALF)
define_host("leaky_relu", numpy_leaky_relu, FLOATS, HALF)

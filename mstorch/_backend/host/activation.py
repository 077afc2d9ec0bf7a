"""Activations on the host."""
from __future__ import annotations

import numpy as np
from scipy.special import erf

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


def numpy_gelu(x: np.ndarray) -> np.ndarray:
    """``x`` times the share of a normal distribution below it."""
    found = erf(np.multiply(x, number(0.7071067811865476, x)))
    found += number(1, x)
    found *= x
    found *= number(0.5, x)
    return np.asarray(found)


def numpy_gelu_tanh(x: np.ndarray) -> np.ndarray:
    """GELU by its approximation with tanh."""
    inner = np.multiply(x, x)
    inner *= number(0.044715, x)
    inner += number(1, x)
    inner *= x
    inner *= number(0.7978845608028654, x)
    inner = np.tanh(inner)
    inner += number(1, x)
    inner *= x
    inner *= number(0.5, x)
    return np.asarray(inner)


define_host("gelu", numpy_gelu, FLOATS, HALF)
define_host("gelu_tanh", numpy_gelu_tanh, FLOATS, HALF)
define_host("relu", numpy_relu, (*FLOATS, *INTS), HALF)
define_host("silu", numpy_silu, FLOATS, HALF)
define_host("leaky_relu", numpy_leaky_relu, FLOATS, HALF)

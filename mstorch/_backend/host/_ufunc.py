"""How a NumPy function becomes a kernel: quiet where IEEE arithmetic is not an error, an array also for 0-d results."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..quiet import QUIET

HALF = {"float16": "float32", "bfloat16": "float32"}
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INTS = ("uint8", "int8", "int16", "int32", "int64")
REAL = ("bool", *INTS, "float16", *FLOATS)


def one(function: Any) -> Callable[[np.ndarray], np.ndarray]:
    """A ufunc of one array as a kernel."""

    def kernel(x: np.ndarray) -> np.ndarray:
        found = function(x, extobj=QUIET)
        return found if found.__class__ is np.ndarray else np.asarray(found)

    return kernel


def two(function: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A ufunc of two arrays as a kernel."""

    def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        found = function(x, y, extobj=QUIET)
        return found if found.__class__ is np.ndarray else np.asarray(found)

    return kernel


def number(value: Any, like: np.ndarray) -> Any:
    """A Python number as a scalar of an array's dtype: NumPy 1 computes 0-d arrays with Python numbers in float64."""
    return like.dtype.type(value)

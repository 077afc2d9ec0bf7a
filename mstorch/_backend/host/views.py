"""Copies and shapes on the host: reshaping and permuting give views here, which only rules of the tape use."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..table import define_host


def numpy_clone(x: np.ndarray) -> np.ndarray:
    """A row-major copy."""
    return np.array(x, order="C")


def put(whole: np.ndarray, key: Any, array: np.ndarray) -> None:
    """``whole[key] = array``, but nothing where the array is empty.

    MindSpore's bfloat16 ends the process where NumPy copies an empty vector: it reports the copy of no bytes as a failure
    without holding the interpreter's lock.
    """
    if array.size:
        whole[key] = array


define_host("clone", numpy_clone)

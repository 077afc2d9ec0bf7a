"""Concatenation on the host."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..table import define_host


def numpy_cat(parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Concatenate along ``axis``, row-major."""
    return np.ascontiguousarray(np.concatenate(parts, axis))


def numpy_stack(parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Stack along a new dimension, row-major."""
    key = (slice(None),) * axis + (None,)
    return np.ascontiguousarray(np.concatenate([part[key] for part in parts], axis))


define_host("cat", numpy_cat)
define_host("stack", numpy_stack)

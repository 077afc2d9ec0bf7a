"""Concatenation on the host."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array
from ..table import define_host


def numpy_cat(parts: Sequence[Array], axis: int) -> Array:
    """Concatenate along ``axis``, row-major."""
    return np.ascontiguousarray(np.concatenate(parts, axis))


def numpy_stack(parts: Sequence[Array], axis: int) -> Array:
    """Stack along a new dimension, row-major."""
    key = (slice(None),) * axis + (None,)
    return np.ascontiguousarray(np.concatenate([part[key] for part in parts], axis))


define_host("cat", numpy_cat)
define_host("stack", numpy_stack)

"""Concatenation on the host."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array
from ..table import define_host


def numpy_cat(parts: Sequence[Array], axis: int) -> Array:
    """Concatenate along ``axis``, row-major."""
    found = np.concatenate(parts, axis)
    return found if found.flags.c_contiguous else np.ascontiguousarray(found)


def numpy_stack(parts: Sequence[Array], axis: int) -> Array:
    """Stack along a new dimension, row-major."""
    if not axis and parts[0].ndim:  # concatenated along the first dimension the elements are in place
        found = np.concatenate(parts, 0).reshape(len(parts), *parts[0].shape)
    else:
        key = (slice(None),) * axis + (None,)
        found = np.concatenate([part[key] for part in parts], axis)
    return found if found.flags.c_contiguous else np.ascontiguousarray(found)


define_host("cat", numpy_cat)
define_host("stack", numpy_stack)

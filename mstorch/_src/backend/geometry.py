"""Positions of the elements of strided views in memory, counted in elements."""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from .arrays import Array
from .bare_numpy import einsum


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return row-major strides; a dimension of length 0 counts as 1."""
    return row_major_strides(shape if shape.__class__ is tuple else tuple(shape))


@lru_cache(4096)
def row_major_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return ``contiguous_strides`` of a tuple, without a call in Python where it is known."""
    strides = [1] * len(shape)
    step = 1
    for i in range(len(shape) - 1, -1, -1):
        strides[i] = step
        step *= max(shape[i], 1)
    return tuple(strides)


def flat_index(shape: Sequence[int], strides: Sequence[int], offset: int) -> Array:
    """Return for each element of a strided view its position in the storage (int64, of the view's shape)."""
    index = np.full((), offset, np.int64)
    for i, (length, stride) in enumerate(zip(shape, strides)):
        steps = np.arange(length, dtype=np.int64) * stride
        index = index[..., None] + steps if i else index + steps
    return index.reshape(tuple(shape))


def may_overlap(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether two different indices may address one element; False if each stride exceeds the extent of all smaller strides."""
    reach = 1
    for step, length in sorted((step, length) for length, step in zip(shape, strides) if length > 1):
        if step < reach:
            return True
        reach = step * (length - 1) + reach
    return False


def inverse_order(order: Sequence[int]) -> tuple[int, ...]:
    """Return the inverse permutation."""
    inverse = [0] * len(order)
    for place, dim in enumerate(order):
        inverse[dim] = place
    return tuple(inverse)


def rough_sum(x: Array) -> float:
    """Return the sum of a float array to a few digits, infinite or NaN if an element is; it takes a third of the time of ``add.reduce``."""
    return float(einsum("i->", x.reshape(-1)) if x.flags.c_contiguous else np.add.reduce(x, axis=None))

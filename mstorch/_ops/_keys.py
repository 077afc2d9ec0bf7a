"""What the keys of an index hold: lists that stand for tuples, masks."""
from __future__ import annotations

from typing import Any

import numpy as np

from .._core.dtype import bool_, uint8
from .._core.tensor_base import TensorBase


def stands_for_a_tuple(key: Any) -> bool:
    """Whether torch reads a list as a tuple of indices: a short one that has a sequence, slice, None or tensor in it."""
    return (
        isinstance(key, list)
        and len(key) < 32
        and any(item is None or item is Ellipsis or isinstance(item, (slice, list, tuple, TensorBase, np.ndarray)) for item in key)
    )


def has_mask(key: Any) -> bool:
    """Whether a key has a mask of one dimension or more: a single truth value is a row of indices to torch."""
    items = key if isinstance(key, tuple) else (key,)
    return any(
        (isinstance(item, TensorBase) and item._shape and item._dtype in (bool_, uint8))
        or (isinstance(item, np.ndarray) and item.ndim and item.dtype in (np.bool_, np.uint8))
        or (isinstance(item, list) and bool(item) and isinstance(item[0], bool))
        for item in items
    )


def refuse_mask_of_bytes(key: Any) -> None:
    """torch fills where the only mask of a key holds, and takes none of bytes for that."""
    items = [item for item in (key if isinstance(key, tuple) else (key,)) if isinstance(item, (TensorBase, np.ndarray, list))]
    only: Any = items[0] if len(items) == 1 else None
    if getattr(only, "dtype", None) in (uint8, np.uint8) and len(only.shape):  # a number selects all or nothing
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")


def has_full_slices(key: Any) -> bool:
    """Whether the slices of a key are written so that they name all there is, of whatever length."""
    return all(
        part.start in (None, 0) and part.stop is None and part.step in (None, 1)
        for part in (key if key.__class__ is tuple else (key,)) if part.__class__ is slice
    )


def is_whole(key: Any, shape: tuple[int, ...]) -> bool:
    """Whether a key has nothing but ellipses and slices from the first element to the last, which torch writes to the tensor itself."""
    parts = key if key.__class__ is tuple else (key,)
    dim, skipped = 0, False
    for number, part in enumerate(parts):
        if part is Ellipsis:
            behind = len(shape) - (len(parts) - number - 1)
            if skipped or behind < dim:
                return False
            dim, skipped = behind, True
        elif part.__class__ is not slice or dim >= len(shape) or part.step not in (None, 1) or part.start not in (None, 0):
            return False
        elif part.stop is not None and (part.stop.__class__ is not int or part.stop < shape[dim]):
            return False
        else:
            dim += 1
    return True

"""Items of a key: lists that torch reads as tuples, and masks."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dtype import bool_, uint8
from ...core.overriding import PLAIN
from ...core.storage import home
from ...core.tensor_base import TensorBase
from ...tape.ways import ways

_ALL: slice[Any, Any, Any] = slice(None)


def stands_for_a_tuple(key: Any) -> bool:
    """Return whether torch reads a list as a tuple of indices: a short one that contains a sequence, slice, None or tensor."""
    return (
        isinstance(key, list)
        and len(key) < 32
        and any(item is None or item is Ellipsis or isinstance(item, (slice, list, tuple, range, TensorBase, np.ndarray)) for item in key)
    )


def lone_mask(key: TensorBase | Sequence[TensorBase | int | None]) -> Any:
    """Return the mask of a key whose other items are ints, slices and Nones, which torch writes by ``masked_fill``; None for other keys."""
    items = [item for item in (key if isinstance(key, tuple) else (key,)) if isinstance(item, (TensorBase, np.ndarray, list))]
    only: Any = items[0] if len(items) == 1 else None
    if isinstance(only, TensorBase):
        return only if only._ms_shape and only._ms_dtype in (bool_, uint8) else None
    if isinstance(only, np.ndarray):
        return only if only.ndim and only.dtype in (np.bool_, np.uint8) else None
    return only if only and isinstance(only[0], bool) else None


def refuse_mask_of_bytes(mask: TensorBase) -> None:
    """Raise torch's error for a uint8 mask that is the only index tensor in a key."""
    if getattr(mask, "dtype", None) in (uint8, np.uint8):
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")


def has_full_slices(key: tuple[TensorBase | slice, TensorBase | slice]) -> bool:
    """Return whether all slices in a key cover their dimension whatever its length."""
    return all(
        part.start in (None, 0) and part.stop is None and part.step in (None, 1)
        for part in (key if key.__class__ is tuple else (key,)) if part.__class__ is slice
    )


def has_plain_items(key: Any) -> bool:
    """Return whether no item of a key is of a class that may override calls."""
    for item in key if key.__class__ is tuple else (key,):
        if item.__class__ is slice:
            if item.start.__class__ not in PLAIN or item.stop.__class__ not in PLAIN or item.step.__class__ not in PLAIN:
                return False
        elif item.__class__ not in PLAIN:
            return False
    return True


_BOUNDS = (int, np.integer, type(None))


def is_whole(key: Any, shape: tuple[int, ...]) -> bool:
    """Return whether a key consists only of ellipses and slices that cover their dimensions; torch then writes to the tensor itself instead
    of a view."""
    parts = key if key.__class__ is tuple else (key,)
    dim, skipped = 0, False
    for number, part in enumerate(parts):
        if part is Ellipsis:
            behind = len(shape) - (len(parts) - number - 1)
            if skipped or behind < dim:
                return False
            dim, skipped = behind, True
        elif part.__class__ is not slice or dim >= len(shape):
            return False
        elif not isinstance(part.step, _BOUNDS) or not isinstance(part.start, _BOUNDS):
            return False
        elif (part.step is not None and part.step != 1) or (part.start is not None and part.start != 0):
            return False
        elif part.stop is not None and (part.stop.__class__ is not int or part.stop < shape[dim]):
            return False
        else:
            dim += 1
    return True


def without_ellipsis(key: tuple[Any, ...], rank: int) -> tuple[Any, ...] | None:
    """Return a key of ints, slices, None and one Ellipsis with full slices in place of the Ellipsis; None for any other key."""
    used, place = 0, -1
    for number, part in enumerate(key):
        if part is Ellipsis:
            if place >= 0:
                return None
            place = number
        elif part.__class__ is int or part.__class__ is slice:
            used += 1
        elif part is not None:
            return None
    if used > rank:
        return None
    return (*key[:place], *(_ALL,) * (rank - used), *key[place + 1 :])


def with_ellipses(items: list[Any], rank: int, used: int) -> list[Any]:
    """Expand several ellipses in a key's items. As in torch, each ellipsis skips as many dimensions as a single one would.

    Items after the second ellipsis are thus beyond the last dimension, which raises IndexError unless they are full slices.
    """
    skipped, dim, beyond, dropped = rank - used, 0, 0, 0
    spread: list[Any] = []
    for place, item in enumerate(items):
        shape = getattr(item, "shape", None)
        if item is Ellipsis:
            dim += skipped
            spread.extend([_ALL] * skipped)
            continue
        if item is None or isinstance(item, (bool, np.bool_)) or (shape == () and getattr(item, "dtype", None) in (bool_, np.bool_)):
            if dim > rank:
                raise IndexError(f"Dimension out of range (expected to be in range of [{-rank - 1}, {rank}], but got {dim})")
            rank += 1
        elif isinstance(item, (int, np.integer)) or shape == ():
            if dim >= rank:
                raise IndexError(f"index {int(item)} is out of bounds for dimension {place} with size 0")
            rank, dim = rank - 1, dim - 1
        elif item.__class__ is not slice:
            dim += len(shape) - 1 if shape and getattr(item, "dtype", None) in (bool_, uint8, np.bool_, np.uint8) else 0
            beyond = dim + 1
        elif dim >= rank:  # a slice of a dimension that does not exist
            dim, dropped = dim + 1, dropped + 1
            continue
        dim += 1
        spread.append(item)
    if beyond > rank:
        raise IndexError(f"too many indices for tensor of dimension {rank} (got {beyond})")
    for _ in range(dim - dropped - rank):
        spread = _without_last_slice(spread)
    return spread


def _without_last_slice(items: list[Any]) -> list[Any]:
    last = max(place for place, item in enumerate(items) if item.__class__ is slice)
    return items[:last] + items[last + 1 :]


def place_in_key(key: Any, number: int, count: int) -> int:
    """Return the position in the key of item ``number``, which counts without the ellipsis; ``count`` is the number of all such items.
    torch's messages name this position."""
    before = next((place for place, item in enumerate(key) if item is Ellipsis), count) if isinstance(key, tuple) else count
    return number if number < before else number + len(key) - count


@ways(captured=lambda item: home(item).has_elements)
def is_read(item: TensorBase) -> bool:
    """Return whether the value of a 0-d index tensor can be read; in a capture, only if the tensor has elements."""
    return True


def end_of_slice(value: Any) -> int:
    """Convert an end or the step of a slice to a number. Raise TypeError for a value that is not an index."""
    if value.__class__ is int:
        return value
    if isinstance(value, TensorBase) and not is_read(value):
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        words = "only integer tensors of a single element can be converted to an index"
        raise TypeError(
            words if isinstance(value, TensorBase) else "slice indices must be integers or None or have an __index__ method"
        ) from None

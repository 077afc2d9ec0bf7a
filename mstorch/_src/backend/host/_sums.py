"""Sums along any dimensions, computed in parts: NumPy sums pairwise only along the innermost dimension, and along others loses four digits
over millions of elements.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import Array
from ..bare_numpy import einsum
from ..halves import BFLOAT16, widened
from ..onednn.gemm import gemm
from ..onednn.library import FOUND_HALVES
from ._folds import folded

SERIAL = 1024  # number of sequential additions whose rounding error is accepted
_PART = 256


def sum_along(x: Array, axes: int | tuple[int, ...] | None = None, keepdims: bool = False, dtype: np.dtype[Any] | None = None) -> Any:
    """Sum along dimensions (None: all). Sums along outer dimensions are as accurate as NumPy's along the innermost one."""
    if x.size >= _MANY and x.dtype.char in "fd" and (dtype is None or dtype == x.dtype) and x.strides[-1] == x.itemsize:
        found = _along_rows(x, axes, keepdims) if x.flags.c_contiguous else _along_last_of_window(x, axes, keepdims)
        if found is not None:
            return found
    if x.size >= SERIAL and x.dtype.kind in "fc":
        given = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
        chosen = tuple([axis % x.ndim for axis in given])
        if dtype is None or dtype == x.dtype:
            found = folded(np.add, x, chosen, keepdims)
            if found is not None:
                return found
        outer = _outer(x, set(chosen))
        serial = 1
        for axis in outer:
            serial *= x.shape[axis]
        if serial >= SERIAL:
            return sum_along(_shortened(x, max(outer, key=x.shape.__getitem__), dtype), chosen, keepdims, dtype)
    return np.add.reduce(x, axis=axes, dtype=dtype, keepdims=keepdims)


_MANY = 1 << 12  # from so many elements on, the faster sum saves more than the calls that lead to it
_SHORTEST = 9


def _along_rows(x: Array, axes: int | tuple[int, ...] | None, keepdims: bool) -> Array | None:
    """Return the sums along the first or the last dimensions of a row-major array. Return None for other dimensions, and for short rows.

    ``einsum`` adds a block in a third of the time of ``np.add.reduce``, but each vector lane adds its elements one after another. Blocks
    are short enough that these chains of additions are no longer than those of NumPy's pairwise sums."""
    given = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    chosen = {axis % x.ndim for axis in given}
    lead = x.ndim - len(chosen)
    if chosen and min(chosen) != lead:
        return _along_first(x, len(chosen), keepdims) if max(chosen) == len(chosen) - 1 else None
    length = 1
    for axis in chosen:
        length *= x.shape[axis]
    if length < _SHORTEST:
        return None
    rows = x.reshape(-1, length)
    if length <= 2 * _PART:
        found = einsum("ij->i", rows)
    else:
        whole = length - length % _PART
        found = np.add.reduce(einsum("ijk->ij", rows[:, :whole].reshape(len(rows), -1, _PART)), axis=1)
        if whole != length:
            found += einsum("ij->i", rows[:, whole:])
    return found.reshape(x.shape[:lead] + (1,) * len(chosen) if keepdims else x.shape[:lead])


_SINGLE_ONES, _DOUBLE_ONES = np.ones(SERIAL, np.float32), np.ones(SERIAL)


def _along_first(x: Array, count: int, keepdims: bool) -> Array | None:
    """Return the sums along the first ``count`` dimensions, by a product with ones, which takes a third of the time of ``np.add.reduce``
    and errs less; None if there are too many rows for that."""
    length = math.prod(x.shape[:count])
    if not _SHORTEST <= length <= SERIAL:
        return None
    ones = (_SINGLE_ONES if x.dtype.char == "f" else _DOUBLE_ONES)[:length]
    return ones.dot(x.reshape(length, -1)).reshape((1,) * count + x.shape[count:] if keepdims else x.shape[count:])


def _along_last_of_window(x: Array, axes: int | tuple[int, ...] | None, keepdims: bool) -> Array | None:
    """Return the sums along ``axes`` of a non-contiguous view, by ``einsum`` along the last dimension. Return None unless ``axes`` include
    the last dimension and its length suits ``einsum``."""
    given = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    chosen = {axis % x.ndim for axis in given}
    if x.ndim - 1 not in chosen or not _SHORTEST <= x.shape[-1] <= 2 * _PART:
        return None
    rows = einsum("...i->...", x)
    others = tuple(chosen - {x.ndim - 1})
    found = sum_along(rows, others, keepdims) if others else rows
    return found[..., None] if keepdims else found


def _outer(x: Array, chosen: set[int]) -> set[int]:
    """Return the dimensions along which NumPy sums sequentially: those that are not contiguous with the innermost dimension."""
    step = None
    for axis in sorted((axis for axis in range(x.ndim) if x.shape[axis] > 1), key=lambda axis: abs(x.strides[axis])):
        if axis not in chosen or step is not None and x.strides[axis] != step:
            break
        step = x.strides[axis] * x.shape[axis]
        chosen = chosen - {axis}
    return chosen


def _shortened(x: Array, axis: int, dtype: np.dtype[Any] | None) -> Array:
    """Sum parts of bounded length along one dimension; return the sums of the parts."""
    length = x.shape[axis]
    if length < 2 * _PART:
        return np.add.reduce(x, axis=axis, dtype=dtype, keepdims=True)
    lead = (slice(None),) * axis
    whole = length - length % _PART
    parts = x[(*lead, slice(0, whole))].reshape(*x.shape[:axis], whole // _PART, _PART, *x.shape[axis + 1 :])
    found = np.add.reduce(parts, axis=axis + 1, dtype=dtype)
    if whole == length:
        return found
    return np.concatenate((found, np.add.reduce(x[(*lead, slice(whole, None))], axis=axis, dtype=dtype, keepdims=True)), axis)


_LONGEST = 1 << 12  # number of elements per sum that are added sequentially, per vector lane
_ONES = np.full(_LONGEST, 0x3F80, np.uint16)  # ones in bfloat16


def halves_along(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Return float32 sums of a half-precision array along dimensions; bfloat16 is summed by matrix products with ones."""
    chosen = sorted({axis % x.ndim for axis in axes})
    found = None
    if FOUND_HALVES and x.dtype == BFLOAT16 and x.flags.c_contiguous and x.size > SERIAL:
        found = _products_with_ones(x, list(chosen))
    if found is None:
        return np.asarray(sum_along(widened(x), tuple(chosen), keepdims))
    return found.reshape([1 if axis in chosen else n for axis, n in enumerate(x.shape) if keepdims or axis not in chosen])


def _products_with_ones(x: Array, axes: list[int]) -> Array | None:
    """Return the sums of bfloat16 elements along the first dimensions, the last ones or both, by matrix products with ones. Return None for
    other dimensions, or if rows are too long."""
    inner, last = 1, x.ndim
    while axes and axes[-1] == last - 1:
        last = axes.pop()
        inner *= x.shape[last]
    outer = 1
    for axis, chosen in enumerate(axes):
        if axis != chosen:
            return None
        outer *= x.shape[axis]
    bits = x.view(np.uint16)
    if outer == 1:
        return _sums_of_rows(bits.reshape(-1, inner))
    if inner == 1:
        return _sums_of_columns(bits.reshape(outer, -1))
    found = _sums_of_rows(bits.reshape(-1, inner))
    return None if found is None else np.asarray(sum_along(found.reshape(outer, -1), 0))


def _sums_of_rows(bits: Array) -> Array | None:
    count, length = bits.shape
    parts = 1
    while length > _LONGEST:
        if length % 2:
            return None
        length //= 2
        parts *= 2
    found = np.empty((count * parts, 1), np.float32)
    gemm(bits.reshape(-1, length), _ONES[:length, None], found)
    return found if parts == 1 else np.asarray(np.add.reduce(found.reshape(count, parts), 1))


def _sums_of_columns(bits: Array) -> Array:
    rows, width = bits.shape
    found = np.empty((-(-rows // _LONGEST), width), np.float32)
    for part, start in enumerate(range(0, rows, _LONGEST)):
        own = bits[start : start + _LONGEST]
        gemm(_ONES[None, : len(own)], own, found[part : part + 1])
    return np.asarray(np.add.reduce(found, 0))

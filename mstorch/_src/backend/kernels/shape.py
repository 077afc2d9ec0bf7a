"""Kernels of repeat, flip, roll and masks."""
from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import mint, ops

from ..arrays import Array
from ..raw import Raw, from_numpy
from ..table import BUT_BFLOAT16, VIA_BFLOAT16, define
from ._nodes import recorded
from .index import ops_slice
from .join import ops_cat
from .reduce import constant, of_nothing
from .views import numpy_clone
from .views import ops_reshape as _reshape

_REVERSE: dict[tuple[int, ...], Any] = {}
_tile = ops.Tile()
_select = ops.Select()


def ops_tile(raw: Raw, repeats: tuple[int, ...]) -> Raw:
    """Repeat ``raw``, which has as many dimensions as ``repeats``, along each dimension."""
    if raw.size == 0 or 0 in repeats:
        return of_nothing(raw, tuple(n * r for n, r in zip(raw.shape, repeats)), 0)
    if all(r == 1 for r in repeats):
        return numpy_clone(raw)
    if recorded(raw):
        # Tile's own gradient cannot be differentiated again (MindSpore 2.10).
        pairs = [n for length in raw.shape for n in (1, length)]
        wide = [n for pair in zip(repeats, raw.shape) for n in pair]
        spread = mint.broadcast_to(_reshape(raw, tuple(pairs)), tuple(wide))
        return _reshape(spread, tuple(r * n for r, n in zip(repeats, raw.shape)))
    return _tile(raw, repeats)


def ops_flip(raw: Raw, dims: tuple[int, ...]) -> Raw:
    if raw.size == 0 or not dims or not raw.shape:
        return numpy_clone(raw)
    prim = _REVERSE.get(dims)
    if prim is None:
        prim = _REVERSE[dims] = ops.ReverseV2(list(dims))
    return prim(raw)


def composed_roll(raw: Raw, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Raw:
    """Roll the elements by ``shifts[i]`` along ``dims[i]``."""
    result = raw
    for shift, dim in zip(shifts, dims):
        length = raw.shape[dim] if raw.shape else 1
        start = (length - shift) % length if length else 0
        if start and raw.size:
            result = ops_cat((ops_slice(result, dim, start, length, 1), ops_slice(result, dim, 0, start, 1)), dim)
    return numpy_clone(raw) if result is raw else result


_BANDS: dict[tuple[int, int, int, bool], Array] = {}


def composed_triangle(raw: Raw, diagonal: int, lower: bool) -> Raw:
    """Return the lower or upper triangle of matrices in the last two dimensions, with zeros elsewhere."""
    if raw.size == 0:
        return numpy_clone(raw)
    rows, columns = raw.shape[-2:]
    key = (rows, columns, diagonal, lower)
    keep = _BANDS.get(key)
    if keep is None:
        band = np.arange(columns)[None, :] - np.arange(rows)[:, None]
        keep = band <= diagonal if lower else band >= diagonal
        if keep.size <= 1 << 20 and len(_BANDS) < 64:
            _BANDS[key] = keep
    full = np.broadcast_to(keep, raw.shape)
    return _select(from_numpy(np.ascontiguousarray(full)), raw, constant(raw, tuple(raw.shape), 0))


define("tile", cpu=ops_tile, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("flip", cpu=ops_flip, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("roll", cpu=composed_roll, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("triangle", cpu=composed_triangle, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)

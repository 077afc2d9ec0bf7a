"""Kernels that join tensors and repeat or reverse their elements."""
from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import ops

from ..raw import Raw, from_numpy
from ..table import define
from ..tape import function_node
from ._nodes import recorded
from ..table import BUT_BFLOAT16, VIA_BFLOAT16
from .index import ops_slice
from .reduce import constant, of_nothing
from .storage import numpy_clone

_CONCAT: dict[int, Any] = {}
_STACK: dict[int, Any] = {}
_REVERSE: dict[tuple[int, ...], Any] = {}
_select = ops.Select()
_tile = ops.Tile()
_reshape = ops.Reshape()


def _concat(raws: tuple[Raw, ...], dim: int) -> Raw:
    prim = _CONCAT.get(dim)
    if prim is None:
        prim = _CONCAT[dim] = ops.Concat(dim)
    return prim(raws)


def _join(raws: tuple[Raw, ...], dim: int) -> Raw:
    parts = tuple(raw for raw in raws if raw.size)
    if len(parts) > 1:
        return _concat(parts, dim)
    if parts:
        return numpy_clone(parts[0])
    shape = list(raws[0].shape)
    shape[dim] = sum(raw.shape[dim] for raw in raws)
    return constant(raws[0], tuple(shape), 0)


def _cat_forward(ctx: Any, dim: int, *raws: Raw) -> Raw:
    ctx.dim = dim
    ctx.shapes = [tuple(raw.shape) for raw in raws]
    return _join(raws, dim)


def _cat_backward(ctx: Any, gradient: Raw) -> tuple[Raw | None, ...]:
    parts: list[Raw | None] = [None]
    start = 0
    for shape in ctx.shapes:
        stop = start + shape[ctx.dim]
        empty = 0 in shape
        parts.append(constant(gradient, shape, 0) if empty else ops_slice(gradient, ctx.dim, start, stop, 1))
        start = stop
    return tuple(parts)


_cat_recorded = function_node("Cat", _cat_forward, _cat_backward)


def ops_cat(raws: tuple[Raw, ...], dim: int) -> Raw:
    """Concat for several tensors with elements; the rest is joined around it, so that each gets a gradient."""
    if len(raws) > 1 and all(raw.size for raw in raws):
        return _concat(raws, dim)
    if recorded(*raws):
        return _cat_recorded(dim, *raws)
    return _join(raws, dim)


def ops_stack(raws: tuple[Raw, ...], dim: int) -> Raw:
    if raws[0].size == 0:
        shape = tuple(raws[0].shape)
        return ops_cat(tuple(_reshape(raw, (*shape[:dim], 1, *shape[dim:])) for raw in raws), dim)
    prim = _STACK.get(dim)
    if prim is None:
        prim = _STACK[dim] = ops.Stack(dim)
    return prim(raws)


def ops_tile(raw: Raw, repeats: tuple[int, ...]) -> Raw:
    """``raw`` (with as many dimensions as ``repeats``) repeated along each dimension."""
    if raw.size == 0 or 0 in repeats:
        return of_nothing(raw, tuple(n * r for n, r in zip(raw.shape, repeats)), 0)
    if all(r == 1 for r in repeats):
        return numpy_clone(raw)
    return _tile(raw, repeats)


def ops_flip(raw: Raw, dims: tuple[int, ...]) -> Raw:
    if raw.size == 0 or not dims or not raw.shape:
        return numpy_clone(raw)
    prim = _REVERSE.get(dims)
    if prim is None:
        prim = _REVERSE[dims] = ops.ReverseV2(list(dims))
    return prim(raw)


def composed_roll(raw: Raw, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Raw:
    """The elements moved ``shifts[i]`` places along ``dims[i]``, around the end."""
    result = raw
    for shift, dim in zip(shifts, dims):
        length = raw.shape[dim] if raw.shape else 1
        start = (length - shift) % length if length else 0
        if start and raw.size:
            result = _concat((ops_slice(result, dim, start, length, 1), ops_slice(result, dim, 0, start, 1)), dim)
    return numpy_clone(raw) if result is raw else result


_BANDS: dict[tuple[int, int, int, bool], np.ndarray] = {}


def composed_triangle(raw: Raw, diagonal: int, lower: bool) -> Raw:
    """The lower or upper triangle of matrices in the last two dimensions, zeros elsewhere."""
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


define("cat", cpu=ops_cat, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("stack", cpu=ops_stack, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("tile", cpu=ops_tile, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("flip", cpu=ops_flip, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("roll", cpu=composed_roll, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("triangle", cpu=composed_triangle, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)

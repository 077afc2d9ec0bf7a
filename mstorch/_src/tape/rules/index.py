"""Gradients of indexing and gathering."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.host.index import expanded_rows, index_key, row_places
from ...backend.host.scatter import add_rows, wide
from ...backend.raw import Raw
from ...core.tensor_base import TensorBase
from .. import movement
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ..primitives import Primitive
from ._places import Places


@rule("index")
@v.by_gradient(native=lambda node, g: v.placed_at(g, node.shapes[0], *node.args))
def index(node: Any, g: Operand) -> Any:
    dims, indices = node.args[:2]
    shape = node.shapes[0]
    return Places(index_key(len(shape), dims, indices), shape, v.shape_of(g)).add(g, "IndexBackward0")


_index = Primitive("index")


@rule("index_placed", label="IndexBackward0")
def index_placed(node: Applied, g: TensorBase) -> TensorBase:
    return _index(g, *node.args[1:])


def _take_on_device(node: Applied, g: TensorBase) -> TensorBase:
    positions, shape = node.args[0], node.shapes[0]
    return v.reshape(v.placed_at(g, (math.prod(shape),), (0,), (positions,), tuple(positions.shape), True), shape)


@rule("take")
@v.by_gradient(native=_take_on_device)
def take(node: Any, g: Operand) -> Any:
    shape = node.shapes[0]
    return Places(node.args[0], (math.prod(shape),), v.shape_of(g), outer=shape).add(g, "TakeBackward0")


def _rows(index: Array, count: int, dim: int) -> tuple[Any, Any]:
    """Return two functions of an array: one returns its entries ``index`` along ``dim``, the other adds its entries to zeros at ``index``.
    As in torch, half-precision sums of a 1-d array are rounded after each addition, others once."""
    flat = np.where(index < 0, index + count, index).reshape(-1)

    def taken(array: Array) -> Array:
        return np.take(array, flat, axis=dim)

    def given(array: Array) -> Array:
        rows = np.moveaxis(wide(array) if array.ndim > 1 else array, dim, 0)
        whole = np.zeros((count, *rows.shape[1:]), rows.dtype)
        add_rows(whole, flat, rows)
        return np.asarray(np.moveaxis(whole, 0, dim), array.dtype, order="C")

    return taken, given


@rule("index_select")
@v.by_gradient(native=lambda node, g: v.rows_added(g, node.shapes[0], *node.args))
def index_select(node: Applied, g: Operand) -> Operand:
    dim, index_ = node.args
    taken, given = _rows(np.asarray(index_), node.shapes[0][dim], dim)
    return v.mapped(g, given, taken, "IndexSelectBackward0")


def _gather_on_device(node: Applied, g: Raw) -> Raw:
    (dim, index_), shape = node.args, node.shapes[0]
    if not shape or not index_.shape:
        return v.reshape(v.scattered(v.reshape(g, (-1,)), (1,), 0, movement.reshaped(index_, (-1,))), shape)
    return v.scattered(g, shape, dim, index_)


@rule("gather")
@v.by_gradient(native=_gather_on_device)
def gather(node: Applied, g: Array) -> Operand:
    dim, index_ = node.args
    shape = node.shapes[0]
    if not index_.size:
        own = tuple(index_.shape)
        return v.mapped(g, lambda array: np.zeros(shape, array.dtype), lambda array: np.zeros(own, array.dtype), "GatherBackward0")
    if not shape or not index_.ndim:
        flat = (int(np.prod(shape)),)
        return Places((np.reshape(index_, -1),), flat, v.shape_of(g), True, True, shape).add(g, "GatherBackward0")
    rows = expanded_rows(shape, dim, index_)
    if rows is not None:
        return Places((rows, *[slice(None)] * (len(shape) - 1)), shape, v.shape_of(g), rounded_once=True).add(g, "GatherBackward0")
    flat = (math.prod(shape),)
    return Places(row_places(shape, dim, index_), flat, v.shape_of(g), rounded_once=True, outer=shape).add(g, "GatherBackward0")


_embedding_grad, _embedding = Primitive("embedding_grad"), Primitive("embedding")


@rule("embedding_grad", label="EmbeddingDenseBackwardBackward0")
def embedding_grad(node: Any, g: Any) -> Any:
    index_, _, padding, _ = node.args  # as in torch, not divided by the frequency
    found = _embedding(g, index_, -1, False)
    if padding < 0:
        return found
    outside = v.ne.kernel["int64"](index_, v.constant(padding, index_))
    return v.where(movement.reshaped(outside, (*index_.shape, 1)), found, 0)


@rule("embedding")
@v.by_gradient(native=lambda node, g: _embedding_grad(g, node.args[0], node.shapes[0][0], *node.args[1:]))
def embedding(node: Applied, g: Array) -> Array:
    index_, padding, by_frequency = node.args
    rows, width = node.shapes[0]
    flat = np.asarray(index_).reshape(-1)
    weight = np.ones(flat.shape, np.float64)
    if padding >= 0:
        weight[flat == padding] = 0
    shown = weight.copy()
    if by_frequency:
        weight /= np.bincount(flat, minlength=rows)[flat] if flat.size else 1

    def taken(array: Array) -> Array:
        found = np.take(array, flat, axis=0)  # as in torch, not divided by the frequency
        return (found * shown[:, None].astype(array.dtype)).reshape(*index_.shape, width)

    def given(array: Array) -> Array:
        whole = np.zeros((rows, width), array.dtype)
        part = array.reshape(flat.size, width)
        if by_frequency:
            part = part * weight[:, None].astype(array.dtype)
        kept = flat != padding  # values at the padding may be NaN, so that multiplying by 0 is not enough
        add_rows(whole, flat if kept.all() else flat[kept], part if kept.all() else part[kept])
        return whole

    return v.mapped(g, given, taken, "EmbeddingDenseBackward0")

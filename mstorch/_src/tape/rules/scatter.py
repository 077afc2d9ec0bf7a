"""Gradients of scatter and its reductions."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.cast import cast
from ...backend.host.index import expanded_rows
from ...core.tensor_base import TensorBase
from .. import movement
from .. import vocabulary as v
from ..apply import Applied, rule
from ..composite import refuse
from ..operands import Operand
from ..primitives import Primitive
from ._places import Places


def _along(shape: tuple[int, ...], dim: int, index: Array, own: tuple[int, ...]) -> Places:
    """Return the places that a scatter with an index along a dimension writes to."""
    wide = index if index.ndim else index.reshape(1)
    rank, rows = wide.ndim, expanded_rows(shape, dim, wide)
    if rows is not None:
        return Places((rows, *[slice(None)] * (rank - 1)), shape, own)
    key = [np.arange(n).reshape([-1 if axis == d else 1 for axis in range(rank)]) for d, n in enumerate(wide.shape)]
    key[dim] = wide
    return Places(tuple(key), shape, own)


_scatter, _gather = Primitive("scatter"), Primitive("gather")
_index_write, _index_select, _put, _take = Primitive("index_write"), Primitive("index_select"), Primitive("put"), Primitive("take")


def _scatter_on_device(node: Any, g: Any) -> Any:
    """Return the gradients of the tensor that was scattered into (0 where overwritten) and of the source."""
    (dim, index, how), own = node.args, node.shapes[1]
    single = not own or not node.shapes[0]
    if single:
        index, g = movement.reshaped(index, (-1,)), v.reshape(g, (-1,))
    size = tuple(index.shape)
    rest = part = None
    if node.edges[0] is not None:
        rest = g if how == "add" else _scatter(g, v.zeros_beside(size, g), dim, index, "none")
    if node.edges[1] is not None:
        part = _gather(g, dim, index)
    if not single:
        return rest, part
    return None if rest is None else v.reshape(rest, node.shapes[0]), None if part is None else v.reshape(part, own)


@rule("scatter", label="ScatterBackward0")
@v.by_gradient(native=_scatter_on_device)
def scatter(node: Any, g: Any) -> tuple[Operand | None, ...]:
    dim, index, how = node.args
    return _along(node.shapes[0], dim, index, node.shapes[1]).gradients(node, g, how == "add")


def _put_on_device(node: Any, g: Any) -> Any:
    index, accumulate = node.args
    kept = g if accumulate else _put(g, v.zeros_beside(node.shapes[1], g), index, False)
    return None if node.edges[0] is None else kept, None if node.edges[1] is None else v.reshape(_take(g, index), node.shapes[1])


@rule("put")
@v.by_gradient(native=_put_on_device)
def put(node: Applied, g: Operand) -> tuple[Operand | None, ...]:
    index, accumulate = node.args
    shape = node.shapes[0]
    flat = (int(np.prod(shape)),)
    places = Places((index.reshape(-1),), flat, node.shapes[1], True)
    first, second = places.gradients(node, v.reshape(g, flat), accumulate)
    return None if first is None else v.reshape(first, shape), second


def _index_write_on_device(node: Any, g: Any) -> Any:
    dim, index, accumulate = node.args
    shape, own = node.shapes
    kept = g if accumulate else _index_write(g, v.zeros_beside(own, g), dim, index, False)
    part = None if node.edges[1] is None else v.reshape(_index_select(v.reshape(g, shape or (1,)), dim, index), own)
    return None if node.edges[0] is None else kept, part


@rule("index_write", label="IndexAddBackward0")
@v.by_gradient(native=_index_write_on_device)
def index_write(node: Applied, g: Array) -> tuple[Operand | None, ...]:
    dim, index, accumulate = node.args
    shape, own = node.shapes
    return Places((slice(None),) * dim + (index,), shape, own).gradients(node, g, accumulate)


_reduced = Primitive("scatter_reduce")


def _as_number(condition: Any, like: Any) -> Any:
    """Return 1 where a device's condition is True and 0 elsewhere, as a constant on the device of ``like``."""
    return v.like(cast(condition, v.dtype_name(like)), like)


def _reduced_on_device(node: Any, g: Any) -> Any:
    (dim, index, how, include_self), (shape, own) = node.args, node.shapes
    if 0 in index.shape or how == "prod" and isinstance(g, TensorBase):  # second derivatives look for several zeros
        return None
    if not shape or not own:
        index, shape, own, g = movement.reshaped(index, (-1,)), (1,), (1,), v.reshape(g, (1,))

    def add(values: Any) -> Any:
        return _scatter(v.zeros_beside(shape, values), values, dim, index, "add")

    def without(values: Any) -> Any:
        return _scatter(values, v.zeros_beside(own, values), dim, index, "none")

    if how in ("amax", "amin"):
        x, source, result = (movement.reshaped(v.bare_condition(node.kept(g, i)), size) for i, size in enumerate((shape, own, shape)))
        mine, theirs = _as_number(v.eq(x, result), g), _as_number(v.eq(source, _gather(result, dim, index)), g)
        share = v.div(g, v.add(mine, add(theirs)))  # NaN for a NaN, which equals nothing
        by_x, by_source = v.mul(mine, share), v.mul(theirs, _gather(share, dim, index))
    elif how == "prod":
        x, source, result = (movement.reshaped(v.bare_condition(node.kept(g, i)), size) for i, size in enumerate((shape, own, shape)))
        nonzero, zero = v.where(v.is_zero(x), 1, x), v.is_zero(source)
        by_x = v.div(v.mul(g, _reduced(nonzero, source, dim, index, how, include_self)), nonzero)
        single = v.both(zero, v.compared(v.eq, _gather(add(_as_number(zero, g)), dim, index), 1))
        others = _reduced(x, v.where(single, 1, source), dim, index, how, include_self)
        divided = v.div(_gather(v.mul(g, result), dim, index), v.where(zero, 1, source))
        by_source = v.where(single, _gather(v.mul(g, others), dim, index), divided)
    else:
        by_x = g
        if how == "mean":
            ones = v.plus(v.zeros_beside(shape, g), 1)
            by_x = v.div(g, v.add(ones if include_self else without(ones), add(v.plus(v.zeros_beside(own, g), 1))))
        by_source = _gather(by_x, dim, index)
    by_x = by_x if include_self else without(by_x)
    return v.reshape(by_x, node.shapes[0]), v.reshape(by_source, node.shapes[1])


@rule("scatter_reduce", keep=(0, 1, "result"))
@v.by_gradient(raw=_reduced_on_device, device=_reduced_on_device)
def scatter_reduce(node: Applied, g: Operand) -> tuple[Operand, Operand]:
    dim, index, how, include_self = node.args
    places = _along(node.shapes[0], dim, v.host_array(index), node.shapes[1])
    x, source, result = node.kept(g, 0), node.kept(g, 1), node.kept(g, 2)
    if how == "prod":
        by_x, by_source = _of_product(node, g, places, x, source, result)
    elif how in ("amax", "amin"):
        mine, theirs = v.like(_equal(x, result), g), v.like(_equal(source, places.take(result)), g)
        ties = v.add(mine, places.add(theirs))
        share = v.div(g, ties)  # NaN for a NaN, which equals nothing
        by_x, by_source = v.mul(mine, share), v.mul(theirs, places.take(share))
    else:
        by_x = g if how == "sum" else v.div(g, v.like(_counts(node, places, include_self), g))
        by_source = places.take(by_x)
    return by_x if include_self else places.without(by_x), by_source


def _equal(first: Operand, second: Operand) -> Array:
    array = v.host_array(first)
    return np.asarray(array == v.host_array(second)).astype(array.dtype)


def _counts(node: Applied, places: Places, include_self: bool) -> Array:
    """Return, for each position of the result, the number of elements that its mean was taken of, at least 1."""
    ones = np.ones(node.shapes[0], node.kind.np)
    rest = v.bare_condition(ones if include_self else places.without(ones))
    return np.asarray(np.maximum(rest + places.add(np.ones(node.shapes[1], node.kind.np)), ones))


def _of_product(
    node: Applied, g: Operand, places: Places, x: Operand, source: Operand, result: Operand,
) -> tuple[Any, Any]:
    """Return torch's gradients of ``scatter_reduce`` with "prod", for the array and the source: ``g`` times the product divided by the
    element. An element that is the only zero gets ``g`` times the product of the others."""
    nonzero = v.where(v.is_zero(x), 1, x)
    by_x = v.div(v.mul(g, _reduced(nonzero, source, *node.args)), nonzero)
    zero = v.host_array(v.is_zero(source))  # waits for the device
    zeros = v.host_array(places.take(places.add(zero.astype(node.kind.np))))
    single = zero & (zeros == 1)
    others = _reduced(x, v.where(single, 1, source), *node.args)
    divided = v.div(places.take(v.mul(g, result)), v.where(zero, 1, source))
    by_source = v.where(single, places.take(v.mul(g, others)), divided)
    if isinstance(g, TensorBase) and (zero & (zeros > 1)).any():
        refuse("Error", "scatter_reduce", by_source, by_source, RuntimeError(
            "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are scattered to the same position in self"
        ))  # fmt: skip
    return by_x, by_source

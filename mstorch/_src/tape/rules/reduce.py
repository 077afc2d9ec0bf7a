"""Gradients of sums."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.cast import cast
from ...backend.device_memory import dense
from ...backend.geometry import inverse_order
from ...backend.raw import Raw
from ...core.tensor_base import TensorBase
from .. import movement
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ..primitives import Primitive


def restored(node: Applied, g: Operand, dims: tuple[int, ...], keepdim: bool) -> Operand:
    """Return the gradient with the reduced dimensions restored as length 1."""
    own = node.shapes[0]
    if keepdim or not dims or not own:
        return g
    return v.reshape(g, tuple(1 if d in dims else n for d, n in enumerate(own)))


@rule("sum", label="SumBackward1")
def sum(node: Applied, g: Operand) -> Any:
    dims, keepdim = node.args
    if not node.shapes[0]:
        return v.alias(g)
    if type(node).label == "SumBackward0" and not v.shape_of(g):
        return v.spread(g, node.shapes[0])  # expanded in one step, so that a single element has stride 0 too, as in torch
    return v.spread(restored(node, g, dims, keepdim), node.shapes[0])


@rule("mean", label="MeanBackward1")
def mean(node: Applied, g: Operand) -> Operand:
    dims, keepdim = node.args
    count = 1
    for dim in dims if node.shapes[0] else ():
        count *= node.shapes[0][dim]
    # Divided after the expansion: torch's gradient of a mean owns its memory, that of a sum stays expanded.
    return v.div(v.spread(restored(node, g, dims, keepdim), node.shapes[0]), v.constant(count, g))


def _shared_on_device(node: Any, g: Any) -> Any:
    dims, keepdim = node.args
    dims = dims if node.shapes[0] else ()
    shape, of_all = node.shapes[0], type(node).label in ("MaxBackward1", "MinBackward1")
    if not dims and (shape or of_all):
        return g
    x = v.bare_condition(node.kept(g, 0))
    y = v.reshape(v.bare_condition(node.kept(g, 1)), tuple(1 if d in dims else n for d, n in enumerate(shape)))
    chosen = v.eq(x, y)
    if of_all:
        chosen = v.either(chosen, v.both(v.ne(x, x), v.ne(y, y)))
    count = v.like(v.total(cast(chosen, node.kind.name), dims), g)
    share = v.div(restored(node, g, dims, keepdim), count)
    return v.where(chosen, v.spread(share, shape), 0) if of_all else v.mul(v.spread(share, shape), v.like(cast(chosen, node.kind.name), g))


def _extreme(op: str) -> None:
    @rule(op, keep=(0, "result"))
    @v.by_gradient(native=_shared_on_device)
    def shared(node: Applied, g: Operand) -> Operand:
        dims, keepdim = node.args
        x, y = v.host_array(node.kept(g, 0)), v.host_array(node.kept(g, 1))
        dims = dims if x.ndim else ()
        if not dims and (x.ndim or type(node).label in ("MaxBackward1", "MinBackward1")):
            return g
        whole = y.reshape([1 if d in dims else n for d, n in enumerate(x.shape)])
        chosen = np.asarray(x == whole)
        g = restored(node, g, dims, keepdim)
        if type(node).label in ("MaxBackward1", "MinBackward1"):  # NaN equals NaN; the gradient is 0 if no element equals the extremum
            chosen |= np.isnan(x) & np.isnan(whole)
            share = v.div(g, v.like(chosen.sum(dims, keepdims=True).astype(x.dtype), g))
            return v.where(chosen, v.spread(share, x.shape), 0)
        count = np.asarray(chosen.sum(dims, keepdims=True), x.dtype)  # 0 if no element equals the extremum: amax and amin divide by it
        return v.div(v.mul(v.spread(g, x.shape), v.like(chosen.astype(x.dtype), g)), v.like(count, g))


_extreme("amax")
_extreme("amin")

_cumprod = Primitive("cumprod")


def _shifted_by_one(value: Operand) -> Operand:
    """Shift the elements by one along the last dimension; the first becomes 1."""
    return v.pad(value, (1, -1), 1)


def _turned(value: Operand) -> Operand:
    return v.flip(value, (len(v.shape_of(value)) - 1,))


def _products_without(x: Operand) -> Operand:
    """Return for each element the product of the others along the last dimension, exact if some are zero."""
    last = len(v.shape_of(x)) - 1
    before = _shifted_by_one(_cumprod(x, last))
    behind = _turned(_shifted_by_one(_cumprod(_turned(x), last)))
    return v.mul(before, behind)


@rule("prod", keep=(0, "result"), label="ProdBackward0")
def prod(node: Applied, g: Operand) -> Any:
    dims, keepdim = node.args
    shape = node.shapes[0]
    if not shape or not dims:
        return g
    x, g = node.kept(g, 0), restored(node, g, dims, keepdim)
    if not v.has_zero(x):
        result = v.reshape(node.kept(g, 1), tuple(1 if d in dims else n for d, n in enumerate(shape)))
        return v.mul(g, v.conj(v.div(result, x)))
    whole = type(node).label == "ProdBackward0" and len(dims) == len(shape)  # under vmap, one node stands for the products of all slices
    if whole and not isinstance(g, TensorBase) and np.count_nonzero(v.host_array(v.is_zero(x))) > 1:
        return v.nothing(g, shape)  # with two zeros, each product of the others has a zero
    rest = tuple(d for d in range(len(shape)) if d not in dims)
    order = (*rest, *dims)
    flat = v.reshape(_reordered(x, order), (*(shape[d] for d in rest), -1))
    others = _reordered(v.reshape(_products_without(flat), tuple(shape[d] for d in order)), inverse_order(order))
    return v.mul(g, v.conj(others))


@v.ways(raw=lambda x, order: dense(v.permute(x, order)))
def _reordered(x: Operand, order: Sequence[int]) -> Operand:
    """Return a row-major copy with permuted dimensions, through which gradients are row-major too."""
    inverse = inverse_order(order)

    def given(array: Array) -> Array:
        return np.ascontiguousarray(array.transpose(order))

    def taken(array: Array) -> Array:
        return np.ascontiguousarray(array.transpose(inverse))

    def laid(order: Sequence[int]) -> Callable[[Raw], Raw]:
        return lambda raw: dense(movement.permuted(raw, order))

    return v.mapped(x, given, taken, "PermuteBackward0", laid(order), laid(inverse))

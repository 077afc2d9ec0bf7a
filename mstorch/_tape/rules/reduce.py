"""Gradients of sums."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._backend.raw import Raw
from .. import vocabulary as v
from ..apply import rule
from ..primitives import Primitive


def restored(node: Any, g: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The gradient with the reduced dimensions back, of length 1."""
    own = node.shapes[0]
    if keepdim or not dims or not own:
        return g
    return v.reshape(g, tuple(1 if d in dims else n for d, n in enumerate(own)))


@rule("sum", label="SumBackward1")
def sum(node: Any, g: Any) -> Any:
    dims, keepdim = node.args
    if not node.shapes[0]:
        return v.alias(g)
    if type(node).label == "SumBackward0" and not v.shape_of(g):
        return v.spread(g, node.shapes[0])  # all at once: a single element has a stride of zero, too, as in torch
    return v.spread(restored(node, g, dims, keepdim), node.shapes[0])


@rule("mean", label="MeanBackward1")
def mean(node: Any, g: Any) -> Any:
    dims, keepdim = node.args
    count = 1
    for dim in dims if node.shapes[0] else ():
        count *= node.shapes[0][dim]
    # Divided after it is spread: torch's gradient of a mean has memory of its own, that of a sum stays expanded.
    return v.div(v.spread(restored(node, g, dims, keepdim), node.shapes[0]), v.constant(count, g))


def _extreme(op: str) -> None:
    @rule(op, keep=(0, "result"))
    def shared(node: Any, g: Any) -> Any:
        dims, keepdim = node.args
        x, y = v.host_array(node.kept(g, 0)), v.host_array(node.kept(g, 1))
        dims = dims if x.ndim else ()
        if not dims and (x.ndim or type(node).label in ("MaxBackward1", "MinBackward1")):
            return g
        whole = y.reshape([1 if d in dims else n for d, n in enumerate(x.shape)])
        chosen = np.asarray(x == whole)
        g = restored(node, g, dims, keepdim)
        if type(node).label in ("MaxBackward1", "MinBackward1"):  # which pass NaN on, and give zeros where nothing is the largest any more
            chosen |= np.isnan(x) & np.isnan(whole)
            share = v.div(g, v.like(chosen.sum(dims, keepdims=True).astype(x.dtype), g))
            return v.where(chosen, v.spread(share, x.shape), 0)
        count = np.asarray(chosen.sum(dims, keepdims=True), x.dtype)  # amax and amin divide by no elements
        return v.div(v.mul(v.spread(g, x.shape), v.like(chosen.astype(x.dtype), g)), v.like(count, g))


_extreme("amax")
_extreme("amin")

_cumprod = Primitive("cumprod")


def _moved(value: Any) -> Any:
    """One place on along the last dimension, a one in front."""
    first = v.like(np.asarray(np.eye(1, value.shape[-1], dtype=v.host_array(value).dtype)[0]), value)

    def on(array: np.ndarray) -> np.ndarray:
        found = np.zeros_like(array)
        found[..., 1:] = array[..., :-1]
        return found

    def off(array: np.ndarray) -> np.ndarray:
        found = np.zeros_like(array)
        found[..., :-1] = array[..., 1:]
        return found

    return v.add(v.mapped(value, on, off, "SliceBackward0"), first)


def _turned(value: Any) -> Any:
    return v.mapped(value, lambda array: array[..., ::-1], lambda array: array[..., ::-1], "FlipBackward0")


def _products_without(x: Any) -> Any:
    """For each element the product of the others along the last dimension, exact where some are zero."""
    last = len(v.shape_of(x)) - 1
    before = _moved(_cumprod(x, last))
    behind = _turned(_moved(_cumprod(_turned(x), last)))
    return v.mul(before, behind)


@rule("prod", keep=(0, "result"), label="ProdBackward0")
def prod(node: Any, g: Any) -> Any:
    dims, keepdim = node.args
    shape = node.shapes[0]
    if not shape or not dims:
        return g
    x, g = node.kept(g, 0), restored(node, g, dims, keepdim)
    if not v.is_zero(x).any():
        result = v.reshape(node.kept(g, 1), tuple(1 if d in dims else n for d, n in enumerate(shape)))
        return v.mul(g, v.conj(v.div(result, x)))
    if type(node).label == "ProdBackward0" and g.__class__ is np.ndarray and np.count_nonzero(v.is_zero(x)) > 1:
        return np.zeros(shape, g.dtype)  # whatever the others are
    rest = tuple(d for d in range(len(shape)) if d not in dims)
    order = (*rest, *dims)
    flat = v.reshape(_reordered(x, order), (*(shape[d] for d in rest), -1))
    others = _reordered(v.reshape(_products_without(flat), tuple(shape[d] for d in order)), [int(i) for i in np.argsort(order)])
    return v.mul(g, v.conj(others))


def _reordered(x: Any, order: Sequence[int]) -> Any:
    """The dimensions in another order, in memory of its own: gradients through it are row-major."""
    if isinstance(x, Raw):
        return v.permute(x, order)
    inverse = [int(i) for i in np.argsort(order)]

    def given(array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(array.transpose(order))

    def taken(array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(array.transpose(inverse))

    return v.mapped(x, given, taken, "PermuteBackward0")

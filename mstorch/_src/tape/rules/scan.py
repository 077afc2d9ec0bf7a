"""Gradients of cumulative sums and products."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.raw import from_numpy, to_numpy
from ...backend.table import kernel
from ...core.dtype import finfo
from ...core.tensor_base import TensorBase
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ..primitives import Primitive, dtype_name

_cumsum, _cumprod = kernel("cumsum"), Primitive("cumprod")
_sums = Primitive("cumsum")


@v.ways(native=lambda value, dim: v.flip(_sums(v.flip(value, (dim,)), dim), (dim,)))
def _from_behind(value: Operand, dim: int) -> Operand:
    """Return the cumulative sum in reverse."""
    sums = _cumsum.host[dtype_name(value)]

    def behind(array: Array) -> Array:
        return np.flip(sums(np.flip(array, dim), dim), dim)

    return v.mapped(value, behind, lambda array: sums(array, dim), "CumsumBackward0")


@rule("cumsum")
def cumsum(node: Applied, g: Operand) -> Operand:
    shape, dim = node.shapes[0], node.args[0]
    return g if not shape or shape[dim] == 1 or math.prod(shape) < 2 else _from_behind(g, dim)


@rule("running_sum", label="CumsumBackward0")
def running_sum(node: Any, g: Any) -> Any:
    return _from_behind(g, node.args[0])


_logcumsumexp = Primitive("logcumsumexp")


@rule("logcumsumexp", keep=(0, "result"))
def logcumsumexp(node: Applied, g: Operand) -> Operand:
    """Return the gradient of logcumsumexp for real numbers, from logarithms of the gradient's positive and negative part, as in torch; NaN
    at -inf.
    """
    (dim,) = node.args
    x, y = node.kept(g, 0), node.kept(g, 1)
    if not node.shapes[0]:
        return g
    lowest = float(finfo(node.kind).min)
    size = v.log(v.abs_(g))

    def flipped(value: Operand) -> Operand:
        return v.flip(value, (dim,))

    def share(where: Array) -> Operand:
        behind = flipped(_logcumsumexp(flipped(v.sub(v.where(where, size, lowest), y)), dim))
        return v.exp(v.add(behind, x))

    return v.sub(share(v.above(g, 0)), share(v.less_than(g, 0)))


def _part(value: TensorBase, dim: int, start: int, stop: int) -> Any:
    return v.part_of(value, (slice(None),) * dim + (slice(start, stop),))


@rule("cumprod", keep=(0, "result"))
def cumprod(node: Applied, g: Operand) -> Operand:
    (dim,) = node.args
    x, y = node.kept(g, 0), node.kept(g, 1)
    if not any(length > 1 for length in node.shapes[0]):
        return g
    if not v.has_zero(x):
        return v.div(_from_behind(v.mul(g, v.conj(y)), dim), v.conj(x))
    return _without_division(g, x, y, dim, node)


def _around_zeros_of_raws(g: Any, x: Any, y: Any, dim: int, node: Any) -> Any:  # the values were already read
    return from_numpy(np.ascontiguousarray(_around_zeros(to_numpy(g), to_numpy(x), to_numpy(y), dim)))


@v.ways(array=lambda g, x, y, dim, node: _around_zeros(g, x, y, dim), raw=_around_zeros_of_raws)
def _without_division(g: TensorBase, x: TensorBase, y: TensorBase, dim: int, node: Applied) -> Any:
    # Each element is a factor of its own product and of the later ones: multiply those without it.
    found = None
    count = node.shapes[0][dim]
    for place in range(count):
        behind = v.like(np.ones(tuple(1 if d == dim else n for d, n in enumerate(node.shapes[0])), node.kind.np), x)
        if place:
            behind = _part(y, dim, place - 1, place)
        rest = v.mul(behind, _part(g, dim, place, place + 1)) if place + 1 == count else _with_rest(g, x, behind, dim, place, count)
        whole = v.placed_in(rest, (slice(None),) * dim + (slice(place, place + 1),), node.shapes[0])
        found = whole if found is None else v.add(found, whole)
    return found


def _around_zeros(g: Array, x: Array, y: Array, dim: int) -> Array:
    """Return the gradient of cumprod for inputs with zeros along ``dim``: by division before the first zero, by products of the other
    elements at the first zero, 0 after it."""
    zero = v.is_zero(x)
    count = np.cumsum(zero, dim)
    before, first = count == 0, zero & (count == 1)
    divided = v.div(_from_behind(v.where(before, v.mul(g, v.conj(y)), 0), dim), v.conj(x))
    run = _cumprod(v.where((count == 1) & ~zero, v.conj(x), 1), dim)
    reached = v.total(v.mul(run, v.where(count == 1, g, 0)), (dim,))
    place = first.argmax(dim, keepdims=True)
    behind = np.take_along_axis(v.conj(y), np.maximum(place - 1, 0), dim)
    alone = v.mul(reached, v.where(place == 0, 1, behind))
    return v.where(before, divided, v.where(first, alone, np.zeros_like(g)))


def _with_rest(g: TensorBase, x: TensorBase, behind: TensorBase, dim: int, place: int, count: int) -> TensorBase:
    later = _cumprod(v.conj(_part(x, dim, place + 1, count)), dim)
    own = _part(g, dim, place, place + 1)
    return v.mul(v.conj(behind), v.add(own, v.total(v.mul(_part(g, dim, place + 1, count), later), (dim,))))

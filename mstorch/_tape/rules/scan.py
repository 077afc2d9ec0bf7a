"""Gradients of running sums and products."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend.table import kernel
from .. import vocabulary as v
from ..apply import rule
from ..primitives import Primitive, dtype_name

_cumsum, _cumprod = kernel("cumsum"), Primitive("cumprod")


def _from_behind(value: Any, dim: int) -> Any:
    """Running sums that begin at the end."""
    sums = _cumsum.host[dtype_name(value)]

    def behind(array: np.ndarray) -> np.ndarray:
        return np.flip(sums(np.flip(array, dim), dim), dim)

    return v.mapped(value, behind, lambda array: sums(array, dim), "CumsumBackward0")


@rule("cumsum")
def cumsum(node: Any, g: Any) -> Any:
    return _from_behind(g, node.args[0]) if node.shapes[0] else g


@rule("running_sum", label="CumsumBackward0")
def running_sum(node: Any, g: Any) -> Any:
    return _from_behind(g, node.args[0])


def _part(value: Any, dim: int, start: int, stop: int) -> Any:
    return v.part_of(value, (slice(None),) * dim + (slice(start, stop),))


@rule("cumprod", keep=(0, "result"))
def cumprod(node: Any, g: Any) -> Any:
    (dim,) = node.args
    if not node.shapes[0]:
        return g
    x, y = node.kept(g, 0), node.kept(g, 1)
    if not v.is_zero(x).any():
        return v.div(_from_behind(v.mul(g, v.conj(y)), dim), v.conj(x))
    # Each element is a factor of its own product and of those behind it: what they are without it.
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


def _with_rest(g: Any, x: Any, behind: Any, dim: int, place: int, count: int) -> Any:
    later = _cumprod(v.conj(_part(x, dim, place + 1, count)), dim)
    own = _part(g, dim, place, place + 1)
    return v.mul(v.conj(behind), v.add(own, v.total(v.mul(_part(g, dim, place + 1, count), later), (dim,))))

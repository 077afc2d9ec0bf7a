"""Gradients of sums."""
from __future__ import annotations

from typing import Any

from .. import vocabulary as v
from ..apply import rule


def restored(node: Any, g: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The gradient with the reduced dimensions back, of length 1."""
    own = node.shapes[0]
    if keepdim or not dims or not own:
        return g
    return v.reshape(g, tuple(1 if d in dims else n for d, n in enumerate(own)))


@rule("sum", label="SumBackward1")
def sum(node: Any, g: Any) -> Any:
    dims, keepdim = node.args
    return v.spread(restored(node, g, dims, keepdim), node.shapes[0])


@rule("mean", label="MeanBackward1")
def mean(node: Any, g: Any) -> Any:
    dims, keepdim = node.args
    count = 1
    for dim in dims if node.shapes[0] else ():
        count *= node.shapes[0][dim]
    return v.spread(v.div(restored(node, g, dims, keepdim), v.constant(count, g)), node.shapes[0])

"""Gradients of matrix products."""
from __future__ import annotations

from typing import Any

from .. import vocabulary as v
from ..apply import rule


def _product(op: str, multiply: Any) -> None:
    @rule(op, keep=(0, 1), crosswise=(0, 1))
    def by_factors(node: Any, g: Any) -> Any:
        first, second = node.edges
        return (
            None if first is None else multiply(g, v.conj(v.transpose(node.kept(g, 1)))),
            None if second is None else multiply(v.conj(v.transpose(node.kept(g, 0))), g),
        )


_product("mm", v.mm)
_product("bmm", v.bmm)


def _linear(node: Any, g: Any, place: int = 0) -> tuple[Any, Any]:
    first, second = node.edges[place : place + 2]
    flat = v.reshape(g, (-1, g.shape[-1])) if len(g.shape) != 2 else g
    by_input = by_weight = None
    if first is not None:
        by_input = v.reshape(v.mm(flat, v.conj(node.kept(g, 1))), node.shapes[place])
    if second is not None:
        x = node.kept(g, 0)
        rows = v.reshape(x, (-1, x.shape[-1])) if len(x.shape) != 2 else x
        by_weight = v.mm(v.transpose(flat), v.conj(rows))
    return by_input, by_weight


@rule("linear", keep=(0, 1), label="MmBackward0")
def linear(node: Any, g: Any) -> Any:
    return _linear(node, g)


@rule("linear_bias", keep=(1, 2), label="AddmmBackward0")
def linear_bias(node: Any, g: Any) -> Any:
    return (None if node.edges[0] is None else v.fit(g, node.shapes[0]), *_linear(node, g, 1))

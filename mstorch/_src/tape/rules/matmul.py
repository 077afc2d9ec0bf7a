"""Gradients of matrix products."""
from __future__ import annotations

from typing import Any

from ...backend.arrays import Array
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand


@rule("mm", keep=(0, 1), crosswise=(0, 1))
def mm(node: Applied, g: Operand) -> tuple[Any, Operand | None]:
    first, second = node.edges
    return v.two_products(
        None if first is None else (g, v.conj(v.transpose(node.kept(g, 1)))),
        None if second is None else (v.conj(v.transpose(node.kept(g, 0))), g),
    )


@rule("bmm", keep=(0, 1), crosswise=(0, 1))
def bmm(node: Applied, g: Operand) -> tuple[Any, Operand | None]:
    first, second = node.edges
    return (
        None if first is None else v.bmm(g, v.conj(v.transpose(node.kept(g, 1)))),
        None if second is None else v.bmm(v.conj(v.transpose(node.kept(g, 0))), g),
    )


def _linear(node: Applied, g: Operand, place: int = 0) -> tuple[Any, Any]:
    first, second = node.edges[place : place + 2]
    shape = node.shapes[place]
    flat = g if len(shape) == 2 else v.reshape(g, (-1, node.shapes[place + 1][0]))
    by_input, by_weight = v.two_products(
        None if first is None else (flat, v.conj(node.kept(g, 1))),
        None if second is None else (v.transpose(flat), v.conj(_rows(node.kept(g, 0), shape))),
    )
    return None if first is None else v.reshape(by_input, shape), by_weight


def _rows(x: Array, shape: tuple[int, ...]) -> Operand:
    return x if len(shape) == 2 else v.reshape(x, (-1, shape[-1]))


@rule("linear", keep=(0, 1), windows=(1,), label="MmBackward0")
def linear(node: Applied, g: Operand) -> tuple[Any, ...]:
    return _linear(node, g)


@rule("linear_bias", keep=(1, 2), windows=(2,), label="AddmmBackward0")
def linear_bias(node: Applied, g: Array) -> tuple[Any, ...]:
    return (None if node.edges[0] is None else v.fit(g, node.shapes[0]), *_linear(node, g, 1))

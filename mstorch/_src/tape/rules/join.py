"""Gradients of concatenation and stacking."""
from __future__ import annotations

from typing import Any

from ...backend.arrays import Array
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand


@rule("cat")
def cat(node: Applied, g: Operand) -> Any:
    (axis,) = node.args
    start, found = 0, []
    for edge, own in zip(node.edges, node.shapes):
        stop = start + own[axis]
        key = (slice(None),) * axis + (slice(start, stop),)
        found.append(None if edge is None else v.part_of(g, key, "CatBackward0"))
        start = stop
    return tuple(found)


@rule("stack")
def stack(node: Applied, g: Array) -> tuple[Operand | None, ...]:
    (axis,) = node.args
    found: list[Any] = []
    for number, edge in enumerate(node.edges):
        found.append(None if edge is None else v.part_of(g, (slice(None),) * axis + (number,), "StackBackward0"))
    return tuple(found)

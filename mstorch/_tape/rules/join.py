"""Gradients of joining."""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import vocabulary as v
from ..apply import rule


def _parts(shape: tuple[int, ...], key: Any) -> tuple[Any, Any]:
    def part(array: np.ndarray) -> np.ndarray:
        return array[key]

    def placed(array: np.ndarray) -> np.ndarray:
        whole = np.zeros(shape, array.dtype)
        whole[key] = array
        return whole

    return part, placed


@rule("cat")
def cat(node: Any, g: Any) -> Any:
    (axis,) = node.args
    shape, start, found = tuple(g.shape), 0, []
    for edge, own in zip(node.edges, node.shapes):
        stop = start + own[axis]
        part, placed = _parts(shape, (slice(None),) * axis + (slice(start, stop),))
        found.append(None if edge is None else v.mapped(g, part, placed, "CatBackward0"))
        start = stop
    return tuple(found)


@rule("stack")
def stack(node: Any, g: Any) -> Any:
    (axis,) = node.args
    shape, found = tuple(g.shape), []
    for number, edge in enumerate(node.edges):
        part, placed = _parts(shape, (slice(None),) * axis + (number,))
        found.append(None if edge is None else v.mapped(g, part, placed, "StackBackward0"))
    return tuple(found)

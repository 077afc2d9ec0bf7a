"""Gradients of padding: linear maps and their transposes."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.host.padding import numpy_pad_like
from ...backend.table import serves
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ._places import Places


@rule("pad", label="ConstantPadNdBackward0")
def pad(node: Applied, g: Operand) -> Operand:
    return v.pad(g, tuple(-n for n in node.args[0]), 0)


def _pad_gradient_along(g: Any, axis: int, length: int, before: int, after: int, mode: str) -> Any:
    """Return the gradient of padding along one axis: the gradient of the input's elements, to which that of the padding is added at the
    elements from which it was copied."""
    if not (before or after):
        return g
    lead = (slice(None),) * axis
    first, last = max(-before, 0), length - max(-after, 0)  # the part of the axis that is kept
    before, after = max(before, 0), max(after, 0)
    shape = v.shape_of(g)
    shape = (*shape[:axis], length, *shape[axis + 1 :])

    def put(edge: Any, start: int, stop: int) -> Any:
        return v.placed_in(edge, (*lead, slice(start, stop)), shape)

    def edge(start: int, stop: int) -> Any:
        found = v.part_of(g, (*lead, slice(start, stop)))
        return v.total(found, (axis,)) if mode == "replicate" else v.flip(found, (axis,)) if mode == "reflect" else found

    found = put(v.part_of(g, (*lead, slice(before, before + last - first))), first, last)
    end = before + last - first
    places = {
        "replicate": ((0, 1), (length - 1, length)), "reflect": ((1, before + 1), (length - 1 - after, length - 1)),
        "circular": ((last - before, last), (first, first + after)),
    }[mode]  # fmt: skip
    if before:
        found = v.add(found, put(edge(0, before), *places[0]))
    if after:
        found = v.add(found, put(edge(end, end + after), *places[1]))
    return found


def _axis_by_axis(node: Any, g: Any) -> Any:
    (pads, mode), shape = node.args, node.shapes[0]
    if 0 in shape:
        return None
    for i in range(len(pads) // 2):
        axis = len(shape) - 1 - i
        g = _pad_gradient_along(g, axis, shape[axis], pads[2 * i], pads[2 * i + 1], mode)
    return g


_pad_like_grad = v.Primitive("pad_like_grad")


def _by_kernel(node: Any, g: Any) -> Any:
    (pads, mode), shape = node.args, node.shapes[0]
    fits = mode in ("reflect", "replicate") and min(pads) >= 0 and len(shape) - len(pads) // 2 in (1, 2) and 0 not in shape
    return _pad_like_grad(g, shape, pads, mode) if fits and serves("pad_like_grad", node.kind.name) else _axis_by_axis(node, g)


@rule("pad_like", label="ReflectionPadBackward0")
@v.by_gradient(raw=_by_kernel, device=_axis_by_axis, captured=_axis_by_axis)
def pad_like(node: Applied, g: Array) -> Operand:
    shape = node.shapes[0]
    pads, mode = node.args
    count = int(np.prod(shape))
    sources = numpy_pad_like(np.arange(count).reshape(shape), pads, mode)
    places = Places((sources.reshape(-1),), (count,), v.shape_of(g), True)
    return v.reshape(places.add(g, "ReflectionPadBackward0"), shape)

"""``grad_fn._input_metadata``: shape, dtype and device of each output of a node."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import shapes
from ..backend.table import kernel
from ..core.dtype import OF_NP, dtype
from ..core.formats import strided
from ..core.modes import modes, shapes_only
from .apply import RULES, Applied
from .node import Accumulate, Node, Passed, describe, node_of
from .windows import Linear, Parts
from .writes import CopySlices


class InputMetadata:
    """Shape, dtype and device of an output of a node, which the output's gradient must have."""

    __slots__ = ("shape", "dtype", "device", "is_nested_tensor", "is_cpp_nested_tensor")

    def __init__(self, shape: Sequence[Any], kind: dtype, device: Any, nested: bool = False, compiled: bool = False) -> None:
        self.shape, self.dtype, self.device = list(shape), kind, device
        self.is_nested_tensor, self.is_cpp_nested_tensor = nested, compiled


def shown_node(tensor: Any) -> Node | None:
    """Return the node that made a tensor, and let it know the tensor, of which the program may forget all but the node."""
    node, number = node_of(tensor), tensor._ms_number
    if node is not None and modes.native is None:
        if node.shown is None:
            node.shown = {}
        if number not in node.shown:
            nested = bool(tensor.is_nested)
            compiled = nested and tensor.layout is strided
            node.shown[number] = InputMetadata((() if compiled else tensor.shape), tensor.dtype, tensor.device, nested, compiled)
    return node


def input_metadata(node: Node) -> tuple[InputMetadata, ...]:
    """Return what is known of all outputs: what was noted, and what follows from the node's inputs. Integer outputs have none."""
    seen = node.shown or {}
    count = max(node.width, 1 + max(seen, default=0))
    rest = () if len(seen) == count else _inferred(node)
    device = next((one.device for one in seen.values()), None) or (_device_of(node) if rest else None)
    return tuple(
        seen[number] if number in seen else InputMetadata(rest[number][0], rest[number][1], device)
        for number in range(count)
        if number in seen or (number < len(rest) and not rest[number][1].is_integral)
    )


def _device_of(node: Node) -> Any:
    """Return the device of a leaf below the node."""
    waiting, met = [node], {node}
    while waiting:
        at = waiting.pop()
        if isinstance(at, Accumulate):
            return at.tensor.device
        waiting += [edge[0] for edge in at.edges if edge is not None and edge[0] not in met]
        met.update(waiting)
    return None


def _inferred(node: Node) -> Sequence[tuple[tuple[int, ...], dtype]]:
    """Return shape and dtype of each output of a node, from those of its inputs."""
    if isinstance(node, Accumulate):
        return [(tuple(node.tensor.shape), node.tensor.dtype)]
    if isinstance(node, Applied):
        for op, derivative in RULES.items():
            if derivative.rule is node.rule:
                return _of_kernel(node, op)
    known = getattr(node, "outputs", None)  # of a Function: a shape and a dtype for each output
    if isinstance(known, (list, tuple)):
        return [like[:2] for like in known if like is not None]
    before = [_input_of(edge) for edge in node.edges if edge is not None]
    if isinstance(node, (CopySlices, Passed)) and before:
        return before[:1]
    if isinstance(node, Linear) and before:
        with shapes_only():
            return [(np.shape(node.forward(_stand_in(*before[0]))), before[0][1])]
    if isinstance(node, Parts):
        whole = _stand_in(node.shape, node.kind)
        return [(whole[key].shape, node.kind) for key in node.keys]
    raise NotImplementedError(f"mstorch: {node.name()} does not know its outputs; those read as tensor.grad_fn do")


def _input_of(edge: tuple[Node, int]) -> tuple[tuple[int, ...], dtype]:
    known = input_metadata(edge[0])[edge[1]]
    return tuple(known.shape), known.dtype


def _stand_in(shape: Sequence[int], kind: dtype) -> Any:
    return np.broadcast_to(np.zeros((), kind.np), tuple(shape))


_OF_LISTS = ("cat", "stack")  # kernels whose inputs are one list


def _of_kernel(node: Applied, op: str) -> Sequence[tuple[tuple[int, ...], dtype]]:
    arrays: list[Any] = [_stand_in(shape, node.kind) for shape in node.shapes]
    with shapes_only():
        results = shapes.told(op, kernel(op).host[node.kind.name], [tuple(arrays)] if op in _OF_LISTS else arrays, node.args)
    return [(item.shape, OF_NP[item.dtype]) for item in (results if results.__class__ is tuple else (results,))]


describe.append(input_metadata)

__all__ = ["InputMetadata", "input_metadata", "shown_node"]

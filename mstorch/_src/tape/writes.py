"""The autograd graph of in-place writes: new nodes for a tensor and for its base after values were written."""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.host.narrow import row_major
from ..backend.host.views import put
from ..backend.table import kernel
from ..core.auto import DEFAULT
from ..core.modes import modes
from ..core.storage import DeviceMemory
from ..core.tangents import LEVELS, below, keep, levels_of
from ..core.tensor_base import (
    TensorBase,
    array_of,
    auto_of,
    is_meta,
    is_tracked,
    meta_tensor,
    put_array,
    put_raw,
    strides_of,
    touch,
    turn_into,
    twin,
    value_of,
)
from ..core.writable import check_view
from .bare import dressed, on_host
from .duals import tangent_of, write, write_into
from .in_place import detach_snapshot, own_value
from .movement import Move, cleared, cloned
from .node import FREED, Node, edge_of, named, node_of
from .operands import Operand
from .refitted import refit
from .saved_values import USED_UP
from .vocabulary import zeros_beside
from .windows import Linear, Map, linear, look_again, map_bare, window_maps

_clone = kernel("clone")


class CopySlices(Node):
    """Node of a partly overwritten tensor: the gradient goes to the old value outside of the part, and to the written value inside."""

    __slots__ = ("forward", "back", "shape", "same")
    forward: Any
    back: Any
    shape: Any
    same: Any

    label = "CopySlices"

    def __init__(self, edges: Sequence[Any]) -> None:
        super().__init__(edges)
        self.saved = USED_UP

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradient outside of the part, and that of the part."""
        gradient = gradients[0]
        rest = part = None
        if self.forward is None and gradient is not None:
            raise RuntimeError(FREED)
        if self.edges[0] is not None:
            outside = self._outside
            if self.back.__class__ is Move:
                outside = Move(outside, lambda raw: cleared(raw, self.back.raw, self.shape))
            rest = self._apply(gradient, outside, outside)
        if self.edges[1] is not None:
            part = self._apply(gradient, self.forward, self.back)
        return rest, part

    def release(self) -> None:
        """Free the graph of the written part; as in torch, backward runs through it once."""
        super().release()
        self.forward = None

    def _apply(self, gradient: Array, forward: Map, back: Map) -> Operand:
        if isinstance(gradient, TensorBase):
            return linear(gradient, forward, back, self.label)
        return map_bare(forward, gradient)

    def _outside(self, array: Array) -> Array:
        if not self.same:  # the view is a real or imaginary part: half of an element
            return array - self.back(self.forward(array))
        inside = self.back(np.ones(self.shape, array.dtype))
        return np.where(inside.astype(bool), np.zeros((), array.dtype), array)


class Ended(Node):
    """Node of a tensor that was overwritten by a constant; it sends zeros to the tensor's old node."""

    __slots__ = ()

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return a gradient of zeros."""
        return (_zeros_like(gradients[0]),)


def _zeros_like(gradient: Operand) -> Operand:
    """Return zeros of the gradient's shape and dtype, on its device."""
    if isinstance(gradient, np.ndarray):
        return np.zeros(gradient.shape, gradient.dtype)
    if isinstance(gradient, TensorBase) and is_meta(gradient):
        return meta_tensor(gradient._ms_shape, gradient._ms_dtype)
    if isinstance(gradient, TensorBase) and on_host(gradient):
        return dressed(np.zeros(gradient._ms_shape, gradient._ms_dtype.np))
    return zeros_beside(gradient.shape, gradient)


class Copied(Node):
    """Node of a tensor that was overwritten by another tensor: that tensor gets the gradient, the old value gets zeros."""

    __slots__ = ()

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return zeros for the old value, if autograd tracked it, and the gradient unchanged for the new one."""
        return None if self.edges[0] is None else _zeros_like(gradients[0]), gradients[0]


def snapshot(target: TensorBase) -> TensorBase:
    """Return an alias of the tensor that an operation will write to, to serve as the operation's input; it keeps the old value if the
    tensor gets new memory."""
    if modes.grad:
        node_of(target)
    made = twin(target)
    auto = target._ms_auto
    if target._ms_node is not None and modes.grad and auto is not None and auto.base is not None and _has_hooks(target):
        # The node of a written view is attached to the base's, bypassing the view's own node and the user's hooks on it.
        seen = look_again(target)
        made._ms_node, made._ms_number = seen._ms_node, seen._ms_number
    if made._ms_node is None and target._ms_auto is not None and target._ms_auto.leaf:
        made._ms_auto = None
    if LEVELS:
        for level in levels_of(target):
            with below(level):
                tangent = tangent_of(target, level)
                # The saved tangent must not change when the tangent is written to.
                keep(auto_of(made), level, linear(tangent, _COPY, _COPY, "CloneBackward0") if modes.grad else tangent)
    if modes.saved_hooks and modes.grad:
        detach_snapshot(made)  # pack hooks receive a copy made before the target is written to
    return made


def _has_hooks(view: Any) -> bool:
    """Return whether a node between a view and its base has user hooks."""
    node, end = view._ms_node, view._ms_auto.base._ms_node
    while isinstance(node, Linear) and node is not end:
        if node.marks is not None:
            return True
        node = None if node.edges[0] is None else node.edges[0][0]
    return False


_COPY = Move(row_major, cloned)


def assign(target: TensorBase, made: TensorBase, label: str = "CopyBackwards", given: bool = False) -> None:
    """Write ``made``, a tensor of the target's shape and dtype, into ``target``, and continue the target's autograd graph with it.

    ``given``: ``made`` has other owners, so that a target outside host memory gets a copy."""
    if target._ms_auto is not None and target._ms_auto.origin != DEFAULT and modes.grad and is_tracked(made):
        check_view(target)
    if is_meta(target):
        touch(target)
    elif made._ms_storage is target._ms_storage and made._ms_counter is target._ms_counter and target._ms_storage.__class__ is DeviceMemory:
        pass  # a kernel wrote over the target (in_place.py: changed)
    elif on_host(target) and on_host(made) and modes.native is None:
        put_array(target, array_of(made))
    elif target._ms_storage.__class__ is DeviceMemory and modes.native is None:
        put_raw(target, value_of(made), not given and _has_memory_alone(made))
    else:
        put_raw(target, own_value(made) if given and modes.native is None else value_of(made))
    if modes.grad:
        settle(target, made, label, given)
    if LEVELS:
        write(target, made)


def _has_memory_alone(made: TensorBase) -> bool:
    """Return whether no other tensor shares the memory of the device tensor."""
    storage = made._ms_storage
    held = 1 + (made._ms_counter is storage) + (made._ms_at is not None and made._ms_at[0] is storage)
    return not on_host(made) and sys.getrefcount(storage) <= held + 2  # two references: the name here, and the argument of getrefcount


write_into.append(assign)


def settle(target: Any, made: Any | None, label: str = "CopyBackwards", copied: bool = False) -> None:
    """Update the autograd node of ``target`` (of its base, if it is a view) after the tensor ``made``, or a constant if ``made`` is None,
    was written to it.

    ``copied``: ``made`` has other owners, so that ``target`` gets a node of its own."""
    if modes.native is not None and not modes.native.follows:
        return  # MindSpore's autograd tracks the write
    edge = None if made is None else edge_of(made)
    auto = target._ms_auto
    base = None if auto is None else auto.base
    if edge is None and not is_tracked(target if base is None else base):
        return
    if base is None:
        if edge is None:
            node, number = named(Ended, label)((edge_of(target),)), 0
        elif copied or made._ms_node is None:  # type: ignore[union-attr]  # a leaf: a target is none
            node, number = named(Copied, label)((edge_of(target), edge)), 0
        else:
            node, number = edge
        _move_hooks(target, node, number)
        target._ms_node, target._ms_number = node, number
        if auto is not None:
            auto.leaf = False
        return
    if base._ms_dtype is target._ms_dtype:
        forward, back = window_maps(base, target._ms_shape, strides_of(target), target._ms_offset)
    else:
        forward, back = _maps_by_bytes(base, target)
    written: Any = CopySlices((edge_of(base), edge))
    written.forward, written.back, written.shape = forward, back, target._ms_shape
    written.same = base._ms_dtype is target._ms_dtype
    _move_hooks(base, written, 0)
    base._ms_node, base._ms_number = written, 0
    if base._ms_auto is not None:
        base._ms_auto.leaf = False
    auto.seen, auto.pending = -1, (written, target._ms_counter.version)


def review(target: TensorBase, view: TensorBase) -> None:
    """Replace a tensor, in place, by ``view``, a view of its old value: its ``grad_fn`` becomes the view's node, which leads to the old
    node."""
    node, number = view._ms_node, view._ms_number
    tangents = {level: tangent_of(view, level) for level in levels_of(view)} if LEVELS else {}
    shape, kind = target._ms_shape, target._ms_dtype
    turn_into(target, view)
    for level, tangent in tangents.items():
        keep(auto_of(target), level, tangent)
    auto = target._ms_auto
    if auto is not None and auto.base is not None:
        auto.seen = target._ms_counter.version if modes.grad else -1  # an unseen write: ``grad_fn`` is recomputed when it is read
    elif node is not None:
        _move_hooks(target, node, number)
    if node is not None:
        target._ms_node, target._ms_number = node, number
    elif auto is None or auto.base is None:
        refit(target, shape, kind)


def _maps_by_bytes(base: TensorBase, target: TensorBase) -> tuple[Map, Map]:
    """Return the two maps that ``window_maps`` returns, for a real base that is viewed as complex, or a complex base viewed as real."""
    own, kind = base._ms_dtype.np, target._ms_dtype.np
    size, shape = kind.itemsize, target._ms_shape
    offset, steps = target._ms_offset * size, [step * size for step in strides_of(target)]
    own_shape, own_steps, own_offset = base._ms_shape, [step * own.itemsize for step in strides_of(base)], base._ms_offset * own.itemsize
    total = base._ms_storage.nbytes
    if 0 in shape or 0 in own_shape:  # offsets and strides of empty tensors are arbitrary
        return lambda array: np.zeros(shape, kind), lambda array: np.zeros(own_shape, own)

    def forward(array: Array) -> Array:
        memory = np.zeros(total, np.uint8)
        put(np.ndarray(own_shape, own, memory, own_offset, own_steps), ..., array)
        return np.array(np.ndarray(shape, kind, memory, offset, steps), order="C")

    def back(array: Array) -> Array:
        memory = np.zeros(total, np.uint8)
        put(np.ndarray(shape, kind, memory, offset, steps), ..., array)
        return np.array(np.ndarray(own_shape, own, memory, own_offset, own_steps), order="C")

    return forward, back


def _move_hooks(tensor: TensorBase, node: Node, number: int) -> None:
    """Move the hook of ``retain_grad`` to the tensor's new node; all other hooks stay on the old node."""
    auto = tensor._ms_auto
    if auto is None or auto.hooked is None:
        return
    old = tensor._ms_node
    if old is not None and old.retained:
        old.retained.pop(tensor._ms_number, None)
    node.retained = {**(node.retained or {}), number: auto.hooked}

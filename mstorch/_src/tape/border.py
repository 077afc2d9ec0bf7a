"""The interface between mstorch's autograd and MindSpore's: tensors cross it without a copy, and gradients flow across it.

A tensor passed to MindSpore becomes a leaf of MindSpore's autograd graph. A tensor that MindSpore returns has a node in mstorch's graph;
its backward gets the gradients of these leaves from MindSpore and passes them on to the corresponding tensors.
"""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import tape
from ..backend.arrays import Array
from ..backend.cell import Parameter, share
from ..backend.forked import forked
from ..backend.raw import NAME_OF, NP_DTYPE, Raw, face, from_numpy, raw_dtype
from ..backend.turns import LOCK
from ..core.ends import ENDS
from ..core.modes import modes
from ..core.storage import DeviceMemory, Storage
from ..core.tensor_base import TensorBase, array_of, is_tracked, tensor_of, value_of, wrap
from . import engine
from .bare import bare_twin
from .node import Accumulate, Edge, Node, edge_of, named


class _Crossing(Node):
    """Node of a tensor that was made from a MindSpore tensor. MindSpore's autograd computes its gradient."""

    __slots__ = ("raw", "ends", "hosts")
    raw: Any
    ends: Any
    hosts: Any  # whether each end's tensor is in host memory

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradients of the leaves of MindSpore's tape."""
        if not self.ends:
            return ()
        gradient = gradients[0]
        forked.refuse("the gradient of a MindSpore tensor")
        with LOCK:
            seed = tape_value(gradient)
            found = tape.run_backward([self.raw], [seed], self.ends, True, False)
        return [raw.asnumpy().copy() if host and raw is not None else raw for raw, host in zip(found, self.hosts)]


def tape_value(gradient: Array) -> Raw:
    """Return a gradient as a mindspore.Tensor."""
    if isinstance(gradient, Raw):
        return gradient
    return value_of(gradient if isinstance(gradient, TensorBase) else tensor_of(gradient))


def to_mindspore(tensor: TensorBase) -> Raw:
    """Return a mindspore.Tensor that shares the tensor's memory; if autograd tracks the tensor, gradients flow back into it."""
    storage = tensor._ms_storage
    raw = value_of(tensor)
    if modes.native is not None or storage.__class__ not in _HELD:
        return raw
    if storage.parameter is not None and tuple(storage.parameter.shape) == tensor._ms_shape:
        return storage.parameter
    if modes.grad and is_tracked(tensor):
        ends = _native_ends(tensor)
        if ends:
            return _as_native_node(tensor, ends)
        if storage.__class__ is DeviceMemory:
            raw = tape.detached(raw)  # an alias: kernels use its base, which is not a leaf of MindSpore's autograd
        tape.mark_leaf(raw)
        tape.start_recording()
        ENDS.add(raw, tensor)
        return _from_torch(raw)
    return raw


_HELD: Any = frozenset((Storage, DeviceMemory))


def _keep_forward(ctx: tape.Function, raw: Raw) -> Raw:
    ctx.end = raw  # lives as long as the node, and keeps the tensor alive
    return tape.detached(raw)


def _keep_backward(ctx: tape.Function, gradient: Raw) -> Raw:
    return gradient


_from_torch = tape.function_node("FromTorch", _keep_forward, _keep_backward)


def _native_ends(tensor: TensorBase) -> list[tuple[Raw, Node]]:
    """Return the MindSpore tensors that a tensor was computed from, each with its leaf in mstorch's autograd graph."""
    edge = edge_of(tensor)
    waiting = [] if edge is None else [edge[0]]
    seen: set[Node] = set(waiting)
    found: list[tuple[Raw, Node]] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, Accumulate):
            raw = node.tensor.__dict__.get("_native_end")
            if raw is not None:
                found.append((raw, node))
        for below in node.edges:
            if below is not None and below[0] not in seen:
                seen.add(below[0])
                waiting.append(below[0])
    return found


def _as_native_node(tensor: TensorBase, ends: list[tuple[Raw, Node]]) -> Raw:
    """Return a tensor as the output of a node in MindSpore's autograd graph, whose backward runs mstorch's."""

    def forward(ctx: Any, *raws: Raw) -> Raw:
        return value_of(bare_twin(tensor))

    def backward(ctx: Any, gradient: Raw) -> Any:
        seed = gradient.asnumpy() if tensor._ms_storage.__class__ is Storage else gradient
        found = engine.run([(edge_of(tensor), seed)], True, False, [(node, 0) for _, node in ends])  # type: ignore[list-item]
        raws = [from_numpy(np.zeros(raw.shape, NP_DTYPE[NAME_OF[raw_dtype(raw)]])) if g is None else g if isinstance(g, Raw) else face(g)
                for g, (raw, _) in zip(found, ends)]  # fmt: skip
        return raws[0] if len(raws) == 1 else tuple(raws)

    tape.start_recording()
    return tape.function_node("TorchBackward", forward, backward)(*(raw for raw, _ in ends))


def from_mindspore(raw: Raw) -> Any:
    """Return a tensor that shares the memory of a mindspore.Tensor; gradients flow back to MindSpore."""
    if modes.native is not None:
        return wrap(raw)
    made = wrap(raw)
    if isinstance(raw, Parameter):
        made._ms_storage.share_with(raw)
        share(raw, made)
        if raw.requires_grad and not made._ms_dtype.is_integral:
            made.requires_grad_()
        ENDS.add(raw, weakref.ref(made))
        return made
    if raw._requires_grad and modes.grad:
        if tape.is_end(raw):
            made.requires_grad_()
            made.__dict__["_native_end"] = raw
            ENDS.add(raw, weakref.ref(made))
        elif tape.is_recorded(raw):
            pairs = ENDS.below([raw])
            edges: list[Edge | None] = [edge_of(tensor) for _, tensor in pairs]
            node: Any = named(_Crossing, "MindSporeBackward")(edges)
            node.raw, node.ends = raw, [end for end, _ in pairs]
            node.hosts = [tensor._ms_storage.__class__ is Storage for _, tensor in pairs]
            made._ms_node = node
    return made


__all__ = ["ENDS", "array_of", "from_mindspore", "to_mindspore"]

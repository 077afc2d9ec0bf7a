"""Leaves, hooks and nodes: what stands between tensors and MindSpore's tape."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .._backend import tape
from .._backend.raw import Raw
from .._core.formats import strided
from .._core.hooks import Hooks, RemovableHandle
from .._core.tensor_base import is_leaf, is_tracked, leaves, value_of, wrap


def _tracked_result(raw: Raw) -> Any:
    return wrap(raw, tape.grad_mode.enabled and tape.is_recorded(raw))


def _run_hooks(hooks: Hooks, raw: Raw) -> Raw | None:
    changed = None
    for hook in list(hooks.values()):
        given = hook(_tracked_result(raw if changed is None else changed))
        if given is not None:
            changed = value_of(given)
    return changed


def register_tensor_hook(tensor: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Call ``hook`` with each gradient of ``tensor``; leaf hooks run before the gradient is accumulated."""
    if not is_tracked(tensor):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    hooks = tensor.__dict__.get("_hooks")
    raw = value_of(tensor)
    if hooks is None or (not is_leaf(tensor) and tensor.__dict__.get("_hooked") is not raw):
        hooks = tensor.__dict__["_hooks"] = Hooks()
        tensor.__dict__["_hooked"] = raw
        if not is_leaf(tensor):
            tape.register_hook(raw, lambda gradient: _run_hooks(hooks, gradient))
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def run_leaf_hooks(tensor: Any, gradient: Raw) -> Raw:
    """The gradient of a leaf after its hooks."""
    hooks = tensor.__dict__.get("_hooks")
    if not hooks:
        return gradient
    changed = _run_hooks(hooks, gradient)
    return gradient if changed is None else changed


def hooked_tensor(leaf: Any, gradient: Any) -> Any:
    """The gradient of a leaf, a tensor of any layout, after the leaf's hooks."""
    for hook in list((leaf.__dict__.get("_hooks") or {}).values()):
        given = hook(gradient)
        gradient = gradient if given is None else given
    return gradient


def register_post_accumulate_hook(tensor: Any, hook: Callable[[Any], None]) -> RemovableHandle:
    """Call ``hook(tensor)`` after each accumulation into a leaf."""
    if not is_tracked(tensor):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not is_leaf(tensor):
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    hooks = tensor.__dict__.setdefault("_post_hooks", Hooks())
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def retain_grad(tensor: Any) -> None:
    """Fill ``tensor.grad`` in backward although it is not a leaf."""
    if not is_tracked(tensor):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if is_leaf(tensor) or tensor.__dict__.get("_retains_grad"):
        return
    tensor.__dict__["_retains_grad"] = True
    owner = weakref.ref(tensor)

    def keep(gradient: Raw) -> None:
        kept = owner()
        if kept is not None:
            accumulate(kept, gradient)

    tape.register_hook(value_of(tensor), keep)


def accumulate(tensor: Any, gradient: Raw) -> None:
    """Add a gradient to ``tensor.grad``, in the same tensor if there is one and no graph is kept."""
    accumulate_tensor(tensor, _tracked_result(gradient))


def accumulate_tensor(tensor: Any, new: Any) -> None:
    """``accumulate`` for a gradient that is a tensor, of any layout."""
    from .._ops.elementwise import add

    old = tensor.__dict__.get("_grad")
    if old is None:
        tensor.__dict__["_grad"] = new
    elif old.layout is not strided or new.layout is not strided:
        tensor.__dict__["_grad"] = new + old if new.layout is strided else old + new
    elif tape.grad_mode.enabled or not is_leaf(tensor):
        tensor.__dict__["_grad"] = add(old, new)
    else:
        old.add_(new)


class Node:
    """A recorded operation, as ``grad_fn`` shows it."""

    __slots__ = ("_native", "_label")

    def __init__(self, native: Any, label: str) -> None:
        self._native = native
        self._label = label

    def name(self) -> str:
        """The operation's name, such as AddBackward0."""
        return self._label

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The operations that made the inputs."""
        if self._native is None:
            return ()
        return tuple(
            (None if node is None else Node(node, torch_name(node.name())), number)
            for node, number in self._native.next_functions
        )

    def __repr__(self) -> str:
        return f"<{self._label} object at {hex(id(self))}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._native._sequence_nr == other._native._sequence_nr

    def __hash__(self) -> int:
        return hash(self._native._sequence_nr)


# MindSpore's primitive names where torch's differ by more than the suffix.
_NAMES = {
    "RealDiv": "Div", "Div": "Div", "Square": "Pow", "MatMul": "Mm", "BatchMatMul": "Bmm", "ReduceSum": "Sum", "SumExt": "Sum",
    "ReduceMean": "Mean", "MeanExt": "Mean", "ReLU": "Relu", "Conv2D": "Convolution", "BiasAdd": "Addmm", "Reshape": "View",
    "NarrowView": "Slice", "SelectView": "Select", "SelectExtView": "Select", "BroadcastToView": "Expand", "Transpose": "Permute",
    "TransposeView": "Transpose", "Gather": "Index", "TensorScatterUpdate": "CopySlices", "ToCopy": "ToCopy",
}  # fmt: skip
_NO_NUMBER = frozenset(("ToCopy",))


def torch_name(native: str) -> str:
    """torch's name of a node from MindSpore's: ``Add`` is ``AddBackward0``."""
    base = _NAMES.get(native, native)
    return base if "Backward" in base else f"{base}Backward0"


def node_of(tensor: Any) -> Node:
    """The node of the operation that made a tensor."""
    native = tape.grad_node(value_of(tensor))
    label = tensor.__dict__.get("_node_name") or ("Backward0" if native is None else torch_name(native.name()))
    return Node(native, label)



__all__ = ["Node", "accumulate", "leaves", "node_of", "register_tensor_hook", "retain_grad", "run_leaf_hooks"]

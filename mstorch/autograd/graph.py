"""torch.autograd.graph: hooks on tensors and nodes, saved tensors, gradient edges."""
from __future__ import annotations

import abc
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from .._src.core.formats import contiguous_format
from .._src.core.hooks import RemovableHandle
from .._src.core.modes import modes
from .._src.core.overriding import state
from .._src.core.refusals import refuse_in_transform
from .._src.core.tensor_base import TensorBase, auto_of, is_tracked
from .._src.hook import missing as _missing
from .._src.leaving import END, Block, LastAway, each, values_set_to
from .._src.tape.bare import dressed
from .._src.tape.native import refuse_trained
from .._src.tape.node import Node as _Node
from .._src.tape.node import edge_of, node_of
from .._src.tape.passes import running
from .._tensor import Tensor
from ._creation import node_creation_hook
from ._mutation import allow_mutation_on_saved_tensors
from .function import FunctionCtx

_NO_GRAD = "cannot register a hook on a tensor that doesn't require gradient"


class Node(abc.ABC):
    """Abstract base class of the graph's nodes; their classes do not derive from it, so it is absent from ``type(node).mro()``."""

    @classmethod
    def __subclasshook__(cls, kind: type) -> Any:
        # The context of a Function is its node in torch.
        return (cls is Node and issubclass(kind, (_Node, FunctionCtx))) or NotImplemented

    @abc.abstractmethod
    def name(self) -> str:
        """Return the name of the node, for example ``AddBackward0``."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The pairs (node, output number) to which the gradients flow."""

    @abc.abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """Dictionary for the user's data."""

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register ``fn(grad_inputs, grad_outputs)`` to run after the node; a returned value replaces ``grad_inputs``."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register ``fn(grad_outputs)`` to run before the node; a returned value replaces ``grad_outputs``."""


def _hooks_at(tensor: Tensor) -> OrderedDict[int, Any]:
    """Return the dict of hooks that run when a tensor's gradient is complete, created if necessary."""
    edge = edge_of(tensor)
    if edge is None:
        return OrderedDict()
    node, number = edge
    if tensor._ms_node is None:
        # The node of a leaf lives only as long as a graph refers to it; the leaf keeps its hooks.
        auto = auto_of(tensor)
        auto.hooks = OrderedDict() if auto.hooks is None else auto.hooks
        node.pre = {0: auto.hooks}
        return auto.hooks
    if node.pre is None:
        node.pre = {}
    return node.pre.setdefault(number, OrderedDict())


def hooks_of(tensor: Tensor) -> OrderedDict[int, Callable[..., Any]] | None:
    """Return the dict of hooks that ``register_hook`` has registered on a tensor; None if it never was called."""
    node, number = node_of(tensor), tensor._ms_number
    if node is None:
        return None if tensor._ms_auto is None else tensor._ms_auto.hooks
    return None if node.pre is None else node.pre.get(number)


def register_tensor_hook(tensor: Tensor, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Register ``hook`` to run with each gradient of ``tensor``; hooks of a leaf run before accumulation."""
    if not is_tracked(tensor):
        raise RuntimeError(_NO_GRAD)
    refuse_trained("a module that registers hooks of tensors")
    hooks = _hooks_at(tensor)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_post_accumulate_hook(tensor: Tensor, hook: Callable[[Any], None]) -> RemovableHandle:
    """Register ``hook(tensor)`` to run after each accumulation into a leaf."""
    if not is_tracked(tensor):
        raise RuntimeError(_NO_GRAD)
    if node_of(tensor) is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    auto = auto_of(tensor)
    if auto.post is None:
        auto.post = OrderedDict()
    handle = RemovableHandle(auto.post)
    auto.post[handle.id] = hook
    return handle


def retain_grad(tensor: Any) -> None:
    """Make backward fill ``tensor.grad`` of a non-leaf."""
    refuse_trained("a module that retains gradients of tensors")
    if state.levels:
        refuse_in_transform("retain_grad()")
    if not is_tracked(tensor):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    node = node_of(tensor)
    auto = auto_of(tensor)
    if node is None or auto.retains:
        return
    auto.retains = True
    owner = weakref.ref(tensor)

    def keep(gradient: Any) -> None:
        kept = owner()
        if kept is not None:
            held = kept._ms_auto.grad
            kept._ms_auto.grad = gradient.clone(memory_format=contiguous_format) if held is None else held + gradient

    node.retained = {**(node.retained or {}), tensor._ms_number: keep}
    auto.hooked = keep


class GradientEdge(NamedTuple):
    """The position in the graph where a tensor's gradient arrives: a node and its output number. Accepted in place of a tensor by
    ``backward`` and ``grad``.
    """

    node: _Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the GradientEdge of a tensor."""
    if not is_tracked(tensor):
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, number = edge_of(tensor)
    node.likes_of = {**(node.likes_of or {}), number: (tensor._ms_shape, tensor._ms_dtype)}
    return GradientEdge(node, number)



def _get_grad_fn_or_grad_acc(t: Tensor | GradientEdge) -> _Node:
    """Return the node where the gradient of a tensor, or of an edge, arrives."""
    if isinstance(t, GradientEdge):
        return t.node
    if not is_tracked(t):
        raise AssertionError("Expected gradient function to be set")
    return edge_of(t)[0]  # type: ignore[index]


class saved_tensors_hooks(Block):
    """A context manager in which ``pack_hook`` receives each saved tensor, and ``unpack_hook`` returns it in backward."""

    __exit__ = LastAway(lambda: modes.saved_hooks)

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if modes.saved_hooks_refused is not None:
            raise RuntimeError(modes.saved_hooks_refused)
        hooks, pair = modes.saved_hooks, (self.pack_hook, self.unpack_hook)
        hooks[END:] = (pair,)


class save_on_cpu(saved_tensors_hooks):
    """A context manager in which saved tensors are kept in host memory, and moved back for backward."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> Any:
            return tensor.device, tensor.cpu().clone() if tensor.device.type == "cpu" else tensor.cpu()

        def unpack(packed: Any) -> Tensor:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(values_set_to):
    """Context manager in which ``saved_tensors_hooks`` raises RuntimeError with the given message. Entering the context raises the same
    error if such hooks are active."""

    def __init__(self, error_message: str) -> None:
        super().__init__(modes, saved_hooks_refused=error_message)
        self._message = error_message

    def __enter__(self) -> None:
        if modes.saved_hooks:
            raise RuntimeError(self._message)
        super().__enter__()


class _MultiHandle(Block):
    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Remove the hooks."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        self.at_end(each(*(partial(handle.__exit__, None, None, None) for handle in map(RemovableHandle.__enter__, self.handles))))
        return self


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., None], *, mode: str = "all") -> Block:
    """Call ``fn`` when the gradients of all tensors (mode "all") or of the first (mode "any") have been computed.

    In mode "all" ``fn`` receives the list of gradients, with None for tensors without a gradient in this pass; in mode "any" it receives
    the first gradient. As in torch, a tensor that is itself a root of the pass is not waited for; if all tensors are roots, ``fn`` is not
    called in mode "all".
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    state: dict[Any, Any] = {}
    ends = [edge_of(tensor) for tensor in tensors]

    def hook_of(number: int) -> Callable[[Any], None]:
        def hook(gradient: Tensor) -> None:
            key = len(running.accumulates), id(running.accumulates)
            found = state.setdefault(key, {})
            if not found:
                running.callbacks.append(lambda: state.pop(key, None))
                found["count"] = sum(edge is not None and running.passes[-1].runs(edge[0]) for edge in ends)
            found[number] = gradient
            if mode == "any":
                if len(found) == 2:
                    fn(gradient)
            elif len(found) == found["count"] + 1:
                fn([found.get(i) for i in range(len(tensors))])

        return hook

    return _MultiHandle([tensor.register_hook(hook_of(i)) for i, tensor in enumerate(tensors)])


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Increment the version counter, after a write that autograd did not see."""
    tensors = [tensor] if isinstance(tensor, TensorBase) else list(tensor)
    for item in tensors:
        item._ms_counter.version += 1


__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "dressed", "get_gradient_edge",
    "increment_version", "node_creation_hook", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip

__getattr__ = _missing(__name__)

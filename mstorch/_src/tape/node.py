"""Nodes of the autograd graph: one per operation, with edges to the nodes that its gradients go to."""
from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from ..core.auto import DEFAULT, Auto
from ..core.dtype import dtype
from ..core.hooks import RemovableHandle
from ..core.nested_parts import kept
from ..core.overriding import TENSORS
from ..core.promotion import WORDS
from ..core.tensor_base import TensorBase, is_tracked
from ..core.writable import may_not_be_asked, refused_view

Edge = tuple["Node", int]

_numbers = itertools.count()
next_number = _numbers.__next__


def numbers_ahead() -> int:
    """Return the number that the next node gets."""
    return int(_numbers.__reduce__()[1][0])


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True "
    "if you need to backward through the graph a second time or if you need to access saved tensors after calling backward."
)


class _Marks:
    """Attributes and hooks that users set on a node."""

    pre: dict[int, Any] | None = None
    retained: dict[int, Any] | None = None
    hooks: OrderedDict[int, Any] | None = None
    before: OrderedDict[int, Any] | None = None
    watched: list[Any] | None = None


def _mark(name: str) -> Any:
    def get(node: Node) -> Any:
        return None if node.marks is None else getattr(node.marks, name)

    def put(node: Node, value: Any) -> None:
        if node.marks is None:
            node.marks = _Marks()
        setattr(node.marks, name, value)

    return property(get, put)


# torch's names of the engine's own nodes.
_OF_ENGINE = {label: f"torch::autograd::{label}" for label in ("AccumulateGrad", "CopySlices", "CopyBackwards", "NotImplemented")}


class Node:
    """An operation in the autograd graph, which users see as ``tensor.grad_fn``.

    ``run(gradients, recorded)`` returns one gradient or None per edge. Gradients are raw arrays (NumPy arrays, or MindSpore tensors on a
    device), or, if ``recorded``, tensors that autograd tracks.
    """

    __slots__ = ("edges", "sequence", "saved", "marks", "__dict__", "__weakref__")

    label = "Node"
    # Rare attributes: one check by the engine covers all of them.
    pre = _mark("pre")  # hooks of tensors, by output
    retained = _mark("retained")  # receivers of gradients for ``retain_grad``, called after those hooks
    hooks = _mark("hooks")  # hooks of the node, after it ran
    before = _mark("before")  # hooks of the node, before it runs
    watched = _mark("watched")  # tensors that must not be modified in place before the node runs, although the gradient does not read them
    _metadata: dict[Any, Any] | None = None
    in_the_open = False  # whether its gradient consists of public calls, which modes below autograd see
    width = 1  # the number of the operation's outputs
    shown: dict[int, Any] | None = None  # outputs that a program has asked for their node, by number
    likes_of: dict[int, tuple[Any, Any]] | None = None  # shape and dtype of the outputs for which there are GradientEdges

    def __init__(self, edges: Sequence[Edge | None]) -> None:
        self.edges = edges
        self.sequence = next_number()
        self.saved: Any = ()
        self.marks: _Marks | None = None

    def __init_subclass__(cls) -> None:
        """Set the name of ``type(grad_fn)`` to the label of the class, its own or inherited."""
        if cls.label != Node.label:
            cls.__name__ = cls.label

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return one gradient or None per edge."""
        raise NotImplementedError

    def fit(self, gradients: list[Any]) -> None:
        """Reshape the gradients, in place in their list, to the shapes of the outputs, before they are passed to hooks."""

    def release(self) -> None:
        """Free the saved tensors after backward; the graph cannot run again."""
        if self.saved:
            self.saved = None

    # Attributes for users

    def name(self) -> str:
        """Return the name of the node, for example ``AddBackward0``."""
        label = type(self).label
        return _OF_ENGINE.get(label, label)

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """The pairs (node, output number) to which the gradients flow."""
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """Dictionary for the user's data."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @property
    def _input_metadata(self) -> tuple[Any, ...]:
        """Shape, dtype and device of each output."""
        return describe[0](self)

    def _sequence_nr(self) -> int:
        return self.sequence

    def _set_sequence_nr(self, sequence_nr: int) -> None:
        self.sequence = sequence_nr

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register ``fn(grad_inputs, grad_outputs)`` to run after the node; a returned value replaces ``grad_inputs``."""
        if self.hooks is None:
            self.hooks = OrderedDict()
        handle = RemovableHandle(self.hooks)
        self.hooks[handle.id] = fn
        return handle

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register ``fn(grad_outputs)`` to run before the node; a returned value replaces ``grad_outputs``."""
        if self.before is None:
            self.before = OrderedDict()
        handle = RemovableHandle(self.before)
        self.before[handle.id] = fn
        return handle

    def __repr__(self) -> str:
        return f"<{type(self).label} object at {id(self):#x}>"


describe: list[Callable[[Node], tuple[Any, ...]]] = []  # set by ``metadata.py``


_classes: dict[tuple[type, str], type] = {}


def named(base: type, label: str) -> type:
    """Return the subclass of ``base`` whose instances are named ``label``."""
    found = _classes.get((base, label))
    if found is None:
        found = _classes[base, label] = type(label, (base,), {"label": label, "__slots__": ()})
    return found


class Accumulate(Node):
    """Node of a leaf, which accumulates gradients into ``grad``."""

    __slots__ = ("tensor", "shape")

    label = "AccumulateGrad"

    def __init__(self, tensor: Any) -> None:
        self.edges = self.saved = ()
        self.marks = None
        self.sequence = _LAST
        self.tensor = tensor
        # The shape that gradients must have, for the lifetime of this node.
        self.shape = tuple(tensor.shape) if tensor._ms_sparse else tensor._ms_shape

    @property
    def variable(self) -> TensorBase:
        """The leaf tensor."""
        return self.tensor


_LAST = 1 << 62


def edge_of(tensor: TensorBase) -> Edge | None:
    """Return the edge along which a tensor's gradients flow; None if the tensor does not require grad."""
    auto = tensor._ms_auto
    node = tensor._ms_node if auto is None or auto.base is None else node_of(tensor)
    if node is not None:
        return node, tensor._ms_number
    if auto is None or not auto.leaf:
        return None
    found = None if auto.accumulator is None else auto.accumulator()
    if found is None:
        found = Accumulate(tensor if type(tensor) in TENSORS else kept(tensor))
        auto.accumulator = weakref.ref(found)
        if auto.hooks:
            found.pre = {0: auto.hooks}
    return found, 0


def edges_of(inputs: Sequence[Any]) -> tuple[list[Edge | None], list[tuple[int, ...]]]:
    """Return ``edge_of`` and the shape of each input of an operation; None and the shape for an array.

    A tensor with a current node, the frequent case, takes no further call."""
    edges: list[Edge | None] = []
    shapes = []
    for item in inputs:
        if not isinstance(item, TensorBase):
            edges.append(None)
            shapes.append(() if item is None else item.shape)
            continue
        node, auto = item._ms_node, item._ms_auto
        if auto is None or (node is not None and (auto.base is None or auto.seen == item._ms_counter.version)):
            edges.append(None if node is None else (node, item._ms_number))
        else:
            edges.append(edge_of(item))
        shapes.append(item._ms_shape)
    return edges, shapes


def node_of(tensor: TensorBase) -> Node | None:
    """Return the node that made a tensor (torch's ``grad_fn``); it is recomputed for a view whose base was modified in place."""
    auto = tensor._ms_auto
    if auto is not None and auto.base is not None:
        version = tensor._ms_counter.version
        if auto.seen != version:
            _look_again(tensor, auto, version)
    return tensor._ms_node


def _look_again(tensor: TensorBase, auto: Auto, version: int) -> None:
    base = auto.base
    if tensor._ms_node is None and auto.pending is None and not is_tracked(base):
        return
    if auto.origin != DEFAULT:
        raise RuntimeError(refused_view(tensor, auto, True))
    pending, auto.pending = auto.pending, None
    if pending is not None and pending[1] == version and base._ms_node is None:
        made = _cut_off(tensor, base, pending[0])
    else:
        made = _look[0](tensor)
    if auto.hooked is not None:  # set by ``retain_grad``
        if tensor._ms_node is not None and tensor._ms_node.retained:
            tensor._ms_node.retained.pop(tensor._ms_number, None)
        made._ms_node.retained = {**(made._ms_node.retained or {}), made._ms_number: auto.hooked}
    tensor._ms_node, tensor._ms_number = made._ms_node, made._ms_number
    auto.seen = version


def _cut_off(tensor: TensorBase, base: TensorBase, node: Node) -> TensorBase:
    """Return the recomputed view, whose graph leads to ``node``, the node that the base had after a write and before it was detached.
    Version counters do not record the detaching."""
    base._ms_node, base._ms_number = node, 0
    try:
        return _look[0](tensor)
    finally:
        base._ms_node = None


_look: list[Callable[[Any], Any]] = []  # set by ``windows.py``


class Passed(Node):
    """Node that passes gradients through unchanged; node of a tensor that takes the place of another one."""

    __slots__ = ()

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradients unchanged."""
        return gradients


def shown_name(tensor: TensorBase) -> str | None:
    """Return the node's name for printing a tensor; "Invalid" for a view whose ``grad_fn`` raises."""
    if may_not_be_asked(tensor) and is_tracked(tensor):
        return "Invalid"
    node = node_of(tensor)
    return None if node is None else node.name().rpartition("::")[2]


def refuse_history(kind: dtype) -> None:
    """Raise torch's error for an integer dtype, which autograd does not support."""
    if kind.is_integral:
        raise RuntimeError(f"Autograd not support dtype: {WORDS[kind.name]}")


def does_not_fit(node: Any, error: Exception) -> RuntimeError:
    """Return the error for a gradient or a saved tensor whose shape differs from the one in forward."""
    return RuntimeError(f"Function {node.name()} got a gradient, or has saved a tensor, of a shape that it cannot use: {error}")


def is_leaf(tensor: TensorBase) -> bool:
    """Return whether the tensor is a leaf."""
    return node_of(tensor) is None

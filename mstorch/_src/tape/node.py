"""Nodes of the autograd graph: one per operation, with edges to the nodes that its gradients go to."""
from __future__ import annotations

import itertools
import re
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend.arrays import Array
from ..backend.device_memory import primitive_window
from ..backend.raw import Raw
from ..core.auto import DEFAULT, Auto
from ..core.dtype import dtype
from ..core.hooks import RemovableHandle
from ..core.modes import grad_set_to, modes
from ..core.nested_parts import kept
from ..core.overriding import PLAIN, TENSORS, dispatches
from ..core.promotion import WORDS, type_text
from ..core.storage import Storage
from ..core.strides import dense_order
from ..core.tangents import LEVELS
from ..core.tensor_base import (
    TensorBase,
    array_of,
    is_meta,
    is_tracked,
    strides_of,
    tensor_of,
    twin,
    value_of,
    window,
    wrap,
)
from ..core.writable import may_not_be_asked, refused_view
from .duals import carry

if TYPE_CHECKING:
    from .apply import Applied
    from .operands import Operand

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


_INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked by "
    "autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
    "instead of `torch.inference_mode()`."
)


_UNCOUNTED = "Inference tensors do not track version counter."  # of a tensor made in inference mode that has normal data now

_CUT = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please use "
    "out-of-place `.detach()` instead"
)


class Passed(Node):
    """Node that passes gradients through unchanged; node of a tensor that takes the place of another one."""

    __slots__ = ()

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradients unchanged."""
        return gradients


class SavedInput:
    """Input saved for backward with its version, when no saved-tensor hooks are set."""

    __slots__ = ("tensor", "version")

    output = False
    unpack = None

    def __init__(self, tensor: TensorBase) -> None:
        auto = tensor._ms_auto
        if auto is not None and (auto.inference or auto.swapped):
            raise RuntimeError(_INFERENCE if auto.inference else _UNCOUNTED)
        self.tensor = tensor
        self.version = tensor._ms_counter.version

    def value(self, node: Node, recorded: bool) -> Any:
        """Return the saved value: as a tensor if ``recorded``, else as a raw array."""
        tensor = self.tensor
        if tensor._ms_counter.version != self.version:
            raise RuntimeError(changed_text(tensor, self.version, node if self.output else None))
        if tensor._ms_node is None and tensor._ms_auto is not None and tensor._ms_auto.cut > node.sequence:
            raise RuntimeError(_CUT)
        if recorded:
            return tensor
        array = tensor._ms_array
        if array is not None and not tensor._ms_storage.moved and (modes.native is None or not modes.native.follows):
            return array
        return bare(tensor)


USED_UP = (None,)  # stands for saved tensors if there are none, but backward may run only once


class Watched:
    """Version of a tensor that torch saves but mstorch's gradient does not read; kept, as in torch, until backward is done."""

    __slots__ = ("_ms_counter", "_ms_dtype", "_ms_shape", "_ms_node", "_ms_number", "version", "own")

    def __init__(self, tensor: TensorBase, own: bool = False) -> None:
        auto = tensor._ms_auto
        if auto is not None and (auto.inference or auto.swapped):
            raise RuntimeError(_INFERENCE if auto.inference else _UNCOUNTED)
        self._ms_counter, self._ms_dtype = tensor._ms_counter, tensor._ms_dtype
        self._ms_shape, self._ms_number = tensor._ms_shape, tensor._ms_number
        self._ms_node = None if own else tensor._ms_node
        self.version, self.own = tensor._ms_counter.version, own

    def check(self, node: Node) -> None:
        """Raise torch's error if the tensor was modified in place."""
        if self._ms_counter.version != self.version:
            raise RuntimeError(changed_text(self, self.version, node if self.own else None))


def watch(result: TensorBase, *tensors: TensorBase | float | None) -> TensorBase:
    """Return the result. From now on, backward through its node raises if one of ``tensors`` was modified in place; these may include the
    result.

    Under hooks of saved tensors nothing is watched: torch compares no versions there, and memory that a checkpoint wants to be free would
    be kept."""
    node = result._ms_node
    if node is not None and modes.grad:  # otherwise the node is the old one of ``out``
        if not modes.saved_hooks:
            watched = [Watched(tensor, tensor is result) for tensor in tensors if isinstance(tensor, TensorBase)]
            node.watched = [*(node.watched or ()), *watched]
        if node.saved == ():
            node.saved = USED_UP
    return result


class SavedWindow(SavedInput):
    """Input that torch saves as a view: the memory stays alive even if ``.data`` is assigned later."""

    __slots__ = ("storage", "array", "counter")

    def __init__(self, tensor: TensorBase) -> None:
        super().__init__(tensor)
        self.storage, self.array, self.counter = tensor._ms_storage, bare(tensor), tensor._ms_counter

    def value(self, node: Applied, recorded: bool) -> Operand:
        """Return the saved value: from the old memory if the tensor's storage was replaced since. Raise RuntimeError if the value was
        modified in place."""
        tensor = self.tensor
        if tensor._ms_storage is self.storage:
            return super().value(node, recorded)
        if self.counter.version != self.version:
            raise RuntimeError(changed_text(tensor, self.version))
        if not recorded:
            return self.array
        made = dressed(self.array)
        made._ms_node = Passed((edge_of(tensor),))
        return made


def saved_input(tensor: TensorBase) -> Saved | SavedInput:
    """Return the object that a node saves for an input; a number that was wrapped in a tensor bypasses the saved-tensor hooks."""
    return Saved(tensor) if modes.saved_hooks and not tensor.__dict__.get("_wrapped_number") else SavedInput(tensor)


class Saved:
    """Tensor saved for backward with its version, or the packed value of a pair of saved-tensor hooks."""

    __slots__ = ("tensor", "version", "unpack", "packed", "output", "number")
    tensor: Any

    def __init__(self, tensor: TensorBase, output: bool = False) -> None:
        # An output refers to its node; a detached twin avoids a reference cycle.
        self.output = output
        self.number = tensor._ms_number if output else 0
        self.version = tensor._ms_counter.version
        self.unpack = None
        if modes.saved_hooks:
            pack, self.unpack = modes.saved_hooks[-1]
            with grad_set_to(False):
                shown = bare_twin(tensor)
                self.packed = pack(shown)
            if tensor._ms_counter.version != self.version:
                raise RuntimeError(
                    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified "
                    "by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to perform "
                    "in-place operations on the input to a pack hook."
                )
            if not output:
                self.tensor = _history_of(tensor)
            else:
                self.tensor = None
            return
        self.tensor = bare_twin(tensor) if output else tensor

    @property
    def changed(self) -> bool:
        """True if the tensor was modified in place after it was saved."""
        return self.unpack is None and self.tensor._ms_counter.version != self.version

    def value(self, node: Node | None, recorded: bool) -> Operand:
        """Return the saved value: as a tensor in the autograd graph if ``recorded``, else as a raw array."""
        if self.unpack is not None:
            tensor = self.unpack(self.packed)
            if not isinstance(tensor, TensorBase):
                raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                                f"{type(tensor).__name__}")
            if recorded:
                made = bare_twin(tensor)
                if self.output:
                    made._ms_node, made._ms_number = node, self.number
                elif self.tensor is not None:
                    kept = self.tensor
                    if isinstance(kept, tuple):
                        made._ms_node, made._ms_number = kept
                    else:
                        return kept if made._ms_storage is kept._ms_storage else _as_leaf(made, kept)
                return made
        else:
            tensor = self.tensor
            if tensor._ms_counter.version != self.version:
                raise RuntimeError(changed_text(tensor, self.version, node if self.output else None))
            if recorded:
                if self.output:
                    tensor = bare_twin(tensor)
                    tensor._ms_node, tensor._ms_number = node, self.number
                return tensor
        return bare(tensor)


def _history_of(tensor: TensorBase) -> Any:
    if tensor._ms_node is None:
        return tensor if tensor._ms_auto is not None and tensor._ms_auto.leaf else None
    return tensor._ms_node, tensor._ms_number


def _as_leaf(made: Any, leaf: Any) -> Any:
    edge = edge_of(leaf)
    if edge is not None:
        made._ms_node, made._ms_number = edge
    return made


def bare_twin(tensor: TensorBase) -> TensorBase:
    """Return a detached alias of the tensor: same storage, shape and strides."""
    made = twin(tensor)
    made._ms_node, made._ms_number = None, 0
    if LEVELS:
        carry(tensor, made)
    return made


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


def plain_name(node: Node) -> str:
    """Return the node's name for messages, for example ``Exp`` for ExpBackward0."""
    return re.sub(r"Backward\d*$", "", node.name())


def changed_text(tensor: TensorBase | Watched, version: int, maker: Node | None = None) -> str:
    """Return torch's message for a saved tensor that was modified in place."""
    kind = type_text(tensor._ms_dtype)
    # A view whose base was modified has another node now.
    node = maker or (node_of(tensor) if isinstance(tensor, TensorBase) else tensor._ms_node)
    where = f"is at version {tensor._ms_counter.version}; expected version {version} instead"
    which = f", which is output {tensor._ms_number} of {plain_name(node)}," if node is not None else ""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {list(tensor._ms_shape)}]{which} {where}. Hint: enable anomaly detection to find the operation that "
        "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def bare(tensor: TensorBase) -> Array | Raw:
    """Return a tensor's raw array: a NumPy array on the host, a MindSpore tensor elsewhere."""
    host = tensor._ms_storage.__class__ is Storage and (modes.native is None or not modes.native.follows)
    return array_of(tensor) if host else value_of(tensor)


def on_host(tensor: TensorBase) -> bool:
    """Return whether the tensor is in host memory."""
    return tensor._ms_storage.__class__ is Storage


def dressed(value: TensorBase | Array) -> Any:
    """Return a tensor that shares the memory of a raw array; a tensor is returned unchanged."""
    if isinstance(value, TensorBase) or value is None:
        return value
    if isinstance(value, np.ndarray):
        return _expanded(value) if repeats(value) else tensor_of(value)
    return wrap(value) if modes.native is not None or (value.is_contiguous() and value.size > 1) else _expanded_raw(value)


def repeats(array: Array) -> bool:
    """Return whether an array is expanded (has strides of 0)."""
    if array.size > 1:
        return 0 in array.strides
    if array.size:  # a new axis has stride 0 too, but is writable; after reshape strides are arbitrary
        return not array.flags.writeable
    # NumPy's own empty arrays have stride 0 as well, but no base of one element.
    return isinstance(array.base, np.ndarray) and array.base.size == 1


def _expanded(array: Array) -> TensorBase:
    """Return a tensor that stays expanded, as torch's gradient of a sum does."""
    if not array.size:
        one = tensor_of(np.array(array.base, array.dtype).reshape(1))
        return window(one._ms_storage, one._ms_dtype, array.shape, (0,) * array.ndim, 0)
    if array.size == 1:
        one = tensor_of(np.array(array.reshape(1), order="C"))
        return window(one._ms_storage, one._ms_dtype, array.shape, (0,) * array.ndim, 0)
    once = tensor_of(np.array(array[tuple(slice(1) if step == 0 else slice(None) for step in array.strides)], order="C"))
    strides = [0 if step == 0 else own for step, own in zip(array.strides, strides_of(once))]
    return window(once._ms_storage, once._ms_dtype, array.shape, tuple(strides), once._ms_offset)


def _expanded_raw(raw: Any) -> TensorBase:
    """Return a tensor over an expanded or permuted MindSpore tensor, with its strides; other strided views are copied."""
    steps, shape = tuple(raw.stride()), tuple(raw.shape)
    if 0 not in steps:
        return wrap(raw, steps if raw.size > 1 and dense_order(shape, steps) is not None else None)
    if raw.size < 2:  # MindSpore reports other strides for empty tensors; torch has 0 if a single number was expanded
        below = getattr(raw, "_shown", None)
        if below is None or below.size != 1:
            return wrap(raw)
        once = wrap(primitive_window(below, (1,), (1,), 0))
        return window(once._ms_storage, once._ms_dtype, shape, (0,) * len(shape), 0)
    once = wrap(primitive_window(raw, tuple(1 if step == 0 else n for n, step in zip(shape, steps)), steps, 0))
    strides = tuple(0 if step == 0 else own for step, own in zip(steps, strides_of(once)))
    return window(once._ms_storage, once._ms_dtype, shape, strides, 0)


def bare_of(value: TensorBase | None, recorded: bool) -> Any:
    """Return the raw array of a gradient. Return the tensor itself if ``recorded``, if it is sparse or a meta tensor, or if its class
    handles operators."""
    if recorded or not isinstance(value, TensorBase) or value._ms_sparse or is_meta(value):
        return value  # a sparse gradient, or one without memory, stays a tensor
    if type(value) not in PLAIN and dispatches(type(value)):
        return value  # so does one whose class handles operators
    return bare(value)


def is_leaf(tensor: TensorBase) -> bool:
    """Return whether the tensor is a leaf."""
    return node_of(tensor) is None

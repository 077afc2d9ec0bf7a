"""Run an operation's kernel on tensors and add the operation to the autograd graph; every operation passes through this module."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.float8 import STORED
from ..backend.raw import Raw
from ..backend.table import Kernel
from ..core import fallback  # noqa: F401 - tells of it
from ..core.dtype import dtype
from ..core.modes import modes
from ..core.no_memory import limit_reached, no_memory
from ..core.storage import DeviceMemory, Storage
from ..core.tangents import LEVELS
from ..core.tensor_base import (
    TensorBase,
    array_of,
    fresh,
    is_tracked,
    meta_tensor,
    tensor_of,
)
from .in_place import changed, current
from .mirrored import all_resolved, has_mirrored
from .native import attach_native
from .node import Node, _classes, does_not_fit, edge_of, edges_of, named, next_number, refuse_history
from .operands import SIMPLE, Operand, all_simple, arrays_of, compute, compute_on_device, wrapped
from .places import without_values
from .saved import attribute, names_of
from .saved_values import USED_UP, Saved, SavedInput, SavedWindow, Watched, saved_input, watch

Rule = Callable[..., Any]

_new = object.__new__


class Applied(Node):
    """Node of an operation that has a gradient rule of its own."""

    __slots__ = ("rule", "args", "shapes", "needs", "kind", "results")
    rule: Any
    args: Any
    shapes: Any
    needs: Any
    kind: Any
    results: Any  # the number of results if there are several

    @property
    def width(self) -> int:
        """Number of results of the operation."""
        return self.results or 1

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Call the gradient rule; inputs for which it returns no gradient get None."""
        if self.results and len(gradients) < self.results:  # unused outputs at the end
            gradients = [*gradients, *[None] * (self.results - len(gradients))]
        if recorded and not modes.grad and without_values(gradients):
            return [None if edge is None else meta_tensor(shape, self.kind) for edge, shape in zip(self.edges, self.shapes)]
        try:
            found = self.rule(self, gradients if self.results else gradients[0])
        except ValueError as error:  # raised by NumPy: a saved tensor has another shape now (``.data =``, ``set_``)
            raise does_not_fit(self, error) from error
        return found if found.__class__ is tuple else (found,)

    def kept(self, gradient: TensorBase | Array, place: int = 0) -> Any:
        """Return a saved value: as a tensor if ``gradient`` is a tensor, else as a raw array."""
        return self.saved[place].value(self, isinstance(gradient, TensorBase))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return attribute(self, name, _saved_names(self))

    def __dir__(self) -> list[str]:
        names = _saved_names(self)
        return [*object.__dir__(self), *(f"_saved_{name}" for name in names), *(f"_raw_saved_{name}" for name in names)]


def _saved_names(node: Applied) -> tuple[str, ...]:
    for derivative in RULES.values():
        if derivative.rule is node.rule:
            return names_of(derivative.keep, derivative.results, type(node).label)
    return ()


class Derivative:
    """Gradient of an operation: its rule, the values that the rule needs, and torch's name for the node.

    ``keep`` lists the positions of the inputs to save; "result" in it saves the (first) result, "result1" the second. ``rule(node,
    gradient)`` returns one gradient per input, or a single gradient for the first; for an operation with several results ``gradient`` is a
    list. ``tables``: array arguments depend on sizes alone, so that backward may run twice. ``second``: nothing is saved if the second
    input does not require grad. ``windows``: inputs that torch saves as a view, which keeps the memory of the forward pass even if
    ``.data`` is assigned later. ``watch``: inputs that torch saves but the rule does not read; writing to them in place is still an error.
    ``symmetric``: the Jacobian is symmetric, as the diagonal one of an elementwise operation, so that forward mode applies the rule to the
    tangent.
    """

    __slots__ = (
        "rule", "keep", "results", "keeps", "factors", "label", "crosswise", "tables", "second", "windows", "watch", "symmetric", "node",
    )  # fmt: skip

    def __init__(
        self, rule: Rule, keep: Sequence[Any], label: str, crosswise: tuple[int, ...], tables: bool, second: bool,
        windows: tuple[int, ...], watch: tuple[int, ...], symmetric: bool,
    ) -> None:  # fmt: skip
        self.rule = rule
        self.keep = tuple(item for item in keep if not isinstance(item, str))
        self.results = tuple(int(item[6:] or 0) for item in keep if isinstance(item, str))
        self.keeps = bool(keep) or bool(watch)
        self.factors = tuple(keep) == tuple(crosswise) == (0, 1)
        self.label = label
        self.crosswise = crosswise
        self.tables = tables
        self.second = second
        self.windows = windows
        self.watch = watch
        self.symmetric = symmetric
        self.node: Any = named(Applied, label)


RULES: dict[str, Derivative] = {}


def rule(
    op: str, *, keep: Sequence[Any] = (), label: str | None = None, crosswise: tuple[int, ...] = (), tables: bool = False,
    second: bool = False, windows: tuple[int, ...] = (), watch: tuple[int, ...] = (), symmetric: bool = False,
) -> Callable[[Rule], Rule]:
    """Register the decorated function as the gradient rule of the operation ``op``.

    ``crosswise``: each of the two inputs is saved only if the gradient of the other one is needed. For the other options see
    ``Derivative``.
    """

    def enter(function: Rule) -> Rule:
        if op in RULES:
            raise ValueError(f"the operation {op} has a rule already")
        RULES[op] = Derivative(function, keep, label or backward_name(op), crosswise, tables, second, windows, watch, symmetric)
        return function

    return enter


def backward_name(op: str) -> str:
    """Return torch's name of the operation's node: ``LogSoftmaxBackward0`` for ``log_softmax``."""
    return "".join(part.capitalize() for part in op.split("_")) + "Backward0"


def apply(op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...] = (), *, label: str | None = None,
          strides: Any = None, pointwise: bool = False) -> Any:  # fmt: skip
    """Compute ``op`` in a dtype on tensors, and add it to the autograd graph. Arrays are constants; lists of tensors are allowed.

    In the kernel's arguments ``inputs`` come first, then ``args`` (Python values, arrays). ``strides`` are those of the results.
    ``pointwise``: the operation is elementwise, so that a device may compute in the memory order of the result.
    """
    arrays: list[Any] = []
    followed, alone = False, True
    for item in inputs if modes.native is None else _ELSEWHERE:
        if isinstance(item, TensorBase) and item._ms_storage.__class__ is Storage:
            array = item._ms_array
            arrays.append(array_of(item) if array is None or item._ms_storage.moved else array)
            followed = followed or item._ms_node is not None or (item._ms_auto is not None and is_tracked(item))
            continue
        alone = False
        if item.__class__ is np.ndarray or item is None:  # None: a missing bias
            arrays.append(item)
        else:
            parts = _arrays_of_parts(item) if item.__class__ is list else None
            if parts is None:
                return _computed_elsewhere(op, kind, inputs, args, label, strides, pointwise)
            arrays.append(parts)
            followed = followed or any(map(is_tracked, item))
    given = args
    if args and not SIMPLE.issuperset(map(type, args)) and not all_simple(args):
        args = arrays_of(args, inputs)
    try:
        result = op.host[kind.name](*arrays, *args)
    except (MemoryError, ValueError, IndexError) as error:
        told = limit_reached(error, *inputs, *args)
        if told is None:
            raise
        raise told from None
    single = result.__class__ is np.ndarray
    result = fresh(result) if single and strides is None else wrapped(result, strides)
    if followed and modes.grad:
        if alone and single and label is None:
            _record_tensors(op, kind, inputs, args, result)
        else:
            _record(op, kind, inputs, args, result, label)
        if args is not given:
            _watch_arguments(result, given)
    if LEVELS:
        pushed[0](op, kind, inputs, args, result)
    return result


def _arrays_of_parts(parts: list[Any]) -> tuple[Array, ...] | None:
    """Return the arrays of a list of tensors; None unless all of them are in host memory."""
    arrays = []
    for part in parts:
        if not isinstance(part, TensorBase) or part._ms_storage.__class__ is not Storage:
            return None
        array = part._ms_array
        arrays.append(array_of(part) if array is None or part._ms_storage.moved else array)
    return tuple(arrays)


_ELSEWHERE = (...,)  # stands for an input that is neither a NumPy array nor None


def _watch_arguments(result: TensorBase, args: Sequence[Any]) -> None:
    """Register index tensors with the result's node, so that backward raises, as in torch, if one of them was modified in place."""
    if result.__class__ is tuple:
        result = next(item for item in result if isinstance(item, TensorBase))
    tensors = [part for arg in args for part in (arg if arg.__class__ is tuple else (arg,)) if isinstance(part, TensorBase)]
    if tensors:
        watch(result, *tensors)


def _computed_elsewhere(
    op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...], label: str | None, strides: tuple[int, ...] | None,
    pointwise: bool
) -> Any:  # fmt: skip
    """Compute and track an operation like ``apply`` if some input is neither an array nor a tensor in host memory."""
    ours, followed, alone, encoded = modes.native is None, False, True, kind.name in STORED
    recorded = ours or modes.native.follows
    there = ours
    for item in inputs:
        if isinstance(item, TensorBase):
            place = item._ms_storage.kind
            encoded = encoded or item._ms_dtype.name in STORED
            mirrored = place == "mirrored"
            there = there and place == "device"
            followed = followed or item._ms_node is not None or (item._ms_auto is not None and is_tracked(item))
        else:
            alone, mirrored, there = False, False, there and item.__class__ is list
            for part in item if item.__class__ is list else ():
                place = part._ms_storage.kind
                mirrored = mirrored or place == "mirrored"
                there = there and place == "device"
                followed = followed or is_tracked(part)
        if mirrored and ours and has_mirrored(inputs):
            return apply(op, kind, all_resolved(inputs), args, label=label, strides=strides, pointwise=pointwise)
    written = changed(op, kind.name, inputs, args, _keeps_first(op, inputs)) if ours and inputs[0] is current.tensor else None
    if written is None:
        result, told = (compute_on_device if there else compute)(op, kind.name, inputs, args, strides, pointwise)
    else:
        result, told = written, args
    if recorded and modes.grad and followed:
        if there and encoded:
            _refuse_codes(kind, inputs)
        if alone and label is None and isinstance(result, TensorBase):
            _record_tensors(op, kind, inputs, told, result)
        else:
            _record(op, kind, inputs, told, result, label)
        if told is not args:
            _watch_arguments(result, args)
    if LEVELS:
        pushed[0](op, kind, inputs, told if all_simple(told) or not ours else arrays_of(args, inputs), result)
    return result


def _keeps_first(op: Kernel, inputs: Sequence[Any]) -> bool:
    """Return whether the gradient of an operation needs the value of its first input."""
    derivative = RULES.get(op.op)
    if derivative is None:
        return True
    if derivative.second or 0 in derivative.crosswise:
        return isinstance(inputs[1], TensorBase) and is_tracked(inputs[1])
    return 0 in (*derivative.keep, *derivative.watch, *derivative.windows)


def _refuse_codes(kind: dtype, inputs: Sequence[Any]) -> None:
    """Raise NotImplementedError if the operation or an input has a dtype that MindSpore lacks: gradients in such a dtype are computed on
    the CPU only."""
    for own in (kind, *(item._ms_dtype for item in inputs if isinstance(item, TensorBase))):
        if own.name in STORED:
            raise NotImplementedError(f"mstorch: gradients of torch.{own.name} are computed on the CPU, and not on a device")


pushed: list[Callable[..., None]] = []  # forward mode's function for an operation's result, set by ``forward.py``


def apply_one(op: Kernel, kind: dtype, x: TensorBase) -> TensorBase:
    """Fast path of ``apply`` for one row-major tensor."""
    if modes.native is not None or x._ms_storage.__class__ is not Storage:
        return apply(op, kind, (x,))
    array = x._ms_array
    if array is None or x._ms_storage.moved:
        array = array_of(x)
    try:
        tensor = fresh(op.host[kind.name](array))
    except MemoryError as error:
        raise no_memory(error) from None
    if modes.grad and (x._ms_node is not None or (x._ms_auto is not None and is_tracked(x))):
        _record_tensors(op, kind, (x,), (), tensor)
    if LEVELS:
        pushed[0](op, kind, (x,), (), tensor)
    return tensor


def apply_pair(op: Kernel, kind: dtype, x: TensorBase, y: TensorBase, same: bool = False) -> TensorBase:
    """Fast path of ``apply`` for the most frequent case: two row-major tensors of one dtype.

    ``same``: the operands and the result have the same shape and dtype.
    """
    if modes.native is not None or x._ms_storage.__class__ is not Storage or y._ms_storage.__class__ is not Storage:
        return apply(op, kind, (x, y))
    a, b = x._ms_array, y._ms_array
    if a is None or x._ms_storage.moved:
        a = array_of(x)
    if b is None or y._ms_storage.moved:
        b = array_of(y)
    try:
        tensor = fresh(op.host[kind.name](a, b), kind, x._ms_shape) if same else fresh(op.host[kind.name](a, b))
    except MemoryError as error:
        raise no_memory(error) from None
    followed = x._ms_node is not None or y._ms_node is not None
    if not followed and (x._ms_auto is not None or y._ms_auto is not None):
        followed = is_tracked(x) or is_tracked(y)
    if followed and modes.grad:
        _record_pair(op, kind, x, y, tensor)
    if LEVELS:
        pushed[0](op, kind, (x, y), (), tensor)
    return tensor


def _record_tensors(op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...], result: TensorBase) -> None:
    """Add an operation to the autograd graph whose inputs are all tensors and which has one result; ``_record`` is the general form."""
    if result._ms_dtype.is_integral:
        _refuse_integers(op, inputs, result)
        return
    derivative = RULES.get(op.op)
    if derivative is None:
        attach_native(backward_name(op.op), op, kind, inputs, args, (result,))
        return
    node: Any = _new(derivative.node)  # Node(…) inlined, as in `_host`
    edges, shapes = edges_of(inputs)
    node.edges, node.shapes = edges, shapes
    node.sequence = next_number()
    node.rule = derivative.rule
    node.args = args
    node.kind = kind
    node.results = 0
    node.marks = None
    result._ms_node = node
    if derivative.keeps:
        node.saved = _kept(derivative, inputs, edges, (result,))
    else:
        node.saved = USED_UP if args and not derivative.tables and _have_arrays(args) else ()


def _record_pair(op: Kernel, kind: dtype, x: TensorBase, y: TensorBase, result: TensorBase) -> None:
    """Fast path of ``_record_tensors`` for exactly two inputs."""
    derivative = RULES.get(op.op)
    if derivative is None or result._ms_dtype.is_integral:
        _record_tensors(op, kind, (x, y), (), result)
        return
    node: Any = _new(derivative.node)
    first = edge_of(x) if x._ms_auto is not None else None if x._ms_node is None else (x._ms_node, x._ms_number)
    second = edge_of(y) if y._ms_auto is not None else None if y._ms_node is None else (y._ms_node, y._ms_number)
    node.edges = edges = first, second
    node.sequence = next_number()
    node.rule = derivative.rule
    node.args = ()
    node.kind = kind
    node.results = 0
    node.marks = None
    node.shapes = x._ms_shape, y._ms_shape
    result._ms_node = node
    if not derivative.keeps:
        node.saved = ()
    elif derivative.factors and not modes.saved_hooks:
        node.saved = [None if second is None else SavedInput(x), None if first is None else SavedInput(y)]
    else:
        node.saved = _kept(derivative, (x, y), edges, (result,))


def _refuse_integers(op: Kernel, inputs: Sequence[Any], result: TensorBase) -> None:
    """Raise torch's error if an input is an integer tensor that autograd tracks because a differentiable tensor was written into it."""
    if op.op in RULES and any(isinstance(item, TensorBase) and item._ms_dtype.is_integral and is_tracked(item) for item in inputs):
        refuse_history(result._ms_dtype)


def _record(op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...], result: TensorBase, label: str | None) -> None:
    results = result if result.__class__ is tuple else (result,)
    for item in results:
        if isinstance(item, TensorBase) and not item._ms_dtype.is_integral:
            break
    else:
        _refuse_integers(op, inputs[0] if inputs[0].__class__ is list else inputs, results[0])
        return
    derivative = RULES.get(op.op)
    if derivative is None:
        attach_native(label or backward_name(op.op), op, kind, inputs, args, results)
        return
    if inputs[0].__class__ is list:
        inputs = tuple(inputs[0])
    edges, shapes = edges_of(inputs)
    node: Any = _new(derivative.node if label is None else _classes.get((Applied, label)) or named(Applied, label))
    node.edges, node.shapes = edges, shapes
    node.sequence = next_number()
    node.saved = ()
    node.marks = None
    node.rule = derivative.rule
    node.args = args
    node.kind = kind
    node.results = len(results) if len(results) > 1 else 0
    for number, item in enumerate(results):
        if isinstance(item, TensorBase) and not item._ms_dtype.is_integral:
            item._ms_node = node
            item._ms_number = number
    if derivative.keeps:
        node.saved = _kept(derivative, inputs, edges, results)
    elif args and not derivative.tables and _have_arrays(args):
        node.saved = USED_UP


def _have_arrays(args: Sequence[Any]) -> bool:
    for arg in args:
        for part in arg if arg.__class__ is tuple else (arg,):
            if isinstance(part, np.ndarray) or part.__class__ is Raw:
                return True
    return False


def _kept(derivative: Derivative, inputs: Sequence[Any], edges: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """Return the inputs and results that the operation's gradient rule needs."""
    saved: list[Any] = []
    if derivative.second and edges[1] is None:
        return saved
    keep = saved_input if modes.saved_hooks else SavedInput
    for place in derivative.keep:
        if place in derivative.crosswise and edges[1 - place] is None:
            saved.append(None)
            continue
        item = inputs[place]
        if not isinstance(item, TensorBase):
            saved.append(Constant(item))
        elif place in derivative.windows and keep is SavedInput and item._ms_storage.__class__ in (Storage, DeviceMemory):
            saved.append(SavedWindow(item))
        else:
            saved.append(keep(item))
    for number in derivative.results:
        saved.append(Saved(results[number], True))
    if derivative.watch:
        node = next(item._ms_node for item in results if item._ms_node is not None)
        if not modes.saved_hooks:  # see ``watch``
            node.watched = [Watched(inputs[place]) for place in derivative.watch if isinstance(inputs[place], TensorBase)]
        if not saved:
            saved.append(None)
    return saved


def of_sizes(result: TensorBase) -> TensorBase:
    """Mark the result's node as saving only index tensors that depend on sizes, so that backward may run through the node again; return the
    result.
    """
    if result._ms_node is not None and getattr(result._ms_node, "saved", None) is USED_UP:
        result._ms_node.saved, result._ms_node.watched = (), None
    return result


class Constant:
    """Saved input that is not a tensor."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    unpack = None
    output = False

    def value(self, node: Applied, recorded: bool) -> Operand | None:
        """Return the array, as a tensor if the gradient is a tensor."""
        return tensor_of(self.array) if recorded and isinstance(self.array, np.ndarray) else self.array

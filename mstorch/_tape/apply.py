"""From tensors to a kernel and back: the one place where an operation computes and is recorded."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._backend import tape as native_tape
from .._backend.raw import ON_CPU, Raw, from_numpy
from .._backend.table import LOCK, Kernel, forked, through_mindspore
from .._core.dtype import OF_NP, dtype
from .._core.modes import modes, shapes_only
from .._core.storage import Storage
from .._core.tangents import LEVELS
from .._core.tensor_base import (
    TensorBase,
    array_of,
    fresh,
    is_tracked,
    laid_out,
    meta_tensor,
    recording,
    tensor_of,
    value_of,
    wrap,
)
from .node import FREED, Node, Saved, dressed, edge_of, named, next_number, saved_input
from .places import Shaped, check_meta, check_places, on_host, shaped, without_memory
from .saved import attribute, names_of

Rule = Callable[..., Any]

_new = object.__new__


class Applied(Node):
    """A node of an operation with a rule of its own."""

    __slots__ = ("rule", "args", "shapes", "needs", "kind", "results")
    rule: Any
    args: Any
    shapes: Any
    needs: Any
    kind: Any
    results: Any  # how many, where they are several

    @property
    def width(self) -> int:  # type: ignore[override]
        """How many results the operation has."""
        return self.results or 1

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """The rule's gradients."""
        if self.results and len(gradients) < self.results:  # outputs that nobody used, at the end
            gradients = [*gradients, *[None] * (self.results - len(gradients))]
        found = self.rule(self, gradients if self.results else gradients[0])
        return found if found.__class__ is tuple else (found,)

    def kept(self, gradient: Any, place: int = 0) -> Any:
        """A saved value: bare if the gradient is, else a tensor."""
        return self.saved[place].value(self, isinstance(gradient, TensorBase))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What backward needs, as tensors."""
        if self.saved is None:
            raise RuntimeError(FREED)
        return tuple(item.value(self, True) for item in self.saved)

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
    """How the gradient of an operation is made: the rule, what it needs, and the name that torch gives the node.

    ``keep`` lists the inputs to save, by position; "result" in it saves the (first) result, "result1" the next one.
    ``rule(node, gradient)`` gives one
    gradient for each input, or a bare one for the first; for an operation of several results ``gradient`` is their list.
    ``tables``: arrays among the arguments were made of sizes alone, so that backward may go through again.
    """

    __slots__ = ("rule", "keep", "results", "keeps", "label", "crosswise", "tables", "node")

    def __init__(self, rule: Rule, keep: Sequence[Any], label: str, crosswise: tuple[int, ...], tables: bool) -> None:
        self.rule = rule
        self.keep = tuple(item for item in keep if not isinstance(item, str))
        self.results = tuple(int(item[6:] or 0) for item in keep if isinstance(item, str))
        self.keeps = bool(keep)
        self.label = label
        self.crosswise = crosswise
        self.tables = tables
        self.node: Any = named(Applied, label)


RULES: dict[str, Derivative] = {}


def rule(
    op: str, *, keep: Sequence[Any] = (), label: str | None = None, crosswise: tuple[int, ...] = (), tables: bool = False
) -> Callable[[Rule], Rule]:
    """Enter a function as the gradient of the operation ``op``.

    ``crosswise``: which of two inputs are needed for the gradient of the other only. ``tables``: see ``Derivative``.
    """

    def enter(function: Rule) -> Rule:
        if op in RULES:
            raise ValueError(f"the operation {op} has a rule already")
        RULES[op] = Derivative(function, keep, label or backward_name(op), crosswise, tables)
        return function

    return enter


def backward_name(op: str) -> str:
    """``log_softmax`` → ``LogSoftmaxBackward0``."""
    return "".join(part.capitalize() for part in op.split("_")) + "Backward0"


def _compute(op: Kernel, name: str, inputs: Sequence[Any], args: Sequence[Any]) -> Any:
    if modes.native is None and on_host(inputs):
        try:
            return op.host[name](*[array_of(item) if isinstance(item, TensorBase) else _as_array(item) for item in inputs], *args)
        except NotImplementedError:
            if not without_memory(inputs):
                raise
    if modes.native is None and without_memory(inputs):
        check_places(op.op, inputs)
        check_meta(op.op)
        with shapes_only():
            return shaped(op.host[name](*map(_as_array, inputs), *args))
    return op[name](*[as_raw(item) for item in inputs], *map(as_raw, args))


_SIMPLE = frozenset((int, float, bool, complex, str, type(None)))


def _arrays(args: tuple[Any, ...], inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Tensors among the arguments as arrays; those without memory only beside inputs without memory."""
    for arg in args:
        if arg.__class__ not in _SIMPLE and not (arg.__class__ is tuple and _SIMPLE.issuperset(map(type, arg))):
            break
    else:
        return args
    plain = _plain(args)
    if plain is not None:
        return plain
    if without_memory(args):
        if not without_memory(inputs):
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        with shapes_only():
            return tuple(map(_as_array, args))
    return tuple(map(_as_array, args))


def _plain(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments with arrays for tensors on the host, at the least cost; None if there is anything else among them."""
    found: list[Any] = []
    for arg in args:
        kind = arg.__class__
        if kind in _SIMPLE or kind is np.ndarray:
            found.append(arg)
        elif kind is tuple:
            inner = _plain(arg)
            if inner is None:
                return None
            found.append(inner)
        elif isinstance(arg, TensorBase) and arg._storage.__class__ is Storage:
            found.append(array_of(arg))
        else:
            return None
    return tuple(found)


def _as_array(item: Any) -> Any:
    if isinstance(item, TensorBase):
        return array_of(item)
    if item.__class__ is np.ndarray or item.__class__ in _SIMPLE:
        return item
    if isinstance(item, (list, tuple)) and any(isinstance(part, (TensorBase, np.ndarray)) for part in item):
        return tuple(_as_array(part) for part in item)
    return item


def as_raw(item: Any) -> Any:
    """A tensor or array, or a sequence with such, as MindSpore's values; anything else as it is."""
    if isinstance(item, TensorBase):
        return value_of(item)
    if item.__class__ is np.ndarray:
        return from_numpy(np.ascontiguousarray(item).reshape(item.shape))
    if isinstance(item, (list, tuple)) and any(isinstance(part, (TensorBase, np.ndarray)) for part in item):
        return tuple(as_raw(part) for part in item)
    return item


def _wrapped(value: Any, strides: Any = None) -> Any:
    if value.__class__ is np.ndarray:
        return laid_out(value, strides)
    if isinstance(value, Raw):
        return wrap(value, strides)
    if isinstance(value, np.generic):
        return tensor_of(np.asarray(value))
    if value.__class__ is Shaped:
        return meta_tensor(value.shape, OF_NP[value.dtype], strides)
    if isinstance(value, (tuple, list)):
        return tuple(_wrapped(item) for item in value)
    return value


def apply(op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...] = (), *, label: str | None = None,
          strides: Any = None) -> Any:  # fmt: skip
    """Compute ``op`` in a dtype on tensors (or arrays that stand for constants, or lists of tensors), and record it.

    ``inputs`` come first in the kernel's arguments, ``args`` (Python values, arrays) after them. Results have ``strides``.
    """
    if modes.native is not None:
        return _apply_anywhere(op, kind, inputs, args, label, strides)
    arrays: list[Any] = []
    followed, alone = False, True
    for item in inputs:
        if isinstance(item, TensorBase):
            if item._storage.__class__ is not Storage:
                return _apply_anywhere(op, kind, inputs, args, label, strides)
            array = item._array
            arrays.append(array_of(item) if array is None or item._storage.moved else array)
            followed = followed or item._node is not None or (item._auto is not None and is_tracked(item))
            continue
        alone = False
        if item.__class__ is np.ndarray:
            arrays.append(item)
        elif item.__class__ is list and all(isinstance(part, TensorBase) and part._storage.__class__ is Storage for part in item):
            arrays.append(tuple([array_of(part) for part in item]))
            followed = followed or any(map(is_tracked, item))
        else:
            return _apply_anywhere(op, kind, inputs, args, label, strides)
    if args:
        args = _arrays(args, inputs)
    result = op.host[kind.name](*arrays, *args)
    single = result.__class__ is np.ndarray
    result = fresh(result) if single and strides is None else _wrapped(result, strides)
    if followed and modes.grad:
        if alone and single and label is None:
            _record_tensors(op, kind, inputs, args, result)
        else:
            _record(op, kind, inputs, args, result, label)
    if LEVELS:
        pushed[0](op, kind, inputs, args, result)
    return result


def _apply_anywhere(op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...], label: str | None, strides: Any) -> Any:
    """``apply`` where not all inputs are tensors in the host's memory, or MindSpore's own tape records."""
    native = modes.native
    if not ON_CPU and args and native is None and not on_host(inputs) and not without_memory(inputs):
        return _apply_on_device(op, kind, inputs, args, label, strides)
    if args and native is None:
        args = _arrays(args, inputs)
    result = _wrapped(_compute(op, kind.name, inputs, args), strides)
    if native is None and modes.grad:
        flat = [part for item in inputs for part in (item if item.__class__ is list else (item,))]
        if any(isinstance(item, TensorBase) and is_tracked(item) for item in flat):
            _record(op, kind, inputs, args, result, label)
    if LEVELS:
        pushed[0](op, kind, inputs, args, result)
    return result


def _apply_on_device(op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...], label: str | None, strides: Any) -> Any:
    """``apply`` on an accelerator: the kernel takes tensors among the arguments as they are, rules take them as arrays."""
    result = _wrapped(_compute(op, kind.name, inputs, args), strides)
    flat = [part for item in inputs for part in (item if isinstance(item, list) else (item,))]
    if modes.grad and any(isinstance(item, TensorBase) and is_tracked(item) for item in flat):
        _record(op, kind, inputs, tuple(map(_as_array, args)), result, label)
    if LEVELS:
        pushed[0](op, kind, inputs, tuple(map(_as_array, args)), result)
    return result


pushed: list[Callable[..., None]] = []  # what forward mode, which stands above this file, does with a result
pushed_native: list[Callable[..., None]] = []
pushed_gradient: list[Callable[..., None]] = []


def apply_one(op: Kernel, kind: dtype, x: Any) -> Any:
    """``apply`` for one row-major tensor, at the least cost."""
    if modes.native is not None or x._storage.__class__ is not Storage:
        return apply(op, kind, (x,))
    array = x._array
    if array is None or x._storage.moved:
        array = array_of(x)
    tensor = fresh(op.host[kind.name](array))
    if modes.grad and (x._node is not None or (x._auto is not None and is_tracked(x))):
        _record_tensors(op, kind, (x,), (), tensor)
    if LEVELS:
        pushed[0](op, kind, (x,), (), tensor)
    return tensor


def apply_pair(op: Kernel, kind: dtype, x: Any, y: Any) -> Any:
    """``apply`` for two row-major tensors of one dtype, the most common case, at the least cost."""
    if modes.native is not None or x._storage.__class__ is not Storage or y._storage.__class__ is not Storage:
        return apply(op, kind, (x, y))
    a, b = x._array, y._array
    if a is None or x._storage.moved:
        a = array_of(x)
    if b is None or y._storage.moved:
        b = array_of(y)
    tensor = fresh(op.host[kind.name](a, b))
    followed = x._node is not None or y._node is not None
    if not followed and (x._auto is not None or y._auto is not None):
        followed = is_tracked(x) or is_tracked(y)
    if followed and modes.grad:
        _record_tensors(op, kind, (x, y), (), tensor)
    if LEVELS:
        pushed[0](op, kind, (x, y), (), tensor)
    return tensor


def _record_tensors(op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...], result: Any) -> None:
    """``_record`` for inputs that are all tensors, and one result."""
    if result._dtype.category < 2:
        return
    derivative = RULES.get(op.op)
    if derivative is None:
        attach_native(op, kind, inputs, args, (result,), None)
        return
    node: Any = _new(derivative.node)  # Node(…) written out, as in `_host`
    node.edges = edges = [edge_of(item) for item in inputs]
    node.sequence = next_number()
    node.rule = derivative.rule
    node.args = args
    node.kind = kind
    node.results = 0
    node.shapes = [item._shape for item in inputs]
    result._node = node
    if derivative.keeps:
        node.saved = _kept(derivative, inputs, edges, (result,))
    else:
        node.saved = _INDICES if args and not derivative.tables and _have_arrays(args) else ()


def _record(op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...], result: Any, label: str | None) -> None:
    results = result if result.__class__ is tuple else (result,)
    if not any(isinstance(item, TensorBase) and item._dtype.category >= 2 for item in results):
        return
    derivative = RULES.get(op.op)
    if derivative is None:
        attach_native(op, kind, inputs, args, results, label)
        return
    if inputs[0].__class__ is list:
        inputs = tuple(inputs[0])
    edges = [edge_of(item) if isinstance(item, TensorBase) else None for item in inputs]
    node: Any = (derivative.node if label is None else named(Applied, label))(edges)
    node.rule = derivative.rule
    node.args = args
    node.kind = kind
    node.results = len(results) if len(results) > 1 else 0
    node.shapes = [item._shape if isinstance(item, TensorBase) else np.shape(item) for item in inputs]
    for number, item in enumerate(results):
        if isinstance(item, TensorBase) and item._dtype.category >= 2:
            item._node = node
            item._number = number
    if derivative.keeps:
        node.saved = _kept(derivative, inputs, edges, results)
    elif args and not derivative.tables and _have_arrays(args):
        node.saved = _INDICES


def _have_arrays(args: Sequence[Any]) -> bool:
    return any(isinstance(part, np.ndarray) for arg in args for part in (arg if arg.__class__ is tuple else (arg,)))


def _kept(derivative: Derivative, inputs: Sequence[Any], edges: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """What an operation's gradient needs of its inputs and results."""
    saved: list[Any] = []
    for place in derivative.keep:
        if place in derivative.crosswise and edges[1 - place] is None:
            saved.append(None)
            continue
        item = inputs[place]
        saved.append(saved_input(item) if isinstance(item, TensorBase) else Constant(item))
    for number in derivative.results:
        saved.append(Saved(results[number], True))
    return saved


_INDICES = (None,)  # stands for arrays among the arguments, which the graph keeps until it is used up


class Constant:
    """An input that is no tensor, in the place of a saved one."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    unpack = None
    output = False

    def value(self, node: Any, recorded: bool) -> Any:
        """The array, as a tensor if the gradient is one."""
        return tensor_of(self.array) if recorded and isinstance(self.array, np.ndarray) else self.array


# Operations without a rule: MindSpore's own tape differentiates the kernel when backward comes by


class Native(Node):
    """A node whose gradient MindSpore's tape finds, by running the kernel once more under its eyes."""

    __slots__ = ("function", "given", "args", "places", "outputs", "count")
    function: Any
    given: Any
    args: Any
    places: Any
    outputs: Any
    count: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """The gradients by MindSpore's tape; recorded ones are found again by it when they are differentiated."""
        forked.refuse(self.name())
        values = [item.value(self, recorded) for item in self.saved]
        chosen = [number for number, gradient in enumerate(gradients) if gradient is not None and number in self.outputs]
        seeds = [gradients[number] for number in chosen]
        return _pulled(self.function, values, self.given, self.args, self.places, seeds, chosen, self.count, recorded)


def _pulled(
    function: Callable[..., Any], values: list[Any], given: Any, args: tuple[Any, ...], places: list[int], seeds: list[Any],
    chosen: list[int], count: int, recorded: bool,
) -> list[Any]:  # fmt: skip
    """The gradients of some outputs of a function of MindSpore's tensors with respect to its inputs at ``places``."""

    def forward(*raws: Raw) -> list[Raw]:
        rest = iter(raws)
        filled = [
            next(rest) if item is None else tuple(next(rest) for _ in range(item)) if isinstance(item, int) else item[0] for item in given
        ]
        results = function(*filled, *args)
        results = results if isinstance(results, (tuple, list)) else (results,)
        return [results[number] for number in chosen]

    def gradients(*raws: Raw) -> Sequence[Raw | None]:
        inner, outer = raws[: len(values)], raws[len(values) :]
        return native_tape.pull(forward, inner, places, outer)

    if recorded:
        return _found(gradients, [*values, *seeds], len(places), count, places)
    with LOCK:
        raws = [_raw(item) for item in (*values, *seeds)]
        found = gradients(*raws)
    host = not any(isinstance(item, Raw) for item in seeds)
    full: list[Any] = [None] * count
    for place, raw in zip(places, found):
        if raw is not None:
            full[place] = raw.asnumpy().copy() if host else raw
    return full


def _raw(item: Any) -> Raw:
    if isinstance(item, TensorBase):
        return value_of(item)
    return item if isinstance(item, Raw) else from_numpy(np.ascontiguousarray(item).reshape(item.shape))


def _found(function: Callable[..., Any], tensors: list[Any], results: int, count: int, places: list[int]) -> list[Any]:
    """Recorded gradients: the pull itself as an operation that MindSpore's tape can differentiate."""
    missing: list[int] = []

    def whole(*raws: Raw) -> tuple[Raw, ...]:
        found = function(*raws)
        missing[:] = [i for i, raw in enumerate(found) if raw is None]
        return tuple(native_tape.zeros_like(raws[places[i]]) if raw is None else raw for i, raw in enumerate(found))

    with LOCK:
        made = [dressed(_unwrapped(raw, tensors)) for raw in whole(*[value_of(item) for item in tensors])]
    if modes.grad and any(is_tracked(item) for item in tensors):
        attach_function("NativeBackward", whole, tensors, made)
    if LEVELS:

        def again(items: list[Any]) -> list[Any]:
            found = _found(function, items, results, count, places)
            return [found[place] for place in places]

        pushed_gradient[0](again, whole, list(tensors), places, count, made)
    full: list[Any] = [None] * count
    for number, (place, tensor) in enumerate(zip(places, made)):
        full[place] = None if number in missing else tensor
    return full


def _unwrapped(raw: Raw, tensors: list[Any]) -> Any:
    return raw.asnumpy().copy() if tensors[0]._storage.__class__ is Storage else raw


def attach_native(
    op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...], results: Sequence[Any], label: str | None
) -> None:
    """Record an operation without a rule."""
    given, flat = operands(inputs)
    _attach(label or backward_name(op.op), op.beside_host(kind.name), given, tuple(map(as_raw, args)), flat, results)


def operands(inputs: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """What a function of MindSpore's tensors is given (None for a tensor, a number for that many, or a constant), and the tensors."""
    given: list[Any] = []
    flat: list[Any] = []
    for item in inputs:
        if isinstance(item, TensorBase):
            given.append(None)
            flat.append(item)
        elif isinstance(item, (list, tuple)) and item and isinstance(item[0], TensorBase):
            given.append(len(item))
            flat.extend(item)
        else:
            given.append((as_raw(item),))
    return given, flat


def attach_function(label: str, function: Callable[..., Any], tensors: Sequence[Any], results: Sequence[Any]) -> None:
    """Record a function of MindSpore's tensors, whose results are given, by MindSpore's own derivative of it."""
    _attach(label, function, [None] * len(tensors), (), list(tensors), results)


def through(
    label: str, function: Callable[..., Any], tensors: Sequence[Any], constants: Sequence[Any] = (),
    host: Callable[..., Any] | None = None, linear: bool = False,
) -> Any:  # fmt: skip
    """``function(*tensors, *constants)`` of MindSpore's tensors, on tensors, recorded by MindSpore's own derivative of it.

    ``linear``: in all tensors together, so that forward mode applies it to their tangents.

    The results have memory of their own. For what has no row of its own: a row's kernel with its arguments in another order;
    ``host`` is the same of arrays.
    """
    if modes.native is None and on_host(tensors):
        result = _wrapped((host or through_mindspore(function))(*map(_as_array, tensors), *map(_as_array, constants)))
    elif modes.native is None and without_memory(tensors):
        with shapes_only():
            result = _wrapped(shaped((host or through_mindspore(function))(*map(_as_array, tensors), *map(_as_array, constants))))
    else:
        result = _wrapped(function(*map(as_raw, tensors), *map(as_raw, constants)))
    if modes.native is None and recording(tensors):
        results = result if result.__class__ is tuple else (result,)
        given = [None] * len(tensors) + [(as_raw(item),) for item in constants]
        if modes.grad and any(is_tracked(item) for item in tensors):
            _attach(label, function, given, (), list(tensors), results)
        if LEVELS:
            again = partial(through, label, function, constants=constants, host=host) if linear else None
            pushed_native[0](function, given, (), list(tensors), results, again)
    return result


def _attach(
    label: str, function: Callable[..., Any], given: list[Any], args: tuple[Any, ...], flat: list[Any], results: Sequence[Any]
) -> None:
    edges = [edge_of(item) if item._dtype.category >= 2 else None for item in flat]
    node = native_node(label, edges, function, given, args, [saved_input(item) for item in flat], results)
    for number in node.outputs:
        results[number]._node, results[number]._number = node, number


def native_node(
    label: str, edges: list[Any], function: Callable[..., Any], given: list[Any], args: tuple[Any, ...], saved: list[Any],
    results: Sequence[Any],
) -> Any:  # fmt: skip
    """The node of a function of MindSpore's tensors."""
    node: Any = named(Native, label)(edges)
    node.function, node.given, node.args = function, given, args
    node.places = [i for i, edge in enumerate(edges) if edge is not None]
    node.count = len(edges)
    node.saved = saved
    node.outputs = [i for i, item in enumerate(results) if isinstance(item, TensorBase) and item._dtype.category >= 2]
    if len(results) > 1:
        node.width = len(results)
    return node

"""Operations without a gradient rule, which MindSpore's autograd differentiates in backward."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..backend import tape as native_tape
from ..backend.arrays import Array
from ..backend.forked import forked
from ..backend.raw import Raw, from_numpy
from ..backend.table import Kernel, through_mindspore
from ..backend.turns import LOCK
from ..core.dtype import dtype
from ..core.modes import modes
from ..core.storage import Storage
from ..core.tangents import LEVELS
from ..core.tensor_base import (
    TensorBase,
    is_tracked,
    recording,
    to_meta,
    value_of,
)
from .bare import dressed
from .node import Node, edge_of, named
from .operands import Operand, as_raw, compute
from .places import without_values
from .saved_values import saved_input

pushed_native: list[Callable[..., None]] = []  # forward mode's function for the results, set by ``forward.py``
pushed_gradient: list[Callable[..., None]] = []


class Native(Node):
    """Node whose gradient MindSpore's autograd computes by running the kernel again."""

    __slots__ = ("function", "given", "args", "places", "outputs", "count")
    function: Any
    given: Any
    args: Any
    places: Any
    outputs: Any
    count: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradients from MindSpore's autograd; if ``recorded``, they can be differentiated again in the same way."""
        forked.refuse(self.name())
        native_tape.refuse_in_trace("the gradient of an operation is MindSpore's", "kernel")
        values = [item.value(self, recorded) for item in self.saved]
        if recorded and not modes.grad and without_values(gradients):
            return [None if edge is None else to_meta(value) for edge, value in zip(self.edges, values)]
        chosen = [number for number, gradient in enumerate(gradients) if gradient is not None and number in self.outputs]
        seeds = [gradients[number] for number in chosen]
        return _pulled(self.function, values, self.given, self.args, self.places, seeds, chosen, self.count, recorded)


def _pulled(
    function: Callable[..., Any], values: list[Any], given: Sequence[Any], args: tuple[Any, ...], places: list[int], seeds: list[Any],
    chosen: list[int], count: int, recorded: bool,
) -> list[Any]:  # fmt: skip
    """Return the gradients of some outputs of a function of MindSpore tensors with respect to its inputs at ``places``."""

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
        return _native_gradients(gradients, [*values, *seeds], len(places), count, places)
    with LOCK:
        raws = [_raw(item) for item in (*values, *seeds)]
        found = gradients(*raws)
    host = not any(isinstance(item, Raw) for item in seeds)
    full: list[Any] = [None] * count
    for place, raw in zip(places, found):
        if raw is not None:
            full[place] = raw.asnumpy().copy() if host else raw
    return full


def _raw(item: Operand) -> Raw:
    if isinstance(item, TensorBase):
        return value_of(item)
    return item if isinstance(item, Raw) else from_numpy(np.ascontiguousarray(item).reshape(item.shape))


def _native_gradients(function: Callable[..., Any], tensors: list[Any], results: int, count: int, places: list[int]) -> list[Any]:
    """Return the gradients that ``function`` computes, one per input; autograd tracks them, and MindSpore's autograd differentiates
    ``function`` in turn."""
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
            found = _native_gradients(function, items, results, count, places)
            return [found[place] for place in places]

        pushed_gradient[0](again, whole, list(tensors), places, count, made)
    full: list[Any] = [None] * count
    for number, (place, tensor) in enumerate(zip(places, made)):
        full[place] = None if number in missing else tensor
    return full


def _unwrapped(raw: Raw, tensors: list[Any]) -> Array:
    return raw.asnumpy().copy() if tensors[0]._ms_storage.__class__ is Storage else raw


def refuse_trained(what: str) -> None:
    """Raise RuntimeError inside a Module that MindSpore trains, because MindSpore's autograd does not support ``what``, and end a capture
    whose gradients are captured too: they are computed where no hook runs."""
    if modes.native is not None and modes.native.follows:
        native_tape.refuse_in_trace(what)
    if modes.native is not None and native_tape.is_recording():
        raise RuntimeError(f"mstorch: {what} cannot be trained by MindSpore itself")


def attach_native(label: str, op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...], results: Sequence[Any]) -> None:
    """Record an operation without a gradient rule."""
    given, flat = operands(inputs)
    _attach(label, op.beside_host(kind.name), given, tuple(map(as_raw, args)), flat, results)


def operands(inputs: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """Split the arguments of a function of MindSpore tensors into the tensors and a pattern: None for a tensor, a count for a list of
    tensors, else a constant.
    """
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
    """Record a function of MindSpore tensors with the given results, differentiated by MindSpore."""
    _attach(label, function, [None] * len(tensors), (), list(tensors), results)


class _Rowless(dict[Any, Any]):
    """An operation that is not in the kernel table, given as a function of MindSpore tensors and one of NumPy arrays."""

    op = ""

    def __init__(self, function: Callable[..., Any], host: Callable[..., Any]) -> None:
        super().__init__({"": function})
        self.host = {"": host}


def through(
    label: str, function: Callable[..., Any], tensors: Sequence[Any], constants: Sequence[Any] = (),
    host: Callable[..., Any] | None = None, linear: bool = False,
) -> TensorBase:  # fmt: skip
    """Apply ``function(*tensors, *constants)``, which computes on MindSpore tensors, with MindSpore's autograd for its gradient.

    ``linear``: the function is linear in all tensors jointly, so that forward mode applies it to the tangents.

    The results own their memory. ``host`` is the same function of arrays.
    """
    result = compute(_Rowless(function, host or through_mindspore(function)), "", tensors, tuple(constants))[0]
    if (modes.native is None or modes.native.follows) and recording(tensors):
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
    edges = [edge_of(item) if not item._ms_dtype.is_integral else None for item in flat]
    node = native_node(label, edges, function, given, args, [saved_input(item) for item in flat], results)
    for number in node.outputs:
        results[number]._ms_node, results[number]._ms_number = node, number


def native_node(
    label: str, edges: list[Any], function: Callable[..., Any], given: list[Any], args: tuple[Any, ...], saved: list[Any],
    results: Sequence[Any],
) -> Native:  # fmt: skip
    """Return the node of a function of MindSpore tensors."""
    node: Any = named(Native, label)(edges)
    node.function, node.given, node.args = function, given, args
    node.places = [i for i, edge in enumerate(edges) if edge is not None]
    node.count = len(edges)
    node.saved = saved
    node.outputs = [i for i, item in enumerate(results) if isinstance(item, TensorBase) and not item._ms_dtype.is_integral]
    if len(results) > 1:
        node.width = len(results)
    return node

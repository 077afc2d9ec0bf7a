"""Forward mode: propagate tangents operation by operation.

A tangent is computed by the rule declared in ``rules/forward`` or, without such a rule, by transposing the gradient rule: gradients are
linear in the incoming gradient, so that transposing this linear map gives the directional derivative (Townsend, "A new trick for
calculating Jacobian vector products", 2017). Operations with neither rule raise.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.raw import from_numpy
from ..backend.table import Kernel
from ..core.dtype import dtype
from ..core.modes import grad_set_to, modes
from ..core.storage import NATIVE, Storage
from ..core.strides import dense_order
from ..core.tangents import below, levels_of_all, on
from ..core.tensor_base import (
    TensorBase,
    array_of,
    auto_of,
    in_order,
    is_meta,
    is_tracked,
    laid_out,
    meta_tensor,
    on_device,
    strides_of,
    tensor_of,
    window,
)
from . import accumulate, engine
from .apply import RULES, Applied, Derivative, apply, pushed
from .bare import bare, dressed, repeats
from .duals import carry, give, refuse, relaid, tangent_of, write_into, zeros_for
from .movement import Move, casting, cloned
from .native import Native, native_node, operands, pushed_gradient, pushed_native
from .node import Node, edge_of
from .operands import Operand, as_raw
from .saved_values import Saved
from .vocabulary import conj
from .windows import linear

SOMEWHERE: Any = (Node(()), 0)  # the edge of an input that has a tangent; no gradient is ever sent to it


class Held:
    """An operand of a forward rule, with the value that it had when the operation ran: a tensor, or an array for a constant."""

    __slots__ = ("item",)

    output = False
    unpack = None

    def __init__(self, item: TensorBase) -> None:
        self.item = item

    def value(self, node: Node, recorded: bool) -> Operand:
        """Return the saved value: as a tensor if ``recorded``, else as a raw array."""
        item = self.item
        if isinstance(item, TensorBase):
            return item if recorded else bare(item)
        return tensor_of(item) if recorded and isinstance(item, np.ndarray) else item


class Call:
    """An executed operation, as passed to its forward-mode rule. Values and tangents are all raw arrays if ``plain``, else all tensors."""

    def __init__(
        self, op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...], results: tuple[TensorBase, ...],
        tangents: list[Any], plain: bool
    ) -> None:
        self.op, self.kind, self.args, self.results, self.plain = op, kind, args, results, plain
        self.listed = bool(inputs) and inputs[0].__class__ is list
        self.inputs = list(inputs[0]) if self.listed else list(inputs)
        self.tangents = [array_of(item) if item is not None else None for item in tangents] if plain else tangents

    def _shown(self, item: TensorBase) -> Operand:
        if isinstance(item, TensorBase):
            return bare(item) if self.plain else item
        return tensor_of(item) if isinstance(item, np.ndarray) and not self.plain else item

    def x(self, place: int = 0) -> Any:
        """Return the input at ``place``."""
        return self._shown(self.inputs[place])

    def y(self, place: int = 0) -> Any:
        """Return the result at ``place``."""
        return self._shown(self.results[place])

    def t(self, place: int = 0) -> Any:
        """Return the tangent of the input at ``place``, or None."""
        return self.tangents[place]

    def shape(self) -> tuple[int, ...]:
        """Return the shape of the result."""
        return tuple(self.results[0]._ms_shape)

    def zeros(self, place: int) -> Any:
        """Return zeros like the input at ``place``."""
        item = self.inputs[place]
        return self._shown(zeros_for[0](item)) if isinstance(item, TensorBase) else np.zeros_like(item)

    def run(self, *inputs: Any) -> Operand:
        """Run the operation on other inputs."""
        given: tuple[Any, ...] = (list(inputs),) if self.listed else inputs
        if self.plain:
            return self.op.host[self.kind.name](*given, *self.args)
        return apply(self.op, self.kind, given, self.args)

    def pull(self, tangent: Operand, place: int = 0) -> Operand:
        """Apply the gradient rule to a value; return the result for the input at ``place``."""
        node = applied_node(RULES[self.op.op], self.kind, self.inputs, self.args, self.results, [True] * len(self.inputs))
        found = node.run([tangent], not self.plain)
        return found[place]


FORWARD: dict[str, Callable[[Call], Any]] = {}


def forward_rule(*ops: str) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    """Register the decorated function as the forward rule of operations; it returns the tangent of the result, or a list of tangents."""

    def enter(function: Callable[[Call], Any]) -> Callable[[Call], Any]:
        for op in ops:
            FORWARD[op] = function
        return function

    return enter


def symmetric(call: Call) -> Operand:
    """Return the tangent by the gradient rule, for an operation with a symmetric Jacobian; complex tangents are conjugated before and
    after.
    """
    return call.pull(call.t()) if call.kind.is_floating_point else conj(call.pull(conj(call.t())))


def applied_node(
    derivative: Derivative, kind: dtype, inputs: list[Any], args: tuple[int | tuple[int, ...], ...], results: Sequence[Any], has: list[bool]
) -> Applied:
    """Return a node of an operation with a gradient rule, detached from every graph."""
    node: Any = derivative.node([SOMEWHERE if one else None for one in has])
    node.rule, node.args, node.kind = derivative.rule, args, kind
    node.results = len(results) if len(results) > 1 else 0
    node.shapes = [item._ms_shape if isinstance(item, TensorBase) else np.shape(item) for item in inputs]
    node.saved = [Held(inputs[place]) for place in derivative.keep] + [Held(results[number]) for number in derivative.results]
    return node


def _push_operation(op: Kernel, kind: dtype, inputs: tuple[Any, ...], args: tuple[Any, ...], result: TensorBase) -> None:
    """Set the tangents of the results of an operation."""
    flat: list[Any] = []
    for item in inputs:
        if isinstance(item, (list, tuple)):
            flat.extend(item)
        else:
            flat.append(item)
    levels = levels_of_all(flat)
    if not levels:
        return
    refuse(*flat)
    results = result if result.__class__ is tuple else (result,)
    if not any(_inexact(item) for item in results):
        return
    derivative = RULES.get(op.op)
    direct = FORWARD.get(op.op, symmetric if derivative is not None and derivative.symmetric else None)

    def tangents_at(level: int) -> Sequence[Any]:
        tangents = [_tangent(item, level, kind) for item in flat]
        if direct is not None:
            call = Call(op, kind, inputs, args, results, tangents, _on_raw_arrays((*flat, *tangents, *results)))
            found = direct(call)
            if found.__class__ is np.ndarray:
                return (_unaliased(found, call.tangents),)
            if found is not NotImplemented:
                return [_unaliased(item, call.tangents) for item in (found if isinstance(found, (list, tuple)) else (found,))]
        has = [item is not None for item in tangents]
        if derivative is not None:
            return transposed(applied_node(derivative, kind, flat, args, results, has), tangents, results)
        given, tensors = operands(inputs)
        held = [Held(item) for item in tensors]
        own = [item for item in tangents if item is not None] if len(tensors) != len(flat) else tangents
        if len(tensors) != len(flat):
            own = [tangent for item, tangent in zip(flat, tangents) if isinstance(item, TensorBase)]
        edges = [None if item is None else SOMEWHERE for item in own]
        raw_args = tuple(map(as_raw, args))
        node = native_node(op.op, edges, op[kind.name], given, raw_args, held, results)
        return transposed(node, own, results)

    _give_all(levels, results, tangents_at)


def _unaliased(found: Operand, tangents: list[Any]) -> Operand | None:
    """Return a tangent that shares no memory with the tangents from which it was computed, so that it may be written to."""
    if found.__class__ is np.ndarray:
        shared = found.base is not None or any(found is one for one in tangents)
        return np.array(found, order="C") if shared and not repeats(found) else found
    if isinstance(found, TensorBase) and any(one is not None and one._ms_storage is found._ms_storage for one in tangents):
        return linear(found, _COPIED, _COPIED, "CloneBackward0")
    return found


def _push_function(
    function: Callable[..., Any], given: list[Any], args: tuple[Any, ...], tensors: list[Any], results: Any,
    again: Callable[[Sequence[Any]], Any] | None = None,
) -> None:  # fmt: skip
    """Set the tangents of the results of a function of MindSpore tensors; ``again`` applies a linear function to the tangents."""

    def direct(tangents: list[Any], outputs: Any, inputs: Any) -> Any:
        assert again is not None
        found = again([zeros_for[0](item) if one is None else one for item, one in zip(inputs, tangents)])
        return found if isinstance(found, tuple) else (found,)

    push(
        tensors, results, lambda edges, saved: native_node("Native", edges, function, given, args, saved, results),
        None if again is None else direct,
    )  # fmt: skip


def _push_gradient(
    again: Callable[[list[Any]], list[Any]], function: Callable[..., Any], tensors: list[Any], places: list[int], count: int,
    results: list[Any],
) -> None:  # fmt: skip
    """Set the tangents of gradients that MindSpore has computed. Of ``tensors``, the first ``count`` are values, the others incoming
    gradients.

    A gradient is linear in the incoming gradients, so that ``again`` is applied to their tangents. For the values, the tangent is a product
    with the symmetric Hessian, computed by one backward pass; a third-order pass is avoided, because MindSpore's gradients of some kernels
    lack terms there.
    """

    def direct(tangents: list[Any], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> list[TensorBase | None]:
        node = native_node(
            "NativeBackward", [SOMEWHERE if place in places else None for place in range(len(inputs))], function, [None] * len(inputs), (),
            [Held(item) for item in inputs], outputs,
        )  # fmt: skip
        moved, turned = tangents[:count], tangents[count:]
        if any(tangent is not None and place not in places for place, tangent in enumerate(moved)):
            node.edges = [None if tangent is None else SOMEWHERE for tangent in tangents]
            node.places = [place for place, edge in enumerate(node.edges) if edge is not None]
            return transposed(node, tangents, outputs)
        parts = []
        if any(tangent is not None for tangent in turned):
            seeds = [zeros_for[0](item) if one is None else one for item, one in zip(inputs[count:], turned)]
            parts.append(again([*inputs[:count], *seeds]))
        if any(tangent is not None for tangent in moved):
            found = node.run([zeros_for[0](inputs[place]) if moved[place] is None else moved[place] for place in places], True)
            parts.append([found[place] for place in places])
        return [_sum_of([part[number] for part in parts]) for number in range(len(outputs))]

    push(tensors, results, lambda edges, saved: None, direct)


def _sum_of(terms: list[Any]) -> TensorBase | None:
    given = [term for term in terms if term is not None]
    return None if not given else given[0] if len(given) == 1 else accumulate.add(*given)


def push(
    inputs: Sequence[Any], results: Sequence[Any], make: Callable[[list[Any], list[Any]], Any],
    direct: Callable[..., Sequence[Any]] | None = None, written: bool = False,
) -> None:  # fmt: skip
    """Set the tangents of results: by ``direct(tangents, results, inputs)`` if given, else by transposing the node that ``make(edges,
    saved)`` returns.

    The node saves its inputs or, if its gradient is ``written`` in terms of tensors, its results and inputs."""
    levels = levels_of_all(inputs)
    if not levels or not any(_inexact(item) for item in results):
        return
    refuse(*inputs)
    saved = [Held(item) for item in ((*results, *inputs) if written else inputs)]

    def tangents_at(level: int) -> Sequence[Any]:
        tangents = [_tangent(item, level, None) for item in inputs]
        if direct is not None:
            return direct(tangents, results, inputs)
        edges = [None if item is None else SOMEWHERE for item in tangents]
        return transposed(make(edges, saved), tangents, results, not written)

    _give_all(levels, results, tangents_at)


def _give_all(levels: list[int], results: Sequence[Any], tangents_at: Callable[[int], Sequence[Any]]) -> None:
    for level in levels:
        with below(level):
            found = tangents_at(level)
        for item, tangent in zip(results, found):
            if tangent is not None and _inexact(item):
                tangent = dressed(tangent)
                if tangent._ms_shape != item._ms_shape:
                    raise NotImplementedError(f"mstorch: a tangent of shape {tangent._ms_shape} for a result of shape {item._ms_shape}")
                give(item, level, tangent)
    for item in results if modes.grad else ():
        node = item._ms_node if isinstance(item, TensorBase) else None
        for kept in (node.saved or ()) if node is not None else ():
            if isinstance(kept, Saved) and kept.output and kept.tensor is not None and kept.number == item._ms_number:
                carry(item, kept.tensor)  # a saved result is another tensor object


def _inexact(item: TensorBase) -> bool:
    return isinstance(item, TensorBase) and not item._ms_dtype.is_integral


def _tangent(item: TensorBase, level: int, kind: dtype | None) -> TensorBase | None:
    auto = item._ms_auto if isinstance(item, TensorBase) else None
    if auto is None:
        return None
    found = tangent_of(item, level)
    wanted = kind or item._ms_dtype
    return found if found is None or found._ms_dtype is wanted else _in_kind(found, wanted)


def _cast(array: Array, kind: np.dtype[Any]) -> Array:
    return (array.real if kind.kind != "c" else array).astype(kind)


def _on_raw_arrays(items: Sequence[Any]) -> bool:
    """Return whether tangents can be computed on raw arrays, because neither backward nor an outer forward-mode level tracks them."""
    if on():
        return False
    recorded = modes.grad
    for item in items:
        if not isinstance(item, TensorBase):
            continue
        if item._ms_storage.__class__ is not Storage:
            return False
        if recorded and (item._ms_node is not None or (item._ms_auto is not None and is_tracked(item))):
            return False
    return True


def transposed(node: Node, tangents: Sequence[Any], results: Sequence[Any], probe: bool = True) -> list[Any]:
    """Return the tangents of a node's results by transposing its gradients, which are linear in the incoming ones.

    ``probe``: transpose at nonzero gradients, which show whether the backward of a node lost the autograd graph; else at zeros, which every
    backward accepts.
    """
    if not isinstance(node, Native):
        return _transposed(node, tangents, results, probe)
    try:
        return _transposed(node, tangents, results, probe)
    except (RuntimeError, TypeError) as error:
        # MindSpore has no second derivative of some kernels, and its message does not explain that.
        raise NotImplementedError(
            f"Trying to use forward AD with {node.name()} that does not support it because it has not been implemented yet."
        ) from error


def _transposed(node: Node, tangents: Sequence[Any], results: Sequence[Any], probe: bool) -> list[Any]:
    recorded = modes.grad
    with grad_set_to(True):
        seeds = [_seed(item, probe) if _inexact(item) else None for item in results]
        found = node.run(list(seeds), True)
    roots = []
    for gradient, tangent in zip(found, tangents):
        if tangent is None or gradient is None:
            continue
        if not is_tracked(gradient):
            if not is_meta(gradient) and np.any(array_of(gradient)):
                raise NotImplementedError(
                    f"mstorch: the tangent of {node.name()} is not known: its gradient cannot be differentiated in its turn"
                )
            continue
        edge = edge_of(gradient)
        if tangent._ms_shape != gradient._ms_shape:
            raise NotImplementedError(f"mstorch: {node.name()} has a gradient of another shape than its input")
        tangent = _in_kind(tangent, gradient._ms_dtype)
        roots.append((edge, tangent))
    follow = (recorded and any(is_tracked(tangent) for _, tangent in roots)) or (recorded and _keeps_tracked(node))
    dress = follow or on()
    starts = [(edge, tangent if dress else bare(tangent)) for edge, tangent in roots]
    ends = [None if seed is None else edge_of(seed) for seed in seeds]
    values = engine.run(starts, True, follow, ends) if starts else [None] * len(seeds)  # type: ignore[arg-type]
    made: list[Any] = []
    for seed, value in zip(seeds, values):
        if seed is None:
            made.append(None)
        elif value is None:
            made.append(zeros_for[0](seed))
        else:
            made.append(_owned(value))
    return made


def _owned(value: Operand) -> TensorBase:
    """Return a tangent that owns its memory."""
    if isinstance(value, np.ndarray) and (value.base is not None or not value.flags.writeable):
        value = np.array(value, order="C")
    return dressed(value)


def _in_kind(tangent: TensorBase, kind: dtype) -> TensorBase:
    if tangent._ms_dtype is kind:
        return tangent
    source, target = tangent._ms_dtype.np, kind.np
    return linear(
        tangent, Move(lambda array: _cast(array, target), casting(kind.name)),
        Move(lambda array: _cast(array, source), casting(tangent._ms_dtype.name)), "ToCopyBackward0",
    )  # fmt: skip


def _keeps_tracked(node: Node) -> bool:
    for item in node.saved or ():
        if isinstance(item, Held) and isinstance(item.item, TensorBase) and is_tracked(item.item):
            return True
    return False


def _seed(result: TensorBase, probe: bool) -> TensorBase:
    """Return a placeholder gradient that requires grad, for forward mode: differentiating the backward with respect to it gives the
    tangents.
    """
    if is_meta(result):
        return meta_tensor(result._ms_shape, result._ms_dtype, None, True)
    kind, count = result._ms_dtype.np, int(np.prod(result._ms_shape))
    seed = tensor_of((np.linspace(0.5, 1.5, count).astype(kind) if probe else np.zeros(count, kind)).reshape(result._ms_shape))
    if result._ms_storage.__class__ in NATIVE:
        seed = on_device(from_numpy(array_of(seed)))
    auto_of(seed).leaf = True
    return seed


# Functions that lower modules call


def _zeros_for(like: TensorBase) -> TensorBase:
    """Return detached zeros with the shape, dtype and strides of a tensor."""
    shape, kind, strides = like._ms_shape, like._ms_dtype, like._ms_stride
    if is_meta(like):
        return meta_tensor(shape, kind, strides)
    if like._ms_storage.__class__ in NATIVE:
        dense = strides is not None and dense_order(shape, strides) is not None
        return on_device(from_numpy(np.zeros(shape, kind.np)), strides if dense else None)
    if strides is None or dense_order(shape, strides) is not None:
        return laid_out(np.zeros(shape, kind.np), strides)
    return _in_gaps(shape, kind, strides)


def _in_gaps(shape: tuple[int, ...], kind: dtype, strides: Any) -> Any:
    span = 0 if 0 in shape else 1 + sum((length - 1) * step for length, step in zip(shape, strides))
    return window(tensor_of(np.zeros(span, kind.np))._ms_storage, kind, shape, strides, 0)


def _relaid(tangent: TensorBase, like: TensorBase) -> TensorBase:
    """Return a tangent in the memory order of a tensor; a device's, whose copies have no gaps, in rows where the tensor has gaps."""
    strides = like._ms_stride
    if strides is None or dense_order(like._ms_shape, strides) is not None:
        copy = linear(tangent, _COPIED, _COPIED, "CloneBackward0")
        return in_order(copy, strides_of(like)) if strides is not None else copy
    if any(length > 1 and step == 0 for length, step in zip(like._ms_shape, strides)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() "
            "the tensor before performing the operation."
        )
    if tangent._ms_storage.__class__ in NATIVE:
        return linear(tangent, _COPIED, _COPIED, "CloneBackward0")
    made = _in_gaps(like._ms_shape, tangent._ms_dtype, strides)
    write_into[0](made, tangent)
    return made


def _copied(array: Array) -> Array:
    return np.array(array, order="C")


_COPIED = Move(_copied, cloned)


def in_storage(tangent: TensorBase, like: TensorBase) -> TensorBase:
    """Return the tangent as a view of a new storage that is as large as the tensor's, at the tensor's offset and strides. The rest of the
    storage is zero; later views of the tensor may reach it."""
    whole = tensor_of(np.zeros(like._ms_storage.nbytes // like._ms_dtype.itemsize, tangent._ms_dtype.np))
    made = window(whole._ms_storage, tangent._ms_dtype, like._ms_shape, like._ms_stride, like._ms_offset)
    write_into[0](made, tangent)
    return made


relaid.append(_relaid)
zeros_for.append(_zeros_for)
pushed.append(_push_operation)
pushed_native.append(_push_function)
pushed_gradient.append(_push_gradient)

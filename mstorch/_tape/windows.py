"""Histories of views and of writes: windows forward and back, as linear maps that differentiate any number of times."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._backend.raw import Raw, from_numpy
from .._backend.table import kernel
from .._core.dtype import OF_NP, dtype
from .._core.modes import grad_set_to, modes, shapes_only
from .._core.storage import Counter
from .._core.strides import Strides, contiguous_strides, flat_index
from .._core.tangents import LEVELS, below, keep, levels_of, levels_of_all
from .._core.tensor_base import (
    DEFAULT,
    INFERENCE,
    MULTIPLE_OUTPUTS,
    WITHOUT_GRAD,
    TensorBase,
    array_of,
    auto_of,
    become,
    is_meta,
    is_tracked,
    make_view,
    make_window,
    meta_tensor,
    put_array,
    put_raw,
    strides_of,
    tensor_of,
    touch,
    turn_into,
    twin,
    value_of,
)  # fmt: skip
from .duals import give, mapped, mapped_apart, offset_in, refuse, same_view, tangent_of, write, write_into
from .movement import apply_map
from .node import Node, _look, bare, dressed, edge_of, named, node_of, on_host, repeats

Map = Callable[[np.ndarray], np.ndarray]


def _through(function: Map, value: Any, transpose: Map) -> Any:
    """A map of arrays, given with its transpose, on a bare value."""
    if value.__class__ is np.ndarray:
        return np.asarray(function(value))
    return apply_map(function, transpose, value)


class Linear(Node):
    """A node of a linear map, given as two maps of arrays: forward, and back (its transpose)."""

    __slots__ = ("forward", "back")
    forward: Any
    back: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """The transpose on the gradient; recorded, it is a linear map again."""
        gradient = gradients[0]
        if not isinstance(gradient, TensorBase):
            return (_through(self.back, gradient, self.forward),)
        return (linear(gradient, self.back, self.forward, type(self).label),)


def linear(tensor: Any, forward: Map, back: Map, label: str) -> Any:
    """A linear map of a tensor, recorded; the result has memory of its own."""
    if is_meta(tensor):
        with shapes_only():
            found = np.asarray(forward(array_of(tensor)))
        result = meta_tensor(found.shape, OF_NP[found.dtype])
        if modes.grad and is_tracked(tensor):
            result._node = _linear_node(tensor, forward, back, label)
        return result
    value = bare(tensor)
    made = _through(forward, value, back)
    if made.__class__ is np.ndarray and (made.base is not None or made is value) and not repeats(made):
        made = np.array(made, order="C")
    result = dressed(made)
    if modes.grad and is_tracked(tensor):
        result._node = _linear_node(tensor, forward, back, label)
    if LEVELS:
        mapped(tensor, result, lambda tangent: linear(tangent, forward, back, label))
    return result


def _linear_node(source: Any, forward: Map, back: Map, label: str) -> Any:
    node: Any = named(Linear, label)((edge_of(source),))
    node.forward, node.back = forward, back
    return node


def view(
    source: Any, label: str, shape: Sequence[int], strides: Strides, offset: int, read: Callable[[Raw], Raw], forward: Map | None,
    back: Map | None,
    kind: dtype | None = None, again: Callable[[Any], Any] | None = None,
) -> Any:  # fmt: skip
    """A view of ``source`` with its history. ``forward`` and ``back`` are its linear map on arrays and the transpose
    (None for a view that has no gradient).

    ``again`` makes the same view of another tensor; needed where no window on the base does (another dtype).
    """
    made = make_view(source, read, shape, strides, offset, kind)
    if modes.native is not None:
        refuse(source)
        return made
    _enter_view(made, source, again)
    if modes.grad and forward is not None and back is not None and is_tracked(source):
        made._node = _linear_node(source, forward, back, label)
    if LEVELS and forward is not None:
        mapped(source, made, lambda tangent: view(
            tangent, label, shape, strides, offset_in(tangent, source, offset, kind), read, forward, back, kind, again
        ))  # fmt: skip
    return made


def part(source: Any, label: str, shape: tuple[int, ...], strides: Strides, offset: int, key: tuple[Any, ...]) -> Any:
    """A view of host memory that basic indexing makes, with its history; ``key`` is NumPy's."""
    made = make_window(source, shape, strides, offset)
    _enter_view(made, source, None)
    if modes.grad and is_tracked(source):
        made._node = _linear_node(source, lambda array: np.asarray(array[key]), _placing(key, source._shape), label)
    if LEVELS:
        mapped(source, made, lambda tangent: part(tangent, label, shape, strides, offset_in(tangent, source, offset), key))
    return made


def _enter_view(made: Any, source: Any, again: Callable[[Any], Any] | None, origin: int = DEFAULT) -> None:
    auto = auto_of(made)
    above = source._auto
    if LEVELS and above is not None and above.tangents:
        for level, tangent in above.tangents.items():
            if tangent is None:
                keep(auto, level, None)
    if above is not None and above.inference:
        auto.inference = True
        return
    if above is not None and above.base is not None:
        auto.base = above.base
        before = above.again
        if again is not None:
            auto.again = again if before is None and source._dtype is above.base._dtype else _chained(source, again)
        elif before is not None:
            auto.again = _chained(source, _window_again(made))
        if above.origin != DEFAULT and origin == DEFAULT:
            origin = above.origin
    else:
        auto.base = source
        auto.again = again
    auto.seen = made._counter.version
    if origin in (DEFAULT, MULTIPLE_OUTPUTS) and not modes.grad:
        origin = INFERENCE if modes.inference else WITHOUT_GRAD
    auto.origin = origin


def _chained(source: Any, again: Callable[[Any], Any]) -> Callable[[Any], Any]:
    first = source._auto.again or _window_again(source)
    return lambda base: again(first(base))


def _window_again(made: Any) -> Callable[[Any], Any]:
    shape, strides, offset = made._shape, strides_of(made), made._offset
    return lambda base: window_on(base, shape, strides, offset, "AsStridedBackward0")


def _same_view(tensor: Any, base: Any) -> Any:
    """What a view shows of its base, of another tensor with the same strides."""
    own = tensor._auto.base
    if base._offset == own._offset:
        return (tensor._auto.again or _window_again(tensor))(base)
    if tensor._auto.again is None:
        offset = offset_in(base, own, tensor._offset)
        return window_on(base, tensor._shape, strides_of(tensor), offset, "AsStridedBackward0")
    raise NotImplementedError("mstorch: the tangent of a view in another dtype, whose base's tangent lies elsewhere in its storage")


same_view.append(_same_view)


def look_again(tensor: Any) -> Any:
    """The history of a view of a base that was written to: a window on what the base is now."""
    again = tensor._auto.again or _window_again(tensor)
    with grad_set_to(True):
        return again(tensor._auto.base)


_look.append(look_again)


def window_on(
    base: Any, shape: Sequence[int], strides: Strides, offset: int, label: str, maps: tuple[Map, Map] | None = None
) -> Any:  # fmt: skip
    """A view of a tensor's storage of any geometry; gradients reach the tensor by ``maps``, or else through the memory."""
    forward, back = maps or window_maps(base, tuple(shape), strides, offset)

    def read(raw: Raw) -> Raw:
        return _gather[base._dtype.name](raw, from_numpy(_positions(base, tuple(shape), strides, offset)))

    return view(base, label, shape, strides, offset, read, forward, back)


_gather = kernel("storage_gather")


def _positions(base: Any, shape: tuple[int, ...], strides: Strides, offset: int) -> np.ndarray:
    """Where the elements of a window stand among a tensor's own, in row-major order."""
    wanted = flat_index(shape, strides, offset)
    if base._stride is None:
        return np.ascontiguousarray(wanted - base._offset)
    own = flat_index(base._shape, base._stride, base._offset).reshape(-1)
    order = np.argsort(own, kind="stable")
    place = np.minimum(np.searchsorted(own[order], wanted), max(own.size - 1, 0))
    return np.ascontiguousarray(order[place])


def window_maps(base: Any, shape: tuple[int, ...], strides: Strides, offset: int) -> tuple[Map, Map]:
    """The linear map from a tensor's elements to those of a window on the same storage, and its transpose."""
    own_shape, own_strides, own_offset = base._shape, strides_of(base), base._offset
    low = min(own_offset, offset)
    high = max(_end(own_shape, own_strides, own_offset), _end(shape, strides, offset))
    overlapping = any(length > 1 and step == 0 for length, step in zip(shape, strides)) or _may_overlap(shape, strides)
    own_overlapping = any(length > 1 and step == 0 for length, step in zip(own_shape, own_strides)) or _may_overlap(
        own_shape, own_strides
    )

    def part(flat: np.ndarray, lengths: tuple[int, ...], steps: Strides, start: int) -> np.ndarray:
        size = flat.itemsize
        return np.lib.stride_tricks.as_strided(flat[start - low :], lengths, [step * size for step in steps])

    def forward(array: np.ndarray) -> np.ndarray:
        flat = np.zeros(max(high - low, 1), array.dtype)
        part(flat, own_shape, own_strides, own_offset)[...] = array
        return np.array(part(flat, shape, strides, offset), order="C")

    def back(array: np.ndarray) -> np.ndarray:
        flat = np.zeros(max(high - low, 1), array.dtype)
        if overlapping:
            places = np.arange(low, max(high, low + 1))
            np.add.at(flat, part(places, shape, strides, offset) - low, array)
        else:
            part(flat, shape, strides, offset)[...] = array
        found = part(flat, own_shape, own_strides, own_offset)
        if own_overlapping:
            counts = np.zeros(flat.shape, np.int64)
            places = part(np.arange(low, max(high, low + 1)), own_shape, own_strides, own_offset) - low
            np.add.at(counts, places, 1)
            found = found / counts[places].astype(found.dtype)
        return np.array(found, order="C")

    return forward, back


def _end(shape: Sequence[int], strides: Sequence[int], offset: int) -> int:
    if 0 in shape:
        return offset
    return offset + sum((length - 1) * step for length, step in zip(shape, strides)) + 1


def _may_overlap(shape: Sequence[int], strides: Sequence[int]) -> bool:
    reach = 1
    for step, length in sorted((step, length) for length, step in zip(shape, strides) if length > 1):
        if step < reach:
            return True
        reach = step * (length - 1) + reach
    return False


def no_view(tensor: Any) -> Any:
    """The tensor, a view of what nobody else holds, as a tensor without a base: the result of an operation made of others."""
    auto = tensor._auto
    if auto is not None and auto.base is not None:
        auto.base, auto.again, auto.origin = None, None, DEFAULT
    return tensor


# Several views at once


class Parts(Node):
    """The node of views that share an operation: ``unbind``, ``split``. One gradient is put together from all parts'."""

    __slots__ = ("shape", "keys", "kind")
    shape: Any
    keys: Any
    kind: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """The gradients of the parts, each in its place."""
        given = {number: gradient for number, gradient in enumerate(gradients) if gradient is not None}
        return (put_together(given, self.keys, self.shape, type(self).label),)


def put_together(given: dict[int, Any], keys: Sequence[Any], shape: tuple[int, ...], label: str) -> Any:
    """A value of zeros with parts in their places; recorded if the parts are tensors."""
    first = next(iter(given.values()))
    value = bare(first) if isinstance(first, TensorBase) else first
    if value.__class__ is Raw and not isinstance(first, TensorBase):
        return _placed_together(given, keys, shape)
    array = value if value.__class__ is np.ndarray else value.asnumpy()
    whole = np.zeros(shape, array.dtype)
    for number, part in given.items():
        value = bare(part) if isinstance(part, TensorBase) else part
        whole[keys[number]] = value if value.__class__ is np.ndarray else value.asnumpy()
    if not isinstance(first, TensorBase):
        return whole if first.__class__ is np.ndarray else from_numpy(whole)
    result = tensor_of(whole)
    tracked = {number: part for number, part in given.items() if is_tracked(part)}
    if modes.grad and tracked:
        node: Any = named(_Collected, label)([edge_of(part) for part in tracked.values()])
        node.keys, node.shape = [keys[number] for number in tracked], shape
        result._node = node
    if LEVELS:
        for level in levels_of_all(list(given.values())):
            with below(level):
                moved = {number: tangent_of(part, level) for number, part in given.items()}
                tangent = put_together({number: part for number, part in moved.items() if part is not None}, keys, shape, label)
            give(result, level, tangent)
    return result


def _placed_together(given: dict[int, Any], keys: Sequence[Any], shape: tuple[int, ...]) -> Raw:
    """The same of bare values of a device: the sum of the parts, each among zeros."""
    total = None
    for number, part in given.items():
        placed = apply_map(_placing(keys[number], shape), lambda array, key=keys[number]: np.asarray(array[key]), part)
        total = placed if total is None else total + placed
    assert total is not None
    return total


class _Collected(Node):
    """The node of a value put together from parts."""

    __slots__ = ("keys", "shape")
    keys: Any
    shape: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Each part's piece of the gradient."""
        gradient = gradients[0]
        if not isinstance(gradient, TensorBase):
            return tuple(
                _through(lambda array, key=key: np.array(array[key], order="C"), gradient, _placing(key, self.shape)) for key in self.keys
            )
        return tuple(
            linear(gradient, lambda array, key=key: array[key], _placing(key, self.shape), type(self).label) for key in self.keys
        )


def _placing(key: Any, shape: tuple[int, ...]) -> Map:
    def back(array: np.ndarray) -> np.ndarray:
        whole = np.zeros(shape, array.dtype)
        whole[key] = array
        return whole

    return back


def views(source: Any, label: str, parts: Sequence[tuple[Sequence[int], Strides, int, Callable[[Raw], Raw]]], keys: Sequence[Any]) -> Any:
    """Views that one operation returns: (shape, strides, offset, read) each; ``keys`` index the parts in the source's array."""
    made = tuple(make_view(source, read, shape, strides, offset) for shape, strides, offset, read in parts)
    if modes.native is not None:
        refuse(source)
        return made
    node: Any = None
    if modes.grad and is_tracked(source):
        node = named(Parts, label)((edge_of(source),))
        node.shape, node.keys, node.kind = source._shape, keys, source._dtype
        node.width = len(keys)
    for number, part in enumerate(made):
        _enter_view(part, source, None, MULTIPLE_OUTPUTS)
        if node is not None:
            part._node, part._number = node, number
    if LEVELS:
        mapped_apart(source, made, lambda tangent: views(
            tangent, label, [(shape, steps, offset_in(tangent, source, start), read) for shape, steps, start, read in parts], keys
        ))  # fmt: skip
    return made


def set_apart(parts: Sequence[Any], label: str) -> Any:
    """Views that autograd takes for tensors of their own: each may be written to, and counts its own writes."""
    for part in parts:
        tangents = None if part._auto is None else part._auto.tangents
        part._auto = None
        for level, tangent in (tangents or {}).items():
            keep(auto_of(part), level, tangent)
        part._counter = Counter(part._counter.version)
        if part._node is not None:
            part._node.__class__ = named(Parts, label)
    return parts


# Writes


class CopySlices(Node):
    """The node of a tensor whose part was written: what is left of the old value, and the new part."""

    __slots__ = ("forward", "back", "shape", "same")
    forward: Any
    back: Any
    shape: Any
    same: Any

    label = "CopySlices"

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """The gradient outside of the part, and that of the part."""
        gradient = gradients[0]
        rest = part = None
        if self.edges[0] is not None:
            rest = self._apply(gradient, self._outside, self._outside)
        if self.edges[1] is not None:
            part = self._apply(gradient, self.forward, self.back)
        return rest, part

    def _apply(self, gradient: Any, forward: Map, back: Map) -> Any:
        if isinstance(gradient, TensorBase):
            return linear(gradient, forward, back, self.label)
        return _through(forward, gradient, back)

    def _outside(self, array: np.ndarray) -> np.ndarray:
        if not self.same:  # a real part of complex numbers: half of an element
            return array - self.back(self.forward(array))
        inside = self.back(np.ones(self.shape, array.dtype))
        return np.where(inside != 0, np.zeros((), array.dtype), array)


class Ended(Node):
    """The node of a tensor that got other values altogether: nothing of its gradient reaches the old ones."""

    __slots__ = ()

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Zeros."""
        gradient = gradients[0]
        zero = np.zeros(tuple(gradient.shape), gradient._dtype.np if isinstance(gradient, TensorBase) else gradient.dtype) if (
            isinstance(gradient, (TensorBase, np.ndarray))) else None
        if zero is None:
            return (gradient * 0,)
        return (dressed(zero) if isinstance(gradient, TensorBase) else zero,)


class Copied(Node):
    """The node of a tensor that got the values of a leaf."""

    __slots__ = ()

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """The gradient as it is."""
        return (gradients[0],)


def snapshot(target: Any) -> Any:
    """The target of a write as the operation's input: it can keep the old value when the target has another."""
    if modes.grad:
        node_of(target)
    made = twin(target)
    if made._node is None and target._auto is not None and target._auto.leaf:
        made._auto = None
    if LEVELS:
        for level in levels_of(target):
            with below(level):
                tangent = tangent_of(target, level)
                # What backward keeps of a tangent must not see that it is written, too.
                keep(auto_of(made), level, linear(tangent, _copy, _copy, "CloneBackward0") if modes.grad else tangent)
    if modes.saved_hooks and modes.grad:
        detach_snapshot(made)  # hooks are given what is saved before the target is written
    return made


def _copy(array: np.ndarray) -> np.ndarray:
    return np.array(array, order="C")


def detach_snapshot(made: Any) -> None:
    """Give a snapshot that was saved for backward memory of its own, before the target is written."""
    if on_host(made):
        version = made._counter.version
        become(made, tensor_of(np.array(array_of(made), order="C")))
        made._counter = Counter(version)


def assign(target: Any, made: Any, label: str = "CopyBackwards") -> None:
    """Write a tensor of the target's shape and dtype into it; the target's history becomes that of the written value."""
    if is_meta(target):
        touch(target)
    elif on_host(target) and on_host(made) and modes.native is None:
        put_array(target, array_of(made))
    else:
        put_raw(target, value_of(made))
    if modes.grad and modes.native is None:
        settle(target, made, label)
    if LEVELS:
        write(target, made)


write_into.append(assign)


def settle(target: Any, made: Any | None, label: str = "CopyBackwards") -> None:
    """The history of a target that has just been written to: that of ``made``, or (None) of a constant."""
    edge = None if made is None else edge_of(made)
    auto = target._auto
    base = None if auto is None else auto.base
    if edge is None and not is_tracked(target if base is None else base):
        return
    if base is None:
        if edge is None:
            node, number = named(Ended, label)((edge_of(target),)), 0
        elif made._node is None:  # type: ignore[union-attr]  # a leaf: a target is none
            node, number = named(Copied, label)((edge,)), 0
        else:
            node, number = edge
        _move_hooks(target, node, number)
        target._node, target._number = node, number
        if auto is not None:
            auto.leaf = False
        return
    if base._dtype is target._dtype:
        forward, back = window_maps(base, target._shape, strides_of(target), target._offset)
    else:
        forward, back = _maps_by_bytes(base, target)
    written: Any = CopySlices((edge_of(base), edge))
    written.forward, written.back, written.shape = forward, back, target._shape
    written.same = base._dtype is target._dtype
    _move_hooks(base, written, 0)
    base._node, base._number = written, 0
    if base._auto is not None:
        base._auto.leaf = False
    auto.seen = -1


def review(target: Any, view: Any) -> None:
    """Let a tensor show what a view of it shows, with the view's history behind its own."""
    node, number = view._node, view._number
    tangents = {level: tangent_of(view, level) for level in levels_of(view)} if LEVELS else {}
    turn_into(target, view)
    for level, tangent in tangents.items():
        keep(auto_of(target), level, tangent)
    auto = target._auto
    if auto is not None and auto.base is not None:
        auto.seen = target._counter.version
    elif node is not None:
        _move_hooks(target, node, number)
    if node is not None:
        target._node, target._number = node, number


def _maps_by_bytes(base: Any, target: Any) -> tuple[Map, Map]:
    """As ``window_maps``, for a part that is seen as complex numbers where the base has real ones, or the reverse."""
    own, kind = base._dtype.np, target._dtype.np
    size, shape = kind.itemsize, target._shape
    offset, steps = target._offset * size, [step * size for step in strides_of(target)]
    own_shape, own_steps, own_offset = base._shape, [step * own.itemsize for step in strides_of(base)], base._offset * own.itemsize
    total = base._storage.nbytes

    def forward(array: np.ndarray) -> np.ndarray:
        memory = np.zeros(total, np.uint8)
        np.ndarray(own_shape, own, memory, own_offset, own_steps)[...] = array
        return np.array(np.ndarray(shape, kind, memory, offset, steps), order="C")

    def back(array: np.ndarray) -> np.ndarray:
        memory = np.zeros(total, np.uint8)
        np.ndarray(shape, kind, memory, offset, steps)[...] = array
        return np.array(np.ndarray(own_shape, own, memory, own_offset, own_steps), order="C")

    return forward, back


def _move_hooks(tensor: Any, node: Node, number: int) -> None:
    """``retain_grad`` follows a tensor to its new node; other hooks stay with the old one."""
    auto = tensor._auto
    if auto is None or auto.hooked is None:
        return
    old = tensor._node
    if old is not None and old.retained:
        old.retained.pop(tensor._number, None)
    node.retained = {**(node.retained or {}), number: auto.hooked}


__all__ = [
    "assign", "contiguous_strides", "detach_snapshot", "linear", "look_again", "settle", "snapshot", "touch", "view",
    "views", "window_on",
]  # fmt: skip

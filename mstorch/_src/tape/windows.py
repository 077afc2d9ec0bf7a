"""Gradients of views: each view is a linear map with a transpose, so that it can be differentiated any number of times."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..backend.arrays import Array
from ..backend.geometry import contiguous_strides, flat_index, may_overlap, row_major_strides
from ..backend.host.views import put
from ..backend.raw import Raw, from_numpy
from ..backend.table import kernel
from ..core.auto import DEFAULT, INFERENCE, MULTIPLE_OUTPUTS, WITHOUT_GRAD, Auto
from ..core.dtype import OF_NP, dtype
from ..core.modes import followed_capture, grad_set_to, modes, shapes_only
from ..core.storage import NATIVE, Counter, DeviceMemory, Storage
from ..core.strides import Strides
from ..core.tangents import LEVELS, below, keep, levels_of_all
from ..core.tensor_base import (
    TensorBase,
    _class,
    array_of,
    auto_of,
    is_meta,
    is_tracked,
    make_view,
    meta_tensor,
    on_device,
    strides_of,
    tensor_of,
)  # fmt: skip
from . import movement
from .bare import bare, bare_twin, dressed, on_host, repeats
from .duals import give, mapped, mapped_apart, offset_in, refuse, same_view, tangent_of
from .movement import Move, apply_map
from .node import Node, _classes, _look, does_not_fit, edge_of, named, next_number, refuse_history

Map = Callable[[Array], Array]

_new = object.__new__


def map_bare(function: Map, value: Array) -> Array | Raw:
    """Apply a map of NumPy arrays to a raw array."""
    if value.__class__ is np.ndarray:
        return np.asarray(function(value))
    return apply_map(function, value)


class Linear(Node):
    """Node of a linear map: ``forward`` is a map of arrays, ``back`` its transpose."""

    __slots__ = ()
    forward: Any
    back: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Apply the transpose to the gradient; if ``recorded``, as a linear map that autograd tracks."""
        gradient = gradients[0]
        if not isinstance(gradient, TensorBase):
            back = self.back
            try:
                return (back.raw(gradient) if gradient.__class__ is Raw and back.__class__ is Move else map_bare(back, gradient),)
            except ValueError as error:
                raise does_not_fit(self, error) from error
        if not gradient.numel() and type(self).label == "AsStridedBackward0":
            return (dressed(np.zeros(np.shape(self.back(array_of(gradient))), gradient._ms_dtype.np)),)  # torch's are arbitrary here
        if type(self).label in _PASSING and on_host(gradient):
            value = array_of(gradient)
            if np.shape(self.back(value)) == value.shape:
                return (gradient,)  # the gradient itself, not a view of it
        return (linear(gradient, self.back, self.forward, type(self).label),)


class GivenMaps(Linear):
    """Node of a linear map whose two functions are given."""

    __slots__ = ("forward", "back")


_PASSING = {"AliasBackward0", "ExpandBackward0"}  # nodes that return the gradient unchanged if possible


def linear(tensor: TensorBase, forward: Map, back: Map, label: str) -> TensorBase:
    """Apply a linear map to a tensor, tracked by autograd. The result is a view if the map returns a view of its array."""
    if is_meta(tensor):
        with shapes_only():
            array = np.asarray(forward(array_of(tensor)))
        result = meta_tensor(array.shape, OF_NP[array.dtype])
        if modes.grad and is_tracked(tensor):
            result._ms_node = linear_node(tensor, forward, back, label)
        return result
    value = bare(tensor)
    image = map_bare(forward, value)
    if image.__class__ is np.ndarray and _owner(image) is _owner(value):
        strides = _strides_of_image(tensor, image, value, label)
        if min(strides, default=0) >= 0 and image.dtype == value.dtype:
            start = tensor._ms_offset + (_address(image) - _address(value)) // image.itemsize
            return view(tensor, label, image.shape, strides, start, None, forward, back)
    if image.__class__ is np.ndarray and (image.base is not None or image is value) and not repeats(image):
        image = np.array(image, order="C")
    result = dressed(image)
    if label == "ToCopyBackward0" and value.size < 2 and tensor._ms_stride is not None and value.__class__ is np.ndarray:
        result._ms_stride, result._ms_array = tensor._ms_stride, None  # a cast keeps the strides, even of a single element
    if modes.grad and is_tracked(tensor):
        result._ms_node = linear_node(tensor, forward, back, label)
    if LEVELS:
        mapped(tensor, result, lambda tangent: linear(tangent, forward, back, label))
    return result


def _strides_of_image(tensor: TensorBase, image: Array, value: Array, label: str) -> tuple[int, ...]:
    """Return the strides, in elements, of a view that a map returned. NumPy's are arbitrary for a single element and for empty arrays."""
    if image.size == 1 and tensor._ms_stride is not None and not any(tensor._ms_stride):
        return (0,) * image.ndim
    if not image.size and label == "ViewBackward0" and image.shape != value.shape:
        return contiguous_strides(image.shape)
    return tuple(step // image.itemsize for step in image.strides)


def _owner(array: Array) -> Array:
    """Return the array that owns the memory of an array: follow ``.base`` to the end."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def linear_node(source: TensorBase, forward: Map, back: Map, label: str) -> Linear:
    """Return the node of a linear map of a tensor."""
    node: Any = _new(_classes.get((GivenMaps, label)) or named(GivenMaps, label))  # Node(…) written out, as in `apply`
    node.edges = (edge_of(source),)
    node.sequence = next_number()
    node.saved = ()
    node.marks = None
    node.forward, node.back = forward, back
    return node


def view(
    source: TensorBase, label: str, shape: Sequence[int], strides: Strides, offset: int, read: Callable[[Raw], Raw] | None,
    forward: Map | None, back: Map | None, kind: dtype | None = None, again: Callable[[Any], Any] | None = None,
) -> TensorBase:  # fmt: skip
    """Return a view of ``source`` that autograd tracks. ``forward`` and ``back`` are the view as a linear map of arrays, and its transpose
    (None: no gradient).

    ``again`` makes the same view of another tensor; it is needed if the dtype differs, so that the view has no strides on the base.
    """
    made = make_view(source, read, shape, strides, offset, kind)
    if modes.native is not None and not modes.native.follows:
        refuse(source)
        return made
    _enter_view(made, source, again)
    followed = modes.grad and (source._ms_node is not None or is_tracked(source))
    if followed and forward is not None and back is not None and not made._ms_auto.inference:  # type: ignore[union-attr]
        if made._ms_dtype.is_integral:
            refuse_history(made._ms_dtype)
        made._ms_node = linear_node(source, forward, back, label)
    if LEVELS and forward is not None:
        mapped(source, made, lambda tangent: view(
            tangent, label, shape, strides, offset_in(tangent, source, offset, kind), read, forward, back, kind, again
        ))  # fmt: skip
    return made


class Sort(NamedTuple):
    """A class of views, given by functions that are called when a view is made.

    ``read(name, argument)`` returns a function that reads the view from MindSpore tensors with the dtype ``name``. ``maps(shape,
    argument)`` returns the view as a linear map of arrays of the source's shape, and the map's transpose. ``back(value, shape, argument)``
    applies the transpose to a MindSpore tensor."""

    read: Callable[[str, Any], Callable[[Raw], Raw]]
    maps: Callable[[tuple[int, ...], Any], tuple[Map, Map]]
    back: Callable[[Raw, tuple[int, ...], Any], Raw]


class SortedView(Linear):
    """Node of a view of the class ``sort`` with an argument, of a tensor of the given shape. ``kind``: the name of its dtype if it is in
    a device's memory, else None. The maps are made when they are read, because most nodes run only one of them, and many run none."""

    __slots__ = ("sort", "shape", "argument", "kind")
    sort: Any
    shape: Any
    argument: Any
    kind: Any

    @property
    def forward(self) -> Map:
        """The view as a map of arrays."""
        forward = self.sort.maps(self.shape, self.argument)[0]
        return forward if self.kind is None else Move(forward, self.sort.read(self.kind, self.argument))

    @property
    def back(self) -> Map:
        """The transpose of that map."""
        sort, shape, argument = self.sort, self.shape, self.argument
        back: Map = sort.maps(shape, argument)[1]
        return back if self.kind is None else Move(back, lambda raw: sort.back(raw, shape, argument))


def sorted_view(
    source: TensorBase, label: str, shape: tuple[int, ...], strides: Strides, offset: int, sort: Sort,
    argument: int | slice[Any, Any, Any] | tuple[Any, ...] | None
) -> TensorBase:
    """Return a view of ``source`` that autograd tracks: of the class ``sort``, with the argument ``argument``."""
    storage = source._ms_storage
    if modes.native is not None or (storage.__class__ is not Storage and storage.__class__ is not DeviceMemory):
        return _view_elsewhere(source, label, shape, strides, offset, sort, argument)
    # What `make_view`, `_enter_view` and `edge_of` do in the common cases, written out: views are the most frequent operations of all, and
    # each of these calls costs as much as the rest.
    made: Any = _new(_class[0])
    made._ms_storage = storage
    made._ms_dtype = source._ms_dtype
    made._ms_shape = shape
    made._ms_stride = None if strides == row_major_strides(shape) else strides
    made._ms_offset = offset
    made._ms_counter = source._ms_counter
    made._ms_array = made._ms_raw = made._ms_at = made._ms_node = made._ms_auto = None
    made._ms_number = 0
    above = source._ms_auto
    if above is None or (above.again is None and above.origin == DEFAULT and not above.inference and not LEVELS):
        auto = made._ms_auto = Auto()
        auto.base = source if above is None or above.base is None else above.base
        auto.seen = made._ms_counter.version
        if not modes.grad:
            auto.origin = INFERENCE if modes.inference else WITHOUT_GRAD
    else:
        _enter_view(made, source, None)
    if modes.grad and (source._ms_node is not None or (above is not None and is_tracked(source))) and not made._ms_auto.inference:
        if made._ms_dtype.is_integral:
            refuse_history(made._ms_dtype)
        node: Any = _new(_classes.get((SortedView, label)) or named(SortedView, label))
        if source._ms_node is not None and (above is None or above.base is None or above.seen == source._ms_counter.version):
            node.edges = ((source._ms_node, source._ms_number),)
        else:
            node.edges = (edge_of(source),)
        node.sequence = next_number()
        node.saved, node.marks = (), None
        node.sort, node.shape, node.argument = sort, source._ms_shape, argument
        node.kind = None if storage.__class__ is Storage else source._ms_dtype.name
        made._ms_node = node
    if LEVELS:
        mapped(source, made, lambda tangent: sorted_view(
            tangent, label, shape, strides, offset_in(tangent, source, offset), sort, argument
        ))  # fmt: skip
    return made


def _view_elsewhere(
    source: TensorBase, label: str, shape: tuple[int, ...], strides: Strides, offset: int, sort: Sort, argument: Any
) -> TensorBase:
    """Return ``sorted_view`` of a tensor that is neither in the host's memory nor in a device's, or within a capture."""
    own, read = source._ms_shape, sort.read(source._ms_dtype.name, argument)
    forward, back = sort.maps(own, argument)
    if source._ms_storage.__class__ in NATIVE or followed_capture():
        forward, back = Move(forward, read), Move(back, lambda raw: sort.back(raw, own, argument))
    return view(source, label, shape, strides, offset, read, forward, back)


def _part_maps(shape: tuple[int, ...], key: int | slice | tuple[int | slice, int | slice]) -> tuple[Map, Map]:
    back = (lambda array: array.reshape(shape)) if _is_all(key, shape) else placing(key, shape)
    return lambda array: np.asarray(array[key]), back


def _is_all(key: Any, shape: tuple[int, ...]) -> bool:
    """Return True if a basic-indexing key selects all elements; it may insert dimensions. As in torch, return False for a lone slice."""
    if key.__class__ is slice:
        return False
    parts = [part for part in (key if key.__class__ is tuple else (key,)) if part is not None]
    for part in parts:
        if part is Ellipsis:
            return all(part is Ellipsis or part == slice(None) for part in parts)
    if len(parts) > len(shape):
        return False
    for part, length in zip(parts, shape):
        if part.__class__ is not slice or part.indices(length) != (0, length, 1):
            return False
    return True


def _no_value(name: str, key: Any) -> Callable[[Raw], Raw]:
    raise NotImplementedError("mstorch: this view is of memory, not of a value")


# Views by basic indexing of host memory, with NumPy's key.
PART = Sort(_no_value, _part_maps, lambda raw, own, key: movement.placed(raw, key, own))


def _enter_view(made: TensorBase, source: TensorBase, again: Callable[[Any], Any] | None, origin: int = DEFAULT) -> None:
    auto = made._ms_auto
    if auto is None:
        auto = made._ms_auto = Auto()
    above = source._ms_auto
    if above is None and again is None and origin == DEFAULT:  # the common case
        auto.base = source
        auto.seen = made._ms_counter.version
        if not modes.grad:
            auto.origin = INFERENCE if modes.inference else WITHOUT_GRAD
        return
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
            auto.again = _chained(source, again)
        elif before is not None:
            auto.again = _chained(source, _window_again(made))
        if above.origin != DEFAULT and origin == DEFAULT:
            origin = above.origin
    else:
        auto.base = source
        auto.again = again
    auto.seen = made._ms_counter.version
    if origin in (DEFAULT, MULTIPLE_OUTPUTS) and not modes.grad:
        origin = INFERENCE if modes.inference else WITHOUT_GRAD
    auto.origin = origin


def _chained(source: Any, again: Callable[[Any], Any]) -> Callable[[Any], Any]:
    first = source._ms_auto.again or _window_again(source)
    return lambda base: again(first(base))


def _window_again(made: TensorBase) -> Callable[[Any], Any]:
    shape, strides, offset = made._ms_shape, strides_of(made), made._ms_offset
    return lambda base: window_on(base, shape, strides, offset, "AsStridedBackward0")


def _same_view(tensor: Any, base: TensorBase) -> TensorBase:
    """Return a view of ``base`` with the shape, strides and relative offset that the view ``tensor`` has on its own base."""
    own = tensor._ms_auto.base
    if base._ms_offset == own._ms_offset:
        return (tensor._ms_auto.again or _window_again(tensor))(base)
    if tensor._ms_auto.again is None:
        offset = offset_in(base, own, tensor._ms_offset)
        return window_on(base, tensor._ms_shape, strides_of(tensor), offset, "AsStridedBackward0")
    raise NotImplementedError("mstorch: the tangent of a view in another dtype, whose base's tangent lies elsewhere in its storage")


same_view.append(_same_view)


def look_again(tensor: Any) -> TensorBase:
    """Return the same view as ``tensor``, made anew of its base, which was modified in place since; the new view's node becomes the
    ``grad_fn``."""
    base, old = tensor._ms_auto.base, tensor._ms_node
    with grad_set_to(not tensor._ms_dtype.is_integral and not base._ms_dtype.is_integral):
        if modes.replay and old is not None and tensor._ms_auto.again is None:
            made = window_on(base, tensor._ms_shape, strides_of(tensor), tensor._ms_offset, type(old).label)
        else:
            made = (tensor._ms_auto.again or _window_again(tensor))(base)
    if made._ms_node is None:
        made._ms_node = linear_node(base, _nowhere, _nowhere, "AsStridedBackward0")
    return made


def _nowhere(array: Array) -> Array:
    return array


_look.append(look_again)


def window_on(
    base: TensorBase, shape: Sequence[int], strides: Strides, offset: int, label: str, maps: tuple[Map, Map] | None = None
) -> TensorBase:  # fmt: skip
    """Return a strided view of the storage of ``base``. Its gradient is mapped to ``base`` by ``maps`` (forward, transpose), by default
    those of ``window_maps``."""
    forward = back = None
    if maps is not None:
        forward, back = maps
    elif LEVELS or modes.native is not None or (modes.grad and (base._ms_node is not None or is_tracked(base))):
        forward, back = window_maps(base, tuple(shape), strides, offset)

    def read(raw: Raw) -> Raw:
        return _gather[base._ms_dtype.name](raw, from_numpy(_positions(base, tuple(shape), strides, offset)))

    return view(base, label, shape, strides, offset, read, forward, back)


_gather = kernel("storage_gather")


def _positions(base: Any, shape: tuple[int, ...], strides: Strides, offset: int) -> Array:
    """Return, for each element of a strided view, the index of the same element among the elements of ``base`` in row-major order."""
    wanted = flat_index(shape, strides, offset)
    if base._ms_stride is None:
        return np.ascontiguousarray(wanted - base._ms_offset)
    own = flat_index(base._ms_shape, base._ms_stride, base._ms_offset).reshape(-1)
    order = np.argsort(own, kind="stable")
    place = np.minimum(np.searchsorted(own[order], wanted), max(own.size - 1, 0))
    return np.ascontiguousarray(order[place])


def window_maps(base: TensorBase, shape: tuple[int, ...], strides: Strides, offset: int) -> tuple[Map, Map]:
    """Return the linear map from a tensor's elements to those of a strided view of the same storage, and the map's transpose."""
    own_shape, own_strides, own_offset = base._ms_shape, strides_of(base), base._ms_offset
    low = min(own_offset, offset)
    high = max(_end(own_shape, own_strides, own_offset), _end(shape, strides, offset))
    overlapping = may_overlap(shape, strides)
    own_overlapping = may_overlap(own_shape, own_strides)

    def part(flat: Array, lengths: tuple[int, ...], steps: Strides, start: int) -> Array:
        size = flat.itemsize
        return np.lib.stride_tricks.as_strided(flat[start - low :], lengths, [step * size for step in steps])

    def forward(array: Array) -> Array:
        flat = np.zeros(max(high - low, 1), array.dtype)
        put(part(flat, own_shape, own_strides, own_offset), ..., array)
        return np.array(part(flat, shape, strides, offset), order="C")

    def back(array: Array) -> Array:
        flat = np.zeros(max(high - low, 1), array.dtype)
        if overlapping:
            places = np.arange(low, max(high, low + 1))
            np.add.at(flat, part(places, shape, strides, offset) - low, array)
        else:
            put(part(flat, shape, strides, offset), ..., array)
        found = part(flat, own_shape, own_strides, own_offset)
        if own_overlapping:
            counts = np.zeros(flat.shape, np.int64)
            places = part(np.arange(low, max(high, low + 1)), own_shape, own_strides, own_offset) - low
            np.add.at(counts, places, 1)
            found = found / counts[places].astype(found.dtype)
        return np.array(found, order="K")  # as in torch, in the tensor's memory order

    if base._ms_storage.__class__ in NATIVE or followed_capture():
        own, other = (own_shape, own_strides, own_offset), (shape, strides, offset)
        return (
            Move(forward, lambda raw: movement.window(raw, own, other)),
            Move(back, lambda raw: movement.window_back(raw, own, other)),
        )
    return forward, back


def _end(shape: Sequence[int], strides: Sequence[int], offset: int) -> int:
    if 0 in shape:
        return offset
    return offset + sum((length - 1) * step for length, step in zip(shape, strides)) + 1


def no_view(tensor: Any) -> Any:
    """Clear the base of a tensor and return the tensor: it is a view of a temporary that nothing else refers to, and torch shows no base.
    """
    auto = tensor._ms_auto
    if auto is not None and auto.base is not None:
        auto.base, auto.again, auto.origin = None, None, DEFAULT
    return tensor


def view_of_hidden(tensor: TensorBase) -> TensorBase:
    """Mark a tensor as a view of an unnamed base, made in no-grad mode, like torch's expanded gradients; return the tensor."""
    auto = auto_of(tensor)
    auto.base, auto.origin, auto.seen = bare_twin(tensor), WITHOUT_GRAD, tensor._ms_counter.version
    return tensor


# Several views at once


class Parts(Node):
    """Node that the views of ``unbind`` or ``split`` share; it assembles the gradients of the parts."""

    __slots__ = ("shape", "keys", "kind")
    shape: Any
    keys: Any
    kind: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradient of the source, with the gradient of each part in its place."""
        given = {number: gradient for number, gradient in enumerate(gradients) if gradient is not None}
        return (put_together(given, self.keys, self.shape, type(self).label),)


def put_together(given: dict[int, Any], keys: Sequence[Any], shape: tuple[int, ...], label: str) -> Any:
    """Return zeros of ``shape`` with each part of ``given`` written at its key. Autograd tracks the result if the parts are tensors."""
    first = next(iter(given.values()))
    if isinstance(first, TensorBase) and is_meta(first) and not modes.grad:
        return meta_tensor(tuple(shape), first._ms_dtype)
    value = bare(first) if isinstance(first, TensorBase) else first
    if value.__class__ is Raw:
        bares = {number: bare(part) if isinstance(part, TensorBase) else part for number, part in given.items()}
        together = movement.put_together(bares, keys, shape)
        if not isinstance(first, TensorBase):
            return together
        result = on_device(together)
    else:
        whole = np.zeros(shape, value.dtype)
        for number, part in given.items():
            whole[keys[number]] = bare(part) if isinstance(part, TensorBase) else part
        if not isinstance(first, TensorBase):
            return whole
        result = tensor_of(whole)
    tracked = {number: part for number, part in given.items() if is_tracked(part)}
    if modes.grad and tracked:
        node: Any = named(_Collected, label)([edge_of(part) for part in tracked.values()])
        node.keys, node.shape = [keys[number] for number in tracked], shape
        result._ms_node = node
    if LEVELS:
        for level in levels_of_all(list(given.values())):
            with below(level):
                moved = {number: tangent_of(part, level) for number, part in given.items()}
                tangent = put_together({number: part for number, part in moved.items() if part is not None}, keys, shape, label)
            give(result, level, tangent)
    return result


class _Collected(Node):
    """Node of a value assembled from parts."""

    __slots__ = ("keys", "shape")
    keys: Any
    shape: Any

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the piece of the gradient for each part."""
        gradient = gradients[0]
        if not isinstance(gradient, TensorBase):
            return tuple(map_bare(_part_move(key, True), gradient) for key in self.keys)
        return tuple(linear(gradient, _part_move(key, False), _placing_move(key, self.shape), type(self).label) for key in self.keys)


def _part_move(key: tuple[int | slice, ...], own: bool) -> Move:
    """Return the Move ``x[key]``; with ``own``, it copies arrays."""
    return Move(
        (lambda array: np.array(array[key], order="C")) if own else (lambda array: array[key]), lambda raw: movement.part(raw, key)
    )


def _placing_move(key: tuple[slice, ...], shape: tuple[int, ...]) -> Move:
    return Move(placing(key, shape), lambda raw: movement.placed(raw, key, shape))


def placing(key: Any, shape: tuple[int, ...]) -> Map:
    """Return a function that writes the gradient of ``x[key]`` into zeros of ``shape``."""

    def back(array: Array) -> Array:
        whole = np.zeros(shape, array.dtype)
        put(whole, key, array)
        return whole

    return back


def views(
    source: TensorBase, label: str, parts: Sequence[tuple[Sequence[int], Strides, int, Callable[[Raw], Raw]]], keys: Sequence[Any]
) -> tuple[TensorBase, ...]:
    """Return the views of one operation, each given as (shape, strides, offset, read); ``keys`` index the parts in the source's array."""
    made = tuple([make_view(source, read, shape, strides, offset) for shape, strides, offset, read in parts])
    if modes.native is not None and not modes.native.follows:
        refuse(source)
        return made
    node: Any = None
    if modes.grad and is_tracked(source) and not (source._ms_auto is not None and source._ms_auto.inference):
        if source._ms_dtype.is_integral:
            refuse_history(source._ms_dtype)
        node = (_classes.get((Parts, label)) or named(Parts, label))((edge_of(source),))
        node.shape, node.keys, node.kind = source._ms_shape, keys, source._ms_dtype
        node.width = len(keys)
    for number, part in enumerate(made):
        _enter_view(part, source, None, MULTIPLE_OUTPUTS)
        if node is not None:
            part._ms_node, part._ms_number = node, number
    if LEVELS:
        mapped_apart(source, made, lambda tangent: views(
            tangent, label, [(shape, steps, offset_in(tangent, source, start), read) for shape, steps, start, read in parts], keys
        ))  # fmt: skip
    return made


def set_apart(parts: Sequence[Any], label: str) -> Any:
    """Detach views from their base, so that each may be modified in place and has a version counter of its own."""
    for part in parts:
        tangents = None if part._ms_auto is None else part._ms_auto.tangents
        part._ms_auto = None
        for level, tangent in (tangents or {}).items():
            keep(auto_of(part), level, tangent)
        part._ms_counter = Counter(part._ms_counter.version)
        if part._ms_node is not None:
            part._ms_node.__class__ = named(Parts, label)
    return parts

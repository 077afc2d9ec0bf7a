"""Views and other data movement on MindSpore tensors, and their gradients, without index arrays."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.cast import cast, numpy_cast
from ..backend.constants import constant_of
from ..backend.device_memory import full
from ..backend.float8 import STORED
from ..backend.geometry import contiguous_strides, may_overlap
from ..backend.raw import NAME_OF, NP_DTYPE, Raw, from_numpy, raw_dtype, raw_shape
from ..backend.table import kernel
from ..core.strides import Strides

Map = Callable[[Array], Array]
OnRaw = Callable[[Raw], Raw]
Geometry = tuple[tuple[int, ...], Strides, int]
"""Shape, strides and offset of a window on memory."""

_reshape, _sum, _expand, _permute = kernel("reshape"), kernel("sum"), kernel("expand"), kernel("permute")
_slice, _pad, _flip, _cat, _stack = kernel("slice"), kernel("pad"), kernel("flip"), kernel("cat"), kernel("stack")
_window, _window_placed, _div = kernel("window"), kernel("window_placed"), kernel("div")


class Move:
    """Linear map with two implementations: ``array`` for NumPy arrays, ``raw`` for MindSpore tensors."""

    __slots__ = ("array", "raw")

    def __init__(self, array: Map, raw: OnRaw) -> None:
        self.array = array
        self.raw = raw

    def __call__(self, array: Array) -> Array:
        return self.array(array)


def _unchanged(array: Array) -> Array:
    return array


SAME = Move(_unchanged, lambda raw: raw)
"""The identity map."""


def apply_map(function: Map | Move, raw: Raw) -> Raw:
    """Apply a linear map to a MindSpore tensor; a map of NumPy arrays runs on the host."""
    if isinstance(function, Move):
        return function.raw(raw)
    return from_numpy(np.array(function(raw.asnumpy()), order="C"))


def zeros(shape: Sequence[int], name: str) -> Raw:
    """Return zeros in device memory."""
    return full(tuple(shape), 0, name)


def same(raw: Raw) -> Raw:
    """Return the value unchanged."""
    return raw


def cloned(raw: Raw) -> Raw:
    """Return a copy of the value."""
    return kernel("clone")[NAME_OF[raw_dtype(raw)]](raw)


def casting(name: str) -> OnRaw:
    """Return a function that casts to a dtype."""
    return lambda raw: cast(raw, name)


def conversion(name: str, source: str = "") -> Move:
    """Return the Move that casts to a dtype by torch's rules. ``source``: the dtype of the elements, for dtypes that MindSpore stores as
    bytes."""
    if name in STORED or source in STORED:
        return Move(partial(numpy_cast, target=NP_DTYPE[name]), lambda raw: _of_codes(raw, name, source))
    return Move(partial(numpy_cast, target=NP_DTYPE[name]), casting(name))


def _of_codes(raw: Raw, name: str, source: str) -> Raw:
    """Cast on the host, from or to a dtype whose elements MindSpore holds as integers."""
    array = raw.asnumpy()
    array = array.view(NP_DTYPE[source]) if source in STORED else array
    return from_numpy(np.asarray(numpy_cast(array, NP_DTYPE[name]), order="C"))


def reshaped(raw: Raw, shape: Sequence[int]) -> Raw:
    """Return the value reshaped."""
    wanted = tuple(map(int, shape))
    if raw.__class__ is np.ndarray:  # positions computed from sizes
        raw = constant_of(raw)
    return raw if raw_shape(raw) == wanted else _reshape[NAME_OF[raw_dtype(raw)]](raw, wanted)


def permuted(raw: Raw, order: Sequence[int]) -> Raw:
    """Return the value with its dimensions permuted."""
    return _permute[NAME_OF[raw_dtype(raw)]](raw, tuple(map(int, order)))


def fitted(raw: Raw, shape: Sequence[int]) -> Raw:
    """Sum the value over its broadcast dimensions to ``shape``."""
    own, name = raw_shape(raw), NAME_OF[raw_dtype(raw)]
    lead = len(own) - len(shape)
    if lead and own[lead:] == tuple(shape):
        return _sum[name](raw, tuple(range(lead)), False)
    axes = tuple(i for i in range(len(own)) if i < lead or (shape[i - lead] == 1 and own[i] != 1))
    return reshaped(_sum[name](raw, axes, True), shape) if axes else reshaped(raw, shape)


def spread(raw: Raw, shape: Sequence[int]) -> Raw:
    """Expand dimensions of length 1 to ``shape``."""
    return raw if raw_shape(raw) == tuple(shape) else _expand[NAME_OF[raw_dtype(raw)]](raw, tuple(shape))


def flipped(raw: Raw, dims: Sequence[int]) -> Raw:
    """Reverse the value along ``dims``."""
    return _flip[NAME_OF[raw_dtype(raw)]](raw, tuple(dims)) if dims else raw


def joined(raws: Sequence[Raw], dim: int) -> Raw:
    """Concatenate values along ``dim``."""
    return raws[0] if len(raws) == 1 else _cat[NAME_OF[raw_dtype(raws[0])]](tuple(raws), dim)


def stacked(raws: Sequence[Raw], dim: int) -> Raw:
    """Stack values along a new dimension."""
    return _stack[NAME_OF[raw_dtype(raws[0])]](tuple(raws), dim)


# Parts by keys of basic indexing


def _spans(key: Any, shape: tuple[int, ...]) -> tuple[list[slice], list[int], list[int]]:
    """Return for a key of basic indexing a slice with positive step per dimension, the dimensions to reverse, and the result's shape."""
    items = list(key) if key.__class__ is tuple else [key]
    lengthless = items.count(None)
    named = len(items) - lengthless - items.count(Ellipsis)
    if named == len(items) - lengthless:
        items.append(Ellipsis)
    spans: list[slice] = []
    turned: list[int] = []
    lengths: list[int] = []
    for item in items:
        if item is None:
            lengths.append(1)
        elif item is Ellipsis:
            rest = shape[len(spans) : len(spans) + len(shape) - named]
            spans.extend(slice(0, n, 1) for n in rest)
            lengths.extend(rest)
        elif item.__class__ is slice:
            start, stop, step = item.indices(shape[len(spans)])
            count = len(range(start, stop, step))
            if step < 0:
                turned.append(len(spans))
                start, step = start + (count - 1) * step, -step
            spans.append(slice(start, start + (count - 1) * step + 1 if count else start, step))
            lengths.append(count)
        else:
            place = int(item) + (shape[len(spans)] if item < 0 else 0)
            spans.append(slice(place, place + 1, 1))
    return spans, turned, lengths


def part(raw: Raw, key: tuple[Any, ...]) -> Raw:
    """Index the value with a key of basic indexing."""
    own, name = raw_shape(raw), NAME_OF[raw_dtype(raw)]
    spans, turned, lengths = _spans(key, own)
    for dim, (span, length) in enumerate(zip(spans, own)):
        if span.start or span.stop != length or span.step != 1:
            raw = _slice[name](raw, dim, span.start, span.stop, span.step)
    return flipped(raw, turned) if _is_of_slices(key) else reshaped(flipped(raw, turned), lengths)


def _is_of_slices(key: tuple[Any, ...]) -> bool:
    """Return whether a key consists of slices only, so that indexing keeps the number of dimensions."""
    return key.__class__ is slice or (key.__class__ is tuple and {slice}.issuperset(map(type, key)))


def placed(raw: Raw, key: Any, shape: tuple[int, ...]) -> Raw:
    """Return zeros of a shape with the value written at a key of basic indexing."""
    spans, turned, _ = _spans(key, shape)
    if 0 in raw.shape:
        return zeros(shape, NAME_OF[raw_dtype(raw)])
    counts = [len(range(span.start, span.stop, span.step)) for span in spans]
    raw = flipped(raw if _is_of_slices(key) else reshaped(raw, counts), turned)
    for dim, span in enumerate(spans):
        if span.step > 1:  # append zeros to each element, along an extra dimension
            raw = reshaped(raw, (*raw.shape[: dim + 1], 1, *raw.shape[dim + 1 :]))
            raw = _pads(raw, [(0, span.step - 1) if d == dim + 1 else (0, 0) for d in range(len(raw.shape))])
            counts[dim] *= span.step
            raw = reshaped(raw, (*raw.shape[:dim], counts[dim], *raw.shape[dim + 2 :]))
    return _pads(raw, [(span.start, length - span.start - n) for span, length, n in zip(spans, shape, counts)])


def _pads(raw: Raw, widths: Sequence[tuple[int, int]]) -> Raw:
    found: list[int] = []
    for before, after in widths:
        if found or before or after:
            found[:0] = before, after
    return _pad[NAME_OF[raw_dtype(raw)]](raw, tuple(found), 0) if found else raw


def put_together(parts: dict[int, Raw], keys: Sequence[Any], shape: tuple[int, ...]) -> Raw:
    """Return zeros of a shape with ``parts[i]`` written at ``keys[i]``; keys without a part stay zeros. The keys are those of a split or an
    unbind, and together cover one dimension."""
    name = NAME_OF[next(iter(parts.values())).dtype]
    dim = len(keys[0]) - 1
    of_split = isinstance(keys[0][dim], slice)
    if 0 in shape:
        return zeros(tuple(shape), name)
    if len(parts) == 1 and len(keys) > 1:
        ((number, only),) = parts.items()
        return placed(only, keys[number], shape)
    if of_split:
        found = []
        for number, key in enumerate(keys):
            length = key[dim].stop - key[dim].start
            if number in parts:
                found.append(parts[number])
            elif length:
                found.append(zeros((*shape[:dim], length, *shape[dim + 1 :]), name))
        return joined([item for item in found if item.size] or found[:1], dim)
    rest = shape[:dim] + shape[dim + 1 :]
    return stacked([parts[number] if number in parts else zeros(rest, name) for number in range(len(keys))], dim)


# Complex numbers and their parts


def _seen_as(raw: Raw, name: str, shape: Sequence[int]) -> Raw:
    return reshaped(kernel("view_dtype")[name](raw, name), shape)


def as_real(raw: Raw) -> Raw:
    """View complex numbers as pairs of real ones in a new last dimension."""
    return _seen_as(raw, "float64" if NAME_OF[raw_dtype(raw)] == "complex128" else "float32", (*raw.shape, 2))


def as_complex(raw: Raw) -> Raw:
    """View the pairs in the last dimension as complex numbers."""
    return _seen_as(raw, "complex128" if NAME_OF[raw_dtype(raw)] == "float64" else "complex64", raw_shape(raw)[:-1])


def part_of_complex(number: int) -> tuple[OnRaw, OnRaw]:
    """Return the map to the real (0) or imaginary (1) part; its transpose fills the other part with zeros."""

    def placed_part(raw: Raw) -> Raw:
        nothing = zeros(raw_shape(raw), NAME_OF[raw_dtype(raw)])
        return as_complex(stacked((raw, nothing) if number == 0 else (nothing, raw), len(raw.shape)))

    return lambda raw: part(as_real(raw), (Ellipsis, number)), placed_part


# Windows of any strides


def _end(shape: Sequence[int], strides: Sequence[int], offset: int) -> int:
    return offset if 0 in shape else offset + sum((length - 1) * step for length, step in zip(shape, strides)) + 1


def _memory_of(own: Geometry, other: Geometry) -> tuple[int, int]:
    return min(own[2], other[2]), max(_end(*own), _end(*other))


def _covers(own: Geometry, low: int, high: int) -> bool:
    """Return whether a tensor is row-major and its elements are exactly those from ``low`` to ``high`` in the storage."""
    return own[2] == low and _end(*own) == high and tuple(own[1]) == contiguous_strides(own[0])


def window(raw: Raw, own: Geometry, other: Geometry) -> Raw:
    """Return the elements of the strided view ``other``. ``raw`` has the elements of the view ``own`` of the same memory; elements of
    ``other`` outside of ``own`` are zero."""
    low, high = _memory_of(own, other)
    shape, strides, offset = other
    name = NAME_OF[raw_dtype(raw)]
    if 0 in shape or not raw.size:
        return zeros(shape, name)
    flat = reshaped(raw, (-1,)) if _covers(own, low, high) else _window_placed[name](raw, high - low, own[0], own[1], own[2] - low, False)
    return _window[name](flat, tuple(shape), tuple(strides), offset - low)


def window_back(raw: Raw, own: Geometry, other: Geometry) -> Raw:
    """Return the transpose of ``window``: each gradient is added to the element that it was read from."""
    low, high = _memory_of(own, other)
    name = NAME_OF[raw_dtype(raw)]
    if not raw.size or 0 in own[0]:
        return zeros(own[0], name)
    flat = _window_placed[name](raw, high - low, *other[:2], other[2] - low, may_overlap(*other[:2]))
    if _covers(own, low, high):
        return reshaped(flat, own[0])
    found = _window[name](flat, *own[:2], own[2] - low)
    if may_overlap(*own[:2]):  # overlapping elements share the sum
        ones = full(tuple(own[0]), 1, name)
        counts = _window[name](_window_placed[name](ones, high - low, *own[:2], own[2] - low, True), *own[:2], own[2] - low)
        found = _div[name](found, counts)
    return found


def unfolding(
    forward: Callable[..., Any], back: Callable[..., Any], own: Sequence[int], shape: Sequence[int], dim: int, step: int
) -> tuple[Move, Move]:
    """Return the map from a tensor to its sliding windows along a dimension, and the map's transpose."""
    rows = contiguous_strides(tuple(own))
    whole: Geometry = (tuple(own), rows, 0)
    seen: Geometry = (tuple(shape), (*rows[:dim], rows[dim] * step, *rows[dim + 1 :], rows[dim]), 0)
    return Move(forward, lambda raw: window(raw, whole, seen)), Move(back, lambda raw: window_back(raw, whole, seen))


def cleared(raw: Raw, back: OnRaw, shape: Sequence[int]) -> Raw:
    """Return ``raw`` with zeros at the positions to which ``back`` writes: ``back`` writes a value of ``shape`` into zeros of the shape of
    ``raw``."""
    name = NAME_OF[raw_dtype(raw)]
    zero = zeros((), name)
    outside = kernel("eq")[name](back(full(tuple(shape), 1, name)), zero)
    return kernel("where")[name](outside, raw, zero)

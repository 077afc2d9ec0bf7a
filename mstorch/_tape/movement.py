"""Linear maps that move elements, on values of a device: a map of arrays is found out on the host and done by gathers there."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._backend.cast import cast, numpy_cast
from .._backend.quiet import quiet
from .._backend.raw import NAME_OF, NAME_OF_NP, NP_DTYPE, Raw, from_numpy
from .._backend.table import kernel

Map = Callable[[np.ndarray], np.ndarray]

_reshape, _take, _sum, _expand = kernel("reshape"), kernel("storage_gather"), kernel("segment_sum"), kernel("expand")
_where, _total, _permute = kernel("where"), kernel("sum"), kernel("permute")


def _zeros_and_places(function: Map, shape: tuple[int, ...]) -> np.ndarray:
    """Where each element of the map's result comes from, counted from 1; 0 for what is zero."""
    count = int(np.prod(shape))
    return np.asarray(function(np.arange(1, count + 1, dtype=np.float64).reshape(shape)))


def _moves(function: Map, shape: tuple[int, ...], places: np.ndarray, complex_too: bool) -> bool:
    """Whether a map takes elements as they are: it does so with other numbers, too."""
    if places.dtype != np.float64 or not np.array_equal(places, np.trunc(places)):
        return False
    if places.size and not 0 <= places.min() <= places.max() <= int(np.prod(shape)):
        return False
    numbers = np.random.RandomState(0).randint(1, 1 << 40, shape).astype(np.float64)
    if complex_too:  # a conjugate or a part of a real number is hardly to be told from the number
        numbers = numbers + 1j * (numbers + 1)
    padded = np.concatenate([np.zeros(1), numbers.reshape(-1)])
    return bool(np.array_equal(np.asarray(function(numbers)), padded[places.astype(np.int64)]))


def _gathered(raw: Raw, places: np.ndarray) -> Raw:
    name = NAME_OF[raw.dtype]
    index = from_numpy(np.ascontiguousarray(np.maximum(places - 1, 0), dtype=np.int64).reshape(places.shape))
    found = _take[name](raw, index)
    if places.all():
        return found
    return _where[name](from_numpy(np.asarray(places > 0)), found, from_numpy(np.zeros((), NP_DTYPE[name])))


def _scattered(raw: Raw, places: np.ndarray, shape: tuple[int, ...]) -> Raw:
    """The sum of the elements that come to each place: the transpose of a gather."""
    name = NAME_OF[raw.dtype]
    count = int(np.prod(shape))
    index = from_numpy(np.ascontiguousarray(places, dtype=np.int64).reshape(-1))  # 0 collects what the map leaves out
    summed = _sum[name](_reshape[name](raw, (-1,)), index, count + 1)
    return _reshape[name](kernel("slice")[name](summed, 0, 1, count + 1, 1), shape)


def apply_map(forward: Map, back: Map, raw: Raw) -> Raw:
    """A linear map of arrays, given with its transpose, on a value of a device. What neither moves nor sums goes by the host."""
    shape = tuple(raw.shape)
    like = np.zeros(shape, NP_DTYPE[NAME_OF[raw.dtype]])
    with quiet():
        outcome = np.asarray(forward(like))
    if outcome.dtype != like.dtype:
        if outcome.shape == shape and _casts(forward, like):
            return cast(raw, NAME_OF_NP[outcome.dtype])
        return _by_the_host(forward, raw)
    complex_too = like.dtype.kind == "c"
    if not outcome.size or not like.size:
        return from_numpy(np.array(outcome, order="C"))
    places = _zeros_and_places(forward, shape)
    if _moves(forward, shape, places, complex_too):
        return _gathered(raw, places)
    ways = _zeros_and_places(back, outcome.shape)
    if ways.shape == shape and _moves(back, outcome.shape, ways, complex_too):
        return _scattered(raw, ways, outcome.shape)
    return _by_the_host(forward, raw)


def _casts(function: Map, like: np.ndarray) -> bool:
    """Whether a map to another dtype is a conversion and nothing else."""
    numbers = np.random.RandomState(0).randint(1, 100, like.shape).astype(np.float64)
    probe = numpy_cast(numbers + 1j * numbers + 1j if like.dtype.kind == "c" else numbers, like.dtype)
    with quiet():
        found = np.asarray(function(probe))
    return bool(np.array_equal(found, numpy_cast(probe, found.dtype)))


def _by_the_host(forward: Map, raw: Raw) -> Raw:
    return from_numpy(np.array(forward(raw.asnumpy()), order="C"))


def reshaped(raw: Raw, shape: tuple[int, ...]) -> Raw:
    """The elements in another shape."""
    return _reshape[NAME_OF[raw.dtype]](raw, tuple(int(n) for n in shape))


def permuted(raw: Raw, order: tuple[int, ...]) -> Raw:
    """The dimensions in another order."""
    return _permute[NAME_OF[raw.dtype]](raw, tuple(int(n) for n in order))


def fitted(raw: Raw, shape: tuple[int, ...]) -> Raw:
    """The sum over what broadcasting repeated."""
    own, name = tuple(raw.shape), NAME_OF[raw.dtype]
    lead = len(own) - len(shape)
    axes = tuple(i for i in range(len(own)) if i < lead or (shape[i - lead] == 1 and own[i] != 1))
    return _reshape[name](_total[name](raw, axes, True), shape) if axes else _reshape[name](raw, shape)


def spread(raw: Raw, shape: tuple[int, ...]) -> Raw:
    """Dimensions of length 1 repeated."""
    return _expand[NAME_OF[raw.dtype]](raw, tuple(shape))

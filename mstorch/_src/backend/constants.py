"""Constant operands of device kernels, which are transferred to the device once and not at each use."""
from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np

from .arrays import Array, Number
from .raw import NAME_OF_NP, NP_DTYPE, ON_CPU, Raw, from_numpy

Tables = TypeVar("Tables")

_SMALL = 64  # bytes
_MOST = 4096
_KEPT: OrderedDict[tuple[np.dtype[Any], tuple[int, ...], bytes], Raw] = OrderedDict()


_NUMBERS: dict[tuple[Number, str], Raw] = {}


def number_of(number: Number, name: str) -> Raw:
    """Return a Python number as a 0-d tensor for kernels to read."""
    known = number.__class__ in (int, float) and number != 0  # 0.0 and -0.0 are equal as keys
    found = _NUMBERS.get((number, name)) if known else None
    if found is None:
        found = constant_of(np.asarray(number, NP_DTYPE[name]))
        if known and not ON_CPU:
            if len(_NUMBERS) >= _MOST:
                _NUMBERS.clear()
            _NUMBERS[number, name] = found
    return found


_TABLES: dict[int, dict[str, Raw]] = {}


def kept(make: Callable[..., Tables]) -> Callable[..., Tables]:
    """Decorate a function of numbers that returns one or several arrays: each result is computed once, and sent to a device once."""

    @lru_cache(1024)
    @wraps(make)
    def made(*numbers: Any) -> Tables:
        found = make(*numbers)
        for table in found if isinstance(found, tuple) else (found,):
            if isinstance(table, np.ndarray) and not ON_CPU:
                _keep(table, _TABLES, {})
        return found

    return made


def _keep(table: Array, by_identity: dict[int, Any], value: Any) -> None:
    """Store a value for an array until the array is freed."""
    by_identity[id(table)] = value
    weakref.finalize(table, by_identity.pop, id(table), None)


_TURNED: dict[int, Array] = {}


def turned(matrix: Array) -> Array:
    """Return the transpose of a matrix in row-major order. The transpose of a matrix that a ``kept`` function returned is sent to a device
    once."""
    found = _TURNED.get(id(matrix))
    if found is None:
        found = np.ascontiguousarray(matrix.T)
        if id(matrix) in _TABLES:
            _keep(found, _TABLES, {})
            _keep(matrix, _TURNED, found)
    return found


def table_of(array: Array, name: str) -> Raw:
    """Return an array, cast to the dtype ``name``, as a read-only tensor. An array that a ``kept`` function returned is sent to a device
    once per dtype."""
    sent = _TABLES.get(id(array))
    if sent is None:
        return constant_of(np.ascontiguousarray(array, NP_DTYPE[name]))
    found = sent.get(name)
    if found is None:
        found = sent[name] = from_numpy(np.array(array, NP_DTYPE[name], order="C"))
        found._of_storage = True  # a tensor made of it gets memory of its own
        found._sent = sent
    return found


def table_cast(table: Raw, name: str, cast: Callable[[], Raw]) -> Raw:
    """Return a table on the device in another dtype; the table of a ``kept`` function is cast once."""
    sent = getattr(table, "_sent", {})
    found = sent.get(name)
    if found is None:
        found = sent[name] = cast()
    return found


def constant_of(array: Array) -> Raw:
    """Return an array as a read-only tensor. Small arrays, and those that a ``kept`` function returned, are cached on the device."""
    if id(array) in _TABLES:
        return table_of(array, NAME_OF_NP[array.dtype])
    if ON_CPU or array.nbytes > _SMALL:
        return from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    key = (array.dtype, array.shape, array.tobytes())
    found = _KEPT.get(key)
    if found is None:
        found = _KEPT[key] = from_numpy(np.array(array, order="C"))
        found._of_storage = True  # a tensor made of it gets its own memory
        if len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    else:
        _KEPT.move_to_end(key)
    return found

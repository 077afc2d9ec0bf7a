"""NumPy ufuncs as kernels: without floating-point warnings, and with 0-d arrays instead of NumPy scalars as results."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...quiet import quietly, silence
from ..arrays import Array
from ..blocks import share, threads
from .narrow import COMPUTED, FEWEST, by_columns, may_be_narrow

FEW = 1 << 12  # number of float32 elements up to which results are rounded as torch rounds them
_FEW_DOUBLES = 1 << 7  # the same for float64, whose wider dtype takes up to 50 ns per element
WIDE = 1 << 20  # number of elements from which on threads are used

HALF = {"float16": "float32", "bfloat16": "float32"}
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INTS = ("uint8", "int8", "int16", "int32", "int64")
REAL = ("bool", *INTS, "float16", *FLOATS)


def one(function: Any) -> Callable[[Array], Array]:
    """Return a unary ufunc as a kernel."""
    of_large = quietly(function)

    def kernel(x: Array) -> Array:
        if x.size >= FEWEST:
            return _of_large(of_large, x)
        try:
            found = silence.run(function, x)
        except RuntimeError:  # in a finalizer within another kernel
            found = function(x)
        return found if found.__class__ is np.ndarray else np.asarray(found)

    return kernel


def _wider(char: str, size: int) -> type[Any] | None:
    """Return the wider dtype in which ``size`` numbers of a dtype are computed; None if they are computed in the dtype itself."""
    if char == "f" and size <= FEW:
        return np.float64
    return np.longdouble if char == "d" and size <= _FEW_DOUBLES else None


def exact(function: Any) -> Callable[[Array], Array]:
    """Return a unary ufunc as a kernel that computes small arrays in a wider dtype and rounds once.

    NumPy's float32 loops have errors up to 3 ulp, torch's at most one: exp differs in 40 % of its results (25 % for float64). Computing in
    a wider dtype agrees in 95 to 100 %; it costs several times as much, which is negligible for small arrays.
    """
    plain = one(function)

    def kernel(x: Array) -> Array:
        wide = _wider(x.dtype.char, x.size)
        if wide is None:
            return plain(x)
        found = np.empty(x.shape, x.dtype)
        try:
            silence.run(function, x, found, dtype=wide, casting="same_kind")
        except RuntimeError:  # in a finalizer within another kernel
            function(x, found, dtype=wide, casting="same_kind")
        return found

    return kernel


exp, log = exact(np.exp), exact(np.log)


def two(function: Any) -> Callable[[Array, Array], Array]:
    """Return a binary ufunc as a kernel; ``kernel.into(x, y, out)`` writes its result into an array of that shape and dtype."""
    of_large = quietly(function)

    def kernel(x: Array, y: Array) -> Array:
        if x.size >= FEWEST or y.size >= FEWEST or (x.shape != y.shape and x.size * y.size >= FEWEST and may_be_narrow(x)):
            return _of_large(of_large, x, y)
        try:
            found = silence.run(function, x, y)
        except RuntimeError:  # in a finalizer within another kernel
            found = function(x, y)
        return found if found.__class__ is np.ndarray else np.asarray(found)

    kernel.into = of_large  # type: ignore[attr-defined]
    return kernel


def exact_two(function: Any) -> Callable[[Array, Array], Array]:
    """Return a binary ufunc as a kernel that rounds small arrays once, see ``exact``."""
    plain = two(function)

    def kernel(x: Array, y: Array) -> Array:
        wide = None if x.dtype != y.dtype else _wider(x.dtype.char, max(x.size, y.size))
        if wide is None:
            return plain(x, y)
        found = np.empty(x.shape if x.shape == y.shape else np.broadcast_shapes(x.shape, y.shape), x.dtype)
        try:
            silence.run(function, x, y, found, dtype=wide, casting="same_kind")
        except RuntimeError:  # in a finalizer within another kernel
            function(x, y, found, dtype=wide, casting="same_kind")
        return found

    return kernel


def _of_large(function: Callable[..., Any], *operands: Array) -> Array:
    """Run a ufunc on large arrays: column by column if the last dimension is short, on several threads if they are very large."""
    may_be_short = is_wide = False
    for operand in operands:  # first, because NumPy takes 3 µs to broadcast the shapes, which neither is needed for
        may_be_short = may_be_short or (operand.ndim > 1 and 1 < operand.shape[-1] <= COMPUTED)
        is_wide = is_wide or operand.size >= WIDE
    if may_be_short or is_wide:
        shape = operands[0].shape if len(operands) == 1 else np.broadcast_shapes(*[operand.shape for operand in operands])
        result = by_columns(function, shape, *operands) if may_be_short else None
        if result is not None:
            return result
        if is_wide:
            return _on_threads(function, shape, *operands)
    result = function(*operands)
    return result if result.__class__ is np.ndarray else np.asarray(result)


def _on_threads(function: Callable[..., Any], shape: tuple[int, ...], *operands: Array) -> Array:
    """Run a ufunc on large arrays, on several threads that each compute a part of the first dimension."""
    out = np.empty(shape, function(*[operand[(slice(0, 0),) * operand.ndim] for operand in operands]).dtype)
    if all(operand.shape == shape and operand.flags.c_contiguous for operand in operands):
        line, rows = out.reshape(-1), [operand.reshape(-1) for operand in operands]
    else:
        line, rows = out, list(operands)
    length = len(line)
    along = [row.ndim == line.ndim and len(row) == length for row in rows]

    def work(start: int, end: int) -> None:
        parts = [row[start:end] if sliced else row for row, sliced in zip(rows, along)]
        function(*parts, out=line[start:end])

    threads.run(work, length)
    return out


def number(value: Any, like: Array) -> Any:
    """Return a Python number as a scalar of an array's dtype: NumPy 1 computes 0-d arrays with Python numbers in float64."""
    return like.dtype.type(value)


_ROW = 1 << 13  # number of elements per row into which long arrays are split
_FEWEST = 1 << 11  # number of elements from which on rows are faster


@functools.lru_cache(maxsize=64)
def _row_of(bits: bytes, char: str) -> Array:
    """Return an array filled with one number. The cache's key is the number's bits, because 0.0 and -0.0 compare equal."""
    return np.full(_ROW, np.frombuffer(bits, char)[0])


def beside_number(function: Any, value: Any, x: Array, out: Array | None = None) -> Any:
    """Return ``function(value, x)``, for NumPy's maximum or minimum and a scalar of the array's dtype.

    A long array of floats or int16 is compared with an array filled with the number, because NumPy takes six times as long for a scalar
    operand."""
    if x.size < _FEWEST or x.dtype.char not in "fdh" or not x.flags.c_contiguous:
        return function(value, x, out=out)
    row = _row_of(value.tobytes(), x.dtype.char)
    found = np.empty(x.shape, x.dtype) if out is None else out
    flat, into = x.reshape(-1), found.reshape(-1)
    whole = x.size - x.size % _ROW
    rows, results = flat[:whole].reshape(-1, _ROW), into[:whole].reshape(-1, _ROW)
    share(lambda start, end: function(row, rows[start:end], out=results[start:end]), len(rows), _ROW * 0.1)
    if whole != x.size:
        function(row[: x.size - whole], flat[whole:], out=into[whole:])
    return found

"""bfloat16 as bits (uint16): casts, arithmetic and elementwise functions.

Arrays are dense and in the same order. They are processed in blocks whose sizes are powers of two, so that few kernels serve all sizes; the
remainder is the end of one more block, which recomputes some elements. Short arrays of a size that comes again get a kernel of this size.
Results must not alias operands.

The processor's rounding instruction flushes numbers below 1.2e-38 to zero, for which ``..halves`` checks.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arrays import Array
from .library import ENGINE
from .primitive import (
    BFLOAT16,
    BY_RESULT,
    BY_SOURCE,
    FLOAT32,
    INFERENCE,
    RESULT,
    SECOND,
    SOURCE,
    TRAINING,
    Descriptor,
    Primitive,
    address,
    expect,
    prepared,
    rows,
)

ADD, MUL, DIV, SUB = 0x1FFF0, 0x1FFF1, 0x1FFF4, 0x1FFF5
TANH, SQUARE, SQRT, LOGISTIC, EXP, GELU_TANH, SWISH, GELU = 0x21, 0x23, 0x25, 0x29, 0x2A, 0x2B, 0x2C, 0x31
_MOST = 1 << 18  # elements per block, which fits the cache
_SHORT = 1 << 14  # number of elements up to which a kernel takes no longer than its call
_REMEMBERED = 4096
_requested: set[tuple[Callable[..., Any], tuple[int, ...], int]] = set()
"""Kernels and sizes that were asked for before: at the second time a kernel of just this size is created (50 µs)."""
_KINDS = {"f": FLOAT32, "H": BFLOAT16}


def _conversion(source: int, target: int, size: int) -> Primitive:
    own, other = rows((size,), source), rows((size,), target)
    return Primitive(Descriptor("reorder", own, ENGINE, other, ENGINE, None), ((SOURCE, own), (RESULT, other)))


def _binary(kind: int, size: int) -> Primitive:
    flat = rows((size,), BFLOAT16)
    descriptor = Descriptor("binary", ENGINE, kind, flat, flat, flat, None)
    return Primitive(descriptor, ((SOURCE, flat), (SECOND, flat), (RESULT, flat)))


def _with_number(kind: int, number: int, size: int) -> Primitive:
    flat, one = rows((size,), BFLOAT16), rows((1,), number)
    descriptor = Descriptor("binary", ENGINE, kind, flat, one, flat, None)
    return Primitive(descriptor, ((SOURCE, flat), (SECOND, one), (RESULT, flat)))


def _with_row(kind: int, width: int, count: int) -> Primitive:
    table, row = rows((count, width), BFLOAT16), rows((1, width), BFLOAT16)
    descriptor = Descriptor("binary", ENGINE, kind, table, row, table, None)
    return Primitive(descriptor, ((SOURCE, table), (SECOND, row), (RESULT, table)))


def _function(kind: int, size: int) -> Primitive:
    flat = rows((size,), BFLOAT16)
    descriptor = Descriptor("eltwise_forward", ENGINE, INFERENCE, kind, flat, flat, 1.0, 0.0, None)
    return Primitive(descriptor, ((SOURCE, flat), (RESULT, flat)))


def _slope(kind: int, size: int) -> Primitive:
    flat = rows((size,), BFLOAT16)
    hint = Descriptor("eltwise_forward", ENGINE, TRAINING, kind, flat, flat, 1.0, 0.0, None)
    descriptor = Descriptor("eltwise_backward", ENGINE, kind, flat, flat, flat, 1.0, 0.0, hint, None)
    return Primitive(descriptor, ((SOURCE, flat), (BY_RESULT, flat), (BY_SOURCE, flat)))


def _run(make: Callable[..., Any], key: tuple[int, ...], size: int, steps: tuple[int, ...], *at: int) -> None:
    """Run a kernel over ``size`` elements or rows. ``at`` are the addresses of its arrays, ``steps`` their byte steps per element (0: the
    same address for all).

    oneDNN makes a kernel for one size, which takes longer than a run. A size gets a kernel of its own the second time that it is asked for;
    until then blocks of a power of two cover it, the last of which overlaps the one before.
    """
    block = min(1 << (size.bit_length() - 1), _MOST)
    if block < size <= _SHORT:
        request = make, key, size
        if request in _requested:
            block = size
        else:
            if len(_requested) >= _REMEMBERED:
                _requested.clear()
            _requested.add(request)
    primitive = prepared(make, *key, block)
    if block == size:
        primitive(*at)
        return
    for start in (*range(0, size - block, block), size - block):
        primitive(*[place + start * step for place, step in zip(at, steps)])


def convert(x: Array, out: Array) -> None:
    """Convert float32 to bfloat16 (round to nearest, ties to even), or back."""
    source, target = _KINDS[x.dtype.char], _KINDS[out.dtype.char]
    expect(x.size == out.size)
    _run(_conversion, (source, target), x.size, (x.itemsize, out.itemsize), address(x), address(out))


def binary(kind: int, x: Array, y: Array, out: Array) -> None:
    """Compute the sum, difference, … of two arrays elementwise."""
    expect(x.size == y.size == out.size and x.dtype.char == y.dtype.char == out.dtype.char == "H")
    _run(_binary, (kind,), x.size, (2, 2, 2), address(x), address(y), address(out))


def with_number(kind: int, x: Array, number: Array, out: Array) -> None:
    """Compute ``binary`` of each element of an array and one number, in bfloat16."""
    expect(x.size == out.size and number.size == 1 and x.dtype.char == out.dtype.char == "H")
    _run(_with_number, (kind, _KINDS[number.dtype.char]), x.size, (2, 0, 2), address(x), address(number), address(out))


def with_row(kind: int, x: Array, row: Array, out: Array) -> None:
    """Compute ``binary`` of each row of an array and one row."""
    width = row.size
    expect(x.size == out.size and not x.size % width and x.dtype.char == row.dtype.char == out.dtype.char == "H")
    _run(_with_row, (kind, width), x.size // width, (2 * width, 0, 2 * width), address(x), address(row), address(out))


def function(kind: int, x: Array, out: Array) -> None:
    """Compute an elementwise function."""
    expect(x.size == out.size and x.dtype.char == out.dtype.char == "H")
    _run(_function, (kind,), x.size, (2, 2), address(x), address(out))


def slope(kind: int, x: Array, g: Array, out: Array) -> None:
    """Compute ``g`` times the function's derivative at each element."""
    expect(x.size == g.size == out.size and x.dtype.char == g.dtype.char == out.dtype.char == "H")
    _run(_slope, (kind,), x.size, (2, 2, 2), address(x), address(g), address(out))

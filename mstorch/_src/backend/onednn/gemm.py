"""Matrix products of float32, or of bfloat16 into float32."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...quiet import quiet
from ..arrays import Array
from .library import ENGINE, FOUND, HALF_GEMM, LIBRARY
from .primitive import RESULT, SOURCE, WEIGHTS, Descriptor, Layout, Primitive, address, begin, expect, none, prepared

# With fewer multiplications than these another implementation is faster: the call itself takes 4 µs.
LEAST = 1 << 17
_SGEMM = LIBRARY.dnnl_sgemm if FOUND else None


def _operand(a: Array) -> tuple[Array, bytes, int]:
    """Return a matrix with contiguous rows or columns (a copy if it has neither), b"N" for rows or b"T" for columns, and the leading
    dimension."""
    (rows, columns), (step, inner), size = a.shape, a.strides, a.itemsize
    if inner == size and step >= size * columns and not step % size:
        return a, b"N", step // size
    if step == size and inner >= size * rows and not inner % size:
        return a, b"T", inner // size
    return np.ascontiguousarray(a), b"N", columns


_GEMM: dict[str, Any] = {"f": _SGEMM, "H": HALF_GEMM}


def gemm(a: Array, b: Array, out: Array, beta: float = 0.0) -> None:
    """Compute ``out = a @ b + beta * out`` for (n, k), (k, m) and (n, m), float32 and non-empty; the rows of ``out`` are contiguous.

    The factors may be bfloat16 bits (uint16).
    """
    kind = a.dtype.char
    expect(kind == b.dtype.char and kind in _GEMM and out.dtype.char == "f" and a.ndim == b.ndim == 2 and out.shape == (len(a), b.shape[1]))
    expect(a.shape[1] == len(b))
    a, left, left_step = _operand(a)
    b, right, right_step = _operand(b)
    (n, k), m = a.shape, b.shape[1]
    begin()
    _GEMM[kind](left, right, n, m, k, 1.0, address(a), left_step, address(b), right_step, beta, address(out), out.strides[0] >> 2)


_ONE = np.ones(1, np.float32)


def add_multiple(factor: float, x: Array, into: Array) -> None:
    """Compute ``into += factor * x`` for flat float32 arrays, rounding each sum once, as the product of a 1×1 and a 1×n matrix."""
    if factor == 0 or not x.size:  # for a zero factor the library ignores x, whose infinities and NaN matter
        with quiet():
            into += x * np.float32(factor)
        return
    n = x.size
    expect(n == into.size and x.dtype.char == into.dtype.char == "f")
    begin()
    _SGEMM(b"N", b"N", 1, n, 1, factor, address(_ONE), 1, address(x), n, 1.0, address(into), n)


def _products(shapes: tuple[tuple[int, ...], ...], steps: tuple[tuple[int, ...], ...]) -> Primitive:
    left, right, result = (Layout(shape, step) for shape, step in zip(shapes, steps))
    descriptor = Descriptor("matmul", ENGINE, left, right, none(), result, None)
    return Primitive(descriptor, ((SOURCE, left), (WEIGHTS, right), (RESULT, result)))


def _supported_layout(a: Array) -> Array:
    """Return matrices with contiguous rows or columns: a copy if neither are, or if strides are negative.

    An expanded batch dimension is reduced to length 1, which the kernel broadcasts.
    """
    *outer, step, inner = a.strides
    if 0 in outer:
        a = a[tuple(slice(0, 1) if not step else slice(None) for step in outer)]
        outer = [step or 4 for step in outer]
    rows, columns = a.shape[-2:]
    together = (inner == 4 and step >= 4 * columns) or (step == 4 and inner >= 4 * rows)
    if together and all(step > 0 and not step % 4 for step in outer):
        return a
    return np.ascontiguousarray(a)


def products(a: Array, b: Array, out: Array) -> None:
    """Compute ``out = a @ b`` for non-empty float32 (..., n, k), (..., k, m) and (..., n, m) with the same leading dimensions, at most
    four."""
    expect(a.dtype.char == b.dtype.char == out.dtype.char == "f")
    if any(not step and not other for step, other in zip(a.strides[:-2], b.strides[:-2])):
        a = np.ascontiguousarray(a)  # one of them must have the result's batch size
    whole = (_supported_layout(a), _supported_layout(b), out)
    shapes, steps = tuple(x.shape for x in whole), tuple(tuple(step >> 2 for step in x.strides) for x in whole)
    prepared(_products, shapes, steps)(*(address(x) for x in whole))

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
    (n, k), (rows, m) = a.shape, b.shape
    expect(kind == b.dtype.char and kind in _GEMM and out.dtype.char == "f" and k == rows and out.shape == (n, m))
    a, left, left_step = _operand(a)
    b, right, right_step = _operand(b)
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


def _layout(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return shape and strides, in elements, in which the kernel reads float32 matrices: an expanded batch dimension has length 1, which
    the kernel broadcasts. None if neither rows nor columns are contiguous, or if strides are negative."""
    *outer, step, inner = strides
    *lengths, rows, columns = shape
    if not ((inner == 4 and step >= 4 * columns) or (step == 4 and inner >= 4 * rows)):
        return None
    if any(stride < 0 or stride % 4 for stride in strides):
        return None
    batch = [length if stride else 1 for length, stride in zip(lengths, outer)]
    return (*batch, rows, columns), tuple([stride >> 2 or 1 for stride in outer] + [step >> 2, inner >> 2])


def _products(*geometries: tuple[tuple[int, ...], tuple[int, ...]]) -> Primitive | bool:
    """Return the kernel that multiplies matrices as they lie, given shapes and strides in bytes; False if one has to be copied first."""
    layouts = [layout for layout in (_layout(*geometry) for geometry in geometries) if layout is not None]
    if len(layouts) < len(geometries):
        return False
    for first, second, length in zip(*(shape[:-2] for shape, _ in layouts)):
        if first != length and second != length:
            return False  # one of the factors must have the result's batch size
    left, right, result = (Layout(*layout) for layout in layouts)
    descriptor = Descriptor("matmul", ENGINE, left, right, none(), result, None)
    return Primitive(descriptor, ((SOURCE, left), (WEIGHTS, right), (RESULT, result)))


def _in_layout(a: Array) -> Array:
    """Return matrices as the kernel reads them: a copy, of each expanded matrix once, unless they already are."""
    if _layout(a.shape, a.strides) is not None:
        return a
    return np.ascontiguousarray(a[tuple(slice(None) if step else slice(0, 1) for step in a.strides[:-2])])


def products(a: Array, b: Array, out: Array) -> None:
    """Compute ``out = a @ b`` for non-empty float32 (..., n, k), (..., k, m) and (..., n, m) with the same leading dimensions, at most
    four."""
    expect(a.dtype.char == b.dtype.char == out.dtype.char == "f")
    kernel = prepared(_products, (a.shape, a.strides), (b.shape, b.strides), (out.shape, out.strides))
    if not kernel:
        if any(not step and not other for step, other in zip(a.strides[:-2], b.strides[:-2])):
            a = np.ascontiguousarray(a)
        a, b = _in_layout(a), _in_layout(b)
        kernel = prepared(_products, (a.shape, a.strides), (b.shape, b.strides), (out.shape, out.strides))
    kernel(a, b, out)

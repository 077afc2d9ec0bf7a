"""Pooling. Usual two-dimensional cases have kernels; all other ranks, dtypes and options gather the windows' elements."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import mindspore
import numpy as np
from mindspore import ops
from mindspore.ops.operations._grad_ops import AvgPoolGrad, MaxPoolGrad

from .. import tape
from ..arrays import Array
from ..cast import cast
from ..device_memory import full
from ..host.pool import last_nan
from ..raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from ..table import FLOATS, INTS, VIA_HALF, define
from ._empty import filled
from ._nodes import node, prim_and, prim_equal, prim_not, prim_or, prim_select
from .index import gather_along
from .reduce import extreme
from .reduce import ops_mean as _mean
from .sliding_windows import adaptive_table, outside_windows, strided_table, windows
from .views import ops_reshape as _reshape
from .views import ops_total

_argmax = ops.Argmax(2, mindspore.int64)
_sum = ops.ReduceSum(False)
_mul = ops.Mul()

Sizes = tuple[int, ...]


@lru_cache(256)
def _max_pool(kernel: Sizes, stride: Sizes) -> tuple[Any, Any]:
    return ops.MaxPool(kernel, stride), MaxPoolGrad(kernel, stride)


def _max_forward(x: Raw, kernel: Sizes, stride: Sizes) -> Raw:
    return _max_pool(kernel, stride)[0](x)


def _max_backward(g: Raw, y: Raw, x: Raw, kernel: Sizes, stride: Sizes) -> Raw:
    return _max_pool(kernel, stride)[1](x, y, g)


_max_node = node("MaxPool2DWithIndicesBackward0", _max_forward, _max_backward, _max_forward)


def ops_max_pool(x: Raw, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> Raw:
    """Return the maximum of each window: (N, C, *spatial) → (N, C, *out). NaN among numbers is ignored."""
    simple = len(kernel) == 2 and not any(padding) and dilation == (1, 1)
    if simple and x.size and NAME_OF[x.dtype] == "float32" and out == tuple(
        (n - k) // s + 1 for n, k, s in zip(x.shape[2:], kernel, stride)
    ):
        return _max_node(x, kernel, stride)
    return composed_max_pool_indices(x, kernel, stride, padding, dilation, out)[0]


def _first_largest(columns: Raw, table: Array) -> Raw:
    """Return the position in the input of the maximum of each window of (N, C, window, out)."""
    lowest = extreme(columns, -1)
    if tape.tracing() is None:
        values = columns.asnumpy()
        values = np.where(table < 0, values.dtype.type(lowest), values)
        place = values.argmax(2)
        if values.dtype.kind == "f":
            place = last_nan(values, place)
        return from_numpy(np.asarray(table[place, np.arange(table.shape[1])], order="C"))
    padding = from_numpy(np.broadcast_to(table < 0, columns.shape).copy())
    number = prim_equal(columns, columns)
    values = prim_select(prim_or(padding, prim_not(number)), full(tuple(columns.shape), lowest, NAME_OF[columns.dtype]), columns)
    missing = prim_and(prim_not(padding), prim_not(number))
    # NaN is larger than all numbers: the last NaN is the maximum, if there is one.
    steps = np.arange(1.0, columns.shape[2] + 1, dtype=np.float32)[:, None]
    score = _mul(cast(missing, "float32"), from_numpy(np.broadcast_to(steps, columns.shape).copy()))
    first = prim_select(cast(_sum(score, 2), "bool"), _argmax(score), _argmax(values))
    flat = _reshape(first, (*first.shape[:2], 1, first.shape[2]))
    every = from_numpy(np.broadcast_to(table, columns.shape).copy())
    return _reshape(gather_along(every, 2, flat), tuple(first.shape))


def _pick(
    x: Raw, table: Array, out: Sizes, outside: tuple[Array, Array] | None = None
) -> tuple[Raw, Raw]:
    """Return the maximum of each window (the first of equal ones, or the last NaN), and its position in the input.

    ``outside``: the windows that contain padding only, whose maximum is the dtype's lowest value.
    """
    n, c = x.shape[:2]
    if x.size == 0 or table.shape[1] == 0:
        return filled((n, c, *out), 0, NAME_OF[x.dtype], x), full((n, c, *out), 0, "int64")
    index = _first_largest(windows(tape.detached(x), table, extreme(x, -1)), table)
    if outside is None:
        values = gather_along(_reshape(x, (n, c, -1)), 2, index)
    else:
        shape = tuple(index.shape)
        empty, first = (from_numpy(np.broadcast_to(part, shape).copy()) for part in outside)
        inside = prim_select(empty, full(shape, 0, "int64"), index)
        lowest = full(shape, extreme(x, -1), NAME_OF[x.dtype])
        values = prim_select(empty, lowest, gather_along(_reshape(x, (n, c, -1)), 2, inside))
        index = prim_select(empty, first, index)
    return _reshape(values, (n, c, *out)), _reshape(index, (n, c, *out))


def composed_max_pool_indices(
    x: Raw, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
) -> tuple[Raw, Raw]:
    """Return the maximum of each window and its position in the flattened spatial dimensions (int64)."""
    numbers = (tuple(x.shape[2:]), kernel, stride, padding, dilation, out)
    return _pick(x, strided_table(*numbers), out, outside_windows(*numbers))


def composed_adaptive_max_pool(x: Raw, out: Sizes) -> tuple[Raw, Raw]:
    """Return the maxima of windows that divide the input into ``out`` parts, and their positions."""
    return _pick(x, adaptive_table(tuple(x.shape[2:]), out), out)


@lru_cache(256)
def _avg_pool(kernel: Sizes, stride: Sizes) -> tuple[Any, Any]:
    return ops.AvgPool(kernel, stride), AvgPoolGrad(kernel, stride)


def _avg_forward(x: Raw, kernel: Sizes, stride: Sizes) -> Raw:
    return _avg_pool(kernel, stride)[0](x)


def _avg_backward(g: Raw, y: Raw, x: Raw, kernel: Sizes, stride: Sizes) -> Raw:
    return _avg_spread(g, y, x, kernel, stride)


def _spread_forward(g: Raw, y: Raw, x: Raw, kernel: Sizes, stride: Sizes) -> Raw:
    return _avg_pool(kernel, stride)[1](x, y, g)


def _spread_backward(gradient: Raw, result: Raw, g: Raw, y: Raw, x: Raw, kernel: Sizes, stride: Sizes) -> Raw:
    return _avg_node(gradient, kernel, stride)


# AvgPoolGrad cannot be differentiated (MindSpore 2.10); it is linear, and its transpose is the pooling.
_avg_spread = node("AvgPool2DBackwardBackward0", _spread_forward, _spread_backward)


_avg_node = node("AvgPool2DBackward0", _avg_forward, _avg_backward, _avg_forward)


@lru_cache(256)
def _divisors(
    sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, include_pad: bool, name: str
) -> Raw:
    """Return the reciprocal of each window's element count."""
    counts = np.ones((), np.int64)
    for n, k, s, p, o in zip(sizes, kernel, stride, padding, out):
        start = np.arange(o) * s - p
        stop = np.minimum(start + k, n + p)
        axis = stop - start if include_pad else np.minimum(stop, n) - np.maximum(start, 0)
        counts = counts[..., None] * axis
    return from_numpy(np.ascontiguousarray(1 / counts).astype(NP_DTYPE[name]))


def ops_avg_pool(
    x: Raw, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, include_pad: bool, divisor: int | None
) -> Raw:
    """Return the mean of each window: (N, C, *spatial) → (N, C, *out)."""
    n, c = x.shape[:2]
    sizes = tuple(x.shape[2:])
    name = NAME_OF[x.dtype]
    if x.size == 0 or 0 in out:
        return filled((n, c, *out), 0, name, x)
    simple = len(kernel) == 2 and not any(padding) and divisor is None and name == "float32"
    if simple and out == tuple((m - k) // s + 1 for m, k, s in zip(sizes, kernel, stride)):
        return _avg_node(x, kernel, stride)
    table = strided_table(sizes, kernel, stride, padding, (1,) * len(kernel), out)
    total = _reshape(ops_total(windows(x, table), (2,)), (n, c, *out))
    if divisor is not None:
        return _mul(total, full((), 1 / divisor, name))
    return _mul(total, _divisors(sizes, kernel, stride, padding, out, include_pad, name))


@lru_cache(256)
def _shares(sizes: Sizes, out: Sizes, name: str) -> Raw:
    counts = (adaptive_table(sizes, out) >= 0).sum(0).reshape(out)
    return from_numpy((1 / counts).astype(NP_DTYPE[name]))


def ops_adaptive_avg_pool(x: Raw, out: Sizes) -> Raw:
    """Return the means of windows that divide the input into ``out`` parts: (N, C, *spatial) → (N, C, *out)."""
    n, c = x.shape[:2]
    sizes = tuple(x.shape[2:])
    if x.size == 0 or 0 in out:
        return filled((n, c, *out), 0, NAME_OF[x.dtype], x)
    if all(o == 1 for o in out):
        flat = _reshape(x, (n, c, -1))
        return _reshape(_mean(flat, (2,), True), (n, c, *out))
    if all(m % o == 0 for m, o in zip(sizes, out)):
        kernel = tuple(m // o for m, o in zip(sizes, out))
        return ops_avg_pool(x, kernel, kernel, (0,) * len(out), out, True, None)
    total = ops_total(windows(x, adaptive_table(sizes, out)), (2,))
    return _mul(_reshape(total, (n, c, *out)), _shares(sizes, out, NAME_OF[x.dtype]))


define("max_pool", cpu=ops_max_pool, dtypes=FLOATS + INTS, via=VIA_HALF)
define("max_pool_indices", cpu=composed_max_pool_indices, dtypes=FLOATS + INTS, via=VIA_HALF)
define("adaptive_max_pool", cpu=composed_adaptive_max_pool, dtypes=FLOATS + INTS, via=VIA_HALF)
define("avg_pool", cpu=ops_avg_pool, dtypes=FLOATS, via=VIA_HALF)
define("adaptive_avg_pool", cpu=ops_adaptive_avg_pool, dtypes=FLOATS, via=VIA_HALF)

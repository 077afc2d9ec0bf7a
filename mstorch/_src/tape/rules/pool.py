"""Gradients of pooling."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.constants import kept, table_of
from ...backend.halves import narrowed
from ...backend.host._slices import inner, padded, slices
from ...backend.host.pool import (
    in_samples,
    largest_places,
    max_pool_slope,
    numpy_max_pool,
    window_counts,
    window_sums,
)
from ...backend.kernels.sliding_windows import adaptive_table
from ...backend.raw import Raw
from ...backend.table import serves
from .. import movement
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ._places import Places

Sizes = tuple[int, ...]


_max_pool_grad = v.Primitive("max_pool_grad")
_max_pool, _fold, _along = v.Primitive("max_pool"), v.Primitive("col2im"), v.Primitive("along")


def _max_pool_on_device(node: Any, g: Raw) -> Any:
    """Return the gradient of max pooling on a device, from one slice per position in the window. Each output's gradient goes to the first
    maximum in its window, or to the last NaN."""
    kernel, stride, padding, dilation, out = node.args
    shape = node.shapes[0]
    x = node.kept(g, 0)
    y = _max_pool(x, *node.args) if node.saved[1].changed else node.kept(g, 1)
    widths = [
        (p, max(0, (o - 1) * s + d * (k - 1) + 1 - n - p))
        for n, k, s, p, d, o in zip(shape[2:], kernel, stride, padding, dilation, out)
    ]
    x = v.pad(x, tuple(width for pair in reversed(widths) for width in pair), float("-inf"))
    wide = v.shape_of(x)
    inside = None
    if any(before or after for before, after in widths):  # padding is never selected, even if the image is as small
        inside = np.pad(np.ones(shape[2:], bool), widths)[None, None]
    total = None
    keys = list(slices(kernel, stride, dilation, out))
    # torch's loop keeps the first of equal numbers and the last NaN; who comes later finds nothing `left`.
    for no_number, order in ((False, keys), (True, keys[::-1])):
        left = v.ne(y, y) if no_number else v.eq(y, y)
        for key in order:
            part = v.part_of(x, key)
            hit = v.both(v.ne(part, part) if no_number else v.eq(part, y), left)
            if inside is not None and not inside[key].all():
                hit = v.both(hit, np.array(inside[key], order="C"))
            left = v.both(left, v.negated(hit))
            total = v.sum_of(total, v.placed_in(v.where(hit, g, 0), key, wide))
    return v.part_of(total, (slice(None), slice(None), *(slice(b, b + n) for (b, _), n in zip(widths, shape[2:]))))


def _max_pool_of_raws(node: Applied, g: Raw) -> Raw:
    if 0 in node.shapes[0] or 0 in v.shape_of(g):
        return None
    kernel, _, _, dilation, _ = node.args
    # MindSpore's gradient kernels refuse dilated windows, and some devices have none for three dimensions.
    by_kernel = all(step == 1 for step in dilation) and (len(kernel) < 3 or serves("max_pool_grad", node.kind.name))
    return _max_pool_grad(g, node.kept(g, 0), *node.args) if by_kernel else _max_pool_on_device(node, g)


_max_pool_slope_of_halves = in_samples(max_pool_slope)


def _lie_apart(node: Applied) -> bool:
    """Return whether the pooling windows do not overlap."""
    kernel, stride, _, dilation, _ = node.args
    return all(s >= k and d == 1 for k, s, d in zip(kernel, stride, dilation))


def _max_pool_of_arrays(node: Applied, g: Array) -> Array | None:
    if not g.size or (g.dtype.itemsize == 2 and not _lie_apart(node)):  # in half precision each sum would be rounded
        return None
    x = node.kept(g, 0)
    if g.dtype.itemsize > 2:
        return max_pool_slope(x, g, *node.args)
    slope = _max_pool_slope_of_halves(x, g, *node.args)
    if slope is not None:
        return slope
    slope = max_pool_slope(v.comparable(x), v.comparable(g), *node.args)
    return None if slope is None else narrowed(slope, g.dtype)


@rule("max_pool", keep=(0, "result"), label="MaxPool2DWithIndicesBackward0")
@v.by_gradient(array=_max_pool_of_arrays, raw=_max_pool_of_raws)
def max_pool(node: Applied, g: Operand) -> Operand:
    kernel, stride, padding, dilation, out = node.args
    shape, apart = node.shapes[0], _lie_apart(node)
    x = v.comparable(node.kept(g, 0))
    # torch saves indices, so that the result may be modified in place (by a ReLU): in this case it is computed again.
    y = numpy_max_pool(x, *node.args) if node.saved[1].changed else v.comparable(node.kept(g, 1))
    if not x.size or not y.size:
        return v.like(v.zeros(shape, node.kind), g)
    places = largest_places(x, y, *node.args)
    keys = list(slices(kernel, stride, dilation, out))

    def given(array: Array) -> Array:
        empty = np.zeros(shape, array.dtype)
        whole = padded(empty, kernel, stride, padding, dilation, out, 0)
        for hit, key in zip(places, keys):
            if apart:
                np.copyto(whole[key], array, where=hit)
            else:
                whole[key] += np.where(hit, array, array.dtype.type(0))
        return whole if whole is empty else np.array(whole[inner(shape[2:], padding)], order="C")

    def taken(array: Array) -> Array:
        whole = padded(array, kernel, stride, padding, dilation, out, 0)
        found = np.zeros(y.shape, array.dtype)
        for hit, key in zip(places, keys):
            found += np.where(hit, whole[key], array.dtype.type(0))
        return found

    return v.flat_in(v.mapped(g, given, taken, "MaxPool2DWithIndicesBackwardBackward0"), node.kept(g, 0))


def positions_in(index: Array, shape: Sizes) -> Places:
    """Return the indices of a pooling over batched images, one row per image and channel."""
    rows, length = shape[0] * shape[1], int(np.prod(shape[2:]))
    # One scatter for all images: the positions of each row are shifted by the rows before it.
    flat = index.reshape(rows, math.prod(index.shape[2:])) + np.arange(rows)[:, None] * length
    return Places((flat.reshape(-1),), (rows * length,), index.shape, True)


def _by_position_on_device(node: Any, gradients: Any) -> Any:
    g, shape = gradients[0], node.shapes[0]
    rows, length, count = shape[0] * shape[1], math.prod(shape[2:]), math.prod(v.shape_of(g)[2:])
    index = movement.reshaped(v.bare_condition(node.kept(g)), (rows, count))
    return v.reshape(v.scattered(v.reshape(g, (rows, count)), (rows, length), 1, index), shape)


@v.by_gradient(native=_by_position_on_device)
def _by_position(node: Any, gradients: Sequence[Operand | None]) -> Operand:
    """Scatter the gradient to the positions that the pooling returned as indices, its second result."""
    g, shape = gradients[0], node.shapes[0]
    places = positions_in(v.host_array(node.kept(g)), shape)
    return v.reshape(places.add(g, "MaxPool2DWithIndicesBackwardBackward0"), shape)


rule("max_pool_indices", watch=(0,), keep=("result1",), label="MaxPool2DWithIndicesBackward0")(_by_position)
rule("adaptive_max_pool", watch=(0,), keep=("result1",), label="AdaptiveMaxPool2DBackward0")(_by_position)


def _avg_pool_on_device(node: Any, g: Any) -> Any:
    kernel, stride, padding, out, include_pad, divisor = node.args
    shape = node.shapes[0]
    if 0 in shape or 0 in out:
        return None
    if len(kernel) > 2 and not any(padding) and all(k == t and k * o == n for n, k, t, o in zip(shape[2:], kernel, stride, out)):
        return _tiled(v.times(g, 1 / (divisor or math.prod(kernel))), shape, tuple(kernel))
    # col2im has no windows that begin inside and end beyond the padding, which `ceil_mode` adds.
    if len(kernel) > 2 or any((n + 2 * p - k) // s + 1 != o for n, k, s, p, o in zip(shape[2:], kernel, stride, padding, out)):
        found = _spread(g, [_window_shares(*sizes, include_pad, divisor) for sizes in zip(shape[2:], kernel, stride, padding, out)])
        return found if divisor is None else v.times(found, 1 / divisor)
    counts = _divisors(shape[2:], kernel, stride, padding, out, include_pad, divisor)
    if len(kernel) == 2:
        return _windows_added(g, shape, kernel, stride, padding, out, counts)
    image = v.reshape(g, (*shape[:2], 1, *out))  # 1-d input is an image of one row
    flat = _windows_added(image, (*shape[:2], 1, *shape[2:]), (1, *kernel), (1, *stride), (0, *padding), (1, *out), counts)
    return v.reshape(flat, shape)


@rule("avg_pool", watch=(0,), label="AvgPool2DBackward0")
@v.by_gradient(native=_avg_pool_on_device)
def avg_pool(node: Applied, g: Operand) -> Operand:
    kernel, stride, padding, out, include_pad, divisor = node.args
    shape = node.shapes[0]
    if 0 in shape or 0 in out:
        return v.like(v.zeros(shape, node.kind), g)
    ones = (1,) * len(kernel)
    counts = window_counts(shape[2:], kernel, stride, padding, out, include_pad, divisor)

    def spread(array: Array) -> Array:
        empty = np.zeros(shape, array.dtype)
        whole = padded(empty, kernel, stride, padding, ones, out, 0)
        share = array / counts.astype(array.dtype)
        for key in slices(kernel, stride, ones, out):
            whole[key] += share  # windows overlap, but the positions of one key do not
        return whole if whole is empty else np.array(whole[inner(shape[2:], padding)], order="C")

    def means(array: Array) -> Array:
        return np.asarray(window_sums(array, kernel, stride, padding, out) / counts.astype(array.dtype))

    return v.mapped(g, spread, means, "AvgPool2DBackwardBackward0")


def _tiled(share: Any, shape: Sizes, sizes: Sizes) -> Any:
    """Return an array of ``shape`` in which each element of ``share`` fills a window of these sizes; the windows adjoin."""
    out = v.shape_of(share)[2:]
    once = tuple(length for o in out for length in (o, 1))
    every = tuple(length for o, size in zip(out, sizes) for length in (o, size))
    return v.reshape(v.spread(v.reshape(share, (*shape[:2], *once)), (*shape[:2], *every)), shape)


def _spread(g: Any, shares: Sequence[Array]) -> Any:
    """Return the gradient of a pooling that multiplies by a matrix (outputs, inputs) along each axis: ``g`` times these matrices."""
    for axis, matrix in enumerate(shares):
        g = _along(g, matrix, None, 2 + axis)
    return g


@kept
def _window_shares(n: int, k: int, s: int, p: int, o: int, include_pad: bool, divisor: int | None) -> Array:
    """Return a matrix (outputs, inputs) of average pooling along one axis: 1 over the window's size for the inputs in the window of an
    output, else 0. With a ``divisor``, which the caller applies, 1 in place of 1 over the size."""
    starts, places = np.arange(o)[:, None] * s - p, np.arange(n)
    inside = ((places >= starts) & (places < starts + k)).astype(np.float64)
    if divisor is not None:
        return inside
    stops = np.minimum(starts + k, n + p)
    return inside / (stops - starts if include_pad else np.minimum(stops, n) - np.maximum(starts, 0))


@kept
def _adaptive_shares(n: int, o: int) -> Array:
    """Return a matrix (outputs, inputs) of adaptive average pooling along one axis: 1 over the window's size for the inputs in the window
    of an output, else 0."""
    numbers, places = np.arange(o)[:, None], np.arange(n)
    inside = (places >= numbers * n // o) & (places < -(-(numbers + 1) * n // o))
    return inside / inside.sum(1, keepdims=True)


_divisors = kept(window_counts)


def _windows_added(g: Any, shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, counts: Array) -> Any:
    """Return the gradient of average pooling on a device: each output's share is spread over its window, and overlapping windows are
    summed.
    """
    rows, count, size = shape[0], shape[1], int(np.prod(kernel))
    uniform = counts.size and (counts == counts.flat[0]).all()
    share = v.div(g, v.constant(float(counts.flat[0]), g) if uniform else v.like(table_of(counts, v.dtype_name(g)), g))
    spread = v.spread(v.reshape(share, (rows, count, 1, int(np.prod(out)))), (rows, count, size, int(np.prod(out))))
    return _fold(v.reshape(spread, (rows, count * size, int(np.prod(out)))), shape[2:], kernel, (1, 1), padding, stride, out)


def _adaptive_on_device(node: Any, g: Any) -> Any:
    """Return the gradient of adaptive average pooling. If each output size divides the input's, every element of a window gets an equal
    part of its output's gradient; else the gradient is multiplied by a matrix along each axis.
    """
    (out,), shape = node.args, node.shapes[0]
    if 0 in shape or 0 in out:
        return None
    if any(n % o for n, o in zip(shape[2:], out)):
        return _spread(g, [_adaptive_shares(n, o) for n, o in zip(shape[2:], out)])
    sizes = tuple(n // o for n, o in zip(shape[2:], out))
    return _tiled(v.times(g, 1 / math.prod(sizes)), shape, sizes)


@rule("adaptive_avg_pool", watch=(0,), label="AdaptiveAvgPool2DBackward0")
@v.by_gradient(native=_adaptive_on_device)
def adaptive_avg_pool(node: Applied, g: Array) -> Operand:
    (out,) = node.args
    shape = node.shapes[0]
    if 0 in shape or 0 in out:
        return v.like(v.zeros(shape, node.kind), g)
    table = adaptive_table(shape[2:], out)
    inside = table >= 0
    counts, positions, windows = inside.sum(0), table[inside], np.nonzero(inside)[1]
    length = int(np.prod(shape[2:]))

    def spread(array: Array) -> Array:
        share = array.reshape(-1, len(counts)) / counts.astype(array.dtype)
        whole = np.zeros((length, share.shape[0]), array.dtype)
        np.add.at(whole, positions, share.T[windows])
        return np.array(whole.T, order="C").reshape(shape)

    def means(array: Array) -> Array:
        rows = array.reshape(-1, length).T[positions]
        whole = np.zeros((len(counts), rows.shape[1]), array.dtype)
        np.add.at(whole, windows, rows)
        return np.array((whole / counts[:, None].astype(array.dtype)).T, order="C").reshape(*shape[:2], *out)

    return v.mapped(g, spread, means, "AdaptiveAvgPool2DBackwardBackward0")

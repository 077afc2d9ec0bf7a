"""Convolutions on the host: oneDNN's in float32, else matrix products of unfolded windows.

Without a oneDNN kernel, a BLAS product is about as fast as MindSpore's kernels (2.10), and leaves the cores free for the next product.
Grouped convolutions then use MindSpore's, except in forked processes, where those do not work.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array
from ..blocks import on_threads, share
from ..forked import forked
from ..halves import BFLOAT16, rounded, widened
from ..kernels.sliding_windows import strided_table, transposed_table
from ..onednn.convolution import FORWARD, INPUT, WEIGHT, convolve
from ..onednn.library import FOUND, FOUND_HALVES
from ..table import define_direct, define_host, kernel, through_mindspore
from ._slices import inner, padded, slices
from ._ufunc import COMPLEX, FLOATS, HALF, INTS
from .matmul import product
from .pointwise import is_pointwise, pointwise, pointwise_input, pointwise_weight
from .resample import windows

Sizes = tuple[int, ...]
Geometry = tuple[Sizes, Sizes, Sizes]


def _with_bias(y: Array, bias: Array | None) -> Array:
    if bias is not None:
        y += bias.reshape(-1, *([1] * (y.ndim - 2)))
    return y


def _contract(columns: Array, w: Array, groups: int, out: Sizes) -> Array:
    """Multiply unfolded windows (N, C, K, L) by weights (groups, out channels / groups, C / groups * K); return (N, out channels, *out)."""
    n, c, k, length = columns.shape
    wide = columns.reshape(n, groups, c // groups * k, length).transpose(1, 2, 0, 3).reshape(groups, c // groups * k, n * length)
    flat = np.stack([product(np.ascontiguousarray(w[i]), wide[i]) for i in range(groups)])
    return np.array(flat.reshape(-1, n, length).transpose(1, 0, 2), order="C").reshape(n, -1, *out)


def _grouped(w: Array, groups: int) -> Array:
    return np.ascontiguousarray(w).reshape(groups, w.shape[0] // groups, int(np.prod(w.shape[1:])))


def _crossed(w: Array, groups: int) -> Array:
    """Rearrange (C, out / groups, *kernel) to (groups, out / groups, C / groups * kernel elements)."""
    parts = np.ascontiguousarray(w).reshape(groups, w.shape[0] // groups, w.shape[1], int(np.prod(w.shape[2:])))
    return parts.transpose(0, 2, 1, 3).reshape(groups, w.shape[1], -1)


def _out_sizes(sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation)])


_RATE = 100.0  # multiplications per nanosecond
_LANES = 16  # number of channels that the kernels compute together


def _by_channels(kind: str, arrays: tuple[Array, Array, Array]) -> bool:
    """Return whether threads split the channels rather than the images.

    Each thread then reorders its part of the weights only, but all of the other operand; the gradients of the weights need no addition.
    """
    source, weights, result = arrays
    if source.shape[0] == 1:
        return True
    return 2 * weights.size > source.size if kind == WEIGHT else weights.size > 8 * (result if kind == INPUT else source).size


def _share(
    kind: str, arrays: tuple[Array, Array, Array], bias: Array | None, geometry: Geometry, groups: int,
) -> bool:  # fmt: skip
    """Run oneDNN's convolution on threads, split by images or channels; return False if oneDNN has no kernel."""
    source, weights, result = arrays
    work = result.size * weights.size / (weights.shape[0] * _RATE)
    done = []

    def images(start: int, end: int) -> None:
        part = slice(start, end)
        if kind != WEIGHT:
            done.append(convolve(kind, (source[part], weights, result[part]), bias, geometry, groups))
            return
        own = weights if start == 0 else np.empty(weights.shape, np.float32)
        done.append(convolve(kind, (source[part], own, result[part]), bias, geometry, groups))
        if start:
            others.append(own)

    def channels(start: int, end: int) -> None:
        part = slice(start, end)
        if kind == INPUT:
            done.append(convolve(kind, (source[:, part], weights[:, part], result), bias, geometry, groups))
        else:
            own = None if bias is None else bias[part]
            done.append(convolve(kind, (source, weights[part], result[:, part]), own, geometry, groups))

    others: list[Array] = []
    length = source.shape[1] if kind == INPUT else result.shape[1]
    if groups == 1 and _by_channels(kind, arrays):
        share(channels, length, work / length, _LANES)
    else:
        share(images, source.shape[0], work / source.shape[0])
    for other in others:
        weights += other
    return all(done)


def _single(*arrays: Array | None) -> bool:
    """Return whether oneDNN supports these arrays: non-empty float32."""
    for array in arrays:
        if array is not None and (array.dtype != np.float32 or not array.size):
            return False
    return FOUND


def _supported_layout(array: Array) -> Array:
    """Return the array; a contiguous copy if it is expanded or has negative strides."""
    return array if min(array.strides, default=1) > 0 else np.ascontiguousarray(array)


def _by_onednn(
    kind: str, arrays: tuple[Array, Array, Array], bias: Array | None, geometry: Geometry, groups: int,
) -> bool:  # fmt: skip
    if not _single(*arrays, bias) or min(geometry[1]) < 0:
        return False
    source, weights, result = arrays
    return _share(kind, (_supported_layout(source), _supported_layout(weights), _supported_layout(result)), bias, geometry, groups)


def _onednn_conv(x: Array, w: Array, bias: Array | None, geometry: Geometry, groups: int) -> Array | None:
    if is_pointwise(x, w.shape[2:], geometry, groups):
        return pointwise(x, w, bias)
    out = _out_sizes(x.shape[2:], w.shape[2:], *geometry)
    found = np.empty((x.shape[0], w.shape[0], *out), x.dtype)
    return found if _by_onednn(FORWARD, (x, w, found), bias, geometry, groups) else None


def _onednn_conv_input(g: Array, w: Array, shape: Sizes, geometry: Geometry, groups: int) -> Array | None:
    if is_pointwise(g, w.shape[2:], geometry, groups) and g.shape[2:] == tuple(shape[2:]):
        return pointwise_input(g, w)
    found = np.empty(shape, g.dtype)
    return found if _by_onednn(INPUT, (found, w, g), None, geometry, groups) else None


def _onednn_conv_weight(g: Array, x: Array, shape: Sizes, geometry: Geometry, groups: int) -> Array | None:
    if is_pointwise(g, tuple(shape[2:]), geometry, groups):
        own = pointwise_weight(g, x, shape)
        if own is not None:
            return own
    found = np.empty(shape, g.dtype)
    return found if _by_onednn(WEIGHT, (x, found, g), None, geometry, groups) else None


def numpy_conv(
    x: Array, w: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """Convolve (N, C, *spatial), padded on both sides, with weights (out, C / groups, *kernel) to (N, out, *spatial')."""
    sizes, kernel = x.shape[2:], w.shape[2:]
    out = _out_sizes(sizes, kernel, stride, padding, dilation)
    if not x.size or not w.size or 0 in out:
        return _with_bias(np.zeros((x.shape[0], w.shape[0], *out), x.dtype), bias)
    found = _onednn_conv(x, w, bias, (stride, padding, dilation), groups)
    if found is not None:
        return found
    columns = windows(x, strided_table(sizes, kernel, stride, padding, dilation, out))
    return _with_bias(_contract(columns, _grouped(w, groups), groups, out), bias)


def _transposed_sizes(
    sizes: Sizes, kernel_: Sizes, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes
) -> Sizes:  # fmt: skip
    return tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, k, s, p, o, d in zip(sizes, kernel_, stride, padding, output_padding, dilation)
    )


def numpy_conv_transpose(
    x: Array, w: Array, bias: Array | None, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes, groups: int,
) -> Array:  # fmt: skip
    """Convolve (N, C, *spatial), transposed, with weights (C, out / groups, *kernel) to (N, out, *spatial')."""
    out = _transposed_sizes(x.shape[2:], w.shape[2:], stride, padding, output_padding, dilation)
    return _with_bias(_transposed(x, w, out, stride, padding, dilation, groups), bias)


_SMALL = 1 << 15  # number of products of positions and weights up to which kernel elements are added one after another


def _in_small_sums(x: Array, w: Array, out: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """Sum over channels first, then over kernel elements: half the rounding error of one long sum, as in torch."""
    kernel_, sizes = w.shape[2:], x.shape[2:]
    rows = np.ascontiguousarray(w).reshape(w.shape[0], -1).T
    columns = product(rows, np.ascontiguousarray(x).reshape(w.shape[0], -1)).reshape(w.shape[1], -1, *sizes)
    whole = np.zeros((w.shape[1], *(n + 2 * p for n, p in zip(out, padding))), x.dtype)
    for place, key in enumerate(slices(kernel_, stride, dilation, sizes)):
        whole[key] += columns[:, place]
    return np.ascontiguousarray(whole[inner(out, padding)])[None]


def _transposed(x: Array, w: Array, out: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    if not x.size or not w.size or 0 in out:
        return np.zeros((x.shape[0], w.shape[1] * groups, *out), x.dtype)
    found = _onednn_conv_input(x, w, (x.shape[0], w.shape[1] * groups, *out), (stride, padding, dilation), groups)
    if found is not None:
        return found
    table = transposed_table(x.shape[2:], w.shape[2:], stride, padding, dilation, out)
    return _contract(windows(x, table), _crossed(w, groups), groups, out)


def numpy_conv2d_input(g: Array, w: Array, shape: Sizes, *attributes: Any) -> Array:
    """Return the gradient of ``conv2d`` for an input of ``shape``."""
    return _transposed(g, w, tuple(shape[2:]), *attributes)


def numpy_conv2d_weight(
    g: Array, x: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """Return the gradient of ``conv2d`` for weights of ``shape``."""
    n, channels = g.shape[:2]
    columns = windows(x, strided_table(x.shape[2:], tuple(shape[2:]), stride, padding, dilation, g.shape[2:]))
    c, k, length = columns.shape[1:]
    wide = columns.reshape(n, groups, c // groups * k, length).transpose(1, 0, 3, 2).reshape(groups, n * length, c // groups * k)
    rows = np.ascontiguousarray(g).reshape(n, groups, channels // groups, length).transpose(1, 2, 0, 3)
    rows = rows.reshape(groups, channels // groups, n * length)
    return np.stack([product(rows[i], wide[i]) for i in range(groups)]).reshape(shape)


_MOST = 4_000_000  # number of window elements at a time: they fit the cache, and memory is bounded


def _by_products(op: str, by_onednn: Callable[..., Any], spare: Callable[..., Any], by_product: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that uses oneDNN, or a matrix product for one group in two dimensions, else MindSpore's kernel or the general one.

    MindSpore's kernels are oneDNN's too, and exist in the same cases.
    """

    def conv(
        first: Array, second: Array, third: Array | tuple[int, ...] | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
    ) -> Array:
        own = by_onednn(first, second, third, (stride, padding, dilation), groups)
        if own is not None:
            return np.asarray(own)
        if not first.size or not second.size or first.ndim != 4 or (groups != 1 and (FOUND or forked.here)):
            return np.asarray(spare(first, second, third, stride, padding, dilation, groups))
        if groups != 1:
            device = through_mindspore(kernel(op).beside_host(first.dtype.name))
            return np.asarray(device(first, second, third, stride, padding, dilation, groups))
        return np.asarray(by_product(first, second, third, stride, padding, dilation))

    return conv


def _blocks(count: int, size: int) -> list[slice]:
    """Split ``count`` images into slices whose unfolded patches, ``size`` elements per image, fit in memory."""
    step = max(1, _MOST // max(size, 1))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def _columns(x: Array, kernel_: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> Array:
    """Unfold (N, C, H, W) to (C * kernel elements, N * windows)."""
    n, c = x.shape[:2]
    columns = np.empty((c, int(np.prod(kernel_)), n, *out), x.dtype)
    channels = padded(x, kernel_, stride, padding, dilation, out, 0).transpose(1, 0, 2, 3)
    keys = list(slices(kernel_, stride, dilation, out))

    def work(start: int, end: int) -> None:
        for place, key in enumerate(keys):
            columns[start:end, place] = channels[start:end][key]

    on_threads(work, c, columns.size // c, 2)
    return columns.reshape(-1, n * out[0] * out[1])


def _rows(g: Array) -> Array:
    """Rearrange (N, C, H, W) to (C, N * H * W)."""
    return np.ascontiguousarray(g.transpose(1, 0, 2, 3)).reshape(g.shape[1], -1)


def product_conv2d(x: Array, w: Array, bias: Any, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """Return ``conv2d`` as products of the weights and the unfolded windows, in blocks of images."""
    kernel_ = w.shape[2:]
    out = _out_sizes(x.shape[2:], kernel_, stride, padding, dilation)
    found = np.empty((x.shape[0], w.shape[0], *out), x.dtype)
    rows = np.ascontiguousarray(w).reshape(w.shape[0], -1)
    for part in _blocks(x.shape[0], rows.shape[1] * out[0] * out[1]):
        flat = product(rows, _columns(x[part], kernel_, stride, padding, dilation, out))
        if bias is not None:
            flat += bias[:, None]
        found[part] = flat.reshape(w.shape[0], -1, *out).transpose(1, 0, 2, 3)
    return found


def product_conv2d_weight(g: Array, x: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """Return the gradient of ``conv2d`` for weights of ``shape``, as a sum of products of gradients and windows."""
    found: Any = None
    for part in _blocks(g.shape[0], int(np.prod(shape[1:])) * g.shape[2] * g.shape[3]):
        own = product(_rows(g[part]), _columns(x[part], tuple(shape[2:]), stride, padding, dilation, g.shape[2:]).T)
        found = own if found is None else np.add(found, own, out=found)
    return np.asarray(found).reshape(shape)


def _add_windows(columns: Array, keys: list[Any], whole: Array) -> None:
    """Add (C, kernel elements, N, *windows) at their positions in (C, N, H, W)."""

    def work(start: int, end: int) -> None:
        for place, key in enumerate(keys):
            whole[start:end][key] += columns[start:end, place]

    on_threads(work, len(columns), columns[0].size, 3)


def product_conv2d_input(g: Array, w: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """Return the gradient of ``conv2d`` for an input of ``shape``: products of weights and gradients, summed where windows overlap."""
    n, c, height, width = shape
    out = g.shape[2:]
    rows = np.ascontiguousarray(w).reshape(w.shape[0], -1).T
    found = np.empty(shape, g.dtype)
    keys = list(slices(w.shape[2:], stride, dilation, out))
    for part in _blocks(n, rows.shape[0] * out[0] * out[1]):
        columns = product(rows, _rows(g[part])).reshape(c, len(keys), -1, *out)
        whole = np.zeros((c, columns.shape[2], height + 2 * padding[0], width + 2 * padding[1]), g.dtype)
        _add_windows(columns, keys, whole)
        found[part] = whole[inner((height, width), padding)].transpose(1, 0, 2, 3)
    return found


def numpy_conv_transpose2d(
    x: Array, w: Array, bias: Array | None, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes, groups: int,
) -> Array:  # fmt: skip
    """Return the transposed convolution of (N, C, H, W) with (C, out / groups, kH, kW): the gradient of ``conv2d`` for its input."""
    out = _transposed_sizes(x.shape[2:], w.shape[2:], stride, padding, output_padding, dilation)
    few = x.ndim == 5 and groups == len(x) == 1 and w.size // max(len(w), 1) * (x.size // max(x.shape[1], 1)) <= _SMALL
    if few and x.size and w.size and 0 not in out and min(padding) >= 0:
        return _with_bias(_in_small_sums(x, w, out, stride, padding, dilation), bias)
    run = kernel("conv2d_input").host[x.dtype.name]
    return _with_bias(run(x, w, (x.shape[0], w.shape[1] * groups, *out), stride, padding, dilation, groups), bias)


def _half(kind: str, arrays: tuple[Array, Array, Array], bias: Array | None, *attributes: Any) -> bool:
    """Run oneDNN's convolution on bfloat16 bits; return False if oneDNN has no kernel."""
    stride, padding, dilation, groups = attributes
    if not all(array.size for array in arrays) or min(padding) < 0:
        return False
    source, weights, result = (_supported_layout(array) for array in arrays)
    return _share(kind, (source, weights, result), bias, (stride, padding, dilation), groups)


def _are_halves(*arrays: Array | None) -> bool:
    return FOUND_HALVES and all(array is None or array.dtype == BFLOAT16 for array in arrays)


def _half_conv(x: Array, w: Array, bias: Array | None, *attributes: Any) -> Array | None:
    if not _are_halves(x, w, bias):
        return None
    found = np.empty((x.shape[0], w.shape[0], *_out_sizes(x.shape[2:], w.shape[2:], *attributes[:3])), np.uint16)
    wide = None if bias is None else widened(np.ascontiguousarray(bias))
    return found.view(BFLOAT16) if _half(FORWARD, (x.view(np.uint16), w.view(np.uint16), found), wide, *attributes) else None


def _half_conv_input(g: Array, w: Array, shape: Sizes, *attributes: int | tuple[int, ...]) -> Array | None:
    if not _are_halves(g, w):
        return None
    found = np.empty(shape, np.uint16)
    return found.view(BFLOAT16) if _half(INPUT, (found, w.view(np.uint16), g.view(np.uint16)), None, *attributes) else None


def _half_conv_weight(g: Array, x: Array, shape: Sizes, *attributes: int | tuple[int, ...]) -> Array | None:
    if not _are_halves(g, x):
        return None
    found = np.empty(shape, np.float32)  # float32, because the parts of several threads are added in it
    return rounded(found) if _half(WEIGHT, (x.view(np.uint16), found, g.view(np.uint16)), None, *attributes) else None


define_direct("conv2d", "bfloat16", _half_conv)
define_direct("conv2d_input", "bfloat16", _half_conv_input)
define_direct("conv2d_weight", "bfloat16", _half_conv_weight)

_DTYPES = (*FLOATS, *INTS, *COMPLEX)
define_host("conv", numpy_conv, _DTYPES, HALF, spare=True)
define_host("conv_transpose", numpy_conv_transpose, _DTYPES, HALF, spare=True)
define_host("conv2d", _by_products("conv2d", _onednn_conv, numpy_conv, product_conv2d), FLOATS, HALF)
define_host("conv2d_input", _by_products("conv2d_input", _onednn_conv_input, numpy_conv2d_input, product_conv2d_input), FLOATS, HALF)
define_host("conv2d_weight", _by_products("conv2d_weight", _onednn_conv_weight, numpy_conv2d_weight, product_conv2d_weight), FLOATS, HALF)
define_host("conv_transpose2d", numpy_conv_transpose2d, FLOATS, HALF)

"""Pooling on Ascend."""
from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..geometry import contiguous_strides, flat_index
from ..host.pool import window_counts
from ..kernels._nodes import constant
from ..raw import MS_DTYPE, NAME_OF, NP_DTYPE, Raw, from_numpy, raw_dtype
from ..table import ALL, VIA_HALF
from ._primitives import enter, enters, run

Sizes = tuple[int, ...]


def _rounded_up(x: Raw, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> bool:
    """Return whether the output sizes imply ``ceil_mode=True``."""
    numbers = zip(x.shape[2:], kernel, stride, padding, dilation)
    return out != tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in numbers)


def pool_of_two(x: Raw, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> tuple[Raw, tuple[Any, ...], Sizes]:
    """Return a pooling's arguments as those of a two-dimensional pooling: images, attributes, and the shape of the result."""
    ceil = _rounded_up(x, kernel, stride, padding, dilation, out)
    if len(kernel) == 1:
        images = run("Reshape", x, (*x.shape[:2], 1, x.shape[2]))
        return images, ((1, *kernel), (1, *stride), (0, *padding), (1, *dilation), ceil), (*x.shape[:2], 1, *out)
    return x, (kernel, stride, padding, dilation, ceil), (*x.shape[:2], *out)


def _max(name: str, x: Raw, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> tuple[Raw, Raw]:
    """Return the maximum of each window, and its index or, with MaxPoolWithMask, the mask for its gradient; solids are pooled as planes
    and then along their depth."""
    rank = len(kernel)
    if rank == 3:
        (planes, inner), (lines, outer) = _pooled_twice(name, x, kernel, stride, padding, dilation, out)
        return run("Reshape", lines, (*x.shape[:2], *out)), _index_of_two(x, outer, inner, out) if name.endswith("Indices") else outer
    images, attributes, _ = pool_of_two(x, kernel, stride, padding, dilation, out)
    found = run(name, images, at=attributes)
    if rank == 2:
        return found[0], found[1]
    shape = (*x.shape[:2], *out)
    return run("Reshape", found[0], shape), run("Reshape", found[1], shape) if name.endswith("Indices") else found[1]


def _pooled_twice(name: str, x: Raw, *numbers: Sizes) -> tuple[tuple[Raw, Raw], tuple[Raw, Raw]]:
    """Return the maxima of the planes of (N, C, D, H, W), and those along the depth of these, each with its second result. A window's first
    maximum is in the first of its planes that has it, and the last NaN in the last."""
    (n, c, depth), (_, *out) = x.shape[:3], numbers[-1]
    planes = _max(name, run("Reshape", x, (n, c * depth, *x.shape[3:])), *(item[1:] for item in numbers))
    lines = run("Reshape", planes[0], (n, c, depth, math.prod(out)))
    return planes, _max(name, lines, *along_depth(numbers))


def along_depth(numbers: tuple[Sizes, ...]) -> list[Sizes]:
    """Return the numbers of a solid's pooling as those of one along the first of two dimensions."""
    kernel, stride, padding, dilation, out = numbers
    return [(kernel[0], 1), (stride[0], 1), (padding[0], 0), (dilation[0], 1), (out[0], math.prod(out[1:]))]


def _index_of_two(x: Raw, outer: Raw, inner: Raw, out: Sizes) -> Raw:
    """Return the index in a solid, from that along the depth of pooled planes and those in the planes."""
    rows, width = (*x.shape[:2], -1), out[1] * out[2]
    outer = run("Reshape", outer, rows)
    plane = run("Mul", run("DivMod", outer, constant(width, outer), "floor"), constant(x.shape[3] * x.shape[4], outer))
    found = run("AddExt", plane, run("GatherD", run("Reshape", inner, rows), 2, outer), 1)
    return run("Reshape", found, (*x.shape[:2], *out))


def is_dilated(dilation: Sizes) -> bool:
    """Return whether the elements of a window lie apart, which MindSpore refuses on Ascend."""
    return any(step != 1 for step in dilation)


def _dilated(x: Raw, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> tuple[Raw, Raw]:
    """Return the maximum of each dilated window and its index, from a copy of the windows as rows."""
    sizes = tuple(x.shape[2:])
    ends = [max((o - 1) * s + d * (k - 1) + 1 - n - p, 0) for n, k, s, p, d, o in zip(sizes, kernel, stride, padding, dilation, out)]
    around = tuple(width for pair in reversed([*zip(padding, ends)]) for width in pair)
    wide = run("ConstantPadND", x, around, float("-inf")) if any(around) else run("Contiguous", x)
    steps = contiguous_strides(tuple(wide.shape))
    spatial = steps[2:]
    moves = (*(n * s for n, s in zip(spatial, stride)), *(n * d for n, d in zip(spatial, dilation)))
    windows = run("AsStrided", wide, (*x.shape[:2], *out, *kernel), (*steps[:2], *moves), wide.storage_offset())
    rows = run("Reshape", run("Contiguous", windows), (*x.shape[:2], *out, math.prod(kernel)))
    place, largest = run("ArgMaxWithValue", rows, at=(-1, False))
    begins, offsets = _window_indices(sizes, kernel, stride, padding, dilation, out)
    index = run("AddExt", begins, run("Reshape", run("Gather", offsets, run("Reshape", place, (-1,)), 0), tuple(place.shape)), 1)
    last = constant(math.prod(sizes) - 1, index)  # a window of -inf alone may name its padding
    return largest, run("Minimum", run("Maximum", index, constant(0, index)), last)


@lru_cache(64)
def _window_indices(sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> tuple[Raw, Raw]:
    """Return the flat index of the first element of each window, and by element of a window what is added to it."""
    steps = contiguous_strides(sizes)
    begins = flat_index(out, tuple(n * s for n, s in zip(steps, stride)), -sum(n * p for n, p in zip(steps, padding)))
    offsets = flat_index(kernel, tuple(n * d for n, d in zip(steps, dilation)), 0)
    return from_numpy(begins.astype(np.int64).reshape(out)), from_numpy(offsets.astype(np.int64).reshape(-1))


@enters("max_pool")
def _max_pool(x: Raw, *numbers: tuple[int, ...]) -> Raw:
    return (_dilated(x, *numbers) if is_dilated(numbers[3]) else _max("MaxPoolWithMask", x, *numbers))[0]


@enters("max_pool_indices")
def _max_pool_indices(x: Raw, *numbers: tuple[int, ...]) -> tuple[Raw, Raw]:
    if is_dilated(numbers[3]):
        return _dilated(x, *numbers)
    largest, index = _max("MaxPoolWithIndices", x, *numbers)
    return largest, run("Cast", index, MS_DTYPE["int64"])  # MindSpore's are int32


@enters("adaptive_max_pool")
def _adaptive_max_pool(x: Raw, out: Sizes) -> tuple[Raw, Raw]:
    shape = (*x.shape[:2], *out)
    if not x.size or 0 in out:
        return run("Zeros", shape, x.dtype), run("Zeros", shape, MS_DTYPE["int64"])
    if len(out) == 3:
        (n, c, depth), width = x.shape[:3], out[1] * out[2]
        planes, inner = run("AdaptiveMaxPool2D", run("Reshape", x, (n, c * depth, *x.shape[3:])), at=(out[1:],))
        lines, outer = run("AdaptiveMaxPool2D", run("Reshape", planes, (n, c, depth, width)), at=((out[0], width),))
        return run("Reshape", lines, shape), _index_of_two(x, outer, inner, out)
    if len(out) == 2:
        return run("AdaptiveMaxPool2D", x, at=(out,))
    found = run("AdaptiveMaxPool2D", run("Reshape", x, (*x.shape[:2], 1, x.shape[2])), at=((1, out[0]),))
    return run("Reshape", found[0], shape), run("Reshape", found[1], shape)


def _avg_pool(
    x: Raw, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, include_pad: bool, divisor: int | None
) -> Raw:
    """Return average pooling as a depthwise convolution with equal weights (the 910B rejects AvgPool2D), with a table of divisors for
    partial windows.
    """
    rank = len(kernel)
    if rank == 3:
        ceil = _rounded_up(x, kernel, stride, padding, (1,) * rank, out)
        return run("AvgPool3DExt", x, kernel, stride, padding, ceil, include_pad, divisor)
    if x.size == 0:
        return run("Zeros", (*x.shape[:2], *out), x.dtype)
    images = x if rank == 2 else run("Reshape", x, (*x.shape[:2], 1, x.shape[2]))
    kernel, stride, padding, sizes = (_of_two(item, first) for item, first in ((kernel, 1), (stride, 1), (padding, 0), (out, 1)))
    counts = _counts(tuple(images.shape[2:]), kernel, stride, padding, sizes, include_pad, divisor, NAME_OF[raw_dtype(x)])
    beyond = [(o - 1) * s + k - n - p for n, k, s, p, o in zip(images.shape[2:], kernel, stride, padding, sizes)]
    if any(more > p for more, p in zip(beyond, padding)):  # the last windows reach beyond the padding
        images = run("ConstantPadND", images, (padding[1], max(beyond[1], 0), padding[0], max(beyond[0], 0)), 0)
        padding = (0, 0)
    channels = x.shape[1]
    weights = run("FillScalar", (channels, 1, *kernel), 1 / counts if isinstance(counts, float) else 1.0, x.dtype)
    found = run("Convolution", images, weights, None, stride, padding, (1, 1), False, (0, 0), channels)
    found = run("SliceExt", found, 2, 0, sizes[0], 1) if found.shape[2] > sizes[0] else found
    found = run("SliceExt", found, 3, 0, sizes[1], 1) if found.shape[3] > sizes[1] else found
    if not isinstance(counts, float):
        found = run("Div", found, counts)
    return found if rank == 2 else run("Reshape", found, (*x.shape[:2], *out))


@lru_cache(64)
def _counts(
    sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, include_pad: bool, divisor: int | None, name: str
) -> float | Raw:
    """Return the divisor of the window sums: one number for all, or a tensor of the output's size."""
    counts = window_counts(sizes, kernel, stride, padding, out, include_pad, divisor)
    return float(counts.flat[0]) if (counts == counts.flat[0]).all() else from_numpy(counts.astype(NP_DTYPE[name]))


def _of_two(numbers: Sizes, first: int) -> Sizes:
    """Return a pair for a two-dimensional kernel: the two numbers, or for one-dimensional pooling ``first`` and the single number."""
    return numbers if len(numbers) == 2 else (first, *numbers)


@enters("adaptive_avg_pool")
def _adaptive_avg_pool(x: Raw, out: Sizes) -> Raw:
    if x.size == 0:  # the primitive's argument check rejects an empty batch (2.10)
        return run("Zeros", (*x.shape[: -len(out)], *out), x.dtype)
    return run(("AdaptiveAvgPool1D", "AdaptiveAvgPool2DExt", "AdaptiveAvgPool3DExt")[len(out) - 1], x, out)


# The weights of a mean are not rounded to half precision.
enter("avg_pool", _avg_pool, tuple(name for name in ALL if name not in VIA_HALF), VIA_HALF)

"""Padding on the host."""
from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from ..table import define_host
from ._ufunc import FLOATS, HALF


def _pairs(rank: int, pads: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Yield (dimension, before, after), the last dimension first."""
    return [(rank - 1 - i, pads[2 * i], pads[2 * i + 1]) for i in range(len(pads) // 2)]


def numpy_pad(x: Array, pads: tuple[int, ...], value: float) -> Array:
    """Pad with a constant, or crop where a pad is negative. ``pads`` has a pair (before, after) for each dimension, from the last
    backwards."""
    shape, source, target = list(x.shape), [slice(None)] * x.ndim, [slice(None)] * x.ndim
    for axis, before, after in _pairs(x.ndim, pads):
        shape[axis] += before + after
        source[axis] = slice(max(-before, 0), x.shape[axis] - max(-after, 0))
        target[axis] = slice(max(before, 0), shape[axis] - max(after, 0))
    found = np.full(shape, value, x.dtype)
    if found.size and x.size:
        found[tuple(target)] = x[tuple(source)]
    return found


def _source_indices(size: int, before: int, after: int, mode: str) -> Array:
    """Return the source index of each element of a padded axis."""
    wanted = np.arange(-before, size + after)
    if mode == "replicate":
        return wanted.clip(0, size - 1)
    if mode == "reflect":
        period = max(2 * (size - 1), 1)
        return np.abs((wanted + period // 2) % period - period // 2) if size > 1 else wanted * 0
    # Cropped elements are not part of the circle.
    start, length = max(-before, 0), size - max(-before, 0) - max(-after, 0)
    return start + np.arange(-max(before, 0), length + max(after, 0)) % length


def numpy_pad_like(x: Array, pads: tuple[int, ...], mode: str) -> Array:
    """Pad the last dimensions with the array's own elements: reflect, replicate or circular."""
    found = x
    for axis, before, after in _pairs(x.ndim, pads):
        if not (before or after):
            continue
        if not x.size:
            shape = list(found.shape)
            shape[axis] += before + after
            found = np.zeros(shape, x.dtype)
        else:
            found = np.take(found, _source_indices(found.shape[axis], before, after, mode), axis)
    return np.array(found, order="C")


def numpy_pad_like_grad(g: Array, shape: tuple[int, ...], pads: tuple[int, ...], mode: str) -> Array:
    """Return the gradient of ``numpy_pad_like`` for an input of a shape: each element's is the sum of those of its copies."""
    count = math.prod(shape)
    sources = numpy_pad_like(np.arange(count).reshape(shape), pads, mode)
    return np.bincount(sources.reshape(-1), g.reshape(-1), count).reshape(shape).astype(g.dtype)


define_host("pad", numpy_pad)
define_host("pad_like", numpy_pad_like)
define_host("pad_like_grad", numpy_pad_like_grad, FLOATS, HALF)

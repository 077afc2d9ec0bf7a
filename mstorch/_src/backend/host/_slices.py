"""Sliding windows as strided slices of an image, one per position in the window."""
from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array

Sizes = tuple[int, ...]


def slices(kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes) -> Iterator[tuple[Any, ...]]:
    """Yield a key for each kernel element: it selects from the padded input the elements that the kernel element covers, one for each
    window."""
    for place in itertools.product(*map(range, kernel)):
        yield (..., *(slice(k * d, k * d + (o - 1) * s + 1, s) for k, s, d, o in zip(place, stride, dilation, out)))


def padded(x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes, fill: float) -> Array:
    """Return the input padded to the extent of the windows."""
    reach = [(o - 1) * s + (k - 1) * d + 1 for k, s, d, o in zip(kernel, stride, dilation, out)]
    after = [max(r - n - p, 0) for r, n, p in zip(reach, x.shape[2:], padding)]
    if not any(padding) and not any(after):
        return x
    whole = np.full((*x.shape[:2], *(p + n + a for n, p, a in zip(x.shape[2:], padding, after))), fill, x.dtype)
    whole[inner(x.shape[2:], padding)] = x
    return whole


def inner(sizes: Sizes, padding: Sizes) -> tuple[Any, ...]:
    """Return the key that selects the input from the padded input."""
    return (..., *(slice(p, p + n) for n, p in zip(sizes, padding)))

"""Elementwise functions and their gradients on row-major float32 arrays; long ones in blocks."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array
from .library import ENGINE, FOUND
from .primitive import (
    BY_RESULT,
    BY_SOURCE,
    INFERENCE,
    RESULT,
    SOURCE,
    TRAINING,
    Descriptor,
    Primitive,
    expect,
    prepared,
    rows,
)

RELU, LOGISTIC, GELU_TANH, SWISH, CLIP, GELU = 0x20, 0x29, 0x2B, 0x2C, 0x2F, 0x31
BLOCK = 1 << 15  # number of elements that a kernel processes at a time; longer arrays are split, and share one kernel

# Function that calls ``work(start, end)`` for the parts of a range.
Sharing = Callable[[Callable[[int, int], None], int], None]


def _forward(kind: int, size: int, alpha: float, beta: float) -> Primitive:
    flat = rows((size,))
    descriptor = Descriptor("eltwise_forward", ENGINE, INFERENCE, kind, flat, flat, alpha, beta, None)
    return Primitive(descriptor, ((SOURCE, flat), (RESULT, flat)))


def _backward(kind: int, size: int, alpha: float, beta: float) -> Primitive:
    flat = rows((size,))
    hint = Descriptor("eltwise_forward", ENGINE, TRAINING, kind, flat, flat, alpha, beta, None)
    descriptor = Descriptor("eltwise_backward", ENGINE, kind, flat, flat, flat, alpha, beta, hint, None)
    return Primitive(descriptor, ((SOURCE, flat), (BY_RESULT, flat), (BY_SOURCE, flat)))


def _run_flat(make: Callable[..., Any], kind: int, numbers: tuple[float, float], arrays: tuple[Array, ...], share: Sharing) -> None:
    """Run a kernel over flat arrays, the last of which receives the result."""
    size = arrays[0].size
    expect(arrays[1].size == size and arrays[1].dtype.char == "f")
    if size <= BLOCK:
        prepared(make, kind, size, *numbers)(*arrays)
        return
    flat = [array.reshape(-1) for array in arrays]

    def some(start: int, end: int) -> None:
        primitive = prepared(make, kind, BLOCK, *numbers)
        for block in range(start, end):
            primitive(*[array[BLOCK * block : BLOCK * (block + 1)] for array in flat])

    share(some, size // BLOCK)
    left = size % BLOCK
    if left:
        prepared(make, kind, left, *numbers)(*[array[size - left :] for array in flat])


def usable(*arrays: Array) -> bool:
    """Return whether these are row-major float32 arrays, and the library is available."""
    for array in arrays:
        if array.dtype.char != "f" or not array.size or not array.flags.c_contiguous:
            return False
    return FOUND


def forward(kind: int, x: Array, share: Sharing, alpha: float = 0.0) -> Array:
    """Return oneDNN's elementwise function ``kind`` of each element, with its number."""
    out = np.empty(x.shape, np.float32)
    _run_flat(_forward, kind, (alpha, 0.0), (x, out), share)
    return out


def backward(kind: int, x: Array, g: Array, share: Sharing, alpha: float = 0.0, beta: float = 0.0) -> Array:
    """Return ``g`` times the derivative, at x, of oneDNN's elementwise function ``kind``."""
    out = np.empty(x.shape, np.float32)
    _run_flat(_backward, kind, (alpha, beta), (x, g, out), share)
    return out

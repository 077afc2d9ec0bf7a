"""Max pooling and its gradient for finite float32: the kernels ignore NaN and infinity."""
from __future__ import annotations

import numpy as np

from ..arrays import Array
from .library import ENGINE, Refused, sizes
from .primitive import (
    BY_RESULT,
    BY_SOURCE,
    INFERENCE,
    RESULT,
    SOURCE,
    TRAINING,
    WORKSPACE,
    Descriptor,
    Primitive,
    expect,
    prepared,
    rows,
)

_LARGEST = 0x1FF
Sizes = tuple[int, ...]


def _geometry_arguments(shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> list[object]:
    after = [
        max(0, (o - 1) * s + d * (k - 1) + 1 - n - p)
        for n, k, s, p, d, o in zip(shape[2:], kernel, stride, padding, dilation, out)
    ]
    return [sizes(stride), sizes(kernel), sizes([d - 1 for d in dilation]), sizes(padding), sizes(after)]


def _forward(shape: Sizes, *geometry: Sizes) -> Primitive | None:
    source, result = rows(shape), rows((*shape[:2], *geometry[-1]))
    try:
        arguments = _geometry_arguments(shape, *geometry)
        descriptor = Descriptor("pooling_forward", ENGINE, INFERENCE, _LARGEST, source, result, *arguments, None)
    except Refused:
        return None
    return Primitive(descriptor, ((SOURCE, source), (RESULT, result)))


def _backward(shape: Sizes, *geometry: Sizes) -> tuple[int, Primitive, Primitive] | None:
    source, result, around = rows(shape), rows((*shape[:2], *geometry[-1])), _geometry_arguments(shape, *geometry)
    try:
        forward = Descriptor("pooling_forward", ENGINE, TRAINING, _LARGEST, source, result, *around, None)
        descriptor = Descriptor("pooling_backward", ENGINE, _LARGEST, source, result, *around, forward, None)
    except Refused:
        return None
    places = forward.layout("places")
    first = Primitive(forward, ((SOURCE, source), (RESULT, result), (WORKSPACE, places)))
    return forward.bytes("places"), first, Primitive(descriptor, ((BY_RESULT, result), (BY_SOURCE, source), (WORKSPACE, places)))


_EMPTY = np.finfo(np.float32).min  # the kernel's result for a window that is all padding, where -inf is correct


def max_pool(x: Array, y: Array, geometry: tuple[Sizes, ...]) -> bool:
    """Write the maximum of each window of a row-major (N, C, *spatial) into ``y``; return False if there is no kernel, or a window of
    padding only.

    ``geometry``: kernel, stride, padding, dilation, and the spatial sizes of the result.
    """
    primitive = prepared(_forward, x.shape, *geometry)
    if primitive is None:
        return False
    primitive(x, y)
    return bool(np.minimum.reduce(y, axis=None) != _EMPTY)


def max_pool_backward(x: Array, g: Array, out: Array, geometry: tuple[Sizes, ...]) -> bool:
    """Scatter ``g`` to the first maximum of each window in ``out``; return False if there is no kernel, or a window of padding only."""
    expect(x.dtype.char == g.dtype.char == "f" and x.ndim == g.ndim == len(geometry[-1]) + 2)
    expect(g.shape == (*x.shape[:2], *geometry[-1]) and x.shape == out.shape)
    made = prepared(_backward, x.shape, *geometry)
    if made is None:
        return False
    size, first, second = made
    places, again = np.empty(size, np.uint8), np.empty(g.shape, np.float32)
    first(x, again, places)
    if np.minimum.reduce(again, axis=None) == _EMPTY:
        return False
    second(g, out, places)
    return True

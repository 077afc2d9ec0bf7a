"""Images (N, C, elements) and numbers per channel: a scale with a sum, and batch norm.

Arrays are dense and row-major, of float32 or bfloat16 bits (uint16); numbers per channel are float32.
"""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..arrays import Array
from .library import ENGINE, FOUND, LIBRARY, Refused, made
from .primitive import (
    BACKWARD,
    BFLOAT16,
    FLOAT32,
    RESULT,
    SECOND,
    SOURCE,
    TRAINING,
    Descriptor,
    Layout,
    Primitive,
    attributes_of_a_kernel,
    expect,
    prepared,
    rows,
)
from .rows import of_norm, of_norm_backward

_ADD, _MUL = 0x1FFF0, 0x1FFF1
_SCALED = 0x2 | 0x4  # batch norm with a scale and a shift
_KINDS = {"f": FLOAT32, "H": BFLOAT16}


def _sum_after(layout: Layout) -> Any:
    """Return oneDNN's attributes for a kernel that adds an array to its result before rounding."""
    attributes, steps = attributes_of_a_kernel(), made("post_ops_create")
    done = LIBRARY.dnnl_post_ops_append_binary(steps, _ADD, layout.handle) or LIBRARY.dnnl_primitive_attr_set_post_ops(attributes, steps)
    LIBRARY.dnnl_post_ops_destroy(steps)
    if done:
        LIBRARY.dnnl_primitive_attr_destroy(attributes)
        raise Refused(f"post_ops: status {done}")
    return attributes


def _scaled(element: int, shape: tuple[int, ...], whole: bool, place: int) -> Primitive:
    """Return a primitive that scales (N, C, elements) by a number per channel and adds a number per channel or, with ``whole``, an array of
    the same shape.

    The last dimension is dropped if its length is 1, because oneDNN would then add another channel's number."""
    shape = shape[: 2 if shape[2] == 1 else 3]
    channels = (1, *shape[1:2], *([1] * (len(shape) - 2)))
    images, numbers = rows(shape, element), rows(channels)
    summand = rows(shape if whole else channels)
    attributes = _sum_after(summand)
    try:
        descriptor = Descriptor("binary", ENGINE, _MUL, images, numbers, images, attributes)
    finally:
        LIBRARY.dnnl_primitive_attr_destroy(attributes)
    return Primitive(descriptor, ((SOURCE, images), (SECOND, numbers), (place | SECOND, summand), (RESULT, images)))


@functools.cache
def _place_after() -> int | None:
    """Return the flag of oneDNN's argument for an array that is added to the result, which differs between releases; found by trial. None
    if no flag works."""
    if not FOUND:
        return None
    images, one = np.full((1, 1, 16), 2, np.float32), np.ones((1, 1, 1), np.float32)
    for place in (1 << 15, 1 << 14):
        out = np.zeros_like(images)
        try:
            _scaled(FLOAT32, images.shape, False, place)(images, one, one, out)
        except (Refused, RuntimeError):
            continue
        if (out == 3).all():
            return place
    return None


def scales() -> bool:
    """Return whether the library supports ``scaled``."""
    return _place_after() is not None


_SHORT = 64  # number of elements of a channel of an image up to which its number is repeated


def scaled(x: Array, numbers: Array, summand: Array, out: Array) -> None:
    """Scale the images by (C), and add (C) or an array of the shape of ``x``, rounded once."""
    whole = summand.ndim == 3
    expect(x.shape == out.shape and x.dtype.char == out.dtype.char and numbers.size == x.shape[1])
    expect(numbers.dtype.char == summand.dtype.char == "f" and summand.size == (x.size if whole else x.shape[1]))
    length = x.shape[2]
    if 1 < length <= _SHORT:  # the kernel begins anew with each channel: one number for each element takes up to an eighth of the time
        flat = (x.shape[0], x.shape[1] * length, 1)
        summand = summand.reshape(flat) if whole else np.repeat(summand, length)
        x, numbers, out = x.reshape(flat), np.repeat(numbers, length), out.reshape(flat)
    prepared(_scaled, _KINDS[x.dtype.char], x.shape, whole, _place_after())(x, numbers, summand, out)


def _batch_norm(shape: tuple[int, ...], eps: float) -> tuple[Descriptor, Primitive]:
    own, numbers = rows(shape), rows((shape[1],))
    descriptor = Descriptor("batch_normalization_forward", ENGINE, TRAINING, own, own, eps, _SCALED, None)
    return descriptor, Primitive(descriptor, of_norm(own, numbers, numbers))


def _batch_norm_backward(shape: tuple[int, ...], eps: float) -> Primitive:
    own, numbers = rows(shape), rows((shape[1],))
    hint = prepared(_batch_norm, shape, eps)[0]
    descriptor = Descriptor("batch_normalization_backward", ENGINE, BACKWARD, own, own, own, eps, _SCALED, hint, None)
    return Primitive(descriptor, of_norm_backward(own, numbers, numbers))


def batch_norm(x: Array, scale: Array, shift: Array, eps: float, out: Array) -> Array:
    """Write the normalized values of (N, C, *), times ``scale`` plus ``shift``, into ``out``; return means and biased variances (2, C)."""
    expect(scale.size == shift.size == x.shape[1] and x.shape == out.shape)
    expect(x.dtype.char == out.dtype.char == scale.dtype.char == shift.dtype.char == "f")
    statistics = np.empty((2, x.shape[1]), np.float32)
    prepared(_batch_norm, x.shape, eps)[1](x, scale, shift, out, *statistics)
    return statistics


def batch_norm_backward(
    x: Array, scale: Array, g: Array, mean: Array, var: Array, eps: float, out: Array
) -> Array:  # fmt: skip
    """Write the gradient of the images into ``out``; return the gradients of scale and shift, (2, C)."""
    expect(x.shape == g.shape == out.shape and scale.size == mean.size == var.size == x.shape[1])
    expect(x.dtype.char == g.dtype.char == out.dtype.char == scale.dtype.char == mean.dtype.char == var.dtype.char == "f")
    found = np.empty((2, x.shape[1]), np.float32)
    prepared(_batch_norm_backward, x.shape, eps)(x, scale, g, mean, var, out, *found)
    return found

"""Softmax and layer norm along the rows of (rows, length) arrays of float32 or bfloat16 bits (uint16)."""
from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..geometry import rough_sum
from .library import ENGINE
from .primitive import (
    BACKWARD,
    BFLOAT16,
    BY_RESULT,
    BY_SCALE,
    BY_SHIFT,
    BY_SOURCE,
    FLOAT32,
    INFERENCE,
    MEAN,
    RESULT,
    SCALE,
    SHIFT,
    SOURCE,
    TRAINING,
    VARIANCE,
    Descriptor,
    Layout,
    Primitive,
    expect,
    prepared,
    rows,
)

SOFTMAX, LOG_SOFTMAX = 0x30000, 0x30001
_SCALED = 0x2 | 0x4  # with a scale and a shift
_FEW = 1 << 12
_KINDS = {"f": FLOAT32, "H": BFLOAT16}


def _softmax(kind: int, element: int, count: int, length: int) -> Primitive:
    own = rows((count, length), element)
    return Primitive(Descriptor("softmax_forward", ENGINE, INFERENCE, kind, own, own, 1, None), ((SOURCE, own), (RESULT, own)))


def _softmax_backward(kind: int, element: int, count: int, length: int) -> Primitive:
    own = rows((count, length), element)
    hint = Descriptor("softmax_forward", ENGINE, TRAINING, kind, own, own, 1, None)
    descriptor = Descriptor("softmax_backward", ENGINE, kind, own, own, own, 1, hint, None)
    return Primitive(descriptor, ((RESULT, own), (BY_RESULT, own), (BY_SOURCE, own)))


def softmax(kind: int, x: Array, out: Array) -> None:
    """Compute softmax or log-softmax of each row; bfloat16 rows must be finite."""
    shape, char = x.shape, x.dtype.char
    expect(shape == out.shape and char == out.dtype.char)
    prepared(_softmax, kind, _KINDS[char], *shape)(x, out)
    if char != "f":
        return
    if kind == SOFTMAX and out.size <= _FEW and out.flags.c_contiguous:
        flat = out.ravel()
        total = flat.dot(flat)  # no element is above 1, and a product takes less time than a sum
    else:
        total = rough_sum(out)
    if total != total:  # NaN or infinity must spread to the whole row, but the kernel leaves it in its position
        out[np.isnan(np.add.reduce(out, axis=1))] = np.nan


def softmax_backward(kind: int, y: Array, g: Array, out: Array) -> None:
    """Compute the gradient of rows from that of their softmax ``y``."""
    expect(y.shape == g.shape == out.shape and y.dtype.char == g.dtype.char == out.dtype.char)
    prepared(_softmax_backward, kind, _KINDS[y.dtype.char], *y.shape)(y, g, out)


def of_norm(own: Layout, scale: Layout, statistics: Layout) -> tuple[tuple[int, Layout], ...]:
    """Return the argument slots (number, layout) of a normalization primitive: source, scale, shift, result, mean, variance."""
    return (SOURCE, own), (SCALE, scale), (SHIFT, scale), (RESULT, own), (MEAN, statistics), (VARIANCE, statistics)


def of_norm_backward(own: Layout, scale: Layout, statistics: Layout) -> tuple[tuple[int, Layout], ...]:
    """Return the argument slots (number, layout) of the gradient primitive: source, scale, incoming gradient, mean, variance, and the
    gradients of source, scale and shift."""
    return (
        (SOURCE, own), (SCALE, scale), (BY_RESULT, own), (MEAN, statistics), (VARIANCE, statistics), (BY_SOURCE, own),
        (BY_SCALE, scale), (BY_SHIFT, scale),
    )  # fmt: skip


def _layer_norm(element: int, count: int, length: int, eps: float) -> tuple[Descriptor, Primitive]:
    own, scale, statistics = rows((count, length), element), rows((length,)), rows((count,))
    descriptor = Descriptor("layer_normalization_forward", ENGINE, TRAINING, own, own, statistics, eps, _SCALED, None)
    return descriptor, Primitive(descriptor, of_norm(own, scale, statistics))


def _layer_norm_backward(element: int, count: int, length: int, eps: float) -> Primitive:
    own, scale, statistics = rows((count, length), element), rows((length,)), rows((count,))
    hint = prepared(_layer_norm, element, count, length, eps)[0]
    descriptor = Descriptor(
        "layer_normalization_backward", ENGINE, BACKWARD, own, own, own, statistics, eps, _SCALED, hint, None
    )  # fmt: skip
    return Primitive(descriptor, of_norm_backward(own, scale, statistics))


def layer_norm(x: Array, scale: Array, shift: Array, eps: float, out: Array) -> Array:
    """Write layer norm of each row, times ``scale`` plus ``shift``, into ``out``; return the means and the biased variances (2, rows).

    Only the rows may be bfloat16; the other arrays are float32.
    """
    expect(scale.size == shift.size == x.shape[1] and x.dtype.char == out.dtype.char and scale.dtype.char == shift.dtype.char == "f")
    statistics = np.empty((2, x.shape[0]), np.float32)
    run = prepared(_layer_norm, _KINDS[x.dtype.char], *x.shape, eps)[1]
    run(x, scale, shift, out, *statistics)
    return statistics


def _layer_norm_alone(element: int, count: int, length: int, eps: float) -> Primitive:
    own, scale, statistics = rows((count, length), element), rows((length,)), rows((count,))
    descriptor = Descriptor("layer_normalization_forward", ENGINE, INFERENCE, own, own, statistics, eps, _SCALED, None)
    return Primitive(descriptor, of_norm(own, scale, statistics)[:4])


def layer_norm_alone(x: Array, scale: Array, shift: Array, eps: float, out: Array) -> None:
    """Write what ``layer_norm`` writes, without the statistics."""
    count, length = x.shape
    expect(scale.size == shift.size == length and x.shape == out.shape and x.dtype.char == out.dtype.char)
    expect(scale.dtype.char == shift.dtype.char == "f")
    prepared(_layer_norm_alone, _KINDS[x.dtype.char], count, length, eps)(x, scale, shift, out)


def layer_norm_backward(
    x: Array, scale: Array, g: Array, statistics: Array, eps: float, out: Array
) -> Array:  # fmt: skip
    """Write the gradient of the rows into ``out``; return the gradients of scale and shift, (2, length)."""
    expect(x.dtype.char == g.dtype.char == out.dtype.char and scale.dtype.char == "f")
    expect(x.shape == g.shape == out.shape and scale.size == x.shape[1] and statistics.size == 2 * len(x))
    found = np.empty((2, x.shape[1]), np.float32)
    run = prepared(_layer_norm_backward, _KINDS[x.dtype.char], *x.shape, eps)
    run(x, scale, g, *statistics.reshape(2, -1), out, *found)
    return found

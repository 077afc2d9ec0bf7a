"""Layer norm and RMS norm on the host."""
from __future__ import annotations

import math

import numpy as np

from ...quiet import quiet
from ..arrays import Array
from ..blocks import by_blocks, by_rows, share
from ..halves import BFLOAT16, narrowed, widened
from ..onednn import rows
from ..onednn.library import FOUND, FOUND_HALVES
from ..table import define_direct, define_host
from ._sums import sum_along
from ._ufunc import FLOATS, HALF, number


def standardised(x: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array, Array, Array]:
    """Return ``x`` normalized over some dimensions, the mean, the biased variance, and the inverse standard deviation."""
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    with quiet():
        mean = sum_along(x, axes, True) / number(count, x)
        centred = x - mean
        var = sum_along(centred * centred, axes, True) / number(count, x)
        inverse = number(1, x) / np.sqrt(var + number(eps, x))
        centred *= inverse
    return centred, mean, var, inverse


_COST = 0.5  # nanoseconds per element of oneDNN
_LONG = 1 << 18  # row length from which on oneDNN's sums are less accurate than NumPy's pairwise sums


def _flat(x: Array, begin: int) -> Array:
    """Return an array as (rows, length), where each row is normalized separately."""
    return np.ascontiguousarray(x).reshape(math.prod(x.shape[:begin]), -1)


def layer_norm_slope(
    g: Array, x: Array, weight: Array, begin: int, eps: float
) -> tuple[Array, Array, Array] | None:
    """Return the gradients of ``layer_norm`` for input, weight and bias; None if oneDNN has no kernel for them."""
    if FOUND_HALVES and g.dtype == x.dtype == weight.dtype == BFLOAT16:
        return _half_slope(g, x, weight, begin, eps)
    if FOUND and g.dtype == x.dtype == weight.dtype and g.dtype.itemsize == 2:
        wide = layer_norm_slope(widened(g), widened(x), widened(weight), begin, eps)
        return None if wide is None else (narrowed(wide[0], g.dtype), narrowed(wide[1], g.dtype), narrowed(wide[2], g.dtype))
    if not (FOUND and g.dtype == x.dtype == weight.dtype == np.float32):
        return None
    values, slopes = _flat(x, begin), _flat(g, begin)
    if values.shape[1] >= _LONG:
        return None
    scale = np.ascontiguousarray(weight).reshape(-1)
    out, found = np.empty(values.shape, np.float32), []

    def work(start: int, end: int) -> None:
        own = values[start:end]
        statistics = rows.layer_norm(own, scale, scale, eps, out[start:end])
        found.append(rows.layer_norm_backward(own, scale, slopes[start:end], statistics, eps, out[start:end]))

    share(work, values.shape[0], values.shape[1] * 3 * _COST)
    by_scale, by_shift = found[0] if len(found) == 1 else sum(found)
    return out.reshape(x.shape), by_scale.reshape(weight.shape), by_shift.reshape(weight.shape)


def numpy_layer_norm(x: Array, weight: Array, bias: Array, begin: int, eps: float) -> Array:
    """Return layer norm over the dimensions from ``begin`` on, times weight plus bias."""
    if not x.size:
        return x.copy()
    flat = _flat(x, begin)
    scale, shift = np.ascontiguousarray(weight).reshape(-1), np.ascontiguousarray(bias).reshape(-1)
    out = np.empty(flat.shape, x.dtype)
    if FOUND and x.dtype == np.float32 and flat.shape[1] < _LONG:

        def part(start: int, end: int) -> None:
            rows.layer_norm(flat[start:end], scale, shift, eps, out[start:end])

        share(part, flat.shape[0], flat.shape[1] * _COST)
        return out.reshape(x.shape)

    def work(start: int, end: int) -> None:
        found = standardised(flat[start:end], (1,), eps)[0]
        with quiet():
            found *= scale
            np.add(found, shift, out=out[start:end])

    by_rows(work, flat.shape[0], flat.shape[1], 8)
    return out.reshape(x.shape)


def half_rms_norm(x: Array, weight: Array | None, dims: int, eps: float) -> Array:
    """Return the RMS norm of a half-precision array over its last ``dims`` dimensions, times the weight; computed in float32 and rounded
    once.
    """
    flat = _flat(x, x.ndim - dims)
    scale = None if weight is None else np.ascontiguousarray(weight).reshape(-1)
    if scale is not None and scale.dtype.itemsize == 2:
        scale = widened(scale)
    out = np.empty(flat.shape, x.dtype)

    def work(start: int, end: int) -> None:
        own = widened(flat[start:end])
        with quiet():
            square = np.matmul(own[:, None], own[..., None])[..., 0] / np.float32(own.shape[1])
            own *= np.float32(1) / np.sqrt(square + np.float32(eps))
            if scale is not None:
                own = np.multiply(own, scale, out=own if scale.dtype == own.dtype else None)
        out[start:end] = narrowed(own, x.dtype)

    by_blocks(work, flat, 1.0)
    return out.reshape(x.shape)


def _half_slope(
    g: Array, x: Array, weight: Array, begin: int, eps: float
) -> tuple[Array, Array, Array] | None:  # fmt: skip
    values, slopes = _flat(x, begin).view(np.uint16), _flat(g, begin).view(np.uint16)
    if not _SHORT <= values.shape[1] < _LONG:
        return None
    scale = widened(np.ascontiguousarray(weight)).reshape(-1)
    out, found = np.empty(values.shape, np.uint16), []

    def work(start: int, end: int) -> None:
        own = values[start:end]
        statistics = rows.layer_norm(own, scale, scale, eps, out[start:end])
        found.append(rows.layer_norm_backward(own, scale, slopes[start:end], statistics, eps, out[start:end]))

    share(work, values.shape[0], values.shape[1] * 3 * _COST)
    totals = found[0] if len(found) == 1 else np.add.reduce(found)
    by_scale, by_shift = (narrowed(part, BFLOAT16).reshape(weight.shape) for part in totals)
    return out.reshape(x.shape).view(BFLOAT16), by_scale, by_shift


_SHORT = 2  # for a single element the gradient consists of rounding errors


def _half_layer_norm(x: Array, weight: Array, bias: Array, begin: int, eps: float) -> Array | None:
    """Return layer norm in bfloat16; None without the library, or if an operand is not bfloat16."""
    if not FOUND_HALVES or not x.size or not x.dtype == weight.dtype == bias.dtype == BFLOAT16:
        return None
    flat = _flat(x, begin).view(np.uint16)
    if not _SHORT <= flat.shape[1] < _LONG:
        return None
    scale, shift = (widened(np.ascontiguousarray(item)).reshape(-1) for item in (weight, bias))
    out = np.empty(flat.shape, np.uint16)

    def part(start: int, end: int) -> None:
        rows.layer_norm(flat[start:end], scale, shift, eps, out[start:end])

    share(part, flat.shape[0], flat.shape[1] * _COST)
    return out.reshape(x.shape).view(BFLOAT16)


define_host("layer_norm", numpy_layer_norm, FLOATS, HALF)
define_direct("layer_norm", "bfloat16", _half_layer_norm)

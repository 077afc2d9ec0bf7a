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
_FEW = 1 << 14  # number of elements that one call normalizes
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
    if FOUND and x.dtype.char == "f" and x.size <= _FEW and x.flags.c_contiguous:
        whole = np.empty(x.shape, np.float32)
        length = weight.size
        rows.layer_norm_alone(x.reshape(-1, length), weight, bias, eps, whole.reshape(-1, length))
        return whole
    flat = _flat(x, begin)
    scale, shift = np.ascontiguousarray(weight).reshape(-1), np.ascontiguousarray(bias).reshape(-1)
    out = np.empty(flat.shape, x.dtype)
    if FOUND and x.dtype == np.float32 and flat.shape[1] < _LONG:

        def part(start: int, end: int) -> None:
            rows.layer_norm_alone(flat[start:end], scale, shift, eps, out[start:end])

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


_BLOCK = 1 << 15  # number of elements of samples that are normalized at a time, so that what is computed of them stays in the cache


def numpy_group_norm_parts(x: Array, weight: Array, bias: Array, groups: int, eps: float) -> tuple[Array, Array, Array]:
    """Return group norm of (N, C, *), the means, and the inverse standard deviations (N, groups).

    Half precision is computed in float32, a few samples at a time, and rounded once; its statistics are float32."""
    samples, channels = x.shape[:2]
    half = x.dtype.itemsize == 2
    kind = np.dtype(np.float32) if half else x.dtype
    flat, out = np.ascontiguousarray(x).reshape(samples, groups, -1), np.empty(x.shape, x.dtype)
    mean, inverse = np.empty((samples, groups), kind), np.empty((samples, groups), kind)
    weight, bias = (widened(part) if part.dtype.itemsize == 2 else part for part in (weight, bias))
    target, length = out.reshape(flat.shape), flat.shape[2]
    by_library = FOUND and kind == np.float32 and length < _LONG
    one, zero = (np.full(length if by_library else 0, number, np.float32) for number in (1, 0))

    def work(start: int, end: int) -> None:
        own = slice(start, end)
        values = widened(flat[own]) if half else flat[own]
        normal = np.empty_like(values) if half else target[own]
        with quiet():
            if by_library:
                means, variances = rows.layer_norm(values.reshape(-1, length), one, zero, eps, normal.reshape(-1, length))
                mean[own] = means.reshape(-1, groups)
                np.divide(np.float32(1), np.sqrt(variances + np.float32(eps)).reshape(-1, groups), out=inverse[own])
            else:
                normal[:], means, _, inverses = standardised(values, (2,), eps)
                mean[own], inverse[own] = means[..., 0], inverses[..., 0]
            scaled = normal.reshape(len(normal), channels, -1)
            scaled *= weight[:, None]
            scaled += bias[:, None]
            if half:
                target[own] = narrowed(normal, x.dtype)

    by_blocks(work, flat, 3 * _COST, _BLOCK)
    return out, mean, inverse


def numpy_group_norm_grad(g: Array, x: Array, weight: Array, mean: Array, inverse: Array, groups: int) -> tuple[Array, Array, Array]:
    """Return the gradients for input, weight and bias.

    The input's is ``g`` times a factor per channel, plus the input times a factor and a constant per group: two passes over each array,
    and the form whose rounding errors torch has where the exact gradient is zero."""
    samples, channels = x.shape[:2]
    half, own_kind = x.dtype.itemsize == 2, weight.dtype
    kind = np.dtype(np.float32) if half else x.dtype
    out = np.empty(x.shape, x.dtype)
    values, slopes, target = (np.ascontiguousarray(part).reshape(samples, channels, -1) for part in (x, g, out))
    weight, mean, inverse = (widened(part) if part.dtype.itemsize == 2 else part for part in (weight, mean, inverse))
    in_group = samples, groups, channels // groups
    products, totals = np.empty((2, samples, channels), kind)

    def single(part: Array, own: slice) -> Array:
        return widened(part[own]) if half else part[own]

    def add(start: int, end: int) -> None:
        own = slice(start, end)
        slope = single(slopes, own)
        with quiet():
            np.einsum("ncl,ncl->nc", single(values, own), slope, out=products[own])
            np.add.reduce(slope, axis=2, out=totals[own])

    by_blocks(add, values, 2 * _COST, _BLOCK)
    count, one = kind.type(values[0].size // groups), kind.type(1)
    with quiet():
        by_group = [np.add.reduce((part * weight).reshape(in_group), axis=2) for part in (products, totals)]
        factor = (by_group[1] * mean - by_group[0]) * inverse * inverse * inverse * (one / count)
        shift = -factor * mean - by_group[1] * inverse * (one / count)
        by_weight = np.add.reduce(((products - totals * _over(mean, in_group)) * _over(inverse, in_group)), axis=0)
        scales = _over(inverse, in_group) * weight
    factors, shifts = _over(factor, in_group), _over(shift, in_group)

    def spread(start: int, end: int) -> None:
        own = slice(start, end)
        with quiet():
            moved = single(values, own) * factors[own, :, None]
            moved += shifts[own, :, None]
            if half:
                slope = single(slopes, own)
                slope *= scales[own, :, None]
                slope += moved
                target[own] = narrowed(slope, x.dtype)
            else:
                np.multiply(slopes[own], scales[own, :, None], out=target[own])
                target[own] += moved

    by_blocks(spread, values, 4 * _COST, _BLOCK)
    by_bias = np.add.reduce(totals, axis=0)
    if own_kind != kind:
        return out, narrowed(by_weight, own_kind), narrowed(by_bias, own_kind)
    return out, by_weight, by_bias


def _over(groups: Array, shape: tuple[int, int, int]) -> Array:
    """Return the values (N, groups) for each channel, (N, channels)."""
    return np.broadcast_to(groups[..., None], shape).reshape(shape[0], -1)


define_host("layer_norm", numpy_layer_norm, FLOATS, HALF)
define_host("group_norm_parts", numpy_group_norm_parts, (*FLOATS, *HALF))
define_host("group_norm_grad", numpy_group_norm_grad, (*FLOATS, *HALF))
define_direct("layer_norm", "bfloat16", _half_layer_norm)

"""Normalization on the host."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._quiet import quiet
from ..arrays import Array
from ..blocks import by_rows, share
from ..halves import BFLOAT16, narrowed, widened
from ..onednn import rows
from ..onednn.bfloat16 import scaled, scales
from ..onednn.library import FOUND, FOUND_HALVES
from ..table import define_direct, define_host
from ._sums import halves_along, sum_along
from ._ufunc import FLOATS, HALF, number


def standardised(x: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array, Array, Array]:
    """Return the values normalized over some dimensions; the mean, the biased variance and the inverse standard deviation."""
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


_COST = 0.5  # nanoseconds that oneDNN takes for an element
_LONG = 1 << 18  # elements of a row from which on oneDNN's sums are less exact than NumPy's, which add pairs


def _flat(x: Array, begin: int) -> Array:
    """Return an array as (rows, length), where each row is normalized separately."""
    count = 1
    for length in x.shape[:begin]:
        count *= length
    return np.ascontiguousarray(x).reshape(count, -1)


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

    _by_images(work, flat, 1.0)
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


_SHORT = 2  # of one element the gradient is what rounding leaves


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


def _images(x: Array) -> Array:
    """Rearrange (N, C, *) to (C, N, elements), as a view if dense."""
    return x.reshape(*x.shape[:2], -1).transpose(1, 0, 2)


def _gathered(images: Array, start: int, end: int) -> Array:
    """Return a contiguous copy of some channels: NumPy computes on it in a quarter of the time that it takes for short rows of many images.
    """
    return np.array(images[start:end], order="C")


def _totals(a: Array, b: Array) -> Array:
    """Return the sums of products of (channels, N, elements), summed per image first for accuracy."""
    return np.asarray(np.add.reduce(np.einsum("cnl,cnl->cn", a, b), axis=1))


def numpy_batch_norm_train(x: Array, weight: Array, bias: Array, eps: float) -> tuple[Array, ...]:
    """Normalize (N, C, *) by its own statistics; also return the mean and the biased variance (C) of each channel."""
    if not x.size:
        return x.copy(), np.zeros(weight.shape, x.dtype), np.zeros(weight.shape, x.dtype)
    length = x.size // x.shape[1]
    count, one = number(length, x), number(1, x)
    out, mean, var = np.empty(x.shape, x.dtype), np.empty(weight.shape, x.dtype), np.empty(weight.shape, x.dtype)
    source, target = _images(x), _images(out)

    def work(start: int, end: int) -> None:
        part, own = slice(start, end), _gathered(source, start, end)
        with quiet():
            np.divide(np.add.reduce(own, axis=(1, 2)), count, out=mean[part])
            own -= mean[part, None, None]
            np.divide(_totals(own, own), count, out=var[part])
            own *= (weight[part] * (one / np.sqrt(var[part] + number(eps, x))))[:, None, None]
            own += bias[part, None, None]
        target[part] = own

    by_rows(work, x.shape[1], length, 10)
    return out, mean, var


def numpy_batch_norm_eval(
    x: Array, weight: Array, bias: Array, mean: Array, var: Array, eps: float
) -> Array:
    """Normalize (N, C, *) by given statistics."""
    with quiet():
        scale = weight / np.sqrt(var + number(eps, x))
        shift = bias - mean * scale
    images = np.ascontiguousarray(x).reshape(x.shape[0] * x.shape[1], -1) if x.size else x
    scales, shifts = np.tile(scale, x.shape[0])[:, None], np.tile(shift, x.shape[0])[:, None]
    out = np.empty(images.shape, x.dtype)

    def work(start: int, end: int) -> None:
        with quiet():
            own = np.multiply(images[start:end], scales[start:end], out=out[start:end])
            own += shifts[start:end]

    if x.size:
        by_rows(work, images.shape[0], images.shape[1], 4)
    return out.reshape(x.shape)


def numpy_batch_norm_grad(
    g: Array, x: Array, weight: Array, mean: Array, var: Array, eps: float
) -> tuple[Array, ...]:
    """Return the gradients of ``batch_norm_train`` for input, weight and bias, from the statistics that it returned."""
    length = x.size // x.shape[1]
    count, one = number(length, x), number(1, x)
    out, total, by_normal = np.empty(x.shape, x.dtype), np.empty(weight.shape, x.dtype), np.empty(weight.shape, x.dtype)
    source, slopes, target = _images(x), _images(g), _images(out)

    def work(start: int, end: int) -> None:
        part, own, slope = slice(start, end), _gathered(source, start, end), _gathered(slopes, start, end)
        with quiet():
            inverse = one / np.sqrt(var[part] + number(eps, x))
            own -= mean[part, None, None]
            np.add.reduce(slope, axis=(1, 2), out=total[part])
            np.multiply(_totals(slope, own), inverse, out=by_normal[part])
            own *= (by_normal[part] * inverse / count)[:, None, None]
            slope -= own
            slope -= (total[part] / count)[:, None, None]
            slope *= (weight[part] * inverse)[:, None, None]
        target[part] = slope

    by_rows(work, x.shape[1], length, 12)
    return out, by_normal, total


def numpy_running_average(running: Array, batch: Array, factor: float, scale: float) -> Array:
    """Return ``(1 - factor) * running + factor * scale * batch``."""
    return np.asarray(running * number(1 - factor, running) + batch * number(scale, running) * number(factor, running))


define_host("batch_norm_train", numpy_batch_norm_train, FLOATS, HALF, wide=(1, 2))  # running statistics may be of single precision
define_host("batch_norm_eval", numpy_batch_norm_eval, FLOATS, HALF)
define_host("batch_norm_grad", numpy_batch_norm_grad, FLOATS, HALF)
define_host("running_average", numpy_running_average, FLOATS, HALF)


_FAR = 16.0  # a mean of so many deviations, squared, from which on sums of squares would lose too many digits
_IMAGES = 1 << 18  # elements of images that are worked on together


def _by_images(work: Callable[[int, int], None], x: Array, nanoseconds: float) -> None:
    """Call ``work(start, end)`` for blocks of images or rows."""
    each = x.size // len(x)
    some = max(1, _IMAGES // each)

    def part(start: int, end: int) -> None:
        for first in range(start, end, some):
            work(first, min(first + some, end))

    share(part, len(x), each * nanoseconds, some)


def _are_half_images(*arrays: Array) -> bool:
    """Return whether the arrays are contiguous bfloat16 images (N, C, *) that are large enough to compute on their bits."""
    return all(array.dtype == BFLOAT16 and array.flags.c_contiguous and array.size > _SMALL_IMAGES for array in arrays) and scales()


_SMALL_IMAGES = 1 << 12


class _HalfImages:
    """bfloat16 images (N, C, elements) as bits, with casts of some images and sums over them."""

    def __init__(self, x: Array) -> None:
        self.bits = x.view(np.uint16).reshape(*x.shape[:2], -1)
        self.whole = widened(x).reshape(self.bits.shape) if x.size <= _IMAGES else None

    def single(self, start: int, end: int) -> Array:
        """Return some of the images as float32."""
        return self.whole if self.whole is not None else widened(self.bits[start:end].view(BFLOAT16))

    def sums(self) -> Array:
        """Return the sum of each channel in float64."""
        count, channels, length = self.bits.shape
        found = halves_along(self.bits.view(BFLOAT16).reshape(count * channels, length), (1,), False)
        return np.asarray(np.add.reduce(found.reshape(count, channels), axis=0, dtype=np.float64))


def _sums_of_products(x: _HalfImages, y: _HalfImages) -> Array:
    """Return the sums of products of each channel in float64."""
    sums = np.empty(x.bits.shape[:2])

    def add(start: int, end: int) -> None:
        sums[start:end] = np.matmul(x.single(start, end)[:, :, None], y.single(start, end)[..., None])[..., 0, 0]

    _by_images(add, x.bits, 0.3)
    return np.asarray(np.add.reduce(sums, axis=0))


def _half_batch_norm_train(x: Array, weight: Array, bias: Array, eps: float) -> tuple[Array, ...] | None:
    """Return batch norm by sums and sums of squares per image in float64, followed by an elementwise scale and shift."""
    if not _are_half_images(x):
        return None
    images, count = _HalfImages(x), x.size // x.shape[1]
    with quiet():
        mean = images.sums() / count
        var = _sums_of_products(images, images) / count - mean * mean
        if not (mean * mean <= _FAR * var).all():
            return None
        scale = widened(weight) / np.sqrt(var + eps)
        shift = widened(bias) - mean * scale
    return _scaled_and_shifted(images, scale, shift).reshape(x.shape), mean.astype(np.float32), var.astype(np.float32)


def _scaled_and_shifted(images: _HalfImages, scale: Array, shift: Array) -> Array:
    """Return images scaled and shifted per channel, rounded once."""
    factor, summand = scale.astype(np.float32), shift.astype(np.float32)
    out = np.empty(images.bits.shape, np.uint16)
    _by_images(lambda start, end: scaled(images.bits[start:end], factor, summand, out[start:end]), out, 0.15)
    return out.view(BFLOAT16)


def _half_batch_norm_eval(
    x: Array, weight: Array, bias: Array, mean: Array, var: Array, eps: float
) -> Array | None:  # fmt: skip
    if not _are_half_images(x):
        return None
    with quiet():
        scale = widened(weight) / np.sqrt(widened(var) + np.float32(eps))
        return _scaled_and_shifted(_HalfImages(x), scale, widened(bias) - widened(mean) * scale).reshape(x.shape)


def _half_batch_norm_grad(
    g: Array, x: Array, weight: Array, mean: Array, var: Array, eps: float
) -> tuple[Array, ...] | None:  # fmt: skip
    """Return ``numpy_batch_norm_grad`` for bfloat16, as a linear combination of ``g``, ``x`` and a constant per channel."""
    if not _are_half_images(g, x) or g.shape != x.shape:
        return None
    mean, var = mean.astype(np.float64), var.astype(np.float64)
    if not (mean * mean <= _FAR * var).all():
        return None
    slopes, images, count = _HalfImages(g), _HalfImages(x), x.size // x.shape[1]
    with quiet():
        total, inverse = slopes.sums(), 1 / np.sqrt(var + eps)
        by_weight = (_sums_of_products(slopes, images) - mean * total) * inverse
        of_g = widened(weight) * inverse
        of_x = -of_g * inverse * by_weight / count
        rest = -of_g * total / count - of_x * mean
    of_g, of_x, rest = (item.astype(np.float32) for item in (of_g, of_x, rest))
    out = np.empty(images.bits.shape, np.uint16)

    def apply(start: int, end: int) -> None:
        own = images.single(start, end)
        moved = np.empty_like(own)
        scaled(own, of_x, rest, moved)
        scaled(slopes.bits[start:end], of_g, moved, out[start:end])

    _by_images(apply, out, 0.5)
    by_weight, by_bias = (narrowed(item.astype(np.float32), BFLOAT16) for item in (by_weight, total))
    return out.view(BFLOAT16).reshape(x.shape), by_weight, by_bias


if FOUND_HALVES:
    define_direct("batch_norm_train", "bfloat16", _half_batch_norm_train)
    define_direct("batch_norm_eval", "bfloat16", _half_batch_norm_eval)
    define_direct("batch_norm_grad", "bfloat16", _half_batch_norm_grad)

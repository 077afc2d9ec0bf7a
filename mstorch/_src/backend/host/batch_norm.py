"""Batch norm on the host.

Dense float32 and bfloat16 images are scaled and shifted per channel by oneDNN, from sums and sums of products of each image in float64;
few float32 elements take oneDNN's own batch norm. NumPy computes all other arrays, and channels whose mean is so far from 0 that the sums
of squares would lose digits.
"""
from __future__ import annotations

import numpy as np

from ...quiet import quiet
from ..arrays import Array
from ..blocks import by_blocks, by_rows
from ..halves import BFLOAT16, widened
from ..onednn import channels
from ..onednn.channels import scaled, scales
from ..onednn.library import FOUND, FOUND_HALVES
from ..table import define_direct, define_host
from ._sums import halves_along, sum_along
from ._ufunc import FLOATS, HALF, number

Arrays = tuple[Array, ...]


def _images(x: Array) -> Array:
    """Rearrange (N, C, *) to (C, N, elements), as a view if dense."""
    return x.reshape(*x.shape[:2], -1).transpose(1, 0, 2)


def _gathered(images: Array, start: int, end: int) -> Array:
    """Return a contiguous copy of the channels ``start`` to ``end``. NumPy computes four times as fast on it as on short rows spread over
    many images."""
    return np.array(images[start:end], order="C")


def _totals(a: Array, b: Array) -> Array:
    """Return for each channel the sum of products of two arrays (channels, N, elements), summed per image first for accuracy."""
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


_FAR = {"f": 4.0, "H": 16.0}  # squared mean in units of the variance, above which sums of squares would lose too many digits
_WHOLE = 1 << 17  # number of bfloat16 elements that are cast at once: more would be as much memory as a small network's layers
_LANES = 64  # number of elements of an image that BLAS adds in parallel
_FEW = 1 << 15  # number of elements up to which oneDNN's own batch norm is faster; its gradients of images have four times the error
_FEW_HALVES = 1 << 12


def _usable(*images: Array) -> bool:
    """Return whether these are dense arrays of one shape, and all float32 or all bfloat16."""
    first = images[0]
    found = FOUND if first.dtype.char == "f" else FOUND_HALVES and first.dtype == BFLOAT16 and first.size > _FEW_HALVES
    for array in images:
        found = found and array.dtype == first.dtype and array.shape == first.shape and array.flags.c_contiguous
    return bool(found and first.size and scales())


def _in_library(x: Array, most: int, *others: Array) -> bool:
    """Return whether oneDNN's batch norm is to compute this: all arrays are float32, and ``x`` has shape (N, C) or at most ``most``
    elements."""
    for array in (x, *others):
        if array.dtype.char != "f":
            return False
    return x.ndim == 2 or x.size <= most


class _Images:
    """Dense images (N, C, elements): float32, or bfloat16 as bits."""

    def __init__(self, x: Array) -> None:
        self.half = x.dtype.char != "f"
        self.elements = (x.view(np.uint16) if self.half else x).reshape(*x.shape[:2], -1)
        self.cast = widened(x).reshape(self.elements.shape) if self.half and x.size <= _WHOLE else None

    def single(self, start: int, end: int) -> Array:
        """Return the images ``start`` to ``end`` as float32."""
        if self.cast is not None:
            return self.cast[start:end]
        part = self.elements[start:end]
        return widened(part.view(BFLOAT16)) if self.half else part

    def sums(self) -> Array:
        """Return the sum of the elements of each channel in float64."""
        count, channels, length = self.elements.shape
        if self.half:
            found = halves_along(self.elements.view(BFLOAT16).reshape(count * channels, length), (1,), False).reshape(count, channels)
        else:
            found = np.empty((count, channels), np.float32)

            def add(start: int, end: int) -> None:
                part = self.elements[start:end]
                found[start:end] = sum_along(part, 2) if length >= _LANES else np.einsum("ncl->nc", part)

            by_blocks(add, self.elements, 0.1)
        return np.asarray(np.add.reduce(found, axis=0, dtype=np.float64))

    def sums_of_products(self, other: _Images) -> Array:
        """Return, for each channel, the sum of the products of these images' elements with the elements of ``other``, in float64."""
        sums = np.empty(self.elements.shape[:2])

        def add(start: int, end: int) -> None:
            x, y = self.single(start, end), other.single(start, end)
            long = x.shape[2] >= 2 * _LANES
            sums[start:end] = np.matmul(x[:, :, None], y[..., None])[..., 0, 0] if long else np.einsum("ncl,ncl->nc", x, y)

        by_blocks(add, self.elements, 0.3 if self.half else 0.12, _WHOLE)
        return np.asarray(np.add.reduce(sums, axis=0))

    def scaled(self, scale: Array, shift: Array) -> Array:
        """Return the images scaled and shifted per channel, rounded once."""
        factor, summand = scale.astype(np.float32), shift.astype(np.float32)
        out = np.empty(self.elements.shape, self.elements.dtype)
        by_blocks(lambda start, end: scaled(self.elements[start:end], factor, summand, out[start:end]), out, 0.15)
        return out.view(BFLOAT16) if self.half else out


def _inexact_channels(mean: Array, var: Array, x: Array) -> Array | None:
    """Return the indices of the channels whose variance ``var`` is not finite, or inexact, because it was computed from sums of squares and
    the squared mean is much larger. Return None, so that another formula is used for all channels, if these are more than a quarter of the
    channels, or if there are any in bfloat16."""
    found = np.flatnonzero(~((mean * mean <= _FAR["f" if x.dtype.char == "f" else "H"] * var) & np.isfinite(var)))
    return found if not found.size or x.dtype.char == "f" and 4 * found.size <= mean.size else None


def _batch_norm_train(x: Array, weight: Array, bias: Array, eps: float) -> Arrays | None:
    if not _usable(x):
        return None
    if _in_library(x, _FEW, weight, bias):
        out = np.empty(x.shape, np.float32)
        return (out, *channels.batch_norm(x, weight, bias, eps, out))
    images, count = _Images(x), x.size // x.shape[1]
    with quiet():
        mean = images.sums() / count
        var = images.sums_of_products(images) / count - mean * mean
        far = _inexact_channels(mean, var, x)
        if far is None:
            return None
        scale = widened(weight) / np.sqrt(var + eps)
        shift = widened(bias) - mean * scale
        found = images.scaled(scale, shift).reshape(x.shape)
        mean, var = mean.astype(np.float32), var.astype(np.float32)
    if far.size:
        found[:, far], mean[far], var[far] = numpy_batch_norm_train(x[:, far], weight[far], bias[far], eps)
    return found, mean, var


def _batch_norm_eval(
    x: Array, weight: Array, bias: Array, mean: Array, var: Array, eps: float
) -> Array | None:  # fmt: skip
    if not _usable(x):
        return None
    with quiet():
        scale = widened(weight) / np.sqrt(widened(var) + np.float32(eps))
        return _Images(x).scaled(scale, widened(bias) - widened(mean) * scale).reshape(x.shape)


def _batch_norm_grad(g: Array, x: Array, weight: Array, mean: Array, var: Array, eps: float) -> Arrays | None:
    """Return the gradients as a linear combination of ``g``, ``x`` and a constant per channel; the parameters' are float32."""
    if not _usable(g, x):
        return None
    if _in_library(x, 0, weight, mean, var):
        out = np.empty(x.shape, np.float32)
        return (out, *channels.batch_norm_backward(x, weight, g, mean, var, eps, out))
    if x.size <= _FEW and x.dtype.char == "f":
        return None
    single, (mean, var) = (mean, var), (mean.astype(np.float64), var.astype(np.float64))
    far = _inexact_channels(mean, var, x)
    if far is None:
        return None
    slopes, images, count = _Images(g), _Images(x), x.size // x.shape[1]
    with quiet():
        total, inverse = slopes.sums(), 1 / np.sqrt(var + eps)
        by_weight = (slopes.sums_of_products(images) - mean * total) * inverse
        of_g = widened(weight) * inverse
        of_x = -of_g * inverse * by_weight / count
        rest = -of_g * total / count - of_x * mean
    of_g, of_x, rest = (item.astype(np.float32) for item in (of_g, of_x, rest))
    out = np.empty(slopes.elements.shape, slopes.elements.dtype)

    def apply(start: int, end: int) -> None:
        own = images.single(start, end)
        moved = np.empty_like(own)
        scaled(own, of_x, rest, moved)
        scaled(slopes.elements[start:end], of_g, moved, out[start:end])

    by_blocks(apply, out, 0.5, _WHOLE)
    by_weight, by_bias = by_weight.astype(np.float32), total.astype(np.float32)
    out = out.reshape(x.shape)
    if far.size:
        statistics = single[0][far], single[1][far]
        out[:, far], by_weight[far], by_bias[far] = numpy_batch_norm_grad(g[:, far], x[:, far], weight[far], *statistics, eps)
    return out.view(BFLOAT16) if slopes.half else out, by_weight, by_bias


def numpy_running_average(running: Array, batch: Array, factor: float, scale: float) -> Array:
    """Return ``(1 - factor) * running + factor * scale * batch``."""
    real = running.dtype.type  # as in ``number``
    return np.asarray(running * real(1 - factor) + batch * real(scale) * real(factor))


define_host("batch_norm_train", numpy_batch_norm_train, FLOATS, HALF, wide=(1, 2))  # running statistics may be float32
define_host("batch_norm_eval", numpy_batch_norm_eval, FLOATS, HALF)
define_host("batch_norm_grad", numpy_batch_norm_grad, FLOATS, HALF, wide=(1, 2))  # and so may be weight and bias
define_host("running_average", numpy_running_average, FLOATS, HALF)
for _kind in ("float32", "bfloat16"):
    define_direct("batch_norm_train", _kind, _batch_norm_train)
    define_direct("batch_norm_eval", _kind, _batch_norm_eval)
    define_direct("batch_norm_grad", _kind, _batch_norm_grad)

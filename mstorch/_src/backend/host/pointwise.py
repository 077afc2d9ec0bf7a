"""Convolutions with 1×1 kernels, as products of the weight matrix with each image, without unfolding."""
from __future__ import annotations

import functools

import numpy as np

from ..arrays import Array
from .matmul import is_few, numpy_bmm, product

Sizes = tuple[int, ...]


def is_pointwise(images: Array, kernel: Sizes, geometry: tuple[Sizes, Sizes, Sizes], groups: int) -> bool:
    """Return whether a convolution has kernel and stride 1 and no padding, with row-major images."""
    return groups == 1 and _is_one(kernel, geometry[0], geometry[1]) and images.flags.c_contiguous and images.size > 0


@functools.lru_cache(maxsize=256)
def _is_one(kernel: Sizes, stride: Sizes, padding: Sizes) -> bool:
    return set(kernel) == set(stride) == {1} and not any(padding)


def _flat(images: Array) -> Array:
    return images.reshape(*images.shape[:2], -1)


def _for_each(weights: Array, images: int) -> Array:
    """Return the matrix repeated for each image, as a view of the same memory."""
    if weights.flags.c_contiguous:
        return np.ndarray((images, *weights.shape), weights.dtype, weights, 0, (0, *weights.strides))
    return np.broadcast_to(weights, (images, *weights.shape))


_FEW = 4  # number of positions up to which images are multiplied together: a product per image would read the weights again
_FEW_IN_SUMS = 64  # number of positions of images whose products are added to one gradient


def _is_few(images: Array) -> bool:
    """Return True if images (N, channels, positions) have so few positions that one product over all images is faster than one per image.
    """
    count, _, positions = images.shape
    return positions == 1 or (count > 1 and positions <= _FEW)


def _rows(images: Array) -> Array:
    """Rearrange (images, channels, positions) to (images · positions, channels)."""
    if images.shape[2] == 1:
        return images[:, :, 0]
    return np.ascontiguousarray(images.swapaxes(1, 2)).reshape(-1, images.shape[1])


def _product(matrix: Array, images: Array) -> Array:
    """Multiply a matrix with each of (images, channels, positions)."""
    if not _is_few(images):
        return numpy_bmm(_for_each(matrix, images.shape[0]), images)
    found = product(_rows(images), matrix.T).reshape(images.shape[0], images.shape[2], matrix.shape[0])
    return np.ascontiguousarray(found.swapaxes(1, 2))


def pointwise(x: Array, w: Array, bias: Array | None) -> Array:
    """Convolve (N, C, *S) with weights (out, C, 1, …) to (N, out, *S)."""
    found = _product(w.reshape(w.shape[:2]), _flat(x))
    if bias is not None:
        found += bias[:, None]
    return found.reshape(x.shape[0], w.shape[0], *x.shape[2:])


def pointwise_input(g: Array, w: Array) -> Array:
    """Return the gradient for the images."""
    return _product(w.reshape(w.shape[:2]).T, _flat(g)).reshape(g.shape[0], w.shape[1], *g.shape[2:])


def pointwise_weight(g: Array, x: Array, shape: Sizes) -> Array | None:
    """Return the gradient for the weights by matrix products, if the images have few positions or the products are small. Return None if a
    convolution is faster, or the images are not contiguous."""
    if not x.flags.c_contiguous:
        return None
    slopes, images = _flat(g), _flat(x)
    if slopes.shape[2] <= _FEW_IN_SUMS:
        return product(_rows(slopes).T, _rows(images)).reshape(shape)
    if is_few(g.shape[0], g.shape[1], x.shape[1], slopes.shape[2]):
        return np.add.reduce(np.matmul(slopes, images.swapaxes(1, 2)), 0).reshape(shape)
    return None

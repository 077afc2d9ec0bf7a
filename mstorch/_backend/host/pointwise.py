"""Convolutions with 1×1 kernels, as products of the weight matrix with each image, without unfolding."""
from __future__ import annotations

import numpy as np

from ..arrays import Array
from .matmul import is_few, numpy_bmm

Sizes = tuple[int, ...]


def is_pointwise(images: Array, kernel: Sizes, geometry: tuple[Sizes, Sizes, Sizes], groups: int) -> bool:
    """Return whether a convolution has kernel and stride 1 and no padding, with row-major images."""
    stride, padding, _ = geometry
    return groups == 1 and set(kernel) == set(stride) == {1} and not any(padding) and images.flags.c_contiguous and images.size > 0


def _flat(images: Array) -> Array:
    return images.reshape(*images.shape[:2], -1)


def _for_each(weights: Array, images: int) -> Array:
    """Return the matrix repeated for each image, as a view of the same memory."""
    if weights.flags.c_contiguous:
        return np.ndarray((images, *weights.shape), weights.dtype, weights, 0, (0, *weights.strides))
    return np.broadcast_to(weights, (images, *weights.shape))


def pointwise(x: Array, w: Array, bias: Array | None) -> Array:
    """Convolve (N, C, *S) with weights (out, C, 1, …) to (N, out, *S)."""
    weights = w.reshape(w.shape[:2])
    found = numpy_bmm(_for_each(weights, x.shape[0]), _flat(x))
    if bias is not None:
        found += bias[:, None]
    return found.reshape(x.shape[0], w.shape[0], *x.shape[2:])


def pointwise_input(g: Array, w: Array) -> Array:
    """Return the gradient for the images."""
    weights = w.reshape(w.shape[:2]).T
    found = numpy_bmm(_for_each(weights, g.shape[0]), _flat(g))
    return found.reshape(g.shape[0], w.shape[1], *g.shape[2:])


def pointwise_weight(g: Array, x: Array, shape: Sizes) -> Array | None:
    """Return the gradient for the weights if they are few; None for many weights, for which a convolution is faster."""
    if not x.flags.c_contiguous or not is_few(g.shape[0], g.shape[1], x.shape[1], _flat(g).shape[2]):
        return None
    return np.add.reduce(np.matmul(_flat(g), _flat(x).swapaxes(1, 2)), 0).reshape(shape)

"""Repeat, flip, roll and masks on the host."""
from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..table import define_host
from .elementwise import numpy_where


def numpy_tile(x: Array, repeats: tuple[int, ...]) -> Array:
    """Repeat ``x``, which has as many dimensions as ``repeats``, along each dimension."""
    return np.array(np.tile(x, repeats), order="C")


def numpy_flip(x: Array, dims: tuple[int, ...]) -> Array:
    """Reverse along dimensions."""
    return np.array(np.flip(x, dims) if dims and x.ndim else x, order="C")


def numpy_roll(x: Array, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    """Roll the elements by ``shifts[i]`` along ``dims[i]``."""
    return np.array(np.roll(x, shifts, dims) if x.ndim and x.size else x, order="C")


def numpy_triangle(x: Array, diagonal: int, lower: bool) -> Array:
    """Return the lower or upper triangle of matrices in the last two dimensions, with zeros elsewhere."""
    band = np.arange(x.shape[-1])[None, :] - np.arange(x.shape[-2])[:, None]
    return np.asarray(numpy_where(band <= diagonal if lower else band >= diagonal, x, np.zeros((), x.dtype)))


define_host("tile", numpy_tile)
define_host("flip", numpy_flip)
define_host("roll", numpy_roll)
define_host("triangle", numpy_triangle)

"""Repeat, flip, roll and masks on the host."""
from __future__ import annotations

import numpy as np

from ..table import define_host


def numpy_tile(x: np.ndarray, repeats: tuple[int, ...]) -> np.ndarray:
    """Repeat ``x``, which has as many dimensions as ``repeats``, along each dimension."""
    return np.array(np.tile(x, repeats), order="C")


def numpy_flip(x: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    """Reverse along dimensions."""
    return np.array(np.flip(x, dims) if dims and x.ndim else x, order="C")


def numpy_roll(x: np.ndarray, shifts: tuple[int, ...], dims: tuple[int, ...]) -> np.ndarray:
    """Roll the elements by ``shifts[i]`` along ``dims[i]``."""
    return np.array(np.roll(x, shifts, dims) if x.ndim and x.size else x, order="C")


def numpy_triangle(x: np.ndarray, diagonal: int, lower: bool) -> np.ndarray:
    """Return the lower or upper triangle of matrices in the last two dimensions, with zeros elsewhere."""
    band = np.arange(x.shape[-1])[None, :] - np.arange(x.shape[-2])[:, None]
    return np.where(band <= diagonal if lower else band >= diagonal, x, np.zeros((), x.dtype))


define_host("tile", numpy_tile)
define_host("flip", numpy_flip)
define_host("roll", numpy_roll)
define_host("triangle", numpy_triangle)

"""Repeat, flip, roll and masks on the host."""
from __future__ import annotations

import functools

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
    if not x.ndim or not x.size:
        return np.array(x, order="C")
    if len(dims) > 1:
        return np.ascontiguousarray(np.roll(x, shifts, dims))
    (shift,), (dim,) = shifts, dims  # NumPy's own function takes several times as long for a small array
    lead, found = (slice(None),) * (dim % x.ndim), np.empty(x.shape, x.dtype)
    start = shift % x.shape[dim]
    found[(*lead, slice(start, None))] = x[(*lead, slice(None, x.shape[dim] - start))]
    found[(*lead, slice(None, start))] = x[(*lead, slice(x.shape[dim] - start, None))]
    return found


def numpy_triangle(x: Array, diagonal: int, lower: bool) -> Array:
    """Return the lower or upper triangle of matrices in the last two dimensions, with zeros elsewhere."""
    rows, columns = x.shape[-2:]
    inside = (_triangle if rows * columns <= _KEPT else _triangle.__wrapped__)(rows, columns, diagonal, lower)
    return np.asarray(numpy_where(inside, x, np.zeros((), x.dtype)))


_KEPT = 1 << 18  # number of elements of matrices whose masks are kept


@functools.lru_cache(maxsize=16)
def _triangle(rows: int, columns: int, diagonal: int, lower: bool) -> Array:
    """Return whether each element of a matrix is in its lower or upper triangle."""
    band = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    return np.asarray(band <= diagonal if lower else band >= diagonal)


define_host("tile", numpy_tile)
define_host("flip", numpy_flip)
define_host("roll", numpy_roll)
define_host("triangle", numpy_triangle)

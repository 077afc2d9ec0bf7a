"""Sampling at positions of a grid, and its gradients, which are one kernel each on a device; the stand-in device plays them."""
from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ...quiet import quiet
from ..arrays import Array
from ..table import define_host
from ._ufunc import FLOATS, HALF

Tap = tuple[Array, Array, Array]
"""The places along a dimension of one of the elements that a position reads, their weights, and the slopes of the weights."""


def _pixels(x: Array, n: int, padding: str, corners: bool) -> tuple[Array, Array]:
    """Return coordinates in [-1, 1] as pixel coordinates, kept inside as ``padding`` says, and their slopes."""
    at, slope = ((x + 1) / 2 * (n - 1), (n - 1) / 2) if corners else (((x + 1) * n - 1) / 2, n / 2)
    slopes = np.full_like(x, slope)
    if padding == "reflection":
        low, span = (0, n - 1) if corners else (-0.5, n)
        if span == 0:
            return np.zeros_like(at), np.zeros_like(at)
        away = at - low
        flips = np.floor(np.abs(away) / span)
        extra = np.abs(away) - flips * span
        odd = flips % 2 == 1
        at, slopes = np.where(odd, span + low - extra, extra + low), np.where(odd, -slopes, slopes) * np.where(away < 0, -1, 1)
    if padding != "zeros":
        slopes = np.where((at > 0) & (at < n - 1), slopes, 0)
        at = np.clip(np.where(np.isnan(at), 0, at), 0, n - 1)
    return at, slopes.astype(x.dtype)


def _taps(x: Array, n: int, mode: str, padding: str, corners: bool) -> tuple[list[Tap], Array]:
    """Return the elements that positions read along a dimension, and the slope of their pixel coordinates."""
    at, slopes = _pixels(x, n, padding, corners)
    if mode == "nearest":
        return [(np.rint(at), np.ones_like(x), np.zeros_like(x))], slopes
    low = np.floor(at)
    part, one = at - low, np.ones_like(x)
    return [(low, 1 - part, -one), (low + 1, part, one)], slopes


class _Read(NamedTuple):
    """An element that each of M positions reads."""

    row: Array
    """Its row in ``_table`` (M); the last row, of zeros, for elements outside."""
    inside: Array
    weights: list[Array]
    slopes: list[Array]

    def product(self, x: Array, parts: list[Array]) -> Array:
        """Return the product of weights; in a volume that of an element outside is 0, also at a position that is NaN."""
        found: Array = np.prod(parts, 0)
        return found if x.ndim < 5 else np.where(self.inside, found, x.dtype.type(0))


def _reads(x: Array, grid: Array, mode: str, padding: str, corners: bool) -> tuple[list[_Read], list[Array]]:
    """Return the elements that positions read, and the slopes of their pixel coordinates."""
    sizes = x.shape[2:]
    axes = [_taps(grid[..., -1 - i].reshape(-1), n, mode, padding, corners) for i, n in enumerate(sizes)]
    count = math.prod(sizes)
    start = np.repeat(np.arange(len(x), dtype=np.int32) * count, math.prod(grid.shape[1:-1]))
    found = []
    for taps in itertools.product(*(taps for taps, _ in axes)):
        inside = np.logical_and.reduce([(place >= 0) & (place < n) for (place, _, _), n in zip(taps, sizes)])
        row = np.zeros_like(start)
        for (place, _, _), n in zip(taps, sizes):
            row = row * np.int32(n) + np.where(inside, place, 0).astype(np.int32)
        row = np.where(inside, row + start, np.int32(len(x) * count))
        found.append(_Read(row, inside, [weight for _, weight, _ in taps], [slope for _, _, slope in taps]))
    return found, [slopes for _, slopes in axes]


def _table(x: Array) -> Array:
    """Return the elements of (N, C, *sizes) as rows of C numbers, and a row of zeros."""
    found = np.zeros((x.size // x.shape[1] + 1, x.shape[1]), x.dtype)
    found[:-1].reshape(len(x), -1, x.shape[1])[...] = x.reshape(*x.shape[:2], -1).swapaxes(1, 2)
    return found


def _matrix(x: Array, reads: list[_Read]) -> Any:
    """Return the sparse matrix whose product with ``_table`` is the result."""
    rows, weights = np.stack([read.row for read in reads], 1), np.stack([read.product(x, read.weights) for read in reads], 1)
    starts = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(len(reads))
    return sparse.csr_array((weights.reshape(-1), rows.reshape(-1), starts), shape=(len(rows), x.size // x.shape[1] + 1), copy=False)


def _as_images(rows: Array, shape: tuple[int, ...]) -> Array:
    """Return rows of C numbers as (N, C, *sizes)."""
    return np.ascontiguousarray(rows.reshape(shape[0], -1, shape[1]).swapaxes(1, 2)).reshape(shape)


def numpy_grid_sample(x: Array, grid: Array, *how: Any) -> Array:
    """Return ``x`` (N, C, *sizes) at the positions ``grid`` (N, *out, dimensions), (N, C, *out)."""
    with quiet():
        found = _matrix(x, _reads(x, grid, *how)[0]) @ _table(x)
    return _as_images(found, (*x.shape[:2], *grid.shape[1:-1]))


def numpy_grid_sample_grad(g: Array, x: Array, grid: Array, mode: str, *rest: Any) -> tuple[Array, Array]:
    """Return the gradients for input and grid; the last argument tells which of them are used, and zeros stand for the other."""
    *how, (by_input, by_grid) = rest
    reads, slopes = _reads(x, grid, mode, *how)
    of_x, of_grid = np.zeros(x.shape, x.dtype), np.zeros(grid.shape, grid.dtype)
    rows = _table(g)[:-1]
    with quiet():
        if by_input:
            of_x = _as_images((_matrix(x, reads).T @ rows)[:-1], x.shape)
        if by_grid and mode != "nearest":
            table, flat = _table(x), of_grid.reshape(-1, grid.shape[-1])
            for read in reads:
                shares = np.einsum("pc,pc->p", table.take(read.row, 0), rows)
                for i, slope in enumerate(read.slopes):
                    others = [read.product(x, [weight]) for j, weight in enumerate(read.weights) if j != i]
                    flat[:, -1 - i] += math.prod(others, start=shares) * read.product(x, [slope])
            for i, slope in enumerate(slopes):
                flat[:, -1 - i] *= slope
    return of_x, of_grid


define_host("grid_sample", numpy_grid_sample, FLOATS, HALF)
define_host("grid_sample_grad", numpy_grid_sample_grad, FLOATS, HALF)

"""Sampling at positions of a grid, and its gradients, which are one kernel each on a device; the stand-in device plays them."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..._quiet import quiet
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


def _read(x: Array, taps: tuple[Tap, ...]) -> tuple[Array, Array, tuple[Array, ...]]:
    """Return the elements (N, C, …) that one tap of each dimension reads, with 0 outside; a mask of the positions inside; and the
    positions."""
    sizes = x.shape[2:]
    inside: Any = True
    for (place, _, _), n in zip(taps, sizes):
        inside = inside & (place >= 0) & (place < n)
    places = tuple(np.where(inside, place, 0).astype(np.int64) for place, _, _ in taps)
    rows = np.arange(len(x)).reshape(-1, *(1,) * (places[0].ndim - 1))
    key: Any = (rows, slice(None), *places)
    taken = np.moveaxis(x[key], -1, 1)
    return np.where(inside[:, None], taken, x.dtype.type(0)), inside, places


def _of_each(x: Array, grid: Array, mode: str, padding: str, corners: bool) -> tuple[list[tuple[Tap, ...]], list[Array]]:
    found = [_taps(grid[..., -1 - i], n, mode, padding, corners) for i, n in enumerate(x.shape[2:])]
    return list(itertools.product(*(taps for taps, _ in found))), [slopes for _, slopes in found]


def _weight(x: Array, inside: Array, parts: list[Array]) -> Array:
    """Return the product of weights; in a volume that of an element outside is 0, also at a position that is NaN."""
    found: Array = np.prod(parts, 0)
    return found if x.ndim < 5 else np.where(inside, found, x.dtype.type(0))


def numpy_grid_sample(x: Array, grid: Array, *how: Any) -> Array:
    """Return ``x`` (N, C, *sizes) at the positions ``grid`` (N, *out, dimensions), (N, C, *out)."""
    found: Any = 0
    with quiet():
        for taps in _of_each(x, grid, *how)[0]:
            values, inside, _ = _read(x, taps)
            found = found + values * _weight(x, inside, [weight for _, weight, _ in taps])[:, None]
    return np.asarray(found, x.dtype)


def numpy_grid_sample_grad(g: Array, x: Array, grid: Array, *rest: Any) -> tuple[Array, Array]:
    """Return the gradients for input and grid; the last argument tells which of them are used."""
    each, slopes = _of_each(x, grid, *rest[:-1])
    by_x, by_grid = np.zeros(x.shape, x.dtype), np.zeros(grid.shape, grid.dtype)
    parts: list[tuple[Array, Array, tuple[Tap, ...]]] = []
    with quiet():
        for taps in each:
            values, inside, places = _read(x, taps)
            weights = [weight for _, weight, _ in taps]
            terms = np.moveaxis(np.where(inside[:, None], g * np.prod(weights, 0)[:, None], 0), 1, -1)
            rows = np.arange(len(x)).reshape(-1, *(1,) * (places[0].ndim - 1))
            key: Any = (rows, slice(None), *places)
            np.add.at(by_x, key, terms)
            if rest[0] != "nearest":
                parts.append((values, inside, taps))
        for channel in range(x.shape[1]):  # in torch's order, since the terms are large beside their sum
            for values, inside, taps in parts:
                for i, (_, _, steep) in enumerate(taps):
                    term = values[:, channel]
                    for other in reversed((*taps[:i], *taps[i + 1 :])):
                        term = term * _weight(x, inside, [other[1]])
                    by_grid[..., -1 - i] += term * g[:, channel] * _weight(x, inside, [steep])
        for i, slope in enumerate(slopes):
            by_grid[..., -1 - i] *= slope
    return by_x, by_grid


define_host("grid_sample", numpy_grid_sample, FLOATS, HALF)
define_host("grid_sample_grad", numpy_grid_sample_grad, FLOATS, HALF)

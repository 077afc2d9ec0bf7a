"""Euclidean distances between all rows of two matrices on the host, by one product, as torch computes them for more than 25 rows."""
from __future__ import annotations

import numpy as np

from ...quiet import quiet
from ..arrays import Array
from ._sums import sum_along
from .matmul import numpy_bmm


def euclidean(a: Array, b: Array) -> Array:
    """Return the distances between the rows of (N, P, M) and (N, R, M): (N, P, R)."""
    with quiet():
        found = numpy_bmm(a, b.swapaxes(1, 2))
        found *= a.dtype.type(-2)
        found += sum_along(a * a, 2, True)
        found += sum_along(b * b, 2)[:, None]
        np.maximum(found, a.dtype.type(0), out=found)
        return np.sqrt(found, out=found)


def euclidean_slope(g: Array, a: Array, b: Array, found: Array) -> tuple[Array, Array]:
    """Return the gradients of the rows; rows at distance 0 get none from each other."""
    with quiet():
        share = np.divide(g, found)
        share[found == 0] = 0
        by_a = a * sum_along(share, 2, True) - numpy_bmm(share, b)
        return by_a, b * sum_along(share, 1)[:, :, None] - numpy_bmm(share.swapaxes(1, 2), a)

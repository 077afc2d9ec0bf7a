"""Weighted sums of rows: output row r is the sum of weights[r, j] * source[places[r, j]]. Regions are read from images by them.

In host memory SciPy's product of a sparse matrix computes them, on a device one gather for each j.
"""
from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

import mstorch as torch

from ..._src.backend.arrays import Array
from .values import Values


def _array(values: Values) -> Array | None:
    """Return values as an array if they are in host memory."""
    if isinstance(values, np.ndarray):
        return values
    return values.numpy() if values.device.type == "cpu" else None


def _as(values: Array, like: Values) -> Values:
    """Return an array, or a tensor where another one is a tensor."""
    return values if isinstance(like, np.ndarray) else torch.from_numpy(np.ascontiguousarray(values))


class Weighted:
    """Places and weights, both (rows, terms), of weighted sums of the rows of a source of so many rows. Sources are arrays or tensors."""

    def __init__(self, places: Values, weights: Values, rows: int) -> None:
        self.places, self.weights, self.rows = places, weights, rows

    def _matrix(self) -> csr_matrix:
        count, terms = self.places.shape
        starts = np.arange(0, (count + 1) * terms, terms) if terms else np.zeros(count + 1, np.int64)
        weights, places = _array(self.weights), _array(self.places)
        assert weights is not None and places is not None
        return csr_matrix((weights.reshape(-1), places.reshape(-1), starts), shape=(count, self.rows))

    def sums(self, source: Values) -> Values:
        """Return the weighted sums (rows, columns) of a source (places, columns)."""
        array = _array(source)
        if array is not None:
            return _as(self._matrix() @ array, source)
        total = source.new_zeros(self.places.shape[0], source.shape[1])
        for term in range(self.places.shape[1]):
            total = total + source.index_select(0, self.places[:, term]) * self.weights[:, term : term + 1]
        return total

    def spread(self, gradient: Values) -> Values:
        """Return the gradient of the source for the gradient of the sums."""
        array = _array(gradient)
        if array is not None:
            return _as(self._matrix().T @ array, gradient)
        total = gradient.new_zeros(self.rows, gradient.shape[1])
        for term in range(self.places.shape[1]):
            total.index_add_(0, self.places[:, term], gradient * self.weights[:, term : term + 1])
        return total

    def products(self, source: Values, gradient: Values) -> Values:
        """Return the gradient of the weights (rows, terms): the product of the source's row and the gradient's for each."""
        array, slopes, places = _array(source), _array(gradient), _array(self.places)
        if array is not None and slopes is not None and places is not None:
            columns = [np.einsum("rc,rc->r", array[places[:, term]], slopes) for term in range(places.shape[1])]
            return _as(np.stack(columns, 1) if columns else np.zeros((slopes.shape[0], 0), slopes.dtype), gradient)
        terms = [(source.index_select(0, self.places[:, term]) * gradient).sum(1) for term in range(self.places.shape[1])]
        return torch.stack(terms, 1) if terms else gradient.new_zeros(gradient.shape[0], 0)


__all__ = ["Weighted"]

"""Weighted sums of rows: output row r is the sum of weights[r, j] * source[places[r, j]]. Regions are read from images by them.

In host memory SciPy's product of a sparse matrix computes them, on a device one gather for each j.
"""
from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

import mstorch as torch


class Weighted:
    """Places and weights, both (rows, terms), of weighted sums of the rows of a source of so many rows."""

    def __init__(self, places: torch.Tensor, weights: torch.Tensor, rows: int) -> None:
        self.places, self.weights, self.rows = places, weights, rows

    def _matrix(self) -> csr_matrix:
        count, terms = self.places.shape
        starts = np.arange(0, (count + 1) * terms, terms) if terms else np.zeros(count + 1, np.int64)
        parts = self.weights.numpy().reshape(-1), self.places.numpy().reshape(-1), starts
        return csr_matrix(parts, shape=(count, self.rows))

    def sums(self, source: torch.Tensor) -> torch.Tensor:
        """Return the weighted sums (rows, columns) of a source (places, columns)."""
        if source.device.type == "cpu":
            return torch.from_numpy(self._matrix() @ source.numpy())
        found = source.new_zeros(self.places.shape[0], source.shape[1])
        for term in range(self.places.shape[1]):
            found = found + source.index_select(0, self.places[:, term]) * self.weights[:, term : term + 1]
        return found

    def spread(self, gradient: torch.Tensor) -> torch.Tensor:
        """Return the gradient of the source for the gradient of the sums."""
        if gradient.device.type == "cpu":
            return torch.from_numpy(np.ascontiguousarray(self._matrix().T @ gradient.numpy()))
        found = gradient.new_zeros(self.rows, gradient.shape[1])
        for term in range(self.places.shape[1]):
            found.index_add_(0, self.places[:, term], gradient * self.weights[:, term : term + 1])
        return found

    def products(self, source: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        """Return the gradient of the weights (rows, terms): the product of the source's row and the gradient's for each."""
        terms = [(source.index_select(0, self.places[:, term]) * gradient).sum(1) for term in range(self.places.shape[1])]
        return torch.stack(terms, 1) if terms else gradient.new_zeros(gradient.shape[0], 0)


__all__ = ["Weighted"]

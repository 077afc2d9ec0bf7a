"""torch_sparse: sums and products with other matrices, and reductions."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ..torch_scatter import scatter
from .base import Stored
from .matmul import matmul

Tensor = torch.Tensor


class Elementwise(Stored):
    """Computation with the elements."""

    def matmul(self, other: Any, reduce: str = "sum") -> Any:
        """Return the product with a dense or sparse matrix."""
        return matmul(self, other, reduce)

    spmm = matmul
    spspmm = matmul

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def _each(self, other: Tensor) -> Tensor:
        """Return the number of a dense row, column or matrix at each element."""
        row, col, _ = self.coo()
        rows, columns = self.sparse_sizes()
        if other.shape[:2] == (rows, 1):
            return other[:, 0].index_select(0, row)
        if other.shape[:2] == (1, columns):
            return other[0].index_select(0, col)
        if other.shape[:2] == (rows, columns):
            return other[row, col]
        raise ValueError(f"sizes of {list(other.shape)} do not fit a sparse matrix of {[rows, columns]}")

    def mul(self, other: Any) -> Any:
        """Return the matrix times a number, with each row or column times a number, or with the elements that another sparse matrix has too
        times that one's."""
        if isinstance(other, Tensor):
            return self.mul_nnz(self._each(other))
        return self._common(other) if isinstance(other, Stored) else self.mul_nnz(other)

    def mul_(self, other: Tensor) -> Any:
        """Multiply each row or column by a number."""
        return self.set_value_(self.mul(other).storage.value())

    def mul_nnz(self, other: Any, layout: str | None = None) -> Any:
        """Return the matrix with its elements times numbers."""
        value = self.storage.value()
        if value is None:
            return self.set_value(other if isinstance(other, Tensor) else self._values() * other, layout)
        factor: Any = self.storage.set_value(other, layout).value() if isinstance(other, Tensor) else other
        return self.set_value(value * factor)

    def mul_nnz_(self, other: Any, layout: str | None = None) -> Any:
        """Multiply the elements by numbers."""
        return self.set_value_(self.mul_nnz(other, layout).storage.value())

    def _common(self, other: Any) -> Any:
        sizes = tuple(map(max, self.sparse_sizes(), other.sparse_sizes()))
        mine, its = (row * max(sizes[1], 1) + col for row, col, _ in (one.coalesce().coo() for one in (self, other)))
        place = torch.searchsorted(its, mine)
        both = place < its.numel()
        if its.numel():
            both = both & (its[place.clamp(max=its.numel() - 1)] == mine)
        row, col, value = self.coalesce().coo()
        factors = [item for item in (None if value is None else value[both], self._at(other, place[both])) if item is not None]
        product = None if not factors else factors[0] if len(factors) == 1 else factors[0] * factors[1]
        return type(self)(row[both], None, col[both], product, sizes, True)

    @staticmethod
    def _at(other: Any, place: Tensor) -> Tensor | None:
        value = other.coalesce().storage.value()
        return None if value is None else value[place]

    def add(self, other: Any) -> Any:
        """Return the matrix with a number added to each element of a row or column, or the sum of two sparse matrices."""
        if isinstance(other, Tensor):
            return self.add_nnz(self._each(other))
        if not isinstance(other, Stored):
            return self.add_nnz(other)
        sizes = tuple(map(max, self.sparse_sizes(), other.sparse_sizes()))
        row, col, value = (
            None if first is None or second is None else torch.cat([first, second]) for first, second in zip(self.coo(), other.coo())
        )
        return type(self)(row, None, col, value, (sizes[0], sizes[1])).coalesce()

    def add_(self, other: Tensor) -> Any:
        """Add a number to each element of a row or column."""
        return self.set_value_(self.add(other).storage.value())

    def add_nnz(self, other: Any, layout: str | None = None) -> Any:
        """Return the matrix with numbers added to its elements."""
        value = self.storage.value()
        term: Any = self.storage.set_value(other, layout).value() if isinstance(other, Tensor) else other
        if value is None:
            return self.set_value(1 + term if isinstance(term, Tensor) else self._values() + term)
        return self.set_value(value + term)

    def add_nnz_(self, other: Any, layout: str | None = None) -> Any:
        """Add numbers to the elements."""
        return self.set_value_(self.add_nnz(other, layout).storage.value())

    def __mul__(self, other: Any) -> Any:
        return self.mul(other)

    __rmul__ = __mul__
    __imul__ = mul_

    def __add__(self, other: Any) -> Any:
        return self.add(other)

    __radd__ = __add__
    __iadd__ = add_

    # Reductions

    def _reduced(self, dim: int | None, reduce: str) -> Tensor:
        row, col, _ = self.coo()
        value = self._values()
        if dim is None:
            whole: dict[str, Any] = {"sum": value.sum, "mean": value.mean, "min": value.min, "max": value.max}
            return whole[reduce]()
        dim = dim + self.dim() if dim < 0 else dim
        if dim > 1:
            return scatter(value, torch.zeros_like(row[:1]).expand(value.shape[dim - 1]), dim - 1, None, 1, reduce).squeeze(dim - 1)
        return scatter(value, row if dim == 1 else col, 0, None, self.sparse_size(1 - dim), reduce)

    def sum(self, dim: int | None = None) -> Tensor:
        """Return sums over a dimension, or of all elements."""
        return self._reduced(dim, "sum")

    def mean(self, dim: int | None = None) -> Tensor:
        """Return means of the elements over a dimension, or of all."""
        return self._reduced(dim, "mean")

    def min(self, dim: int | None = None) -> Tensor:
        """Return the smallest elements over a dimension, or of all."""
        return self._reduced(dim, "min")

    def max(self, dim: int | None = None) -> Tensor:
        """Return the largest elements over a dimension, or of all."""
        return self._reduced(dim, "max")

    def is_coalesced(self) -> bool:
        """Return whether each place is there once."""
        return self.storage.is_coalesced()

    def coalesce(self, reduce: str = "sum") -> Any:
        """Return the matrix with each place once."""
        return self if self.is_coalesced() else self.from_storage(self.storage.coalesce(reduce))


__all__ = ["Elementwise"]

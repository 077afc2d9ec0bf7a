"""torch_sparse: rows, columns, diagonals and elements of a sparse matrix."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .base import Stored
from .storage import SparseStorage, by_column, elements_of

Tensor = torch.Tensor


class Selecting(Stored):
    """Parts of a matrix."""

    def _kept(self, mask: Tensor, row: Tensor, col: Tensor, sizes: tuple[int, int]) -> Any:
        value = self.storage.value()
        return type(self)(row[mask], None, col[mask], None if value is None else value[mask], sizes)

    def index_select(self, dim: int, idx: Tensor) -> Any:
        """Return rows or columns in the order of an index, or a part of the values' dimensions."""
        dim = dim + self.dim() if dim < 0 else dim
        if dim == 1:
            return self.t().index_select(0, idx).t()
        if dim > 1:
            return self.set_value(self._values().index_select(dim - 1, idx))
        row_ends, col, value = self.csr()
        row, places = elements_of(row_ends, idx)
        own = None if value is None else value[places]
        return type(self)(row, None, col[places], own, (idx.numel(), self.sparse_size(1)), True)

    def index_select_nnz(self, idx: Tensor, layout: str | None = None) -> Any:
        """Return the matrix of some elements, by their places in the order of rows, or of columns with ``layout="csc"``."""
        if by_column(layout):
            idx = self.storage.csr2csc()[idx]
        row, col, value = self.coo()
        return type(self)(row[idx], None, col[idx], None if value is None else value[idx], self.sparse_sizes())

    def narrow(self, dim: int, start: int, length: int) -> Any:
        """Return neighbouring rows or columns, or a part of the values' dimensions."""
        dim = dim + self.dim() if dim < 0 else dim
        start = start + self.size(dim) if start < 0 else start
        row, col, _ = self.coo()
        rows, columns = self.sparse_sizes()
        if dim == 0:
            return self._kept((row >= start) & (row < start + length), row - start, col, (length, columns))
        if dim == 1:
            return self._kept((col >= start) & (col < start + length), row, col - start, (rows, length))
        return self.set_value(self._values().narrow(dim - 1, start, length))

    def __narrow_diag__(self, start: tuple[int, int], length: tuple[int, int]) -> Any:
        return self.narrow(0, start[0], length[0]).narrow(1, start[1], length[1])

    def select(self, dim: int, idx: int) -> Any:
        """Return one row or column, as a matrix."""
        return self.narrow(dim, idx, 1)

    def masked_select(self, dim: int, mask: Tensor) -> Any:
        """Return the rows or columns of a mask."""
        return self.index_select(dim, mask.nonzero().view(-1))

    def masked_select_nnz(self, mask: Tensor, layout: str | None = None) -> Any:
        """Return the matrix of the elements of a mask."""
        return self.index_select_nnz(mask.nonzero().view(-1), layout)

    def permute(self, perm: Tensor) -> Any:
        """Return the matrix with rows and columns in an order."""
        return self.index_select(0, perm).index_select(1, perm)

    def __getitem__(self, index: Any) -> Any:
        found: Any = self
        items = list(index) if isinstance(index, tuple) else [index]
        if Ellipsis in [item for item in items if item is Ellipsis]:
            gap = next(number for number, item in enumerate(items) if item is Ellipsis)
            items[gap : gap + 1] = [slice(None)] * (self.dim() - len(items) + 1)
        for dim, item in enumerate(items):
            if isinstance(item, slice):
                if item == slice(None):
                    continue
                start, stop, step = item.indices(found.size(dim))
                places = range(start, stop, step)
                whole = step == 1
                listed = torch.arange(start, stop, step) if step > 0 else torch.tensor(list(places), dtype=torch.int64)
                found = found.narrow(dim, start, len(places)) if whole else found.index_select(dim, listed.to(found.device()))
            elif isinstance(item, int):
                found = found.select(dim, item)
            else:
                place = torch.as_tensor(item, device=found.device())
                found = found.masked_select(dim, place) if place.dtype is torch.bool else found.index_select(dim, place)
        return found

    # Diagonals

    def remove_diag(self, k: int = 0) -> Any:
        """Return the matrix without the elements of a diagonal."""
        row, col, value = self.coo()
        off, storage = col - row != k, self.storage
        counts: dict[str, Any] = {"rowcount": None, "colcount": None}
        for name, places, kept in (("rowcount", row, storage._rowcount), ("colcount", col, storage._colcount)):
            if kept is not None:
                gone = places[~off]
                counts[name] = kept.index_add(0, gone, -torch.ones_like(gone))
        own = None if value is None else value[off]
        return self.from_storage(SparseStorage(row[off], None, col[off], own, self.sparse_sizes(), is_sorted=True, **counts))

    def _diagonal_length(self, k: int) -> int:
        rows, columns = self.sparse_sizes()
        return max(min(rows - max(-k, 0), columns - max(k, 0)), 0)

    def set_diag(self, values: Tensor | None = None, k: int = 0) -> Any:
        """Return the matrix with other elements on a diagonal, ones unless given."""
        rest = self.remove_diag(k)
        row, col, value = rest.coo()
        first, count = max(-k, 0), self._diagonal_length(k)
        places = torch.arange(first, first + count, device=self.device())
        if value is not None:
            values = value.new_ones(count, *value.shape[1:]) if values is None else values
            value = torch.cat([value, values])
        return type(self)(torch.cat([row, places]), None, torch.cat([col, places + k]), value, self.sparse_sizes())

    def fill_diag(self, fill_value: complex, k: int = 0) -> Any:
        """Return the matrix with one value on a diagonal."""
        value = self.storage.value()
        return self.set_diag(None if value is None else value.new_full((self._diagonal_length(k), *value.shape[1:]), fill_value), k)

    def get_diag(self) -> Tensor:
        """Return the diagonal, zero where there is no element."""
        row, col, _ = self.coo()
        on, value = row == col, self._values()
        found = value.new_zeros(min(self.sparse_sizes()), *value.shape[1:])
        return found.index_put((row[on],), value[on])


__all__ = ["Selecting"]

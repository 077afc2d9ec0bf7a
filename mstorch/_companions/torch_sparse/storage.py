"""torch_sparse.storage: rows, columns and values of a sparse matrix, by row and column."""
from __future__ import annotations

import mstorch as torch

from .coalesce import coalesce, order

Tensor = torch.Tensor


def elements_of(bounds: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each element of some rows of a matrix, one row after the other, the number of its row among them and its place.
    ``bounds`` are those of the matrix's rows."""
    counts = (bounds[1:] - bounds[:-1])[rows]
    number = torch.arange(rows.numel(), device=bounds.device).repeat_interleave(counts)
    within = torch.arange(number.numel(), device=bounds.device) - (counts.cumsum(0) - counts)[number]
    return number, bounds[:-1][rows[number]] + within


class SparseStorage:
    """Places and values of a sparse matrix. They are sorted by row and column; the bounds of rows and columns are computed once, when
    asked for."""

    def __init__(
        self, row: Tensor | None = None, rowptr: Tensor | None = None, col: Tensor | None = None, value: Tensor | None = None,
        sparse_sizes: tuple[int | None, int | None] | None = None, is_sorted: bool = False,
    ) -> None:  # fmt: skip
        if col is None or row is None and rowptr is None:
            raise ValueError("a sparse matrix needs col, and row or rowptr")
        if row is None:
            assert rowptr is not None
            row = torch.arange(rowptr.numel() - 1, device=col.device).repeat_interleave(rowptr[1:] - rowptr[:-1])
        if row.shape != col.shape or row.dim() != 1 or value is not None and value.shape[0] != col.shape[0]:
            shapes = [list(item.shape) for item in (row, col, value) if item is not None]
            raise ValueError(f"row, col and value have shapes that do not fit: {shapes}")
        rows, columns = sparse_sizes if sparse_sizes is not None else (None, None)
        least = rowptr.numel() - 1 if rowptr is not None else 0
        sizes = [
            given if given is not None else max(int(item.max()) + 1 if item.numel() else 0, smallest)
            for given, item, smallest in ((rows, row, least), (columns, col, 0))
        ]
        if not is_sorted and row.numel() > 1:
            key = row * max(sizes[1], 1) + col
            if bool((key[1:] < key[:-1]).any()):
                by_row = order(row, col, max(sizes[1], 1))
                row, col, value = row[by_row], col[by_row], None if value is None else value[by_row]
        self._row, self._col, self._value, self._sizes = row, col, value, (sizes[0], sizes[1])
        self._rowptr = rowptr
        self._colptr: Tensor | None = None
        self._csr2csc: Tensor | None = None

    def row(self) -> Tensor:
        """Return the rows."""
        return self._row

    def col(self) -> Tensor:
        """Return the columns."""
        return self._col

    def value(self) -> Tensor | None:
        """Return the values, None if each is 1."""
        return self._value

    def has_value(self) -> bool:
        """Return whether there are values."""
        return self._value is not None

    def sparse_sizes(self) -> tuple[int, int]:
        """Return the numbers of rows and columns."""
        return self._sizes

    def sparse_size(self, dim: int) -> int:
        """Return the number of rows or of columns."""
        return self._sizes[dim]

    def rowptr(self) -> Tensor:
        """Return the bounds of the rows."""
        if self._rowptr is None:
            self._rowptr = torch.searchsorted(self._row.contiguous(), torch.arange(self._sizes[0] + 1, device=self._row.device))
        return self._rowptr

    def rowcount(self) -> Tensor:
        """Return the number of elements of each row."""
        bounds = self.rowptr()
        return bounds[1:] - bounds[:-1]

    def csr2csc(self) -> Tensor:
        """Return the order of the elements by column and row."""
        if self._csr2csc is None:
            self._csr2csc = order(self._col, self._row, max(self._sizes[0], 1))
        return self._csr2csc

    def csc2csr(self) -> Tensor:
        """Return the order by row and column of the elements that are by column and row."""
        return self.csr2csc().argsort()

    def colptr(self) -> Tensor:
        """Return the bounds of the columns."""
        if self._colptr is None:
            ordered = self._col[self.csr2csc()].contiguous()
            self._colptr = torch.searchsorted(ordered, torch.arange(self._sizes[1] + 1, device=ordered.device))
        return self._colptr

    def colcount(self) -> Tensor:
        """Return the number of elements of each column."""
        bounds = self.colptr()
        return bounds[1:] - bounds[:-1]

    def set_value(self, value: Tensor | None, layout: str | None = None) -> SparseStorage:
        """Return a storage with other values; with ``layout="csc"`` they are by column and row."""
        if value is not None and layout in ("csc", "CSC"):
            value = value[self.csc2csr()]
        return SparseStorage(self._row, None, self._col, value, self._sizes, True)

    def is_coalesced(self) -> bool:
        """Return whether each place is there once."""
        key = self._row * max(self._sizes[1], 1) + self._col
        return not bool((key[1:] == key[:-1]).any())

    def coalesce(self, reduce: str = "add") -> SparseStorage:
        """Return a storage with each place once, and its values reduced."""
        places, value = coalesce(torch.stack([self._row, self._col]), self._value, *self._sizes, reduce)
        return SparseStorage(places[0], None, places[1], value, self._sizes, True)


__all__ = ["SparseStorage", "elements_of"]

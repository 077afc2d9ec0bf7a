"""torch_sparse.storage: rows, columns and values of a sparse matrix, by row and column."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mstorch as torch

from .coalesce import coalesce, order

Tensor = torch.Tensor
CACHED = ("rowcount", "colptr", "colcount", "csr2csc", "csc2csr")
"""Parts of a sparse matrix that are computed on their first use and cached, and the cached bounds of rows."""


def elements_of(bounds: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each element of some rows of a matrix, one row after the other, the number of its row among them and its place.
    ``bounds`` are those of the matrix's rows."""
    counts = (bounds[1:] - bounds[:-1])[rows]
    number = torch.arange(rows.numel(), device=bounds.device).repeat_interleave(counts)
    within = torch.arange(number.numel(), device=bounds.device) - (counts.cumsum(0) - counts)[number]
    return number, bounds[:-1][rows[number]] + within


def by_column(layout: str | None) -> bool:
    """Return whether values are by column and row; raise ValueError for an unknown layout."""
    if layout is not None and layout.lower() not in ("coo", "csr", "csc"):
        raise ValueError(f"layout must be coo, csr or csc, got {layout!r}")
    return layout is not None and layout.lower() == "csc"


def get_layout(layout: str | None = None) -> str:
    """Return a layout: "coo", "csr" or "csc"; warn and return "coo" for None."""
    if layout is None:
        warnings.warn("no `layout` is given: values are taken to be by row, \"coo\"", stacklevel=2)
        return "coo"
    by_column(layout)
    return layout.lower()


class SparseStorage:
    """Places and values of a sparse matrix. They are sorted by row and column; the bounds of rows and columns are computed once, when
    asked for."""

    def __init__(
        self, row: Tensor | None = None, rowptr: Tensor | None = None, col: Tensor | None = None, value: Tensor | None = None,
        sparse_sizes: tuple[int | None, int | None] | None = None, rowcount: Tensor | None = None, colptr: Tensor | None = None,
        colcount: Tensor | None = None, csr2csc: Tensor | None = None, csc2csr: Tensor | None = None, is_sorted: bool = False,
        trust_data: bool = False,
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
                csr2csc = csc2csr = None
        self._row, self._col, self._value, self._sparse_sizes = row, col, value, (sizes[0], sizes[1])
        self._rowptr, self._rowcount, self._colptr, self._colcount = rowptr, rowcount, colptr, colcount
        self._csr2csc, self._csc2csr = csr2csc, csc2csr

    @classmethod
    def empty(cls) -> SparseStorage:
        """Return a storage without elements."""
        none = torch.zeros(0, dtype=torch.int64)
        return cls(none, None, none, None, (0, 0), is_sorted=True)

    # Parts

    def has_row(self) -> bool:
        """Return whether rows are there: they always are."""
        return True

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
        return self._sparse_sizes

    def sparse_size(self, dim: int) -> int:
        """Return the number of rows or of columns."""
        return self._sparse_sizes[dim]

    def has_rowptr(self) -> bool:
        """Return whether the bounds of rows are kept."""
        return self._rowptr is not None

    def rowptr(self) -> Tensor:
        """Return the bounds of the rows."""
        if self._rowptr is None:
            self._rowptr = torch.searchsorted(self._row.contiguous(), torch.arange(self._sparse_sizes[0] + 1, device=self._row.device))
        return self._rowptr

    def has_rowcount(self) -> bool:
        """Return whether the numbers of elements of rows are kept."""
        return self._rowcount is not None

    def rowcount(self) -> Tensor:
        """Return the number of elements of each row."""
        if self._rowcount is None:
            bounds = self.rowptr()
            self._rowcount = bounds[1:] - bounds[:-1]
        return self._rowcount

    def has_csr2csc(self) -> bool:
        """Return whether the order by column is kept."""
        return self._csr2csc is not None

    def csr2csc(self) -> Tensor:
        """Return the order of the elements by column and row."""
        if self._csr2csc is None:
            self._csr2csc = order(self._col, self._row, max(self._sparse_sizes[0], 1))
        return self._csr2csc

    def has_csc2csr(self) -> bool:
        """Return whether the order back is kept."""
        return self._csc2csr is not None

    def csc2csr(self) -> Tensor:
        """Return the order by row and column of the elements that are by column and row."""
        if self._csc2csr is None:
            self._csc2csr = self.csr2csc().argsort()
        return self._csc2csr

    def has_colptr(self) -> bool:
        """Return whether the bounds of columns are kept."""
        return self._colptr is not None

    def colptr(self) -> Tensor:
        """Return the bounds of the columns."""
        if self._colptr is None:
            ordered = self._col[self.csr2csc()].contiguous()
            self._colptr = torch.searchsorted(ordered, torch.arange(self._sparse_sizes[1] + 1, device=ordered.device))
        return self._colptr

    def has_colcount(self) -> bool:
        """Return whether the numbers of elements of columns are kept."""
        return self._colcount is not None

    def colcount(self) -> Tensor:
        """Return the number of elements of each column."""
        if self._colcount is None:
            bounds = self.colptr()
            self._colcount = bounds[1:] - bounds[:-1]
        return self._colcount

    # Caches

    def fill_cache_(self) -> SparseStorage:
        """Compute what is kept."""
        self.rowptr()
        for name in CACHED:
            getattr(self, name)()
        return self

    def clear_cache_(self) -> SparseStorage:
        """Forget what is kept, but for the bounds of rows."""
        for name in CACHED:
            setattr(self, f"_{name}", None)
        return self

    def cached_keys(self) -> list[str]:
        """Return the names of what is kept."""
        return [name for name in CACHED if getattr(self, f"_{name}") is not None]

    def num_cached_keys(self) -> int:
        """Return the number of things that are kept."""
        return len(self.cached_keys())

    # Other storages

    def replaced(self, **parts: Any) -> SparseStorage:
        """Return a storage with other parts, and what is kept of this one."""
        names = ("row", "rowptr", "col", "value", "sparse_sizes", *CACHED)
        return type(self)(**{**{name: getattr(self, f"_{name}") for name in names}, "is_sorted": True, **parts})

    def mapped(self, change: Callable[[Tensor], Tensor], places: bool = True) -> SparseStorage:
        """Return a storage whose tensors (or values alone) are changed by a function."""
        names = ("row", "rowptr", "col", *CACHED, "value") if places else ("value",)
        own = {name: getattr(self, f"_{name}") for name in names}
        return self.replaced(**{name: None if item is None else change(item) for name, item in own.items()})

    def copy(self) -> SparseStorage:
        """Return a storage of the same tensors."""
        return self.replaced()

    def clone(self) -> SparseStorage:
        """Return a storage of copies."""
        return self.mapped(lambda item: item.clone())

    def set_value_(self, value: Tensor | None, layout: str | None = None) -> SparseStorage:
        """Replace the values; with ``layout="csc"`` they are by column and row."""
        if value is not None and by_column(layout):
            value = value[self.csc2csr()]
        if value is not None and value.shape[0] != self._col.numel():
            raise ValueError(f"{value.shape[0]} values do not fit {self._col.numel()} elements")
        self._value = None if value is None else value.to(self._col.device)
        return self

    def set_value(self, value: Tensor | None, layout: str | None = None) -> SparseStorage:
        """Return a storage with other values; with ``layout="csc"`` they are by column and row."""
        return self.copy().set_value_(value, layout)

    def type(self, dtype: torch.dtype, non_blocking: bool = False) -> SparseStorage:
        """Return a storage with values of a dtype."""
        return self.mapped(lambda item: item.to(dtype, non_blocking=non_blocking), places=False)

    def to_device(self, device: Any, non_blocking: bool = False) -> SparseStorage:
        """Return a storage on a device."""
        return self.mapped(lambda item: item.to(device, non_blocking=non_blocking))

    def sparse_resize(self, sparse_sizes: tuple[int, int]) -> SparseStorage:
        """Return a storage with more rows and columns, or with fewer that are not empty."""
        orders: dict[str, Any] = {"csr2csc": self._csr2csc, "csc2csr": self._csc2csr}
        return type(self)(self._row, None, self._col, self._value, sparse_sizes, is_sorted=True, **orders)

    def sparse_reshape(self, num_rows: int, num_cols: int) -> SparseStorage:
        """Return a storage with the same elements, row by row, in another shape; one number may be -1."""
        count = self._sparse_sizes[0] * self._sparse_sizes[1]
        num_rows = count // num_cols if num_rows == -1 else num_rows
        num_cols = count // num_rows if num_cols == -1 else num_cols
        if num_rows * num_cols != count:
            raise ValueError(f"a matrix of {list(self._sparse_sizes)} cannot be one of {[num_rows, num_cols]}")
        place = self._row * self._sparse_sizes[1] + self._col
        row = torch.div(place, num_cols, rounding_mode="floor")
        return type(self)(row, None, place % num_cols, self._value, (num_rows, num_cols), is_sorted=True)

    def is_coalesced(self) -> bool:
        """Return whether each place is there once."""
        key = self._row * max(self._sparse_sizes[1], 1) + self._col
        return not bool((key[1:] == key[:-1]).any())

    def coalesce(self, reduce: str = "add") -> SparseStorage:
        """Return a storage with each place once, and its values reduced."""
        places, value = coalesce(torch.stack([self._row, self._col]), self._value, *self._sparse_sizes, reduce)
        return type(self)(places[0], None, places[1], value, self._sparse_sizes, is_sorted=True)


__all__ = ["CACHED", "SparseStorage", "by_column", "elements_of", "get_layout"]

"""torch_sparse: what the parts of class SparseTensor use of each other."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mstorch as torch

from .storage import SparseStorage

Tensor = torch.Tensor


class Stored:
    """Matrix of a storage."""

    storage: SparseStorage

    if TYPE_CHECKING:

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    @classmethod
    def from_storage(cls, storage: SparseStorage) -> Any:
        """Return a matrix of a storage."""
        made = cls.__new__(cls)
        made.storage = storage
        return made

    def coo(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return rows, columns and values."""
        return self.storage.row(), self.storage.col(), self.storage.value()

    def csr(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the bounds of rows, columns and values."""
        return self.storage.rowptr(), self.storage.col(), self.storage.value()

    def csc(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the bounds of columns, rows and values, by column."""
        order, value = self.storage.csr2csc(), self.storage.value()
        return self.storage.colptr(), self.storage.row()[order], None if value is None else value[order]

    def has_value(self) -> bool:
        """Return whether there are values."""
        return self.storage.has_value()

    def set_value(self, value: Tensor | None, layout: str | None = None) -> Any:
        """Return the matrix with other values."""
        return self.from_storage(self.storage.set_value(value, layout))

    def set_value_(self, value: Tensor | None, layout: str | None = None) -> Any:
        """Replace the values."""
        self.storage.set_value_(value, layout)
        return self

    def sparse_sizes(self) -> tuple[int, int]:
        """Return the numbers of rows and columns."""
        return self.storage.sparse_sizes()

    def sparse_size(self, dim: int) -> int:
        """Return the number of rows or of columns."""
        return self.storage.sparse_size(dim)

    def sizes(self) -> list[int]:
        """Return the shape."""
        value = self.storage.value()
        return [*self.sparse_sizes(), *(value.shape[1:] if value is not None else ())]

    def size(self, dim: int) -> int:
        """Return the length of a dimension."""
        return self.sizes()[dim]

    def dim(self) -> int:
        """Return the number of dimensions."""
        return len(self.sizes())

    def nnz(self) -> int:
        """Return the number of elements."""
        return self.storage.col().numel()

    def device(self) -> torch.device:
        """Return the device."""
        return self.storage.col().device

    def dtype(self) -> torch.dtype:
        """Return the values' dtype."""
        value = self.storage.value()
        return torch.get_default_dtype() if value is None else value.dtype

    def t(self) -> Any:
        """Return the transpose."""
        storage = self.storage
        order, value = storage.csr2csc(), storage.value()
        rows, columns = self.sparse_sizes()
        own = None if value is None else value[order]
        return self.from_storage(
            SparseStorage(
                storage.col()[order], storage._colptr, storage.row()[order], own, (columns, rows), storage._colcount, storage._rowptr,
                storage._rowcount, storage._csc2csr, order, is_sorted=True,
            )
        )  # fmt: skip

    def _values(self, dtype: Any = None) -> Tensor:
        value = self.storage.value()
        if value is None:
            return torch.ones(self.nnz(), dtype=dtype, device=self.device())
        return value if dtype is None else value.to(dtype)


__all__ = ["Stored"]

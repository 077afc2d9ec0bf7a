"""torch_sparse.tensor: SparseTensor, and functions of it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from ..torch_scatter import scatter
from .matmul import matmul
from .storage import SparseStorage, elements_of

Tensor = torch.Tensor


class SparseTensor:
    """Sparse matrix, whose values may have further dimensions; without values, each is 1."""

    def __init__(
        self, row: Tensor | None = None, rowptr: Tensor | None = None, col: Tensor | None = None, value: Tensor | None = None,
        sparse_sizes: tuple[int | None, int | None] | None = None, is_sorted: bool = False, trust_data: bool = False,
    ) -> None:  # fmt: skip
        self.storage = SparseStorage(row, rowptr, col, value, sparse_sizes, is_sorted)

    @classmethod
    def from_storage(cls, storage: SparseStorage) -> SparseTensor:
        """Return a matrix of a storage."""
        made = cls.__new__(cls)
        made.storage = storage
        return made

    @classmethod
    def from_edge_index(
        cls, edge_index: Tensor, edge_attr: Tensor | None = None, sparse_sizes: tuple[int | None, int | None] | None = None,
        is_sorted: bool = False, trust_data: bool = False,
    ) -> SparseTensor:  # fmt: skip
        """Return a matrix of places (2, elements) and values."""
        return cls(edge_index[0], None, edge_index[1], edge_attr, sparse_sizes, is_sorted)

    @classmethod
    def from_dense(cls, mat: Tensor, has_value: bool = True) -> SparseTensor:
        """Return the elements of a dense matrix that are not zero."""
        filled = mat if mat.dim() == 2 else mat.flatten(2).abs().sum(2)
        row, col = filled.nonzero().t()
        return cls(row, None, col, mat[row, col] if has_value else None, (mat.shape[0], mat.shape[1]), True)

    @classmethod
    def from_torch_sparse_coo_tensor(cls, mat: Tensor, has_value: bool = True) -> SparseTensor:
        """Return a matrix of torch.sparse_coo."""
        mat = mat.coalesce()
        row, col = mat.indices()
        return cls(row, None, col, mat.values() if has_value else None, (mat.shape[0], mat.shape[1]), True)

    @classmethod
    def from_torch_sparse_csr_tensor(cls, mat: Tensor, has_value: bool = True) -> SparseTensor:
        """Return a matrix of torch.sparse_csr."""
        value = mat.values() if has_value else None
        return cls(None, mat.crow_indices(), mat.col_indices(), value, (mat.shape[0], mat.shape[1]), True)

    @classmethod
    def from_scipy(cls, mat: Any, has_value: bool = True) -> SparseTensor:
        """Return a matrix of scipy.sparse."""
        mat = mat.tocsr()
        row_ends, col = torch.from_numpy(mat.indptr).long(), torch.from_numpy(mat.indices).long()
        return cls(None, row_ends, col, torch.from_numpy(mat.data) if has_value else None, mat.shape)

    @classmethod
    def eye(cls, M: int, N: int | None = None, has_value: bool = True, dtype: Any = None, device: Any = None, **rest: Any) -> SparseTensor:
        """Return the identity."""
        places = torch.arange(min(M, M if N is None else N), device=device)
        value = torch.ones(len(places), dtype=dtype, device=device) if has_value else None
        return cls(places, None, places, value, (M, M if N is None else N), True)

    # Parts

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

    def set_value(self, value: Tensor | None, layout: str | None = None) -> SparseTensor:
        """Return the matrix with other values."""
        return self.from_storage(self.storage.set_value(value, layout))

    def set_value_(self, value: Tensor | None, layout: str | None = None) -> SparseTensor:
        """Replace the values."""
        self.storage = self.storage.set_value(value, layout)
        return self

    def fill_value(self, fill_value: float, dtype: Any = None) -> SparseTensor:
        """Return the matrix with one value in all places."""
        return self.set_value(torch.full((self.nnz(),), fill_value, dtype=dtype or torch.get_default_dtype(), device=self.device()))

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

    numel = nnz

    def density(self) -> float:
        """Return the share of places that have an element."""
        rows, columns = self.sparse_sizes()
        return self.nnz() / (rows * columns) if rows and columns else 0.0

    def device(self) -> torch.device:
        """Return the device."""
        return self.storage.col().device

    def dtype(self) -> torch.dtype:
        """Return the values' dtype."""
        value = self.storage.value()
        return torch.get_default_dtype() if value is None else value.dtype

    def requires_grad(self) -> bool:
        """Return whether the values require gradients."""
        value = self.storage.value()
        return value is not None and value.requires_grad

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Let the values require gradients; there are ones if there were none."""
        if requires_grad and not self.has_value():
            self.set_value_(torch.ones(self.nnz(), device=self.device()))
        value = self.storage.value()
        if value is not None:
            value.requires_grad_(requires_grad)
        return self

    def detach(self) -> SparseTensor:
        """Return the matrix without gradients."""
        value = self.storage.value()
        return self if value is None else self.set_value(value.detach())

    def is_coalesced(self) -> bool:
        """Return whether each place is there once."""
        return self.storage.is_coalesced()

    def coalesce(self, reduce: str = "sum") -> SparseTensor:
        """Return the matrix with each place once."""
        return self.from_storage(self.storage.coalesce(reduce))

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """Return the matrix on a device, or with values of a dtype."""
        value = self.storage.value()
        moved = torch.empty(0, dtype=self.dtype()).to(*args, **kwargs)
        row, col, _ = self.coo()
        own = None if value is None else value.to(*args, **kwargs)
        return type(self)(row.to(moved.device), None, col.to(moved.device), own, self.sparse_sizes(), True)

    def cpu(self) -> SparseTensor:
        """Return the matrix in host memory."""
        return self.to("cpu")

    def float(self) -> SparseTensor:
        """Return the matrix in single precision."""
        return self.to(torch.float32)

    def double(self) -> SparseTensor:
        """Return the matrix in double precision."""
        return self.to(torch.float64)

    # Other forms

    def _values(self, dtype: Any = None) -> Tensor:
        value = self.storage.value()
        if value is None:
            return torch.ones(self.nnz(), dtype=dtype, device=self.device())
        return value if dtype is None else value.to(dtype)

    def to_dense(self, dtype: Any = None) -> Tensor:
        """Return a dense matrix; values of one place are summed."""
        row, col, _ = self.coo()
        value = self._values(dtype)
        rows, columns = self.sparse_sizes()
        flat = value.new_zeros(rows * columns, *value.shape[1:]).index_add(0, row * columns + col, value)
        return flat.view(rows, columns, *value.shape[1:])

    def to_torch_sparse_coo_tensor(self, dtype: Any = None) -> Tensor:
        """Return a matrix of torch.sparse_coo."""
        row, col, _ = self.coo()
        return torch.sparse_coo_tensor(torch.stack([row, col]), self._values(dtype), self.sizes())

    def to_torch_sparse_csr_tensor(self, dtype: Any = None) -> Tensor:
        """Return a matrix of torch.sparse_csr."""
        row_ends, col, _ = self.csr()
        return torch.sparse_csr_tensor(row_ends, col, self._values(dtype), self.sizes())

    def t(self) -> SparseTensor:
        """Return the transpose."""
        order, value = self.storage.csr2csc(), self.storage.value()
        row, col, _ = self.coo()
        rows, columns = self.sparse_sizes()
        own = None if value is None else value[order]
        return type(self)(col[order], None, row[order], own, (columns, rows), True)

    # Computation

    def matmul(self, other: Any, reduce: str = "sum") -> Any:
        """Return the product with a dense or sparse matrix."""
        return matmul(self, other, reduce)

    spmm = matmul

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def _with_dense(self, other: Tensor, multiply: bool) -> SparseTensor:
        row, col, value = self.coo()
        rows, columns = self.sparse_sizes()
        if other.shape[:2] == (rows, 1):
            each = other[:, 0].index_select(0, row)
        elif other.shape[:2] == (1, columns):
            each = other[0].index_select(0, col)
        elif other.shape[:2] == (rows, columns):
            each = other[row, col]
        else:
            raise ValueError(f"sizes of {list(other.shape)} do not fit a sparse matrix of {[rows, columns]}")
        if multiply:
            return self.set_value(each if value is None else value * each)
        return self.set_value((1 if value is None else value) + each)

    def mul(self, other: Tensor) -> SparseTensor:
        """Return the matrix with each row or column times a number."""
        return self._with_dense(other, True)

    def add(self, other: Any) -> SparseTensor:
        """Return the matrix with a number added to each element of a row or column, or the sum of two sparse matrices."""
        if isinstance(other, Tensor):
            return self._with_dense(other, False)
        sizes = tuple(map(max, self.sparse_sizes(), other.sparse_sizes()))
        row, col, value = (
            None if first is None or second is None else torch.cat([first, second]) for first, second in zip(self.coo(), other.coo())
        )
        return type(self)(row, None, col, value, (sizes[0], sizes[1])).coalesce()

    def __mul__(self, other: Any) -> SparseTensor:
        return self.mul(other) if isinstance(other, Tensor) else self.set_value(self._values() * other)

    __rmul__ = __mul__

    def __add__(self, other: Any) -> SparseTensor:
        return self.add(other)

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

    # Parts of the matrix

    def _kept(self, mask: Tensor, row: Tensor, col: Tensor, sizes: tuple[int, int]) -> SparseTensor:
        value = self.storage.value()
        return type(self)(row[mask], None, col[mask], None if value is None else value[mask], sizes)

    def index_select(self, dim: int, index: Tensor) -> SparseTensor:
        """Return rows, or columns, in the order of an index."""
        if dim == 1:
            return self.t().index_select(0, index).t()
        row_ends, col, value = self.csr()
        row, places = elements_of(row_ends, index)
        own = None if value is None else value[places]
        return type(self)(row, None, col[places], own, (index.numel(), self.sparse_size(1)), True)

    def narrow(self, dim: int, start: int, length: int) -> SparseTensor:
        """Return neighbouring rows or columns."""
        row, col, _ = self.coo()
        rows, columns = self.sparse_sizes()
        if dim == 0:
            return self._kept((row >= start) & (row < start + length), row - start, col, (length, columns))
        return self._kept((col >= start) & (col < start + length), row, col - start, (rows, length))

    def select(self, dim: int, idx: int) -> SparseTensor:
        """Return one row or column, as a matrix."""
        return self.narrow(dim, idx + self.sparse_size(dim) if idx < 0 else idx, 1)

    def masked_select(self, dim: int, mask: Tensor) -> SparseTensor:
        """Return the rows or columns of a mask."""
        return self.index_select(dim, mask.nonzero().view(-1))

    def __getitem__(self, index: Any) -> SparseTensor:
        found = self
        for dim, item in enumerate(index if isinstance(index, tuple) else (index,)):
            if isinstance(item, slice):
                start, stop, step = item.indices(found.sparse_size(dim))
                places = range(start, stop, step)
                whole = step == 1
                found = found.narrow(dim, start, len(places)) if whole else found.index_select(dim, torch.tensor(list(places)))
            elif isinstance(item, int):
                found = found.select(dim, item)
            elif isinstance(item, Tensor) and item.dtype is torch.bool:
                found = found.masked_select(dim, item)
            else:
                found = found.index_select(dim, torch.as_tensor(item, device=found.device()))
        return found

    def remove_diag(self, k: int = 0) -> SparseTensor:
        """Return the matrix without the elements of a diagonal."""
        row, col, _ = self.coo()
        return self._kept(col - row != k, row, col, self.sparse_sizes())

    def _diagonal_length(self, k: int) -> int:
        rows, columns = self.sparse_sizes()
        return max(min(rows - max(-k, 0), columns - max(k, 0)), 0)

    def set_diag(self, values: Tensor | None = None, k: int = 0) -> SparseTensor:
        """Return the matrix with other elements on a diagonal, ones unless given."""
        rest = self.remove_diag(k)
        row, col, value = rest.coo()
        first, count = max(-k, 0), self._diagonal_length(k)
        places = torch.arange(first, first + count, device=self.device())
        if value is not None:
            values = value.new_ones(count, *value.shape[1:]) if values is None else values
            value = torch.cat([value, values])
        return type(self)(torch.cat([row, places]), None, torch.cat([col, places + k]), value, self.sparse_sizes())

    def fill_diag(self, fill_value: complex, k: int = 0) -> SparseTensor:
        """Return the matrix with one value on a diagonal."""
        value = self.storage.value()
        return self.set_diag(None if value is None else value.new_full((self._diagonal_length(k), *value.shape[1:]), fill_value), k)

    def get_diag(self) -> Tensor:
        """Return the diagonal, zero where there is no element."""
        row, col, _ = self.coo()
        on, value = row == col, self._values()
        found = value.new_zeros(min(self.sparse_sizes()), *value.shape[1:])
        return found.index_put((row[on],), value[on])

    def is_symmetric(self) -> bool:
        """Return whether the matrix is its transpose."""
        other = self.t()
        alike = [one is None or two is None or torch.equal(one, two) for one, two in zip(self.coo(), other.coo())]
        return self.sparse_sizes() == other.sparse_sizes() and all(alike)

    def __repr__(self) -> str:
        row, col, value = self.coo()
        told = f"row={row}, col={col}" + (f", val={value}" if value is not None else "")
        return f"{type(self).__name__}({told}, size={tuple(self.sizes())}, nnz={self.nnz()}, density={100 * self.density():.02f}%)"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'SparseTensor' object has no attribute '{name}'")
        raise AttributeError(
            f"'SparseTensor' object has no attribute '{name}' (mstorch does not provide it yet); coo(), csr() and set_value() give parts"
        )


def cat(tensors: Sequence[SparseTensor], dim: int | tuple[int, int]) -> SparseTensor:
    """Return matrices below each other (0), beside each other (1) or along the diagonal (0, 1)."""
    down, aside = dim in (0, (0, 1)), dim in (1, (0, 1))
    if not down and not aside:
        raise IndexError(f"matrices are joined along 0, 1 or (0, 1), not {dim}")
    rows, columns, row, col, value = 0, 0, [], [], []
    for one in tensors:
        own = one.coo()
        row.append(own[0] + (rows if down else 0))
        col.append(own[1] + (columns if aside else 0))
        value.append(own[2])
        rows = rows + one.size(0) if down else max(rows, one.size(0))
        columns = columns + one.size(1) if aside else max(columns, one.size(1))
    filled = [item for item in value if item is not None]
    values = torch.cat(filled) if len(filled) == len(value) and filled else None
    return SparseTensor(torch.cat(row), None, torch.cat(col), values, (rows, columns))


def t(src: SparseTensor) -> SparseTensor:
    """Return the transpose."""
    return src.t()


def sum_(src: SparseTensor, dim: int | None = None) -> Tensor:
    """Return sums over a dimension."""
    return src.sum(dim)


def mean(src: SparseTensor, dim: int | None = None) -> Tensor:
    """Return means over a dimension."""
    return src.mean(dim)


def min_(src: SparseTensor, dim: int | None = None) -> Tensor:
    """Return the smallest elements over a dimension."""
    return src.min(dim)


def max_(src: SparseTensor, dim: int | None = None) -> Tensor:
    """Return the largest elements over a dimension."""
    return src.max(dim)


def index_select(src: SparseTensor, dim: int, idx: Tensor) -> SparseTensor:
    """Return rows or columns in the order of an index."""
    return src.index_select(dim, idx)


def masked_select(src: SparseTensor, dim: int, mask: Tensor) -> SparseTensor:
    """Return the rows or columns of a mask."""
    return src.masked_select(dim, mask)


def narrow(src: SparseTensor, dim: int, start: int, length: int) -> SparseTensor:
    """Return neighbouring rows or columns."""
    return src.narrow(dim, start, length)


def select(src: SparseTensor, dim: int, idx: int) -> SparseTensor:
    """Return one row or column."""
    return src.select(dim, idx)


def remove_diag(src: SparseTensor, k: int = 0) -> SparseTensor:
    """Return the matrix without a diagonal."""
    return src.remove_diag(k)


def set_diag(src: SparseTensor, values: Tensor | None = None, k: int = 0) -> SparseTensor:
    """Return the matrix with other elements on a diagonal."""
    return src.set_diag(values, k)


def fill_diag(src: SparseTensor, fill_value: float, k: int = 0) -> SparseTensor:
    """Return the matrix with one value on a diagonal."""
    return src.fill_diag(fill_value, k)


"""torch_sparse.tensor: SparseTensor, and functions of it."""
from __future__ import annotations

import builtins
import importlib
from typing import Any

import mstorch as torch

from ..drawing import array
from .elementwise import Elementwise
from .sampling import Sampled
from .selecting import Selecting
from .storage import SparseStorage, by_column

Tensor = torch.Tensor
Sizes = tuple[builtins.int | None, builtins.int | None]


class SparseTensor(Elementwise, Selecting, Sampled):
    """Sparse matrix, whose values may have further dimensions; without values, each is 1."""

    def __init__(
        self, row: Tensor | None = None, rowptr: Tensor | None = None, col: Tensor | None = None, value: Tensor | None = None,
        sparse_sizes: Sizes | None = None, is_sorted: builtins.bool = False, trust_data: builtins.bool = False,
    ) -> None:  # fmt: skip
        self.storage = SparseStorage(row, rowptr, col, value, sparse_sizes, is_sorted=is_sorted)

    @classmethod
    def from_edge_index(
        cls, edge_index: Tensor, edge_attr: Tensor | None = None, sparse_sizes: Sizes | None = None,
        is_sorted: builtins.bool = False, trust_data: builtins.bool = False,
    ) -> SparseTensor:  # fmt: skip
        """Return a matrix of places (2, elements) and values."""
        return cls(edge_index[0], None, edge_index[1], edge_attr, sparse_sizes, is_sorted)

    @classmethod
    def from_dense(cls, mat: Tensor, has_value: builtins.bool = True) -> SparseTensor:
        """Return the elements of a dense matrix that are not zero."""
        filled = mat if mat.dim() == 2 else mat.flatten(2).abs().sum(2)
        row, col = filled.nonzero().t()
        return cls(row, None, col, mat[row, col] if has_value else None, (mat.shape[0], mat.shape[1]), True)

    @classmethod
    def from_torch_sparse_coo_tensor(cls, mat: Tensor, has_value: builtins.bool = True) -> SparseTensor:
        """Return a matrix of torch.sparse_coo."""
        mat = mat.coalesce()
        row, col = mat.indices()
        return cls(row, None, col, mat.values() if has_value else None, (mat.shape[0], mat.shape[1]), True)

    @classmethod
    def from_torch_sparse_csr_tensor(cls, mat: Tensor, has_value: builtins.bool = True) -> SparseTensor:
        """Return a matrix of torch.sparse_csr."""
        value = mat.values() if has_value else None
        return cls(None, mat.crow_indices(), mat.col_indices(), value, (mat.shape[0], mat.shape[1]), True)

    @classmethod
    def from_scipy(cls, mat: Any, has_value: builtins.bool = True) -> SparseTensor:
        """Return a matrix of scipy.sparse."""
        mat = mat.tocsr()
        row_ends, col = torch.from_numpy(mat.indptr).long(), torch.from_numpy(mat.indices).long()
        return cls(None, row_ends, col, torch.from_numpy(mat.data) if has_value else None, mat.shape)

    @classmethod
    def eye(
        cls, M: builtins.int, N: builtins.int | None = None, has_value: builtins.bool = True, dtype: Any = None, device: Any = None,
        fill_cache: builtins.bool = False,
    ) -> SparseTensor:  # fmt: skip
        """Return the identity, with what it keeps computed if ``fill_cache``."""
        places = torch.arange(min(M, M if N is None else N), device=device)
        value = torch.ones(len(places), dtype=dtype, device=device) if has_value else None
        made = cls(places, None, places, value, (M, M if N is None else N), True)
        return made.fill_cache_() if fill_cache else made

    # Parts

    def fill_value(self, fill_value: builtins.float, dtype: Any = None) -> SparseTensor:
        """Return the matrix with one value in all places."""
        return self.set_value(torch.full((self.nnz(),), fill_value, dtype=dtype or torch.get_default_dtype(), device=self.device()))

    def fill_value_(self, fill_value: builtins.float, dtype: Any = None) -> SparseTensor:
        """Set one value in all places."""
        return self.set_value_(self.fill_value(fill_value, dtype).storage.value())

    def numel(self) -> builtins.int:
        """Return the number of values."""
        value = self.storage.value()
        return self.nnz() if value is None else value.numel()

    def density(self) -> builtins.float:
        """Return the share of places that have an element."""
        rows, columns = self.sparse_sizes()
        return self.nnz() / (rows * columns) if rows and columns else 0.0

    def requires_grad(self) -> builtins.bool:
        """Return whether the values require gradients."""
        value = self.storage.value()
        return value is not None and value.requires_grad

    def requires_grad_(self, requires_grad: builtins.bool = True) -> SparseTensor:
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

    def detach_(self) -> SparseTensor:
        """Take the values out of autograd's graph."""
        value = self.storage.value()
        if value is not None:
            value.detach_()
        return self

    def sparsity(self) -> builtins.float:
        """Return the share of places that have no element."""
        return 1 - self.density()

    def avg_row_length(self) -> builtins.float:
        """Return the mean number of elements of rows."""
        return self.nnz() / self.sparse_size(0)

    def avg_col_length(self) -> builtins.float:
        """Return the mean number of elements of columns."""
        return self.nnz() / self.sparse_size(1)

    def bandwidth(self) -> builtins.int:
        """Return the largest distance of an element from the diagonal."""
        row, col, _ = self.coo()
        return int((row - col).abs().max()) if self.nnz() else 0

    def avg_bandwidth(self) -> builtins.float:
        """Return the mean distance of elements from the diagonal."""
        row, col, _ = self.coo()
        return float((row - col).abs().double().mean())

    def bandwidth_proportion(self, bandwidth: builtins.int) -> builtins.float:
        """Return the share of elements that are no further from the diagonal."""
        row, col, _ = self.coo()
        return float(((row - col).abs() <= bandwidth).double().mean())

    def is_quadratic(self) -> builtins.bool:
        """Return whether there are as many rows as columns."""
        return self.sparse_size(0) == self.sparse_size(1)

    # Copies, caches, dtypes and devices

    def copy(self) -> SparseTensor:
        """Return a matrix of the same tensors."""
        return self.from_storage(self.storage.copy())

    def clone(self) -> SparseTensor:
        """Return a matrix of copies."""
        return self.from_storage(self.storage.clone())

    def fill_cache_(self) -> SparseTensor:
        """Compute what is kept: bounds, numbers and orders of rows and columns."""
        self.storage.fill_cache_()
        return self

    def clear_cache_(self) -> SparseTensor:
        """Forget what is kept."""
        self.storage.clear_cache_()
        return self

    def sparse_resize(self, sparse_sizes: tuple[builtins.int, builtins.int]) -> SparseTensor:
        """Return the matrix with more rows and columns."""
        return self.from_storage(self.storage.sparse_resize(sparse_sizes))

    def sparse_reshape(self, num_rows: builtins.int, num_cols: builtins.int) -> SparseTensor:
        """Return the elements, row by row, in another shape."""
        return self.from_storage(self.storage.sparse_reshape(num_rows, num_cols))

    def type(self, dtype: torch.dtype, non_blocking: builtins.bool = False) -> SparseTensor:
        """Return the matrix with values of a dtype."""
        return self if self.dtype() == dtype else self.from_storage(self.storage.type(dtype, non_blocking))

    def type_as(self, tensor: Tensor, non_blocking: builtins.bool = False) -> SparseTensor:
        """Return the matrix with values of a tensor's dtype."""
        return self.type(tensor.dtype, non_blocking)

    def to_device(self, device: Any, non_blocking: builtins.bool = False) -> SparseTensor:
        """Return the matrix on a device."""
        return self.from_storage(self.storage.to_device(device, non_blocking))

    def device_as(self, tensor: Tensor, non_blocking: builtins.bool = False) -> SparseTensor:
        """Return the matrix on a tensor's device."""
        return self.to_device(tensor.device, non_blocking)

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """Return the matrix on a device, or with values of a dtype."""
        moved = torch.empty(0, dtype=self.dtype()).to(*args, **kwargs)
        places = any(isinstance(item, (str, int, torch.device, Tensor)) for item in (*args, kwargs.get("device")))
        storage = self.storage.to_device(moved.device) if places else self.storage
        return self.from_storage(storage.type(moved.dtype) if moved.dtype != self.dtype() else storage.copy())

    def cpu(self) -> SparseTensor:
        """Return the matrix in host memory."""
        return self.to("cpu")

    def cuda(self, device: Any = "cuda", non_blocking: builtins.bool = False) -> SparseTensor:
        """Return the matrix on the accelerator."""
        return self.to(device)

    def is_cuda(self) -> builtins.bool:
        """Return whether the matrix is on a CUDA device."""
        return self.storage.col().is_cuda

    def is_floating_point(self) -> builtins.bool:
        """Return whether the values are floating point numbers; ones are."""
        value = self.storage.value()
        return value is None or value.is_floating_point()

    def pin_memory(self) -> SparseTensor:
        """Return the matrix in pinned memory."""
        return self.from_storage(self.storage.mapped(lambda item: item.pin_memory()))

    def is_pinned(self) -> builtins.bool:
        """Return whether the matrix is in pinned memory."""
        return self.storage.col().is_pinned()

    def share_memory_(self) -> SparseTensor:
        """Move the matrix to memory that processes share."""
        for item in (*self.coo(), self.storage._rowptr):
            if item is not None:
                item.share_memory_()
        return self

    def is_shared(self) -> builtins.bool:
        """Return whether processes share the matrix's memory."""
        return self.storage.col().is_shared()

    def bfloat16(self) -> SparseTensor:
        """Return the matrix with values of bfloat16."""
        return self.type(torch.bfloat16)

    def half(self) -> SparseTensor:
        """Return the matrix in half precision."""
        return self.type(torch.half)

    def float(self) -> SparseTensor:
        """Return the matrix in single precision."""
        return self.type(torch.float)

    def double(self) -> SparseTensor:
        """Return the matrix in double precision."""
        return self.type(torch.double)

    def bool(self) -> SparseTensor:
        """Return the matrix with truth values."""
        return self.type(torch.bool)

    def long(self) -> SparseTensor:
        """Return the matrix with values of int64."""
        return self.type(torch.long)

    def int(self) -> SparseTensor:
        """Return the matrix with values of int32."""
        return self.type(torch.int)

    # Other forms

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

    def to_torch_sparse_csc_tensor(self, dtype: Any = None) -> Tensor:
        """Return a matrix of torch.sparse_csc."""
        column_ends, row, value = self.csc()
        value = self._values(dtype) if value is None else value if dtype is None else value.to(dtype)
        return torch.sparse_csc_tensor(column_ends, row, value, self.sizes())

    def to_scipy(self, layout: str | None = None, dtype: Any = None) -> Any:
        """Return a matrix of scipy.sparse: coo, csr (with ``layout``) or csc."""
        sparse = importlib.import_module("scipy.sparse")
        sizes = self.sparse_sizes()
        if layout in (None, "coo", "COO"):
            row, col, _ = self.coo()
            return sparse.coo_matrix((array(self._values(dtype)), (array(row), array(col))), sizes)
        bounds, other, value = self.csc() if by_column(layout) else self.csr()
        value = self._values(dtype) if value is None else value if dtype is None else value.to(dtype)
        return getattr(sparse, "csc_matrix" if by_column(layout) else "csr_matrix")((array(value), array(other), array(bounds)), sizes)

    def to_symmetric(self, reduce: str = "sum") -> SparseTensor:
        """Return the matrix with each element at the mirrored place too, and elements of a place reduced."""
        row, col, value = self.coo()
        size = max(self.sparse_sizes())
        both = None if value is None else torch.cat([value, value])
        return type(self)(torch.cat([row, col]), None, torch.cat([col, row]), both, (size, size)).coalesce(reduce)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, SparseTensor) or self.sizes() != other.sizes():
            return False
        pairs = zip(self.csr(), other.csr())
        return all(one is two if one is None or two is None else torch.equal(one, two) for one, two in pairs)

    __hash__ = object.__hash__

    def is_symmetric(self) -> builtins.bool:
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


from_scipy, to_scipy = SparseTensor.from_scipy, SparseTensor.to_scipy

__all__ = ["SparseTensor", "from_scipy", "to_scipy"]

"""torch_sparse.matmul: products of sparse matrices with dense and sparse ones."""
from __future__ import annotations

from typing import TYPE_CHECKING

import mstorch as torch

from ..torch_scatter import scatter
from .functions import product
from .storage import SparseStorage

if TYPE_CHECKING:
    from .tensor import SparseTensor

Tensor = torch.Tensor


def matmul(src: SparseTensor, other: SparseTensor | Tensor, reduce: str = "sum") -> SparseTensor | Tensor:
    """Return the product; with a dense matrix, terms of a row are reduced by "sum" ("add"), "mean", "min" or "max"."""
    row, col, value = src.coo()
    rows, columns = src.sparse_sizes()
    if isinstance(other, Tensor):
        if other.shape[-2 if other.dim() > 1 else 0] != columns:
            raise RuntimeError(f"a matrix of {columns} columns cannot be multiplied by {list(other.shape)}")
        dim = max(other.dim() - 2, 0)
        terms = other.index_select(dim, col)
        if value is not None:
            terms = terms * (value.to(terms.dtype) if other.dim() == 1 else value.to(terms.dtype).unsqueeze(-1))
        return scatter(terms, row, dim, None, rows, reduce)
    if reduce not in ("sum", "add"):
        raise NotImplementedError(f"mstorch: torch_sparse.matmul of two sparse matrices reduces by sum, not by {reduce}")
    if other.size(0) != columns:
        raise RuntimeError(f"a matrix of {columns} columns cannot be multiplied by one of {other.size(0)} rows")
    found = product((row, col, value), other.coo(), (rows, columns, other.size(1)))
    storage = SparseStorage(found[0], None, found[1], found[2], (rows, other.size(1))).coalesce()
    return src.from_storage(storage)


def spmm(src: SparseTensor, other: Tensor, reduce: str = "sum") -> Tensor:
    """Return the product with a dense matrix."""
    found = matmul(src, other, reduce)
    assert isinstance(found, Tensor)
    return found


def spspmm(src: SparseTensor, other: SparseTensor, reduce: str = "sum") -> SparseTensor:
    """Return the product of two sparse matrices."""
    found = matmul(src, other, reduce)
    assert not isinstance(found, Tensor)
    return found


__all__ = ["matmul", "spmm", "spspmm"]

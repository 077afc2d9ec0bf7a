"""torch_sparse.matmul: products of sparse matrices with dense and sparse ones."""
from __future__ import annotations

from typing import TypeVar

import mstorch as torch

from ..torch_scatter import scatter, scatter_max, scatter_min
from .base import Stored
from .functions import product
from .storage import SparseStorage

Tensor = torch.Tensor
_Sparse = TypeVar("_Sparse", bound=Stored)


def _terms(src: Stored, other: Tensor) -> tuple[Tensor, Tensor, int, None, int]:
    """Return the products that a row's sum consists of, and how they are reduced: arguments of torch_scatter's functions."""
    row, col, value = src.coo()
    rows, columns = src.sparse_sizes()
    if other.shape[-2 if other.dim() > 1 else 0] != columns:
        raise RuntimeError(f"a matrix of {columns} columns cannot be multiplied by {list(other.shape)}")
    dim = max(other.dim() - 2, 0)
    terms = other.index_select(dim, col)
    if value is not None:
        terms = terms * (value.to(terms.dtype) if other.dim() == 1 else value.to(terms.dtype).unsqueeze(-1))
    return terms, row, dim, None, rows


def matmul(src: _Sparse, other: _Sparse | Tensor, reduce: str = "sum") -> _Sparse | Tensor:
    """Return the product; with a dense matrix, terms of a row are reduced by "sum" ("add"), "mean", "min" or "max"."""
    if isinstance(other, Tensor):
        return scatter(*_terms(src, other), reduce)
    if reduce not in ("sum", "add"):
        raise NotImplementedError(f"mstorch: torch_sparse.matmul of two sparse matrices reduces by sum, not by {reduce}")
    row, col, value = src.coo()
    rows, columns = src.sparse_sizes()
    if other.size(0) != columns:
        raise RuntimeError(f"a matrix of {columns} columns cannot be multiplied by one of {other.size(0)} rows")
    found = product((row, col, value), other.coo(), (rows, columns, other.size(1)))
    storage = SparseStorage(found[0], None, found[1], found[2], (rows, other.size(1))).coalesce()
    return src.from_storage(storage)


def spmm(src: Stored, other: Tensor, reduce: str = "sum") -> Tensor:
    """Return the product with a dense matrix."""
    found = matmul(src, other, reduce)
    assert isinstance(found, Tensor)
    return found


def spspmm(src: _Sparse, other: _Sparse, reduce: str = "sum") -> _Sparse:
    """Return the product of two sparse matrices."""
    found = matmul(src, other, reduce)
    assert not isinstance(found, Tensor)
    return found


def spmm_sum(src: Stored, other: Tensor) -> Tensor:
    """Return the product with a dense matrix."""
    return spmm(src, other)


def spmm_mean(src: Stored, other: Tensor) -> Tensor:
    """Return the means of the terms of the product with a dense matrix."""
    return spmm(src, other, "mean")


def spmm_min(src: Stored, other: Tensor) -> tuple[Tensor, Tensor]:
    """Return the smallest terms of the product with a dense matrix, and the places of their elements."""
    return scatter_min(*_terms(src, other))


def spmm_max(src: Stored, other: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest terms of the product with a dense matrix, and the places of their elements."""
    return scatter_max(*_terms(src, other))


def spspmm_sum(src: _Sparse, other: _Sparse) -> _Sparse:
    """Return the product of two sparse matrices."""
    return spspmm(src, other)


spmm_add, spspmm_add = spmm_sum, spspmm_sum

__all__ = [
    "matmul", "spmm", "spmm_add", "spmm_max", "spmm_mean", "spmm_min", "spmm_sum", "spspmm", "spspmm_add", "spspmm_sum",
]  # fmt: skip

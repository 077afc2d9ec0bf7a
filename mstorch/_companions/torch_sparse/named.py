"""torch_sparse's functions of a SparseTensor: its methods."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .tensor import SparseTensor

Tensor = torch.Tensor


def t(src: SparseTensor) -> SparseTensor:
    """Return the transpose."""
    return src.t()


def add(src: SparseTensor, other: Any) -> SparseTensor:
    """Return the sum with a dense row, column or matrix, or with a sparse matrix."""
    return src.add(other)


def add_(src: SparseTensor, other: Tensor) -> SparseTensor:
    """Add a dense row or column."""
    return src.add_(other)


def add_nnz(src: SparseTensor, other: Tensor, layout: str | None = None) -> SparseTensor:
    """Return the matrix with numbers added to its elements."""
    return src.add_nnz(other, layout)


def add_nnz_(src: SparseTensor, other: Tensor, layout: str | None = None) -> SparseTensor:
    """Add numbers to the elements."""
    return src.add_nnz_(other, layout)


def mul(src: SparseTensor, other: Any) -> SparseTensor:
    """Return the product, element by element, with a dense row or column, or a sparse matrix."""
    return src.mul(other)


def mul_(src: SparseTensor, other: Tensor) -> SparseTensor:
    """Multiply by a dense row or column."""
    return src.mul_(other)


def mul_nnz(src: SparseTensor, other: Tensor, layout: str | None = None) -> SparseTensor:
    """Return the matrix with its elements times numbers."""
    return src.mul_nnz(other, layout)


def mul_nnz_(src: SparseTensor, other: Tensor, layout: str | None = None) -> SparseTensor:
    """Multiply the elements by numbers."""
    return src.mul_nnz_(other, layout)


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


def index_select_nnz(src: SparseTensor, idx: Tensor, layout: str | None = None) -> SparseTensor:
    """Return the matrix of some elements."""
    return src.index_select_nnz(idx, layout)


def masked_select(src: SparseTensor, dim: int, mask: Tensor) -> SparseTensor:
    """Return the rows or columns of a mask."""
    return src.masked_select(dim, mask)


def masked_select_nnz(src: SparseTensor, mask: Tensor, layout: str | None = None) -> SparseTensor:
    """Return the matrix of the elements of a mask."""
    return src.masked_select_nnz(mask, layout)


def narrow(src: SparseTensor, dim: int, start: int, length: int) -> SparseTensor:
    """Return neighbouring rows or columns."""
    return src.narrow(dim, start, length)


def __narrow_diag__(src: SparseTensor, start: tuple[int, int], length: tuple[int, int]) -> SparseTensor:
    """Return a block of neighbouring rows and columns."""
    return src.__narrow_diag__(start, length)


def select(src: SparseTensor, dim: int, idx: int) -> SparseTensor:
    """Return one row or column."""
    return src.select(dim, idx)


def permute(src: SparseTensor, perm: Tensor) -> SparseTensor:
    """Return the matrix with rows and columns in an order."""
    return src.permute(perm)


def remove_diag(src: SparseTensor, k: int = 0) -> SparseTensor:
    """Return the matrix without a diagonal."""
    return src.remove_diag(k)


def set_diag(src: SparseTensor, values: Tensor | None = None, k: int = 0) -> SparseTensor:
    """Return the matrix with other elements on a diagonal."""
    return src.set_diag(values, k)


def fill_diag(src: SparseTensor, fill_value: float, k: int = 0) -> SparseTensor:
    """Return the matrix with one value on a diagonal."""
    return src.fill_diag(fill_value, k)


def get_diag(src: SparseTensor) -> Tensor:
    """Return the diagonal."""
    return src.get_diag()


def sample(src: SparseTensor, num_neighbors: int, subset: Tensor | None = None) -> Tensor:
    """Return a sample of the columns of each row."""
    return src.sample(num_neighbors, subset)


def sample_adj(src: SparseTensor, subset: Tensor, num_neighbors: int, replace: bool = False) -> tuple[SparseTensor, Tensor]:
    """Return the matrix of a sample of neighbours, and its nodes."""
    return src.sample_adj(subset, num_neighbors, replace)


def saint_subgraph(src: SparseTensor, node_idx: Tensor) -> tuple[SparseTensor, Tensor]:
    """Return the matrix of the edges between some nodes, and the edges."""
    return src.saint_subgraph(node_idx)


def random_walk(src: SparseTensor, start: Tensor, walk_length: int) -> Tensor:
    """Return the nodes of walks."""
    return src.random_walk(start, walk_length)


def partition(
    src: SparseTensor, num_parts: int, recursive: bool = False, weighted: bool = False, node_weight: Tensor | None = None,
    balance_edge: bool = False,
) -> tuple[SparseTensor, Tensor, Tensor]:  # fmt: skip
    """Return the matrix by parts, the parts' bounds, and the order of nodes."""
    return src.partition(num_parts, recursive, weighted, node_weight, balance_edge)


def reverse_cuthill_mckee(src: SparseTensor, is_symmetric: bool | None = None) -> tuple[SparseTensor, Tensor]:
    """Return the matrix with elements near the diagonal, and the order of nodes."""
    return src.reverse_cuthill_mckee(is_symmetric)


__all__ = [
    "__narrow_diag__",
    "add",
    "add_",
    "add_nnz",
    "add_nnz_",
    "fill_diag",
    "get_diag",
    "index_select",
    "index_select_nnz",
    "masked_select",
    "masked_select_nnz",
    "max_",
    "mean",
    "min_",
    "mul",
    "mul_",
    "mul_nnz",
    "mul_nnz_",
    "narrow",
    "partition",
    "permute",
    "random_walk",
    "remove_diag",
    "reverse_cuthill_mckee",
    "saint_subgraph",
    "sample",
    "sample_adj",
    "select",
    "set_diag",
    "sum_",
    "t",
]

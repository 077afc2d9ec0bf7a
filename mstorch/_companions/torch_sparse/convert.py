"""torch_sparse.convert: places and values of other libraries' sparse matrices, and back."""
from __future__ import annotations

import importlib
from typing import Any

import mstorch as torch

from ..drawing import array

Tensor = torch.Tensor


def to_torch_sparse(index: Tensor, value: Tensor, m: int, n: int) -> Tensor:
    """Return an (m, n) matrix of torch.sparse_coo."""
    return torch.sparse_coo_tensor(index.detach(), value, (m, n))


def from_torch_sparse(A: Tensor) -> tuple[Tensor, Tensor]:
    """Return places and values of a matrix of torch.sparse_coo."""
    return A.indices().detach(), A.values()


def to_scipy(index: Tensor, value: Tensor, m: int, n: int) -> Any:
    """Return an (m, n) matrix of scipy.sparse."""
    row, col = array(index)
    return importlib.import_module("scipy.sparse").coo_matrix((array(value), (row, col)), (m, n))


def from_scipy(A: Any) -> tuple[Tensor, Tensor]:
    """Return places and values of a matrix of scipy.sparse."""
    A = A.tocoo()
    places = torch.stack([torch.from_numpy(A.row).long(), torch.from_numpy(A.col).long()])
    return places, torch.from_numpy(A.data)


__all__ = ["from_scipy", "from_torch_sparse", "to_scipy", "to_torch_sparse"]

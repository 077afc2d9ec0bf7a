"""Checks of the parts of sparse tensors, and conversions between row indices and row offsets."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.errors import not_for
from ..core.dtype import int32, int64
from ..core.formats import layout, sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from .base import host
from .compressed import sparse_compressed_tensor
from .coo import sparse_coo_tensor


def _validate_sparse_coo_tensor_args(
    indices: Tensor, values: Tensor, size: tuple[int, ...], is_coalesced: bool | None = None, check_pinning: bool | None = None
) -> None:
    """Raise RuntimeError unless the parts form a valid COO tensor of the size."""
    sparse_coo_tensor(indices, values, size, is_coalesced=is_coalesced, check_invariants=True)


def _validate_sparse_compressed_tensor_args(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: tuple[int, int], layout: layout,
    check_pinning: bool | None = None
) -> None:
    """Raise RuntimeError unless the parts form a valid tensor of the compressed layout and size."""
    sparse_compressed_tensor(compressed_indices, plain_indices, values, size, layout=layout, check_invariants=True)


def _validate_sparse_csr_tensor_args(
    crow_indices: Tensor, col_indices: Tensor, values: Tensor, size: tuple[int, int], check_pinning: bool | None = None
) -> None:
    """Raise RuntimeError unless the parts form a valid CSR tensor of the size."""
    _validate_sparse_compressed_tensor_args(crow_indices, col_indices, values, size, sparse_csr)


def _validate_sparse_csc_tensor_args(
    ccol_indices: Tensor, row_indices: Tensor, values: Tensor, size: tuple[int, int], check_pinning: bool | None = None
) -> None:
    """Raise RuntimeError unless the parts form a valid CSC tensor of the size."""
    _validate_sparse_compressed_tensor_args(ccol_indices, row_indices, values, size, sparse_csc)


def _validate_sparse_bsr_tensor_args(
    crow_indices: Any, col_indices: Any, values: Any, size: Any, check_pinning: bool | None = None
) -> None:
    """Raise RuntimeError unless the parts form a valid BSR tensor of the size."""
    _validate_sparse_compressed_tensor_args(crow_indices, col_indices, values, size, sparse_bsr)


def _validate_sparse_bsc_tensor_args(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any, check_pinning: bool | None = None
) -> None:
    """Raise RuntimeError unless the parts form a valid BSC tensor of the size."""
    _validate_sparse_compressed_tensor_args(ccol_indices, row_indices, values, size, sparse_bsc)


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Return the row offsets of ``size`` rows for ascending row indices, with the number of elements at the end."""
    if input.dim() != 1:
        raise RuntimeError(f"Input is supposed to be a vector, but got {input.dim()} dimensional tensor.")
    if input._ms_dtype.category != 1:
        raise not_for("convert_indices_from_coo_to_csr_cpu", input._ms_dtype.name)
    starts = np.searchsorted(host(input), np.arange(size + 1))
    return input.new_tensor(starts, dtype=int32 if out_int32 else int64)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Return row and column indices (columns first with ``transpose``) of a CSR matrix, or of a batch of them."""
    starts, columns = host(crow_indices), host(col_indices)
    counts = np.diff(starts, axis=-1)
    batch = np.indices(counts.shape)
    rows = [np.repeat(place.reshape(-1), counts.reshape(-1)) for place in batch]
    found = [*rows[:-1], *((columns.reshape(-1), rows[-1]) if transpose else (rows[-1], columns.reshape(-1)))]
    return col_indices.new_tensor(np.stack(found), dtype=int32 if out_int32 else int64)

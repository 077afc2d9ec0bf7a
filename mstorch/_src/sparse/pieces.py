"""Pieces of sparse tensors, in-place changes of these tensors, and solutions of triangular systems."""
from __future__ import annotations

from typing import Any

import numpy as np

from ... import return_types
from ..._tensor import Tensor
from ..core.device import device
from ..core.dtype import dtype, float32, int32, int64
from ..core.formats import layout as Layout
from ..core.formats import sparse_bsr, sparse_coo, sparse_csr
from ..core.sparse_parts import is_sparse
from ..ops._dispatch import finish, type_word
from ..ops.linalg import linalg_torch
from ..ops.memory.creation import zeros
from .base import BLOCKED, COMPRESSED, WORDS, host, index_tensor, layout_word, replace, sparse
from .compressed import sparse_compressed_tensor
from .convert import to_dense
from .coo import taken
from .forms import METHOD_FORMS, form
from .nodes import record
from .shape import t, transpose

_BY_ROWS = (sparse_csr, sparse_bsr)


@form("narrow_copy")
def narrow_copy(input: Any, dim: int, start: int, length: int) -> Tensor:
    """Return a copy of ``length`` entries of a dimension of a COO tensor, from ``start`` on."""
    if input._layout is not sparse_coo:
        raise NotImplementedError(f"Could not run 'aten::narrow_copy' with arguments from the '{WORDS[input._layout]}CPU' backend.")
    rank = input.dim()
    if not 0 <= dim < rank:
        raise RuntimeError(f"Dimension {dim} out of range. Expecting 0 <= dim < {rank}.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not 0 <= start <= start + length <= input._size[dim]:
        raise RuntimeError(f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {input._size[dim]}).")

    def back(gradient: Tensor) -> tuple[Tensor]:
        wide = zeros(input._size, dtype=gradient.dtype)
        wide.narrow(dim, start, length).copy_(to_dense(gradient) if is_sparse(gradient) else gradient)
        return (wide,)

    return record("NarrowCopy", (input,), lambda: _narrowed(input, dim, start, length), back)


def _narrowed(input: Any, dim: int, start: int, length: int) -> Tensor:
    count, size = input.sparse_dim(), list(input._size)
    size[dim] = length
    if dim >= count:
        values = input._values_part.narrow(dim - count + 1, start, length).clone()
        return sparse(sparse_coo, (index_tensor(host(input._index[0]).copy()),), values, size, input._coalesced)
    where = host(input._index[0])
    rows = np.flatnonzero((where[dim] >= start) & (where[dim] < start + length))
    found = where[:, rows].copy()
    found[dim] -= start
    return sparse(sparse_coo, (index_tensor(found),), taken(input._values_part, rows), size, input._coalesced)


@form("transpose_", METHOD_FORMS)
def transpose_(self: Any, dim0: int, dim1: int) -> Tensor:
    """Exchange two sparse dimensions of a COO tensor, in place."""
    if self._layout is not sparse_coo:
        raise RuntimeError(f"torch.transpose_: in-place transposition is not supported for {WORDS[self._layout]} layout")
    count, rank = self.sparse_dim(), self.dim()
    first, second = dim0 % rank, dim1 % rank
    if first >= count or second >= count:
        raise RuntimeError(f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {count}, d0: {first}, d1: {second}")
    return replace(self, transpose(self, dim0, dim1))


@form("t_", METHOD_FORMS)
def t_(self: Any) -> Tensor:
    """Transpose a COO matrix in place; return the tensor."""
    if self._layout is not sparse_coo:
        return transpose_(self, 0, 1)
    return replace(self, t(self)) if self.dim() == 2 else self


@form("triangular_solve")
def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: Any = None
) -> Any:
    """Return the X of ``A @ X = b`` for a CSR or BSR matrix; only one triangle of the matrix is read."""
    if not is_sparse(A):
        raise RuntimeError("triangular_solve: b must have a strided layout")
    if A._layout is sparse_coo:
        raise NotImplementedError("Could not run 'aten::triangular_solve' with arguments from the 'SparseCPU' backend.")
    if A._layout not in _BY_ROWS:
        raise ValueError("triangular_solve: unsupported sparse layout.")
    if is_sparse(b):
        raise RuntimeError("torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size [0]")
    if b.dtype is not A._ms_dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {type_word(b.dtype)} and A of type {type_word(A._ms_dtype)} "
            "instead."
        )
    if b.shape[-2] != A._size[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {A._size[-2]} by {A._size[-1]} but each b matrix is "
            f"{b.shape[-2]} by {b.shape[-1]}"
        )
    if not A._nnz():  # as in torch, even if the diagonal counts as ones
        found = zeros(tuple(b.shape), dtype=b.dtype).fill_(float("nan"))
        return return_types.triangular_solve((found, zeros(0, dtype=b.dtype)))
    found = linalg_torch.triangular_solve(b, to_dense(A), upper, transpose, unitriangular)[0]
    empty = zeros(0, dtype=b.dtype)
    if out is not None:
        return return_types.triangular_solve((finish(found, out[0]), finish(empty, out[1])))
    return return_types.triangular_solve((found, empty))


def empty_like_compressed(input: Any, kind: Any, layout: Layout | None, requires_grad: bool) -> Tensor:
    """Return a compressed tensor with the same indices and uninitialized values (in mstorch, zeros)."""
    if layout is not None and layout is not input._layout:
        word = {"torch.strided": "Strided", "torch.sparse_coo": "Sparse"}.get(str(layout)) or WORDS[layout]
        raise RuntimeError(
            f"empty_like with different sparse layout is not supported (self is {layout_word(input)} but you requested {word})"
        )
    values = input._values_part.new_zeros(input._values_part.shape, dtype=kind)
    index = tuple(part.clone() for part in input._index)
    return sparse(input._layout, index, values, input._size, True).requires_grad_(requires_grad)


def _validate_compressed_sparse_indices(
    is_crow: bool, compressed_idx: Tensor, plain_idx: Tensor, cdim: int, dim: int, nnz: int
) -> None:
    """Raise RuntimeError unless these are the indices of a compressed matrix of ``cdim`` by ``dim`` with ``nnz`` values."""
    if compressed_idx.dtype is not plain_idx.dtype:
        raise RuntimeError(f"Found dtype {type_word(compressed_idx.dtype)} but expected {type_word(plain_idx.dtype)}")
    values = zeros(tuple(plain_idx.shape), dtype=float32)
    batch = tuple(compressed_idx.shape[:-1])
    size: Any = (*batch, cdim, dim) if is_crow else (*batch, dim, cdim)
    kind = sparse_csr if is_crow else next(one for one in COMPRESSED if one not in _BY_ROWS and one not in BLOCKED)
    sparse_compressed_tensor(compressed_idx, plain_idx, values, size, layout=kind, check_invariants=True)


def sparse_compressed_tensor_with_dims(
    nnz: int, dense_dim: int, size: Any, blocksize: Any, index_dtype: Any, *, dtype: dtype | None = None, layout: Layout | None = None,
    device: int | str | device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return a compressed tensor with room for ``nnz`` values, whose indices and values are uninitialized."""
    if layout not in COMPRESSED:
        word = "Strided" if layout is None or str(layout) == "torch.strided" else WORDS[layout]
        raise RuntimeError(f"sparse_compressed_tensor_with_dims expected sparse compressed tensor layout but got {word}")
    if len(size) < dense_dim + 2:
        raise RuntimeError(
            f"sparse_compressed_tensor_with_dims: dimensionality must be at least dense_dim(={dense_dim}) + sparse_dim(=2), but got "
            f"{len(size)}"
        )
    if index_dtype not in (int32, int64):
        raise RuntimeError("indices dtype must be Int or Long, but got " + type_word(index_dtype))
    batch = len(size) - dense_dim - 2
    block = tuple(blocksize) or (1, 1)
    rows = layout in _BY_ROWS
    steps = size[batch + (0 if rows else 1)] // block[0 if rows else 1]
    lead = tuple(size[:batch])
    values = (*lead, nnz, *(block if layout in BLOCKED else ()), *size[batch + 2 :])
    index = zeros((*lead, steps + 1), dtype=index_dtype), zeros((*lead, nnz), dtype=index_dtype)
    return sparse(layout, index, zeros(values, dtype=dtype, device=device), tuple(size), True)

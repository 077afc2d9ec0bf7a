"""Conversion from dense to sparse, sparse to dense, and between sparse layouts."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Array
from ..backend.errors import not_for
from ..core.above import above
from ..core.dtype import complex32, dtype, int64
from ..core.formats import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from ..core.sparse_parts import is_sparse
from ..core.tensor_base import array_of
from ..ops._dispatch import refuse_codes
from ..ops.memory.creation import zeros
from ..tape.windows import no_view
from .base import BLOCKED, BY_ROWS, COMPRESSED, WORDS, host, index_tensor, layout_word, like, sparse
from .coo import added, coalesce, flat, nothing, taken
from .forms import COMMON, form
from .gradients import values_at, where_of
from .nodes import record


@form("to_dense", COMMON)
def to_dense(self: Any, dtype: dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return the tensor as a strided one; a strided tensor unchanged."""
    if not is_sparse(self):
        return self if dtype is None else self.to(dtype)
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    if self._layout is sparse_coo and self._ms_dtype is complex32:
        raise not_for("cpublas_axpy_impl", "complex32")
    if self.is_meta and self._layout is not sparse_coo:
        return zeros(self._size, dtype=self._ms_dtype, device=self.device)
    where, values = where_of(self)
    count = where.shape[0]
    summed = added(values, flat(where, self._size), math.prod(self._size[:count]))
    return no_view(summed.reshape(self._size))


def _specified(self: Tensor, count: int) -> Array:
    """Return the indices (count, nnz) of nonzero entries in the first ``count`` dimensions of a strided tensor."""
    refuse_codes("nonzero_count_cpu", self)
    array = np.asarray(array_of(self))
    kept = (array != 0).reshape(*array.shape[:count], -1).any(-1) if array.size else np.zeros(array.shape[:count], bool)
    return np.stack(np.nonzero(kept)) if count else np.zeros((0, int(kept.sum())), np.int64)


def _from_dense(self: Tensor, count: int) -> Tensor:
    size = tuple(self.shape)
    where = _specified(self, count)
    rows = self.reshape((math.prod(size[:count]), *size[count:]))
    return sparse(sparse_coo, (index_tensor(where),), taken(rows, flat(where, size)), size, True)


@form("to_sparse", COMMON)
def to_sparse(
    self: Any, *args: Any, sparse_dim: int | None = None, layout: layout | None = None, blocksize: int | tuple[int, ...] | None = None,
    dense_dim: int | None = None
) -> Tensor:
    """Return the tensor in a sparse layout, COO by default; ``to_sparse(n)`` keeps all but n dimensions dense."""
    if args or sparse_dim is not None:
        return to_sparse_coo(self, *(args or (sparse_dim,)))
    kind = layout or sparse_coo
    name = "dense_to_sparse" if not is_sparse(self) else "to_sparse" if self._layout is sparse_coo else "sparse_compressed_to_sparse"
    if kind is strided and not is_sparse(self) and blocksize is None and dense_dim is None:
        return self
    if kind is strided:
        raise RuntimeError("to_sparse: conversion from Strided to Strided is not supported")
    if kind is sparse_coo:
        if blocksize is not None and len(_block(blocksize)) != 2:
            raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(_block(blocksize))}")
        if blocksize is not None:
            raise _unsupported(name, self, kind, "with blocksize argument given")
        return to_sparse_coo(self, None if dense_dim is None else self.dim() - dense_dim)
    return _compress(self, kind, _block(blocksize), dense_dim, name)


def _unsupported(name: str, source: Tensor, kind: layout, how: str) -> RuntimeError:
    return RuntimeError(f"{name}: conversion from {layout_word(source)} to {WORDS[kind]} {how} is not supported")


@form("to_sparse_coo", COMMON)
def to_sparse_coo(self: Any, sparse_dim: int | None = None) -> Any:
    """Return the tensor in COO layout."""
    if not is_sparse(self):
        rank = self.dim()
        count = rank if sparse_dim is None else sparse_dim
        if count == 0 and rank:
            raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
        if not 0 <= count <= rank:
            raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{rank}] range, but {count} is given")
        return _converted(self, sparse_coo, lambda: _from_dense(self, count))
    if sparse_dim not in (None, self.sparse_dim()):
        word = WORDS[self._layout]
        raise RuntimeError(
            f"to_sparse: conversion from {word} to Sparse with sparse_dim argument !=self.sparse_dim() is not supported"
        )
    if self._layout is sparse_coo:
        return self
    return _converted(self, sparse_coo, lambda: _as_coo(self))


def blocks_of(tensor: Any) -> tuple[int, int] | None:
    """Return the block size (rows, columns) of a tensor; None for layouts without blocks."""
    return tuple(tensor._kept.shape[tensor._index[0].dim() :][:2]) if tensor._layout in BLOCKED else None


def _converted(self: Any, target: layout, convert: Callable[..., Any]) -> Tensor:
    """Return a layout conversion that autograd tracks; backward converts the gradient to the input's layout."""
    kind = self._layout if is_sparse(self) else strided
    block = blocks_of(self) if is_sparse(self) else None

    def rule(gradient: Any) -> tuple[Any]:
        if kind is strided:
            return (to_dense(gradient),)
        if is_sparse(gradient) and gradient._layout is kind:
            return (gradient,)
        return (to_sparse(gradient, layout=kind, blocksize=block),)

    return record(f"To{WORDS[target]}", (self,), convert, rule)


def _as_coo(self: Any) -> Tensor:
    where, values = where_of(self)
    found = sparse(sparse_coo, (index_tensor(where),), values, self._size)
    if self._layout in (sparse_csr, sparse_bsr) and (np.diff(flat(where, self._size)) > 0).all():
        found._coalesced = True
        return found
    return coalesce(found)


def _compress(self: Any, kind: layout, blocksize: Any, dense_dim: int | None, name: str = "") -> Tensor:
    if not name:
        name = f"{'sparse_compressed' if is_sparse(self) and self._layout in COMPRESSED else 'dense'}_to_sparse_{_word(kind)}"
    blocksize = _checked_blocksize(self, kind, blocksize, name)
    if is_sparse(self):
        _refuse_conversion(self, kind, blocksize, name)
        if self._layout is kind:
            return self
        trailing = self.dense_dim()
        batch = self._index[0].dim() - 1 if self._layout in COMPRESSED else self.sparse_dim() - 2
    else:
        trailing = dense_dim or 0
        batch = self.dim() - trailing - 2
        if batch < 0:
            raise IndexError(f"to_sparse: a tensor of {self.dim()} dimensions cannot be converted to {WORDS[kind]}: it has no matrix")
    return _converted(self, kind, lambda: _compressed(self, kind, batch, trailing, blocksize or (1, 1), name))


def _word(kind: layout) -> str:
    return WORDS[kind][6:].lower()


def _checked_blocksize(self: Any, kind: layout, blocksize: Any, name: str) -> tuple[int, ...] | None:
    """Return the size of blocks, which a layout of blocks needs and no other takes."""
    if kind not in BLOCKED:
        if blocksize is not None:
            raise _unsupported(name, self, kind, "with blocksize argument given")
        return None
    if blocksize is None:
        raise _unsupported(name, self, kind, "without blocksize argument given")
    blocksize = tuple(int(length) for length in blocksize)
    if len(blocksize) != 2:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(blocksize)}")
    if min(blocksize) <= 0:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(blocksize)}")
    return blocksize


def _refuse_conversion(self: Any, kind: layout, blocksize: tuple[int, ...] | None, name: str) -> None:
    """Raise for a sparse tensor that torch does not convert to a layout."""
    own, to_blocks = self._layout, kind in BLOCKED
    if own is sparse_coo:
        if self.sparse_dim() != 2:
            raise RuntimeError(
                f"sparse_coo_to_sparse: conversion from Sparse to {WORDS[kind]} for input tensors with sparse_dim()!=2 is not supported"
            )
        return
    if own in BLOCKED and to_blocks:
        own_blocksize = tuple(self._values_part.shape[self._index[0].dim() :][:2])
        if own_blocksize != blocksize:
            where = name if own is not kind else f"to_sparse_{_word(kind)}"
            raise _unsupported(where, self, kind, f"with blocksize changed from {list(own_blocksize)} to {list(blocksize or ())}")
    elif own in BLOCKED:
        raise RuntimeError(f"{name}: expected SparseCsr or SparseCsc layout but got {WORDS[own]}")
    elif to_blocks and self._index[0].dim() > 1:
        raise _unsupported(name, self, kind, "for batched inputs")


def _compressed(self: Any, kind: layout, batch: int, trailing: int, block: tuple[int, int], name: str) -> Tensor:
    source = coalesce(to_sparse_coo(self)) if is_sparse(self) else _from_dense(self, self.dim() - trailing)
    if batch < 0 or source.sparse_dim() < 2:
        raise RuntimeError("to_sparse: conversion from Sparse to " + WORDS[kind] + " needs at least 2 sparse dimensions")
    found = _grouped(source, kind, batch, block, name)
    if is_sparse(self) and self._layout in COMPRESSED:
        found._index = tuple(part.to(self._index[0]._ms_dtype) for part in found._index)  # int32 indices stay int32
    return found


def _grouped(source: Any, kind: layout, batch: int, block: tuple[int, int], name: str) -> Any:
    """Return a coalesced COO tensor (batch dimensions and two more) in a compressed layout."""
    size, where, values = source._size, host(source._index[0]), source._values_part
    (high, wide), (rows, columns) = block, size[batch : batch + 2]
    if rows % high or columns % wide:
        raise RuntimeError(
            f"{name}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize ({high},{wide})"
        )
    lead = flat(where[:batch], size) if batch else np.zeros(where.shape[1], np.int64)
    lines, others = where[batch] // high, where[batch + 1] // wide
    extents = [rows // high, columns // wide]
    if kind not in BY_ROWS:
        lines, others = others, lines
        extents.reverse()
    key = (lead * extents[0] + lines) * extents[1] + others
    cells, group = np.unique(key, return_inverse=True)
    groups = math.prod(size[:batch])
    line_of = cells // max(extents[1], 1)
    counts = np.bincount(line_of, minlength=groups * extents[0]).reshape(groups, extents[0])
    per_batch = counts.sum(1)
    if groups > 1 and (per_batch != per_batch[0]).any():
        raise RuntimeError("Expect the same number of specified elements per batch.")
    nnz = int(per_batch[0]) if groups else 0
    starts = np.concatenate([np.zeros((groups, 1), np.int64), counts.cumsum(1)], 1)
    dense = tuple(values.shape[1:])
    if kind in BLOCKED:
        inside = (where[batch] % high) * wide + where[batch + 1] % wide
        filled = added(values, group.reshape(-1) * (high * wide) + inside, cells.size * high * wide)
        parts = filled.reshape((*size[:batch], nnz, high, wide, *dense))
    else:
        parts = taken(values, np.argsort(key, kind="stable")).reshape((*size[:batch], nnz, *dense))
    compressed = starts.reshape(*size[:batch], extents[0] + 1)
    plain = (cells % max(extents[1], 1)).reshape(*size[:batch], nnz)
    return sparse(kind, (index_tensor(compressed), index_tensor(plain)), parts, size, True)


def nothing_of(layout: layout, size: tuple[int, ...], dtype: dtype, requires_grad: bool, device: Any = None) -> Tensor:
    """Return a tensor of a sparse layout without specified elements."""
    if layout is not sparse_coo and len(size) < 2:
        raise RuntimeError(
            f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}"
        )
    if layout in BLOCKED:
        raise RuntimeError(f"empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got {WORDS[layout]}")
    if layout is sparse_coo:
        return nothing(size, dtype, None, device).requires_grad_(requires_grad)
    batch, lines = size[:-2], size[-2] if layout in BY_ROWS else size[-1]
    starts = zeros((*batch, lines + 1), dtype=int64, device=device)
    index = starts, zeros((*batch, 0), dtype=int64, device=device)
    return sparse(layout, index, zeros((*batch, 0), dtype=dtype, device=device), size, True).requires_grad_(requires_grad)


@form("to_sparse_csr", COMMON)
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return the tensor in CSR layout."""
    return _compress(self, sparse_csr, None, dense_dim)


@form("to_sparse_csc", COMMON)
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return the tensor in CSC layout."""
    return _compress(self, sparse_csc, None, dense_dim)


def _block(size: int | tuple[int, ...] | None) -> Any:
    """Return the block size as a pair; an int is used for both sides."""
    return (size, size) if isinstance(size, int) else size


@form("to_sparse_bsr", COMMON)
def to_sparse_bsr(self: Tensor, blocksize: tuple[int, int], dense_dim: int | None = None) -> Tensor:
    """Return the tensor in BSR layout, with blocks of (rows, columns)."""
    return _compress(self, sparse_bsr, _block(blocksize), dense_dim)


@form("to_sparse_bsc", COMMON)
def to_sparse_bsc(self: Tensor, blocksize: int | tuple[int, int], dense_dim: int | None = None) -> Tensor:
    """Return the tensor in BSC layout, with blocks of (rows, columns)."""
    return _compress(self, sparse_bsc, _block(blocksize), dense_dim)


@form("sparse_mask", COMMON)
def sparse_mask(self: Any, mask: Any) -> Tensor:
    """Return the elements at the indices of the sparse tensor ``mask``, in its layout."""
    if not is_sparse(mask):
        raise TypeError("sparse_mask(): argument 'mask' (position 1) must be a sparse Tensor")
    if tuple(self.shape) != mask._size:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask._size)}"
        )
    return like(mask, values_at(self, mask))


above.nothing_of = nothing_of

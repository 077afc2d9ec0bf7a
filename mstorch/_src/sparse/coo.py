"""COO tensors: indices (sparse dimensions, nnz) and values (nnz, *dense dimensions)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Array
from ..core.device import device
from ..core.dtype import bool_, dtype, int64
from ..core.formats import sparse_coo
from ..core.sparse_parts import is_sparse
from ..core.tensor_base import TensorBase
from ..core.warned import warn_once
from ..ops.indexing.index import index_select
from ..ops.indexing.scatter import index_add
from ..ops.memory.creation import zeros
from ..ops.memory.from_data import tensor
from ..ops.shape import views
from .base import host, index_tensor, layout_word, sparse
from .forms import COMMON, form
from .nodes import record

_checking: list[bool | None] = [None]  # None if no global setting was made


def is_checking() -> bool:
    """Return whether the invariants of all new sparse tensors are checked."""
    return bool(_checking[0])


def invariants_checked(asked: bool | None) -> bool:
    """Return whether to check the invariants of a new tensor. Warn once if neither the call nor a global setting says so."""
    if asked is not None:
        return bool(asked)
    if _checking[0] is None:
        warn_once(
            "Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur when operating on a sparse tensor "
            "which violates the invariants, but checks incur performance overhead. To silence this warning, explicitly opt in or out. See "
            "`torch.sparse.check_sparse_tensor_invariants.__doc__` for guidance. "
        )
    return is_checking()


def part(data: Any, kind: dtype | None = None, device: device | str | int | None = None) -> Any:
    """Return indices or values that the user gives as a tensor. A tensor is not copied, except to another dtype or device, so that
    gradients flow to it."""
    if isinstance(data, TensorBase):
        there = data if device is None else data.to(device)
        return there if kind is None or there._ms_dtype is kind else there.to(kind)
    return tensor(data, dtype=kind, device=device)


def with_leaf(tensor: Tensor, requires_grad: bool) -> Tensor:
    """Return the tensor; if ``requires_grad``, detached and as a leaf that requires grad."""
    if not requires_grad:
        return tensor
    if tensor._ms_dtype.is_integral:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return tensor.detach().requires_grad_()


def sparse_coo_tensor(
    indices: Any = None, values: Tensor | Sequence[Sequence[float]] | None = None, size: Any = None, *, dtype: dtype | None = None,
    device: device | str | int | None = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return a COO tensor of ``values`` (nnz, *) at ``indices`` (sparse dimensions, nnz); duplicates are summed.

    ``sparse_coo_tensor(size)`` has no elements. ``size`` is inferred from the indices if not given.
    """
    if values is None and indices is not None and size is None:
        indices, size = None, indices
    if indices is None:
        if size is None:
            raise TypeError("sparse_coo_tensor() received an invalid combination of arguments")
        lengths = _lengths(size)
        invariants_checked(check_invariants)
        return with_leaf(nothing(lengths, dtype, device=device), requires_grad)
    places = part(indices, None if isinstance(indices, TensorBase) else int64, device)
    if places._ms_dtype is not int64:
        places = places.to(int64)
    given = part(values, dtype, device)
    if given.dim() == 0:
        given = given.reshape(1)
    if places.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if places.shape[1] != given.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {places.shape[1]}, nnz from values: "
            f"{given.shape[0]}"
        )
    where = host(places)
    if size is None:
        _refuse_negative(where)
        lengths = (*(int(m) + 1 for m in where.max(1)), *given.shape[1:]) if where.shape[1] else (
            *([0] * where.shape[0]), *given.shape[1:]
        )  # fmt: skip
    else:
        lengths = _lengths(size)
        if len(lengths) != where.shape[0] + given.dim() - 1:
            raise RuntimeError(
                f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(lengths)}, sparse_dim = "
                f"{where.shape[0]}, dense_dim = {given.dim() - 1}"
            )
        if lengths[where.shape[0] :] != tuple(given.shape[1:]):
            raise RuntimeError(
                f"values has incorrect size, expected {[given.shape[0], *lengths[where.shape[0] :]]}, got {list(given.shape)}"
            )
    if invariants_checked(check_invariants):
        check_places(where, lengths)
        if is_coalesced and not _ascending(where, lengths):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    return with_leaf(sparse(sparse_coo, (places,), given, lengths, bool(is_coalesced)), requires_grad)


def _lengths(size: tuple[int, int]) -> tuple[int, ...]:
    lengths = tuple(int(length) for length in size)
    if any(length < 0 for length in lengths):
        raise RuntimeError("numel: integer multiplication overflow")
    return lengths


def nothing(size: Any, kind: dtype | None = None, sparse_dim: int | None = None, device: device | str | int | None = None) -> Tensor:
    """Return a COO tensor without specified elements."""
    count = len(size) if sparse_dim is None else sparse_dim
    values = zeros((0, *size[count:]), dtype=kind, device=device)
    return sparse(sparse_coo, (index_tensor(np.zeros((count, 0)), values),), values, size, count == len(size) and not values.numel())


def _refuse_negative(where: Array) -> None:
    for dim, least in enumerate(where.min(1) if where.shape[1] else ()):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {dim}")


def check_places(where: Array, size: tuple[int, ...]) -> None:
    """Raise torch's error for indices out of range."""
    _refuse_negative(where)
    for dim, most in enumerate(where.max(1) if where.shape[1] else ()):
        if most >= size[dim]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found index {most}")


def flat(where: Array, size: tuple[int, ...]) -> Array:
    """Return the flat row-major index of each specified element among the sparse dimensions. Raise RuntimeError if out of range."""
    check_places(where, size)
    found = np.zeros(where.shape[1], np.int64)
    for dim in range(where.shape[0]):
        found = found * size[dim] + where[dim]
    return found


def _ascending(where: Array, size: tuple[int, ...]) -> bool:
    return bool((np.diff(flat(where, size)) > 0).all())


def added(values: Tensor, group: Array, count: int) -> Tensor:
    """Return the sums of values (n, *) by group: (count, *)."""
    base = values.new_zeros((count, *values.shape[1:]))
    if not values.numel():
        return base
    if values._ms_dtype is bool_:
        return index_add(base.to(int64), 0, index_tensor(group, values), values.to(int64)) != 0
    return index_add(base, 0, index_tensor(group, values), values)


def taken(values: Tensor, rows: Array) -> Tensor:
    """Return the rows ``rows`` (positions) of ``values``."""
    if not rows.size:
        return values.new_zeros((0, *values.shape[1:]))
    return index_select(values, 0, index_tensor(rows, values))


@form("coalesce", COMMON)
def coalesce(self: Any) -> Any:
    """Return the tensor with unique indices in row-major order, and duplicates summed."""
    _expect_coo(self, "coalesce")
    if self._coalesced:
        return self
    return record("Coalesce", (self,), lambda: _coalesced(self), lambda gradient: (gradient,))


def _coalesced(self: Any) -> Tensor:
    where = host(self._index[0])
    places = flat(where, self._size)
    order, first, group = np.unique(places, return_index=True, return_inverse=True)
    values = self._values_part
    summed = taken(values, first) if order.size == places.size else added(values, group.reshape(-1), order.size)
    return sparse(sparse_coo, (index_tensor(where[:, first]),), summed, self._size, True)


@form("is_coalesced", COMMON)
def is_coalesced(self: Any) -> bool:
    """Return whether the tensor is known to be coalesced."""
    _expect_coo(self, "is_coalesced")
    return self._coalesced


def set_coalesced(self: Any, coalesced: bool) -> Any:
    """Mark the tensor as coalesced or not, without a check; return the tensor."""
    _expect_coo(self, "_coalesced_")
    self._coalesced = bool(coalesced)
    return self


def _expect_coo(self: Any, name: str) -> None:
    if not is_sparse(self) or self._layout is not sparse_coo:
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {layout_word(self)}")


@form("indices", COMMON)
def indices(self: Any) -> Any:
    """Return the indices of a coalesced COO tensor: (sparse dimensions, nnz)."""
    _expect_coo(self, "indices")
    if not self._coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return self._index[0]


@form("values", COMMON)
def values(self: Any) -> Any:
    """Return the values of a coalesced COO tensor, or of a compressed one."""
    if not is_sparse(self):
        raise RuntimeError(f"values expected sparse tensor layout but got {layout_word(self)}")
    if self._layout is sparse_coo and not self._coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    found = self._values_part
    return found if found._ms_node is not None or found._is_view() else views.alias(found)


@form("_indices", COMMON)
def raw_indices(self: Any) -> Tensor:
    """Return the indices of a COO tensor, coalesced or not."""
    _expect_coo(self, "_indices")
    return self._index[0]


@form("_values", COMMON)
def raw_values(self: Any) -> Tensor:
    """Return the values, detached; a COO tensor need not be coalesced."""
    return values(self) if not is_sparse(self) else self._kept

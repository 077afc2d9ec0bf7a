"""Private functions of torch: copies of views, checks that return a tensor, and forms of other operations."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..._tensor import Tensor
from ..core.above import above
from ..core.dtype import bool_, int32, int64
from ..core.sparse_parts import is_sparse
from ..ops._dispatch import type_word
from ..ops.elementwise import complex_views
from ..ops.memory import copying
from ..ops.shape import views
from ..sparse.pieces import _validate_compressed_sparse_indices
from ..sparse.shape import broadcast_to
from .checks import _assert_async


def _given(found: Any, out: Tensor | None) -> Tensor:
    return copying.clone(found) if out is None else out.resize_(found.shape).copy_(found)


def _refuse_complex(name: str, input: Tensor) -> None:
    if input.requires_grad and input.is_complex() and above.torch.is_grad_enabled():
        raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")


def _conj_copy(self: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the conjugate."""
    _refuse_complex("_conj_copy", self)
    return _given(complex_views.conj_physical(self), out)


def _neg_view_copy(self: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the negative."""
    _refuse_complex("_neg_view_copy", self)
    return _given(-self, out)


def _reshape_alias_copy(self: Tensor, size: Sequence[int], stride: Sequence[int], *, out: Tensor | None = None) -> Tensor:
    """Return a copy of ``as_strided(size, stride)``."""
    return _given(views.as_strided(self, size, stride), out)


def _part_copy(name: str, input: Any) -> NoReturn:
    word = "SparseCPU" if is_sparse(input) else "CPU"
    raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the '{word}' backend.")


def _indices_copy(self: Tensor, *, out: Tensor | None = None) -> NoReturn:
    """Raise NotImplementedError: torch has no CPU kernel for this copy."""
    _part_copy("_indices_copy", self)


def _values_copy(self: Tensor, *, out: Tensor | None = None) -> NoReturn:
    """Raise NotImplementedError: torch has no CPU kernel for this copy."""
    _part_copy("_values_copy", self)


def _sparse_broadcast_to_copy(self: Tensor, size: Sequence[int], *, out: Tensor | None = None) -> NoReturn:
    """Raise NotImplementedError: torch has no CPU kernel for this copy."""
    _part_copy("_sparse_broadcast_to_copy", self)


def _sparse_broadcast_to(self: Tensor, size: Sequence[int]) -> Tensor:
    """Return a COO tensor broadcast to a size."""
    return broadcast_to(self, size)


def _fw_primal_copy(self: Tensor, level: int, *, out: Tensor | None = None) -> NoReturn:
    """Raise RuntimeError: as in torch, only autograd itself may call this."""
    raise RuntimeError("_fw_primal is for autograd itself, below which it stands")


def _make_dual_copy(primal: Tensor, tangent: Tensor, level: int, *, out: Tensor | None = None) -> NoReturn:
    """Raise RuntimeError: as in torch, only autograd itself may call this."""
    raise RuntimeError("_make_dual is for autograd itself, below which it stands")


def _functional_assert_async(input: Tensor, assert_msg: str, dep_token: Tensor) -> Tensor:
    """Return a copy of the token. Raise RuntimeError with the given message if the one-element tensor is false."""
    _assert_async(input, assert_msg)
    return dep_token.clone()


def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, *args: Any, out: Any = None) -> Any:
    """Return ``native_batch_norm``; ``args`` are the running statistics (which may be left out), ``training``, ``momentum`` and ``eps``."""
    statistics = args[:2] if len(args) > 3 else (None, None)
    return above.torch.native_batch_norm(input, weight, bias, *statistics, *args[-3:], out=out)


def _rowwise_prune(weight: Tensor, mask: Tensor, compressed_indices_dtype: Any) -> tuple[Tensor, Tensor]:
    """Return the rows that a bool mask keeps, and the new number of each row (-1 for a row that is removed)."""
    if weight.dim() != 2:
        raise RuntimeError("'weights' should have 2 dimensions.")
    if mask.numel() != weight.shape[0]:
        raise RuntimeError("Number of elements in 'mask' should be equivalent to the number of rows in 'weights'.")
    if mask.dtype is not bool_:
        raise RuntimeError(f"expected scalar type Bool but found {type_word(mask.dtype)}")
    if compressed_indices_dtype not in (int32, int64):
        raise RuntimeError("compressed_indices_dtype should be either int(int32) or long(int64).")
    numbers = mask.cumsum(0) - 1
    return weight[mask], numbers.masked_fill(~mask, -1).to(compressed_indices_dtype)


ENTERED = (
    _conj_copy, _neg_view_copy, _reshape_alias_copy, _indices_copy, _values_copy, _sparse_broadcast_to_copy, _sparse_broadcast_to,
    _fw_primal_copy,
    _make_dual_copy, _validate_compressed_sparse_indices, _functional_assert_async, _assert_async, _native_batch_norm_legit, _rowwise_prune,
)  # fmt: skip
FUNCTIONS = {function.__name__: function for function in ENTERED}

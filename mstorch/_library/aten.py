"""Operations that exist only under ``torch.ops.aten``."""
from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from .. import sparse
from .._src.core import dtype as dtypes
from .._src.core.device import device
from .._src.core.dtype import dtype, int64
from .._src.core.formats import contiguous_format, layout, memory_format
from .._src.ops._dispatch import wrap_dim
from .._src.ops.memory.creation import empty_like
from .._src.ops.shape import views
from .._src.sparse.pieces import sparse_compressed_tensor_with_dims
from .._tensor import Tensor
from ..nn import functional

_WHOLE = builtins.slice(None)


def _to_copy(
    self: Tensor, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    pin_memory: Any = None, non_blocking: bool = False, memory_format: memory_format | None = None,
) -> Tensor:  # fmt: skip
    """Return a copy with another dtype, device or memory format."""
    return self.to(device=device or self.device, dtype=dtype or self.dtype, non_blocking=non_blocking, copy=True)


def to(self: Tensor, *args: Any, layout: layout | None = None, pin_memory: Any = None, **options: Any) -> Tensor:
    """Return the tensor in another dtype, on another device, or like another tensor; its layout stays."""
    if layout is not None and layout is not self.layout:
        raise RuntimeError(f"to(options) doesn't support converting to a different layout, but got self.layout being {self.layout}")
    return self.to(*args, **{name: value for name, value in options.items() if value is not None})


def copy(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Return a tensor like ``self`` with the values of ``src``."""
    return empty_like(self).copy_(src, non_blocking)


def alias(self: Tensor) -> Tensor:
    """Return a view of the whole tensor."""
    return self.view(self.shape)


def slice(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Return the view ``start:end:step`` along a dimension."""
    place: list[Any] = [_WHOLE] * self.dim()
    place[wrap_dim(dim, self.dim())] = builtins.slice(start, end, step)
    return self[tuple(place)]


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return a view of the sliding windows along a dimension, unlike ``torch.nn.functional.unfold``."""
    return self.unfold(dimension, size, step)


def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Index with tensors; None selects a whole dimension."""
    return self[tuple(_WHOLE if one is None else one for one in indices)]


def _local_scalar_dense(self: Tensor) -> float:
    """Return the only element as a Python number."""
    return self.item()


def _unsafe_view(self: Tensor, size: Sequence[int]) -> Tensor:
    """Return the tensor in another shape over the same memory, as a result that autograd does not treat as a view."""
    return self.view(size) if self.is_nested else views.unsafe_view(self, views.infer_size(tuple(size), self.numel()), fresh=False)


def is_contiguous(self: Tensor, memory_format: Any = contiguous_format) -> bool:
    """Return whether the tensor is contiguous in a memory format."""
    return self.is_contiguous(memory_format=memory_format)


def sym_size(self: Tensor, dim: int | None = None) -> Any:
    """Return the length of a dimension, or all lengths."""
    return self.size() if dim is None else self.size(dim)


def _scaled_dot_product_attention_math(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
    dropout_mask: Tensor | None = None, *, scale: float | None = None, enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return attention composed of matrix products and softmax, and the attention weights."""
    if dropout_mask is not None or enable_gqa:
        raise NotImplementedError("mstorch: _scaled_dot_product_attention_math takes no dropout_mask and no enable_gqa")
    scores = query.matmul(key.transpose(-2, -1)) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = scores.new_ones(scores.shape[-2:]).tril().bool()
    if attn_mask is not None:
        scores = scores.masked_fill(attn_mask.logical_not(), float("-inf")) if attn_mask.dtype is dtypes.bool_ else scores + attn_mask
    weights = scores.softmax(-1)
    if dropout_p:
        weights = functional.dropout(weights, dropout_p)
    return weights.matmul(value), weights


def _is_all_true(self: Tensor) -> Tensor:
    """Return whether all elements are true."""
    return self.all()


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Return the tensor in pinned memory."""
    return self.pin_memory()


def _sparse_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * self + alpha * (mat1 @ mat2)`` for a sparse ``mat1``."""
    return sparse.addmm(self, mat1, mat2, beta=beta, alpha=alpha)


def _sparse_mm_reduce_impl(self: Tensor, other: Tensor, reduce: str) -> tuple[Tensor, Tensor]:
    """Return the product of a CSR and a dense matrix, reduced by sum or mean; raise NotImplementedError for other reductions, which return
    indices too.
    """
    if reduce not in ("sum", "mean"):
        raise NotImplementedError("mstorch: the places of the largest and smallest elements are not told; torch.sparse.mm gives the values")
    return sparse.mm(self, other, reduce), other.new_empty((0,), dtype=int64)


_sparse_compressed_tensor_with_dims = sparse_compressed_tensor_with_dims

"""Masked normalizations, whose result has the shape of the input."""
from __future__ import annotations

from typing import Any

from .._src.core.above import above
from .._src.core.dtype import dtype
from .._src.core.overriding import for_maps
from .._tensor import Tensor
from ._filled import filled, highest, lowest
from .reductions import norm


@for_maps
def softmax(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return ``exp(x) / sum(exp(x))`` over the unmasked elements along ``dim``; 0 where the mask is False."""
    kind = input._ms_dtype if dtype is None else dtype
    return above.torch.softmax(filled(input, mask, lowest("amax", kind), kind), dim)


@for_maps
def log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the log-softmax over the unmasked elements; -inf where the mask is False."""
    kind = input._ms_dtype if dtype is None else dtype
    return above.torch.log_softmax(filled(input, mask, lowest("amax", kind), kind), dim)


@for_maps
def softmin(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return ``softmax(-x)`` over the unmasked elements along ``dim``; 0 where the mask is False."""
    kind = input._ms_dtype if dtype is None else dtype
    return above.torch.softmax(above.torch.neg(filled(input, mask, highest("amin", kind), kind)), dim)


@for_maps
def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Divide the unmasked elements by their norm along ``dim``, clamped to at least ``eps``; 0 elsewhere."""
    kind = input._ms_dtype if dtype is None else dtype
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return filled(input, mask, 0, kind) / above.torch.maximum(length, length.new_full((), eps))


@for_maps
def logaddexp(
    input: Any, other: Any, *, dtype: dtype | None = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None
) -> Tensor:
    """Return ``log(exp(x) + exp(y))``, with masked elements as -inf."""
    kind = input._ms_dtype if dtype is None else dtype
    return above.torch.logaddexp(
        filled(input, input_mask, lowest("logaddexp", kind), kind),
        filled(other, other_mask, lowest("logaddexp", kind), kind),
    )

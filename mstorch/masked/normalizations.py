"""Masked normalizations, whose result has the shape of the input."""
from __future__ import annotations

from typing import Any

from .._core.above import above
from .._core.overriding import for_maps
from ._filled import filled, highest, lowest
from .reductions import norm


@for_maps
def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Return ``exp(x) / sum(exp(x))`` over the unmasked elements along ``dim``; 0 where the mask is False."""
    kind = input._dtype if dtype is None else dtype
    return above.torch.softmax(filled(input, mask, lowest("amax", kind), kind), dim)


@for_maps
def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Return the log-softmax over the unmasked elements; -inf where the mask is False."""
    kind = input._dtype if dtype is None else dtype
    return above.torch.log_softmax(filled(input, mask, lowest("amax", kind), kind), dim)


@for_maps
def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Return ``softmax(-x)`` over the unmasked elements along ``dim``; 0 where the mask is False."""
    kind = input._dtype if dtype is None else dtype
    return above.torch.softmax(above.torch.neg(filled(input, mask, highest("amin", kind), kind)), dim)


@for_maps
def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """Divide the unmasked elements by their norm along ``dim``, clamped to at least ``eps``; 0 elsewhere."""
    kind = input._dtype if dtype is None else dtype
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return filled(input, mask, 0, kind) / above.torch.maximum(length, length.new_full((), eps))


@for_maps
def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """Return ``log(exp(x) + exp(y))``, with masked elements as -inf."""
    kind = input._dtype if dtype is None else dtype
    return above.torch.logaddexp(
        filled(input, input_mask, lowest("logaddexp", kind), kind),
        filled(other, other_mask, lowest("logaddexp", kind), kind),
    )

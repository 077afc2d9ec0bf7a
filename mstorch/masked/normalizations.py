"""Masked normalisations: the result has the shape of the input."""
from __future__ import annotations

from typing import Any

from .._core.above import above
from .._core.overriding import for_maps
from ._filled import filled, highest, lowest
from .reductions import norm


@for_maps
def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """``exp(x) / sum(exp(x))`` over the unmasked elements along ``dim``; 0 where the mask is false."""
    kind = input._dtype if dtype is None else dtype
    return above.torch.softmax(filled(input, mask, lowest("amax", kind), kind), dim)


@for_maps
def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Return the logarithm of ``softmax``; -inf where the mask is false."""
    kind = input._dtype if dtype is None else dtype
    return above.torch.log_softmax(filled(input, mask, lowest("amax", kind), kind), dim)


@for_maps
def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """``softmax(-x)`` over the unmasked elements along ``dim``; 0 where the mask is false."""
    kind = input._dtype if dtype is None else dtype
    return above.torch.softmax(above.torch.neg(filled(input, mask, highest("amin", kind), kind)), dim)


@for_maps
def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """Return the unmasked elements divided by their norm along ``dim``, which counts as ``eps`` at least; 0 elsewhere."""
    kind = input._dtype if dtype is None else dtype
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return filled(input, mask, 0, kind) / above.torch.maximum(length, length.new_full((), eps))


@for_maps
def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """``log(exp(x) + exp(y))``, where a masked element counts as -inf."""
    kind = input._dtype if dtype is None else dtype
    return above.torch.logaddexp(
        filled(input, input_mask, lowest("logaddexp", kind), kind),
        filled(other, other_mask, lowest("logaddexp", kind), kind),
    )

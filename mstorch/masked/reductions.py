"""Masked reductions, which ignore elements whose mask is False."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._src.core.above import above
from .._src.core.dtype import bool_, dtype, get_default_dtype, int64
from .._src.core.overriding import for_maps
from .._tensor import Tensor
from ._filled import canonical_dims, filled, highest, input_mask, lowest


def _summed(input: Tensor, dtype: dtype | None) -> dtype:
    """Return the result dtype of a sum or product: int64 for integers."""
    if dtype is not None:
        return dtype
    return int64 if input._ms_dtype.is_integral else input._ms_dtype


def _over(function: Callable[..., Any], input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Apply a reduction that supports one dimension along several; return a copy for an empty list of dimensions."""
    found = input
    for d in sorted(dims, reverse=True):
        found = function(found, d, keepdim)
    return found.clone() if found is input else found


@for_maps
def sum(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Any:
    """Return the sum of the unmasked elements; 0 if there are none."""
    values = filled(input, mask, 0, _summed(input, dtype))
    dims = canonical_dims(dim, len(input._ms_shape))
    return above.torch.sum(values, dims, bool(keepdim)) if dims else values.clone()


@for_maps
def prod(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the product of the unmasked elements; 1 if there are none."""
    values = filled(input, mask, 1, _summed(input, dtype))
    return _over(above.torch.prod, values, canonical_dims(dim, len(input._ms_shape)), bool(keepdim))


@for_maps
def cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Any:
    """Return cumulative sums, with masked elements as 0."""
    return _running("cumsum", above.torch.cumsum, 0, input, dim, dtype, mask)


@for_maps
def cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return cumulative products, with masked elements as 1."""
    return _running("cumprod", above.torch.cumprod, 1, input, dim, dtype, mask)


def _running(
    name: str, function: Callable[..., Any], neutral: int, input: Tensor, dim: int, dtype: dtype | None, mask: Tensor | None
) -> Tensor:
    dims = canonical_dims(dim, len(input._ms_shape))
    kind = input._ms_dtype if dtype is None else dtype
    if kind is bool_:
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
    return function(filled(input, mask, neutral, dtype), dims[0] if dims else 0, dtype=kind)


@for_maps
def amax(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the maximum of the unmasked elements; -inf (the smallest integer) if there are none."""
    kind = input._ms_dtype if dtype is None else dtype
    values = filled(input, mask, lowest("amax", kind), kind)
    return above.torch.amax(values, canonical_dims(dim, len(input._ms_shape)), bool(keepdim))


@for_maps
def amin(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the minimum of the unmasked elements; inf (the largest integer) if there are none."""
    kind = input._ms_dtype if dtype is None else dtype
    values = filled(input, mask, highest("amin", kind), kind)
    return above.torch.amin(values, canonical_dims(dim, len(input._ms_shape)), bool(keepdim))


@for_maps
def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Any:
    """Return the index of the maximum of the unmasked elements, in the dtype of the input as in torch."""
    kind = input._ms_dtype if dtype is None else dtype
    return above.torch.argmax(filled(input, mask, lowest("argmax", kind), kind), dim, bool(keepdim)).to(kind)


@for_maps
def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return the index of the minimum of the unmasked elements, in the dtype of the input as in torch."""
    kind = input._ms_dtype if dtype is None else dtype
    return above.torch.argmin(filled(input, mask, highest("argmin", kind), kind), dim, bool(keepdim)).to(kind)


def _counted(input: Tensor, dims: tuple[int, ...], keepdim: bool, mask: Tensor | None) -> Tensor:
    """Return the number of unmasked elements."""
    if mask is None:
        mask = above.torch.ones(input._ms_shape, dtype=bool_, device=input.device)
    return sum(input_mask(input, mask), dims, keepdim=keepdim, dtype=int64)


@for_maps
def mean(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the mean of the unmasked elements; NaN if there are none."""
    kind = input._ms_dtype if dtype is None else dtype
    if kind.is_integral:
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{input._ms_dtype}"
        )
    dims = canonical_dims(dim, len(input._ms_shape))
    total = sum(input, dims, keepdim=keepdim, dtype=kind, mask=mask)
    return (total / _counted(input, dims, bool(keepdim), mask)).to(kind)


@for_maps
def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the lower median of the unmasked elements along a dimension; NaN if there are none."""
    dims = canonical_dims(dim, len(input._ms_shape))
    place = dims[0] if dims else 0
    if mask is None and input._ms_dtype.is_integral:
        return above.torch.median(input, place, keepdim)[0]
    if not input._ms_dtype.is_integral:
        return above.torch.nanmedian(filled(input, mask, float("nan"), None), place, keepdim)[0]
    if (_counted(input, (place,), False, mask) == 0).any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    found = above.torch.nanmedian(above.torch.where(input_mask(input, mask), input.double(), float("nan")), place, keepdim)[0]
    return found.to(input._ms_dtype)


@for_maps
def logsumexp(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None) -> Any:
    """Return the logsumexp of the unmasked elements; -inf if there are none."""
    kind = input._ms_dtype if dtype is None else dtype
    values = filled(input, mask, lowest("logsumexp", kind), kind)
    return above.torch.logsumexp(values, canonical_dims(dim, len(input._ms_shape)), bool(keepdim)).to(kind)


@for_maps
def norm(
    input: Any, ord: float | None = 2.0, dim: Any = None, *, keepdim: bool | None = False, dtype: dtype | None = None,
    mask: Tensor | None = None
) -> Tensor:
    """Return the vector norm of the unmasked elements; for ``ord=-inf``, inf if there are none."""
    neutral = float("inf") if ord == float("-inf") else 0
    values = filled(input, mask, neutral, dtype)
    dims = canonical_dims(dim, len(input._ms_shape))
    return above.torch.linalg.vector_norm(values, 2 if ord is None else ord, dims, bool(keepdim), dtype=dtype)


def _variance(
    name: str, input: Tensor, dim: int | None, unbiased: bool | None, correction: float | None, keepdim: bool, dtype: dtype | None,
    mask: Tensor | None
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    less = int(unbiased) if unbiased is not None else 1 if correction is None else correction
    kind = input._ms_dtype if dtype is None else dtype
    computing = get_default_dtype() if kind.is_integral else kind
    dims = canonical_dims(dim, len(input._ms_shape))
    values = input.to(computing)
    count = _counted(input, dims, True, mask)
    centre = sum(values, dims, keepdim=True, mask=mask) / count
    apart = values - centre
    square = filled(apart * apart.conj_physical() if computing.is_complex else apart * apart, mask, 0, None)
    total = sum(square.real if computing.is_complex else square, dims, keepdim=keepdim)
    count = count.reshape(total._ms_shape)
    return (total / above.torch.clamp_min(count - less, 0)).to(computing)


@for_maps
def var(
    input: Tensor, dim: int | None = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool | None = False,
    dtype: dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the variance of the unmasked elements, divided by their count minus ``correction`` (1)."""
    return _variance("var", input, dim, unbiased, correction, bool(keepdim), dtype, mask)


@for_maps
def std(
    input: Tensor, dim: int | None = None, unbiased: bool | None = None, *, correction: int | None = None,
    keepdim: bool | None = False, dtype: dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the standard deviation of the unmasked elements."""
    return above.torch.sqrt(_variance("std", input, dim, unbiased, correction, bool(keepdim), dtype, mask))

"""Random tensors for tests."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mstorch as torch

from .._src.core.device import device
from .._src.core.dtype import dtype
from .._src.core.formats import memory_format
from .._src.core.warned import warn
from .._tensor import Tensor


def _range(kind: dtype, low: float | None, high: float | None) -> tuple[Any, Any]:
    """Return the interval to draw from: the caller's or the default, clipped to the dtype's range."""
    continuous = kind.is_floating_point or kind.is_complex
    if continuous:
        info = torch.finfo(kind)
        least, limit, default = info.min, info.max, (-9, 9)
    elif kind is torch.bool:
        least, limit, default = 0, 2, (0, 2)
    else:
        whole = torch.iinfo(kind)
        least, limit, default = whole.min, whole.max + (kind is not torch.int64), (-9, 10)
    low, high = default[0] if low is None else low, default[1] if high is None else high
    if any(isinstance(value, float) and math.isnan(value) for value in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and continuous:
        warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will be "
            "removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= limit:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {kind} only supports [{least}, {limit})"
        )
    low, high = (min(max(value, least), limit) for value in (low, high))
    return (low, high) if continuous else (math.ceil(low), math.ceil(high))


def make_tensor(
    *shape: Any, dtype: dtype, device: device | str | int, low: float | None = None, high: float | None = None, requires_grad: bool = False,
    noncontiguous: bool = False, exclude_zero: bool = False, memory_format: memory_format | None = None,
) -> Tensor:  # fmt: skip
    """Return a tensor of numbers drawn uniformly from [low, high): by default [-9, 9), [-9, 10) for integers, both values for bool."""
    size = tuple(shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)
    continuous = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=!r} and "
            f"{memory_format=!r}"
        )
    if requires_grad and not continuous:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=!r}"
        )
    gaps = noncontiguous and math.prod(size) > 1
    if gaps:
        size = (*size[:-1], 2 * size[-1])
    low, high = _range(dtype, low, high)
    if continuous:
        result = torch.empty(size, device=device, dtype=dtype)
        numbers = torch.view_as_real(result) if dtype.is_complex else result
        if high - low >= torch.finfo(numbers.dtype).max:  # the difference overflows
            numbers.uniform_(low / 2, high / 2).mul_(2)
        else:
            numbers.uniform_(low, high)
    else:
        result = torch.randint(int(low), int(high), size, device=device, dtype=dtype)
    if gaps:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = torch.finfo(dtype).tiny if continuous else 1
    if continuous:
        result.requires_grad = requires_grad
    return result

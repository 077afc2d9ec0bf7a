"""Checks of index tensors: dtype and range, as torch checks them in gather, scatter and the like."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...backend.arrays import Array, within
from ...backend.errors import wrong_type
from ...core.call_forms import OVERFLOW
from ...core.dtype import int32, int64
from ...core.tensor_base import TensorBase
from .._dispatch import cast_tensor, is_number, readable, type_word


def index_tensor(index: TensorBase | None, name: str, *, int32_too: bool = True, error: type = RuntimeError, text: str = "") -> TensorBase:
    """Return an index tensor as int64. Raise torch's error for another dtype."""
    if not isinstance(index, TensorBase):
        raise wrong_type(f"{name}(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index._ms_dtype is int64:
        return index
    if math.prod(index._ms_shape) == 0 or (index._ms_dtype is int32 and int32_too):
        return cast_tensor(index, int64)
    raise error(text or f"{name}(): Expected a long tensor for index, but got {type_word(index._ms_dtype)}")


def check_range(index: TensorBase, low: int, high: int, error: Callable[..., Any]) -> None:
    """Raise ``error(value)`` for the first index outside [low, high); in a capture nothing is checked."""
    values = None if 0 in index._ms_shape else readable(index)
    if values is None:
        return
    if not within(values, low, high - 1):
        wrong = values[(values < low) | (values >= high)]
        raise error(int(wrong.reshape(-1)[0]))


def check_index_dim(index: TensorBase, dim: int, shape: tuple[int, ...]) -> None:
    """Raise torch's gather and scatter error for an index out of range for its dimension."""
    size = shape[dim] if shape else 1
    check_range(
        index, 0, size, lambda value: RuntimeError(f"index {value} is out of bounds for dimension {dim} with size {size}")
    )


def expect_dtype_of(target: TensorBase, value: TensorBase) -> None:
    """Raise torch's error unless the source of a write at indices has the target's dtype."""
    if value._ms_dtype is not target._ms_dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{type_word(target._ms_dtype)} for the destination and {type_word(value._ms_dtype)} for the source."
        )


def not_numbers(items: Array) -> Exception:
    """Return torch's error for a list in a key that holds something other than numbers, or a number of more than 64 bits."""
    wrong = [item for item in items.reshape(-1) if not is_number(item)]
    if not wrong:
        return ValueError(OVERFLOW)
    if isinstance(wrong[0], str):
        return TypeError("new(): invalid data type 'str'")
    return RuntimeError(f"Could not infer dtype of {type(wrong[0]).__name__}")

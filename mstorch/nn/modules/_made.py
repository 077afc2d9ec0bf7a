"""How layers make their parameters and spread one number over dimensions."""
from __future__ import annotations

from typing import Any

from ..._ops.creation import empty, ones, zeros
from ..parameter import Parameter


def parameter(*size: int, device: Any = None, dtype: Any = None) -> Parameter:
    """A parameter of values that are still to be drawn."""
    return Parameter(empty(*size, device=device, dtype=dtype))


def parameter_of(value: float, *size: int, device: Any = None, dtype: Any = None) -> Parameter:
    """A parameter of ones or zeros."""
    return Parameter((ones if value else zeros)(*size, device=device, dtype=dtype))


def numbers(value: Any, rank: int) -> tuple[Any, ...]:
    """One value for each dimension."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * rank

"""Values of host memory as NumPy's arrays and those of a device as tensors, under one set of names: their geometry is written once.

NumPy's operation on a few numbers takes 2 µs, a tensor's 30, and an operator on regions consists of sixty.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

import mstorch as torch

Tensor = torch.Tensor
Values: TypeAlias = Any
"""An array (host memory) or a tensor (a device). Both have arithmetic, comparisons, ``shape``, ``dtype``, ``reshape`` and subscripts."""


def wide(values: Tensor) -> Tensor:
    """Return values in the dtype in which sums are computed."""
    return values.detach() if values.dtype in (torch.float32, torch.float64) else values.detach().float()


def bare(values: Tensor) -> Values:
    """Return values in the dtype in which sums are computed, as an array if they are in host memory."""
    plain = wide(values)
    return plain.numpy() if plain.device.type == "cpu" else plain


def tensor(values: Values, like: Tensor | None = None) -> Tensor:
    """Return values as a tensor of the dtype of another one, or of their own."""
    whole = torch.from_numpy(np.ascontiguousarray(values)) if isinstance(values, np.ndarray) else values.contiguous()
    return whole if like is None else whole.to(like.dtype)


def library(values: Values) -> Any:
    """Return the module whose functions compute on values: NumPy or torch. Their names and first arguments are the same for what is used
    here."""
    return np if isinstance(values, np.ndarray) else torch


def steps(count: int, like: Values) -> Values:
    """Return 0, 1, … in the dtype of other values. A tensor's dtype, unlike an array's, is not changed by integers."""
    return np.arange(count, dtype=like.dtype) if isinstance(like, np.ndarray) else torch.arange(count, dtype=like.dtype, device=like.device)


def whole(values: Values) -> Values:
    """Return values as integers."""
    return values.astype(np.int64) if isinstance(values, np.ndarray) else values.long()


def converted(values: Values, like: Values) -> Values:
    """Return values in the dtype of others."""
    return values.astype(like.dtype) if isinstance(values, np.ndarray) else values.to(like.dtype)


def turned(values: Values, *order: int) -> Values:
    """Return values with their axes in another order."""
    return values.transpose(order) if isinstance(values, np.ndarray) else values.permute(order)


def filled(shape: Sequence[int], like: Values, number: float = 0) -> Values:
    """Return a number in a shape, in the dtype of other values."""
    return np.full(shape, number, like.dtype) if isinstance(like, np.ndarray) else like.new_full(tuple(shape), number)


def chosen_from(values: Values, places: Values | None) -> Values:
    """Return some rows, or all for None."""
    return values if places is None else values[places]


def count_of(values: Values) -> int:
    """Return how many elements there are."""
    return math.prod(values.shape)


__all__ = [
    "Values", "bare", "chosen_from", "converted", "count_of", "filled", "library", "steps", "tensor", "turned", "whole", "wide",
]  # fmt: skip

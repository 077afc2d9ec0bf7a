"""Hooks through which lower packages find out which tensors are sparse, and make sparse tensors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .tensor_base import TensorBase

# Functions that make sparse tensors, set by ``_sparse`` when it is loaded.
MAKERS: dict[str, Callable[..., Any]] = {}  # "coo": (indices (dimensions, nnz), values (nnz, *), size) to a tensor


def is_sparse(value: Any) -> bool:
    """Return whether a value is a tensor of any sparse layout; torch's ``Tensor.is_sparse`` is True for COO only."""
    return isinstance(value, TensorBase) and value._ms_sparse

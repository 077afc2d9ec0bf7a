"""Checks of ``out=`` for operations with several results."""
from __future__ import annotations

from typing import Any

from ..core.tensor_base import TensorBase


def expect_parts(name: str, out: Any, count: int = 2) -> None:
    """Raise TypeError unless ``out`` is None or a tuple of ``count`` tensors; a single tensor would be written row by row."""
    if out is None:
        return
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if out and not isinstance(out[0], TensorBase):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__} of {type(out[0]).__name__}")
    if len(out) != count:
        raise TypeError(f"expected tuple of {count} elements but got {len(out)}")

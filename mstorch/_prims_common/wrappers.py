"""torch._prims_common.wrappers: the function ``_maybe_convert_to_dtype``, which packages import from it."""
from __future__ import annotations

from typing import Any

from .._src.core.dtype import bool_ as _bool
from .._src.core.dtype import dtype as _dtype
from .._src.core.tensor_base import TensorBase

__all__ = ["_maybe_convert_to_dtype"]


def _maybe_convert_to_dtype(a: Any, dtype: _dtype) -> Any:
    """Cast a tensor, each tensor of a sequence, or a number; None stays None."""
    if isinstance(a, TensorBase):
        return a.to(dtype) if a.dtype != dtype else a
    if isinstance(a, (bool, int, float, complex)):
        kind: Any = complex if dtype.is_complex else float if dtype.is_floating_point else bool if dtype is _bool else int
        return kind(a)
    if a is None:
        return None
    if isinstance(a, (list, tuple)):
        return tuple(_maybe_convert_to_dtype(one, dtype) for one in a)
    raise ValueError(f"Received unsupported type {type(a)}. Expected TensorLike, Number, or Sequence.")

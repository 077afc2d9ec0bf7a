"""Reductions."""
from __future__ import annotations

from typing import Any

from .._backend.table import kernel
from .._core.dtype import dtype, int64
from .._core.tensor_base import value_of
from ._dispatch import call, deliver, wrap_dims

_sum = kernel("sum")


def sum(  # noqa: A001 - torch's name
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Any = None  # noqa: A002
) -> Any:
    """The sum of all elements, or along ``dim``; integers add up in int64."""
    kind = dtype or (int64 if input._dtype.category < 2 else input._dtype)
    dims = wrap_dims(dim, len(value_of(input).shape))
    result = call(_sum, (input,), dims, keepdim, dtype=kind)
    return result if out is None else deliver(result, out)


FUNCTIONS = ("sum",)
METHODS = ("sum",)

"""Assertions under ``torch.ops.aten``, which graphs contain: on numbers, ranges and tensor metadata."""
from __future__ import annotations

from typing import Any

from .._tensor import Tensor

_LARGEST = 2**63 - 1


def _assert_scalar(self: Any, assert_msg: str) -> None:
    """Raise RuntimeError with this message if a number is zero or False."""
    if isinstance(self, Tensor):
        raise RuntimeError("aten::_assert_scalar() Expected a value of type 'number' for argument 'self' but instead found type 'Tensor'.")
    if not self:
        raise RuntimeError(assert_msg)


def _functional_assert_scalar(self: Any, assert_msg: str, dep_token: Tensor) -> Tensor:
    """Do what ``_assert_scalar`` does, and return a copy of the token that orders the calls of a graph."""
    _assert_scalar(self, assert_msg)
    return dep_token.clone()


def _functional_assert_async(self: Tensor, assert_msg: str, dep_token: Tensor) -> Tensor:
    """Raise RuntimeError with this message if a one-element tensor is zero; return a copy of the token, which orders the calls of a graph.
    """
    if not self.item():
        raise RuntimeError(assert_msg)
    return dep_token.clone()


def _assert_tensor_metadata(
    a: Tensor, size: Any = None, stride: Any = None, dtype: Any = None, *, device: Any = None, layout: Any = None
) -> None:
    """Raise RuntimeError if the metadata of a tensor differ from the expected ones that are given."""
    for what, wanted, found in (
        ("sizes", size, list(a.shape)), ("strides", stride, None if stride is None else list(a.stride())), ("dtype", dtype, a.dtype),
        ("device", device, a.device), ("layout", layout, a.layout),
    ):  # fmt: skip
        same = wanted is None or (list(wanted) == found if what in ("sizes", "strides") else str(wanted) == str(found))
        if not same:
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {wanted}, Got: {found}")


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Raise RuntimeError if a number is outside of a range."""
    low, high = -_LARGEST - 1 if min is None else min, _LARGEST if max is None else max
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Raise RuntimeError if a length is outside of a range; the default minimum is 0."""
    sym_constrain_range(size, min=0 if min is None else min, max=max)

"""Checks that graphs hold and that torch has under ``torch.ops.aten`` only: of numbers, ranges and what tensors say of themselves."""
from __future__ import annotations

from typing import Any

from .._tensor import Tensor

_LARGEST = 2**63 - 1


def _assert_scalar(self: Any, assert_msg: str) -> None:
    """Raise RuntimeError with these words for a number that is zero or false."""
    if isinstance(self, Tensor):
        raise RuntimeError("aten::_assert_scalar() Expected a value of type 'number' for argument 'self' but instead found type 'Tensor'.")
    if not self:
        raise RuntimeError(assert_msg)


def _functional_assert_scalar(self: Any, assert_msg: str, dep_token: Tensor) -> Tensor:
    """Return the same; a copy of the token says in a graph that it came before."""
    _assert_scalar(self, assert_msg)
    return dep_token.clone()


def _functional_assert_async(self: Tensor, assert_msg: str, dep_token: Tensor) -> Tensor:
    """Raise RuntimeError with these words for a tensor of zero; a copy of the token says in a graph that it came before."""
    if not self.item():
        raise RuntimeError(assert_msg)
    return dep_token.clone()


def _assert_tensor_metadata(
    a: Tensor, size: Any = None, stride: Any = None, dtype: Any = None, *, device: Any = None, layout: Any = None
) -> None:
    """Raise RuntimeError unless a tensor says of itself what is expected, as far as that is given."""
    for what, wanted, found in (
        ("sizes", size, list(a.shape)), ("strides", stride, None if stride is None else list(a.stride())), ("dtype", dtype, a.dtype),
        ("device", device, a.device), ("layout", layout, a.layout),
    ):  # fmt: skip
        same = wanted is None or (list(wanted) == found if what in ("sizes", "strides") else str(wanted) == str(found))
        if not same:
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {wanted}, Got: {found}")


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Raise RuntimeError for a number outside of a range."""
    low, high = -_LARGEST - 1 if min is None else min, _LARGEST if max is None else max
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """The same for a length, which is not negative."""
    sym_constrain_range(size, min=0 if min is None else min, max=max)

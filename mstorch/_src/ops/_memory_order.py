"""The strides of results of elementwise operations and compositions."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backend.geometry import contiguous_strides
from ..core.dtype import dtype
from ..core.strides import elementwise_strides, preserved_strides
from ..core.tensor_base import TensorBase, in_order, strides_of


def result_strides(
    operands: Sequence[Any], shape: tuple[int, ...], with_numbers: bool = False, kind: dtype | None = None
) -> tuple[int, ...] | None:
    """Return the strides that torch gives an elementwise result; None if row-major.

    ``kind`` is the dtype of the computation; operands of other dtypes are first cast to dense copies.
    """
    for operand in operands:
        if operand._ms_stride is not None:
            break
    else:
        if 0 not in shape or not (with_numbers or len(operands) > 1):
            return None
    return elementwise_strides(
        shape, tuple([(item._ms_shape, strides_of(item) if kind in (None, item._ms_dtype) else _converted(item)) for item in operands]),
        with_numbers,
    )


def _converted(tensor: TensorBase) -> tuple[int, ...]:
    """Return the strides of a cast tensor, or of a copy."""
    return preserved_strides(tensor._ms_shape, strides_of(tensor)) or contiguous_strides(tensor._ms_shape)


def in_order_of(found: TensorBase, *operands: Any, with_numbers: bool = False) -> TensorBase:
    """Return the new result of several operations with the strides that a single elementwise operation on the operands would give it."""
    strides = result_strides(operands, found._ms_shape, with_numbers)
    return found if found._ms_stride is strides is None else in_order(found, strides or contiguous_strides(found._ms_shape))


def kept_order(found: TensorBase, input: TensorBase) -> Any:
    """Return a new result of the shape of ``input`` with the strides that a copy of ``input`` would have."""
    if found._ms_stride is input._ms_stride is None:
        return found
    return in_order(found, _converted(input))


def row_major(found: TensorBase) -> TensorBase:
    """Return a new result with exactly row-major strides, also in dimensions of length 0 or 1."""
    return found if found._ms_stride is None else in_order(found, contiguous_strides(found._ms_shape))

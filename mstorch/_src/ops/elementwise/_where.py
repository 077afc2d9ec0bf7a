"""Selection by a mask, from which ``where`` and piecewise operations are composed."""
from __future__ import annotations

from typing import Any

from ...backend.table import kernel
from ...core.dtype import dtype
from ...core.tensor_base import TensorBase
from ...tape.apply import apply
from .._dispatch import broadcast_shape, cast_tensor, python_number
from .._memory_order import result_strides
from .._numbers import written
from .._scalars import scalar_array

_where = kernel("where")


def chosen(condition: TensorBase, input: TensorBase | float, other: TensorBase | float, kind: dtype, tensors: list[Any]) -> TensorBase:
    """Return ``input`` where ``condition`` is True, else ``other``, cast to ``kind``. ``tensors`` lists the arguments that are tensors."""
    shape = condition._ms_shape
    for tensor in tensors[1:]:
        shape = broadcast_shape(shape, tensor._ms_shape)
    first, second = (
        item if isinstance(item, TensorBase) and item._ms_dtype is kind else cast_tensor(item, kind) if isinstance(item, TensorBase)
        else scalar_array(written(python_number(item), kind), kind)
        for item in (input, other)
    )
    return apply(_where, kind, (condition, first, second), strides=result_strides(tensors, shape, len(tensors) < 3))

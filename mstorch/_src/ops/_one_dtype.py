"""Operations whose tensors must have one dtype: torch's errors if they differ."""
from __future__ import annotations

from ..core.dtype import dtype, float32
from ..core.tensor_base import TensorBase
from ._dispatch import refuse_dtype, type_word


def expect_dtype(kind: dtype, *tensors: TensorBase | None) -> None:
    """Raise torch's error unless all tensors have the given dtype; None is ignored."""
    for tensor in tensors:
        if tensor is not None and tensor._ms_dtype is not kind:
            raise RuntimeError(f"expected scalar type {type_word(kind)} but found {type_word(tensor._ms_dtype)}")


def expect_parameters(kernel: str, input: TensorBase, *parameters: TensorBase | None) -> None:
    """Raise torch's error unless a normalization's parameters have the input's dtype, or float32 for half-precision input; None is ignored.
    """
    kind = input._ms_dtype
    given = [parameter for parameter in parameters if parameter is not None]
    if given and given[0]._ms_dtype is not kind:
        if any(parameter._ms_dtype is not float32 for parameter in given):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        if kind.itemsize != 2 or not kind.is_floating_point:
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
        return
    refuse_dtype(kernel, kind, 2)
    expect_dtype(kind, *given)

"""Matrix products of int8 weights, for quantized layers."""
from __future__ import annotations

from ...core.dtype import bfloat16, dtype, float16, float32, int8, int32, uint8
from ...core.tensor_base import TensorBase
from .._dispatch import type_word
from .grouped import grouped_mm
from .matmul import matmul


def _int_mm(input: TensorBase, mat2: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the product of an int8 or uint8 matrix (M, K) and an int8 matrix (K, N), accumulated in int32."""
    for name, matrix in (("self", input), ("mat2", mat2)):
        if len(matrix._ms_shape) != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {len(matrix._ms_shape)}")
    if input._ms_shape[1] != mat2._ms_shape[0]:
        sizes = f"{input._ms_shape[1]} and {mat2._ms_shape[0]}"
        raise RuntimeError(f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {sizes}")
    if input._ms_dtype not in (int8, uint8):
        raise RuntimeError(f"int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got {_word(input)}")
    if mat2._ms_dtype is not int8:
        raise RuntimeError(f"int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got {_word(mat2)}")
    return matmul(input.to(int32), mat2.to(int32), out=out)


def _word(tensor: TensorBase) -> str:
    return type_word(tensor._ms_dtype).lower()


def _weight_int8pack_mm(input: TensorBase, mat2: TensorBase, scales: TensorBase) -> TensorBase:
    """Return ``input @ mat2.T * scales`` for (M, K), int8 weights (N, K) and N scales, in the dtype of ``input``."""
    if input._ms_dtype not in (float32, bfloat16, float16):
        raise RuntimeError("_weight_int8pack_mm_cpu : expect A to be either 32-bit or 16-bit float tensor.")
    if mat2._ms_dtype is not int8:
        raise RuntimeError("_weight_int8pack_mm_cpu : expect B to be int8 tensor.")
    if not mat2.is_contiguous():
        raise RuntimeError("_weight_int8pack_mm_cpu : expect B to be contiguous.")
    if tuple(scales._ms_shape) != (mat2._ms_shape[0],):
        raise RuntimeError(f"_weight_int8pack_mm_cpu : expect scales to be 1d tensor with size {mat2._ms_shape[0]}")
    return (matmul(input.to(float32), mat2.to(float32).T) * scales.to(float32)).to(input._ms_dtype)


def _grouped_mm(
    input: TensorBase, mat2: TensorBase, offs: TensorBase | None = None, bias: TensorBase | None = None, out_dtype: dtype | None = None
) -> TensorBase:
    """Return ``torch.nn.functional.grouped_mm`` of the arguments, under the operator's name."""
    return grouped_mm(input, mat2, offs=offs, bias=bias, out_dtype=out_dtype)

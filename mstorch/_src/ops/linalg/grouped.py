"""Grouped matrix products, as used by mixtures of experts."""
from __future__ import annotations

from ...core.dtype import bfloat16, dtype, float16, float32, int32
from ...core.tensor_base import TensorBase
from .._dispatch import type_word
from ..memory.creation import zeros
from ..shape.join import cat, stack
from .matmul import matmul


def _check(mat_a: TensorBase, mat_b: TensorBase, offs: TensorBase | None, bias: TensorBase | None, out_dtype: dtype | None) -> None:
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if matrix._ms_dtype not in (float32, bfloat16, float16):
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {type_word(matrix._ms_dtype)}")
        if len(matrix._ms_shape) not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    flat = 2 in (len(mat_a._ms_shape), len(mat_b._ms_shape))
    if flat is (offs is None):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is not None and offs._ms_dtype is not int32:
        raise RuntimeError("Offsets have to be int32")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, mat_a._ms_dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if mat_a._ms_shape[-1] != mat_b._ms_shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")


def grouped_mm(
    mat_a: TensorBase, mat_b: TensorBase, *, offs: TensorBase | None = None, bias: TensorBase | None = None, out_dtype: dtype | None = None
) -> TensorBase:
    """Return the matrix product of each group; ``offs`` (int32) are the ends of the groups of a 2-d operand.

    (M, K) with (G, K, N) → (M, N), (G, M, K) with (K, N) → (M, N), (M, K) with (K, N) → (G, M, N), and (G, M, K) with (G, K, N) → (G, M,
    N). Rows after the last group are zero.
    """
    _check(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return matmul(mat_a, mat_b)
    ends = offs.tolist()
    groups = list(zip([0, *ends], ends))
    rows, columns = mat_a._ms_shape[-2], mat_b._ms_shape[-1]
    if len(mat_a._ms_shape) == 2 and len(mat_b._ms_shape) == 2:
        return stack([matmul(mat_a[:, start:end], mat_b[start:end]) for start, end in groups])
    if len(mat_a._ms_shape) == 2:
        parts = [matmul(mat_a[start:end], mat_b[i]) for i, (start, end) in enumerate(groups)]
        rest = zeros((rows - ends[-1], columns), dtype=mat_a._ms_dtype, device=mat_a.device)
        return cat([*parts, rest]) if ends[-1] < rows else cat(parts)
    parts = [matmul(mat_a[i], mat_b[:, start:end]) for i, (start, end) in enumerate(groups)]
    rest = zeros((rows, columns - ends[-1]), dtype=mat_a._ms_dtype, device=mat_a.device)
    return cat([*parts, rest], 1) if ends[-1] < columns else cat(parts, 1)

"""Matrix products of float8 matrices, scaled as a whole or by rows and columns."""
from __future__ import annotations

from ..._core.dtype import STORED_DTYPES, dtype, float4_e2m1fn_x2, float32
from ..._core.tensor_base import TensorBase, count_of
from .._dispatch import finish, shape_of, type_word
from ..elementwise.elementwise import add, mul
from ..memory.copying import is_contiguous, to_dtype
from ..shape import views
from .matmul import mm


def _kind_text(name: str, tensor: TensorBase) -> str:
    return f"{name}.dtype()={type_word(tensor._ms_dtype)}"


def _scale_text(name: str, tensor: TensorBase, joint: str) -> str:
    sizes, steps = list(shape_of(tensor)), list(tensor.stride())
    return f"{_kind_text(name, tensor)}, {name}.size()={sizes}{joint}{name}.stride()={steps}"


def _check_scales(input: TensorBase, mat2: TensorBase, scale_a: TensorBase, scale_b: TensorBase) -> None:
    """Raise torch's error unless the scales are one per matrix, or one per row of the first and per column of the second."""
    rows, columns = shape_of(input)[0], shape_of(mat2)[1]
    fit = all(matrix._ms_dtype in STORED_DTYPES and matrix._ms_dtype is not float4_e2m1fn_x2 for matrix in (input, mat2))
    fit = fit and scale_a._ms_dtype is scale_b._ms_dtype is float32
    whole = count_of(shape_of(scale_a)) == count_of(shape_of(scale_b)) == 1
    by_rows = shape_of(scale_a) == (rows, 1) and shape_of(scale_b) == (1, columns)
    by_rows = by_rows and is_contiguous(scale_a) and is_contiguous(scale_b)
    if not fit or not (whole or by_rows):
        raise ValueError(
            "Invalid scaling configuration.\n"
            "- For TensorWise scaling, a and b should be float8, scales should be float and singletons.\n"
            f"- For RowWise scaling, a and b should be float8, scales should be float, scale_a should be ({rows}, 1) and scale_b "
            f"should be (1, {columns}), and both should be contiguous.\n"
            f"Got {_kind_text('mat_a', input)}, {_scale_text('scale_a', scale_a, ', ')}, "
            f"{_kind_text('mat_b', mat2)}, {_scale_text('scale_b', scale_b, ' and ')}"
        )


def _scaled_mm(
    input: TensorBase, mat2: TensorBase, scale_a: TensorBase, scale_b: TensorBase, bias: TensorBase | None = None,
    scale_result: TensorBase | None = None, out_dtype: dtype | None = None,
    use_fast_accum: bool = False, *, out: TensorBase | None = None,
) -> TensorBase:  # fmt: skip
    """Return the product of two float8 matrices times their scales, plus ``bias``, in ``out_dtype`` (by default the dtype of ``input``).

    It is computed in float32 and rounded once. ``scale_result`` and ``use_fast_accum`` have no effect, as on torch's CPU.
    """
    a, b = shape_of(input), shape_of(mat2)
    if len(a) != 2:
        raise RuntimeError("mat1 must be a matrix")
    if len(b) != 2:
        raise RuntimeError("mat2 must be a matrix")
    if a[1] != b[0]:
        raise RuntimeError(f"mat_a and mat_b shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
    _check_scales(input, mat2, scale_a, scale_b)
    if bias is not None and count_of(shape_of(bias)) != b[1]:
        raise RuntimeError(f"Bias must be size {b[1]} but got {count_of(shape_of(bias))}")
    pair = []
    for matrix, scale in ((input, scale_a), (mat2, scale_b)):
        scale = views.reshape(scale, ()) if count_of(shape_of(scale)) == 1 else scale
        pair.append(mul(to_dtype(matrix.detach(), float32), scale.detach()))
    found = mm(*pair)
    if bias is not None:
        found = add(found, views.reshape(to_dtype(bias.detach(), float32), (b[1],)))
    kind = out_dtype or (out._ms_dtype if out is not None else input._ms_dtype)
    return finish(to_dtype(found, kind), out)

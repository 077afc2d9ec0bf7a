"""Matrix products of float8 matrices, scaled as a whole or by rows and columns."""
from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

from ...core.dtype import STORED_DTYPES, bfloat16, dtype, float4_e2m1fn_x2, float16, float32
from ...core.tensor_base import TensorBase
from .._dispatch import finish, type_word, wrap_dim
from ..elementwise.elementwise import add, mul
from ..memory.copying import is_contiguous, to_dtype
from ..shape import views
from .matmul import mm


def _kind_text(name: str, tensor: TensorBase) -> str:
    return f"{name}.dtype()={type_word(tensor._ms_dtype)}"


def _scale_text(name: str, tensor: TensorBase, joint: str) -> str:
    sizes, steps = list(tensor._ms_shape), list(tensor.stride())
    return f"{_kind_text(name, tensor)}, {name}.size()={sizes}{joint}{name}.stride()={steps}"


def _check_scales(input: TensorBase, mat2: TensorBase, scale_a: TensorBase, scale_b: TensorBase) -> None:
    """Raise torch's error unless the scales are one per matrix, or one per row of the first and per column of the second."""
    rows, columns = input._ms_shape[0], mat2._ms_shape[1]
    fit = all(matrix._ms_dtype in STORED_DTYPES and matrix._ms_dtype is not float4_e2m1fn_x2 for matrix in (input, mat2))
    fit = fit and scale_a._ms_dtype is scale_b._ms_dtype is float32
    whole = math.prod(scale_a._ms_shape) == math.prod(scale_b._ms_shape) == 1
    by_rows = scale_a._ms_shape == (rows, 1) and scale_b._ms_shape == (1, columns)
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
    scale_result: TensorBase | None = None, out_dtype: dtype | None = None, use_fast_accum: bool = False, *, out: TensorBase | None = None,
) -> TensorBase:  # fmt: skip
    """Return the product of two float8 matrices times their scales, plus ``bias``, in ``out_dtype`` (by default the dtype of ``input``).

    It is computed in float32 and rounded once. ``scale_result`` and ``use_fast_accum`` have no effect, as on torch's CPU.
    """
    a, b = input._ms_shape, mat2._ms_shape
    if len(a) != 2:
        raise RuntimeError("mat1 must be a matrix")
    if len(b) != 2:
        raise RuntimeError("mat2 must be a matrix")
    if a[1] != b[0]:
        raise RuntimeError(f"mat_a and mat_b shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
    _check_scales(input, mat2, scale_a, scale_b)
    if bias is not None and math.prod(bias._ms_shape) != b[1]:
        raise RuntimeError(f"Bias must be size {b[1]} but got {math.prod(bias._ms_shape)}")
    return _product(input, mat2, scale_a, scale_b, bias, out_dtype, out)


def _product(
    input: TensorBase, mat2: TensorBase, scale_a: TensorBase, scale_b: TensorBase, bias: TensorBase | None, kind: dtype | None,
    out: TensorBase | None,
) -> TensorBase:  # fmt: skip
    """Return the product in single precision, rounded once to ``kind``."""
    pair = []
    for matrix, scale in ((input, scale_a), (mat2, scale_b)):
        scale = views.reshape(scale, ()) if math.prod(scale._ms_shape) == 1 else scale
        pair.append(mul(to_dtype(matrix.detach(), float32), scale.detach()))
    found = mm(*pair)
    if bias is not None:
        found = add(found, views.reshape(to_dtype(bias.detach(), float32), (math.prod(bias._ms_shape),)))
    kind = kind or (out._ms_dtype if out is not None else input._ms_dtype)
    return finish(to_dtype(found, kind), out)


class _Numbered(Enum):
    """Base of enums whose members convert to integers without being integers; their repr is torch's, with an underscore before the class
    name."""

    def __repr__(self) -> str:
        return f"<_{type(self).__name__}.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"_{type(self).__name__}.{self.name}"

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __hash__(self) -> int:
        return hash(self.value)


class ScalingType(_Numbered):
    """The part of a matrix that one scale applies to: all of it, a row, or a block (refused on the CPU)."""

    TensorWise, RowWise, BlockWise1x16, BlockWise1x32, BlockWise1x128, BlockWise128x128 = range(6)


class SwizzleType(_Numbered):
    """Layouts of scales in memory; the CPU reads them without reordering."""

    NO_SWIZZLE, SWIZZLE_32_4_4 = range(2)


def _check_recipes(
    matrices: Sequence[TensorBase], scales: Sequence[Sequence[TensorBase]], recipes: Sequence[Sequence[int]]
) -> None:
    """Raise ValueError unless both matrices have an 8-bit dtype and one float32 tensor of scales each, both TensorWise or both RowWise."""
    fit = all(matrix._ms_dtype in STORED_DTYPES and matrix._ms_dtype is not float4_e2m1fn_x2 for matrix in matrices)
    fit = fit and list(recipes[0]) == list(recipes[1]) and list(recipes[0]) in ([0], [1])
    if not fit or any(len(given) != 1 or given[0]._ms_dtype is not float32 for given in scales):
        raise ValueError("Invalid scaling configuration.")


def _check_shapes(a: tuple[int, ...], b: tuple[int, ...], scale_a: TensorBase, scale_b: TensorBase, by_rows: bool) -> None:
    """Raise torch's error if the shape of a scale differs from that of its recipe."""
    if not by_rows:
        for name, scale in (("scale_a", scale_a), ("scale_b", scale_b)):
            if math.prod(scale._ms_shape) != 1:
                raise ValueError(f"{name} must have 1 Float element")
        return
    own, other = scale_a._ms_shape, scale_b._ms_shape
    if not own:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if own[0] != a[0] or own[wrap_dim(1, len(own))] != 1:
        raise ValueError(f"scale_a must have shape [{a[0]}, 1], got [{list(own)}]")
    if math.prod(other) != b[1]:
        raise ValueError(f"scale_b must have {b[1]} Float elements, got {math.prod(other)}")
    step = scale_b.stride(wrap_dim(1, len(other)))
    if step != 1:
        raise ValueError(f"expected scale_b.stride(1) to be 1, but got {step}")


def _scaled_mm_v2(
    input: TensorBase, mat2: TensorBase, scale_a: Sequence[TensorBase], recipe_a: Sequence[int], swizzle_a: Sequence[int],
    scale_b: Sequence[TensorBase], recipe_b: Sequence[int], swizzle_b: Sequence[int], bias: TensorBase | None,
    out_dtype: dtype | None, contraction_dim: Sequence[int] = (), use_fast_accum: bool = False, *, out: TensorBase | None = None,
) -> TensorBase:  # fmt: skip
    """Return the product of two float8 matrices whose scales ``recipe_a`` and ``recipe_b`` describe: numbers of ``ScalingType``."""
    a, b = input._ms_shape, mat2._ms_shape
    for name, shape in (("mat_a", a), ("mat_b", b)):
        if len(shape) != 2:
            raise ValueError(f"{name} must be a matrix")
    if contraction_dim and len(contraction_dim) != 2:
        raise ValueError("contraction_dim must have exactly 2 elements")
    if a[1] != b[0]:
        raise ValueError(f"mat_a and mat_b shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
    if bias is not None and math.prod(bias._ms_shape) != b[1]:
        raise ValueError(f"Bias must be size {b[1]} but got {math.prod(bias._ms_shape)}")
    if bias is not None and bias._ms_dtype not in (float32, bfloat16, float16):
        raise ValueError(f"Bias must be Float32 or BFloat16 or Half, but got {type_word(bias._ms_dtype)}")
    if swizzle_a and swizzle_b and (swizzle_a[0] or swizzle_b[0]):  # torch looks at the first of each, where both are given
        raise ValueError("CPU does not support swizzle.")
    _check_recipes((input, mat2), (scale_a, scale_b), (recipe_a, recipe_b))
    _check_shapes(a, b, scale_a[0], scale_b[0], bool(recipe_a[0]))
    return _product(input, mat2, scale_a[0], scale_b[0], bias, out_dtype, out)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def scaled_mm(
    mat_a: TensorBase, mat_b: TensorBase, scale_a: TensorBase | list[TensorBase], scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: TensorBase | list[TensorBase], scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None, swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: TensorBase | None = None, output_dtype: dtype | None = bfloat16, contraction_dim: list[int] | tuple[int, ...] = (),
    use_fast_accum: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the product of two float8 matrices times their scales, plus ``bias``.

    ``scale_recipe_a`` and ``scale_recipe_b`` say what the scales stand for: ``ScalingType.TensorWise`` (one number) or ``RowWise`` (one for
    each row of the first matrix, or column of the second).
    """
    numbers = [[one.value for one in _listed(value)] for value in (scale_recipe_a, swizzle_a, scale_recipe_b, swizzle_b)]
    return _scaled_mm_v2(
        mat_a, mat_b, _listed(scale_a), numbers[0], numbers[1], _listed(scale_b), numbers[2], numbers[3], bias, output_dtype,
        contraction_dim, use_fast_accum,
    )  # fmt: skip

"""Sums of a tensor and a matrix product: ``beta * input + alpha * product``."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...backend.arrays import Number
from ...backend.float8 import SIGNED
from ...core.dtype import dtype
from ...core.modes import modes
from ...core.promotion import promote_types
from ...core.tensor_base import TensorBase, is_tracked
from ...tape.movement import Move, zeros
from ...tape.windows import linear
from .._autocast import AS_GIVEN_OR_LOWER, LOWER, LOWER_ON_DEVICES
from .._dispatch import cpp_word, finish, finish_exactly, type_word, wrap_dim
from .._forms import Forms, old_sum, without_out_dtype
from .._memory_order import row_major
from .._named import node_called
from .._numbers import fitting, refuse_tracked
from .._one_dtype import expect_dtype
from .._operation import operation
from .._overlaps import refuse_partly
from .._scalars import scalar_array
from ..elementwise import activation
from ..shape import parts, views
from ._scaled_product import in_one_kernel
from .contract import outer
from .matmul import bmm, matmul


def _nothing_of(tensor: TensorBase) -> Any:
    """Return zeros that depend on the tensor in the autograd graph, with a gradient of zeros."""
    def nothing(raw: Any) -> Any:
        return zeros(tuple(raw.shape), tensor._ms_dtype.name)

    return linear(
        tensor, Move(np.zeros_like, nothing), Move(lambda gradient: gradient * gradient.dtype.type(0), nothing), "MulBackward0"
    )


_ROUNDED_ONCE = ("float16", "bfloat16", *SIGNED)
# Positions of the factors, which are ignored if ``alpha`` is 0.
_UNSEEN = {"addmm": (2, 3), "addbmm": (2, 3), "addmv": (2,)}


def _scaled_sum(name: str, input: TensorBase, product: Any, beta: TensorBase | Number, alpha: TensorBase | Number) -> TensorBase:
    """Return ``beta * input + alpha * product``; if ``beta`` is 0, ``input`` is ignored."""
    if input._ms_dtype is not product._ms_dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {type_word(input._ms_dtype)} and {type_word(product._ms_dtype)}"
        )
    if product._ms_dtype.is_integral:
        whole = bool if product._ms_dtype.category == 0 else int
        alpha, beta = whole(fitting(alpha, product._ms_dtype)), whole(fitting(beta, product._ms_dtype))
    else:
        for factor in (alpha, beta):
            fitting(factor, product._ms_dtype)
    shown = views.expand(input, product._ms_shape)
    if alpha == 0 and product._ms_dtype.category in _UNSEEN.get(name, ()):
        scaled = _nothing_of(product)
    else:
        scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled + _nothing_of(shown) if modes.grad and is_tracked(input) else scaled
    return (shown if beta == 1 else shown * beta) + scaled


@operation(forms=Forms(old=old_sum("mat1", "mat2")), autocast=LOWER, arguments_first=True)
@node_called("AddmmBackward0")
def addmm(
    input: TensorBase, mat1: TensorBase, mat2: TensorBase, *, beta: complex = 1, alpha: complex = 1, out_dtype: dtype | None = None,
    out: TensorBase | None = None
) -> TensorBase:
    """Return ``beta * input + alpha * (mat1 @ mat2)``. Raise NotImplementedError for an ``out_dtype``."""
    refuse_tracked(beta, alpha)
    without_out_dtype("addmm", out_dtype)
    for number, matrix in ((1, mat1), (2, mat2)):
        if len(matrix._ms_shape) != 2:
            raise RuntimeError(f"mat{number} must be a matrix, got {len(matrix._ms_shape)}-D tensor")
    found = in_one_kernel(input, mat1, mat2, beta, alpha)
    if found is not None:
        return finish_exactly(found, out)
    if mat1._ms_dtype is not mat2._ms_dtype:
        name, other = ("mat1", mat1) if input._ms_dtype is mat2._ms_dtype else ("self", input)
        words = f"{type_word(other._ms_dtype)} and {type_word(mat2._ms_dtype)}"
        raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {words}")
    # The factors are never ignored.
    if mat1._ms_dtype is mat2._ms_dtype is input._ms_dtype and input._ms_dtype.name in _ROUNDED_ONCE:
        whole = _scaled_sum("", input.float(), matmul(mat1.float(), mat2.float()), beta, alpha)
        return finish_exactly(whole.to(input._ms_dtype), out)
    return finish_exactly(_scaled_sum("addmm", input, matmul(mat1, mat2), beta, alpha), out)


def _addmm_activation(
    input: TensorBase, mat1: TensorBase, mat2: TensorBase, *, beta: complex = 1, alpha: complex = 1, use_gelu: bool = False,
    out: TensorBase | None = None
) -> TensorBase:
    """Return ``relu`` of ``addmm``, or with ``use_gelu`` its ``gelu``."""
    found = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return finish_exactly(activation.gelu(found) if use_gelu else activation.relu(found), out)


@operation(forms=Forms(old=old_sum("mat", "vec")), autocast=AS_GIVEN_OR_LOWER, arguments_first=True)
@node_called("AddmvBackward0")
def addmv(
    input: TensorBase, mat: TensorBase, vec: TensorBase, *, beta: complex = 1, alpha: complex = 1, out: TensorBase | None = None
) -> TensorBase:
    """Return ``beta * input + alpha * (mat @ vec)``."""
    refuse_tracked(beta, alpha)
    m, v, own = mat._ms_shape, vec._ms_shape, input._ms_shape
    if len(m) != 2 or len(v) != 1 or len(own) > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {len(own)}, {len(m)}, {len(v)}")
    if m[1] != v[0] or (own and own[0] not in (1, m[0])):
        raise RuntimeError(
            f"size mismatch, got input ({own[0] if own else m[0]}), mat ({m[0]}x{m[1]}), vec ({v[0]})"
        )
    kinds = input._ms_dtype, mat._ms_dtype, vec._ms_dtype
    if not kinds[0] is kinds[1] is kinds[2]:
        one, two, three = map(type_word, kinds)
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {one}, {two}, and {three}")
    if input._ms_dtype.itemsize == 2 and input._ms_dtype.is_floating_point:
        for factor in (alpha, beta):
            fitting(factor, input._ms_dtype)
        whole = _scaled_sum("", input.float(), matmul(mat.float(), vec.float()), beta, alpha)
        return finish_exactly(whole.to(input._ms_dtype), out)
    return finish_exactly(_scaled_sum("addmv", input, matmul(mat, vec), beta, alpha), out)


@operation(forms=Forms(old=old_sum("vec1", "vec2")), autocast=LOWER_ON_DEVICES, arguments_first=True)
@node_called("AddrBackward0")
def addr(
    input: TensorBase, vec1: TensorBase, vec2: TensorBase, *, beta: complex = 1, alpha: complex = 1, out: TensorBase | None = None
) -> TensorBase:
    """Return ``beta * input + alpha * outer(vec1, vec2)``."""
    refuse_tracked(beta, alpha)
    for number, vector in ((1, vec1), (2, vec2)):
        if len(vector._ms_shape) != 1:
            raise RuntimeError(f"addr: Expected 1-D argument vec{number}, but got {len(vector._ms_shape)}-D")
    refuse_partly(out, vec1, vec2)
    product = outer(vec1, vec2)
    if input._ms_dtype is not product._ms_dtype:
        kind = promote_types(input._ms_dtype, product._ms_dtype)
        input, product = input.to(kind), product.to(kind)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if product._ms_dtype.category and isinstance(factor, bool):
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if product._ms_dtype.is_integral and isinstance(factor, (float, complex)):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if not product._ms_dtype.is_complex and (isinstance(beta, complex) or isinstance(alpha, complex)):
        raise RuntimeError(f"value cannot be converted to type {cpp_word(product._ms_dtype)} without overflow")
    if product._ms_dtype.itemsize == 2 and product._ms_dtype.is_floating_point:
        # In half precision the factors and each step are rounded.
        alpha, beta = (float(scalar_array(fitting(factor, product._ms_dtype), product._ms_dtype)) for factor in (alpha, beta))
        product, alpha = outer(vec1 * alpha, vec2).to(product._ms_dtype), 1
    return finish(_scaled_sum("addr", input, product, beta, alpha), out)


@operation(forms=Forms(old=old_sum("batch1", "batch2")), autocast=LOWER, arguments_first=True)
@node_called("BaddbmmBackward0")
def baddbmm(
    input: TensorBase, batch1: TensorBase, batch2: TensorBase, *, beta: complex = 1, alpha: complex = 1, out_dtype: dtype | None = None,
    out: TensorBase | None = None
) -> TensorBase:
    """Return ``beta * input + alpha * (batch1 @ batch2)`` with batched matrix products. Raise NotImplementedError for an ``out_dtype``."""
    refuse_tracked(beta, alpha)
    without_out_dtype("baddbmm", out_dtype)
    wrap_dim(2, len(batch2._ms_shape) if len(batch1._ms_shape) > 1 else len(batch1._ms_shape))
    if input._ms_dtype is not batch1._ms_dtype:
        words = (cpp_word(tensor._ms_dtype) for tensor in (input, batch1, batch2))
        raise RuntimeError("Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*words))
    expect_dtype(batch1._ms_dtype, batch2)
    found = in_one_kernel(input, batch1, batch2, beta, alpha) if len(batch1._ms_shape) == len(batch2._ms_shape) == 3 else None
    if found is not None:
        return finish_exactly(found, out)
    if input._ms_dtype.itemsize == 2 and input._ms_dtype.is_floating_point:
        # Half precision rounds once, after the sum.
        whole = baddbmm(input.float(), batch1.float(), batch2.float(), beta=beta, alpha=alpha)
        return finish_exactly(whole.to(input._ms_dtype), out)
    return finish_exactly(row_major(_scaled_sum("baddbmm", input, bmm(batch1, batch2), beta, alpha)), out)


_UNLIKE = "self and mat2 must have the same dtype, but got {out} and {kind}"


@operation(forms=Forms(old=old_sum("batch1", "batch2")), autocast=LOWER, arguments_first=True)
@node_called("AddbmmBackward0")
def addbmm(
    input: TensorBase, batch1: TensorBase, batch2: TensorBase, *, beta: complex = 1, alpha: complex = 1, out: TensorBase | None = None
) -> TensorBase:
    """Return ``beta * input + alpha`` times the sum of the batch's matrix products."""
    refuse_tracked(beta, alpha)
    a, b = batch1._ms_shape, batch2._ms_shape
    if len(a) != 3 or len(b) != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if len(a) != 3 else "batch2 must be a 3D tensor")
    if a[0] != b[0]:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {a[0]} and {b[0]}")
    if a[2] != b[1]:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({a[1]}x{a[2]} and {b[1]}x{b[2]})")
    if input._ms_dtype.itemsize <= 2 and input._ms_dtype.is_floating_point and a[0]:  # torch rounds after each matrix of the sum
        total = input
        for place, (left, right) in enumerate(zip(parts.unbind(batch1), parts.unbind(batch2))):
            total = addmm(total, left, right, beta=1 if place else beta, alpha=alpha)
        return finish_exactly(total, out, _UNLIKE)
    return finish_exactly(_scaled_sum("addbmm", input, bmm(batch1, batch2).sum(0, dtype=batch1._ms_dtype), beta, alpha), out, _UNLIKE)

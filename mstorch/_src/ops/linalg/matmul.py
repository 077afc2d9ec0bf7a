"""Matrix products."""
from __future__ import annotations

import math
from typing import Any

from ...backend.table import kernel
from ...core.dtype import dtype
from ...core.modes import modes
from ...core.one_device import OneDevice
from ...core.resized import resize
from ...core.strides import is_contiguous
from ...core.tensor_base import TensorBase, is_tracked, recording, strides_of, touch
from ...tape.node import refuse_history
from ...tape.windows import no_view
from .._autocast import AS_GIVEN_OR_LOWER, LOWER, WIDEST_ON_DEVICES
from .._dispatch import (
    broadcast_shape,
    call,
    cast_tensor,
    cpp_word,
    expect_out_dtype,
    finish_exactly,
    refuse_codes,
    refuse_dtype,
    type_word,
)
from .._forms import without_out_dtype
from .._named import call_node, node_called
from .._operation import operation
from ..memory.copying import contiguous
from ..shape import views

_mm = kernel("mm")
_bmm = kernel("bmm")
_linear = kernel("linear")
_linear_bias = kernel("linear_bias")


def check_same_dtype(first: TensorBase, second: TensorBase) -> None:
    """Raise torch's error for a product of tensors with different dtypes."""
    if first._ms_dtype is not second._ms_dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {cpp_word(first._ms_dtype)} != {cpp_word(second._ms_dtype)}"
        )


def _check_batches(first: TensorBase, second: TensorBase) -> None:
    """Raise torch's error for batched products of different dtypes, or of bool."""
    refuse_dtype("bmm", first._ms_dtype)
    if first._ms_dtype is not second._ms_dtype:
        raise RuntimeError(f"expected scalar type {type_word(first._ms_dtype)} but found {type_word(second._ms_dtype)}")


def _check_lengths(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}]."
        )


def _zero_product(first: TensorBase, second: TensorBase, shape: tuple[int, ...]) -> TensorBase:
    """Return a product that is all zeros and that autograd tracks: of empty batches, or of different dtypes or bool where torch allows it.
    """
    made = second.new_zeros(shape)
    if second._ms_dtype.is_integral:
        if modes.grad and (is_tracked(first) or is_tracked(second)):
            refuse_history(second._ms_dtype)
        return made
    for operand in (first, second):
        if is_tracked(operand):
            made = made + cast_tensor(operand.sum(), second._ms_dtype) * 0
    return made


@operation(autocast=LOWER)
def mm(input: TensorBase, mat2: TensorBase, out_dtype: dtype | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the product of matrices (n, m) and (m, p). Raise NotImplementedError for an ``out_dtype``, which torch's CPU lacks, too."""
    without_out_dtype("mm", out_dtype)
    a, b = input._ms_shape, mat2._ms_shape
    if len(a) != 2:
        raise RuntimeError("self must be a matrix")
    if len(b) != 2:
        raise RuntimeError("mat2 must be a matrix")
    return finish_exactly(_product(input, mat2, out), out)


def _product(input: TensorBase, mat2: TensorBase, out: TensorBase | None) -> TensorBase:
    a, b = input._ms_shape, mat2._ms_shape
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
    expect_out_dtype(out, input._ms_dtype)
    check_same_dtype(input, mat2)
    if input._ms_dtype.category == 0 and 0 in (*a, *b):
        return input.new_zeros((a[0], b[1]))
    refuse_dtype("addmm_impl_cpu_", input._ms_dtype)
    return call(_mm, (input, mat2))


@operation(autocast=LOWER)
def bmm(input: TensorBase, mat2: TensorBase, out_dtype: dtype | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the products of matrices (b, n, m) and (b, m, p). Raise NotImplementedError for an ``out_dtype``."""
    without_out_dtype("bmm", out_dtype)
    a, b = input._ms_shape, mat2._ms_shape
    if len(a) != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if len(b) != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    _check_lengths(a, b)
    return finish_exactly(_products(input, mat2, "BmmBackward0", out), out)


_SMALL_BATCH = 400  # number of multiplications from which on torch uses another kernel


def _products(input: TensorBase, mat2: TensorBase, label: str, out: TensorBase | None) -> TensorBase:
    """Return the products of batches of matrices with matching lengths."""
    expect_out_dtype(out, mat2._ms_dtype)
    a, b = input._ms_shape, mat2._ms_shape
    if 0 in (*a, *b) and (input._ms_dtype.category == 0 or input._ms_dtype is not mat2._ms_dtype or input._ms_dtype.ms is None):
        return _zero_product(input, mat2, (*a[:2], b[2]))  # torch does not check dtypes if there is nothing to compute
    _check_batches(input, mat2)
    refuse_codes("bmm" if a[1] * a[2] * b[2] < _SMALL_BATCH else "baddbmm_with_gemm", input)
    return call(_bmm, (input, mat2), label=label)


@operation(autocast=AS_GIVEN_OR_LOWER)
def mv(input: TensorBase, vec: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the product of a matrix (n, m) and a vector (m)."""
    a, b = input._ms_shape, vec._ms_shape
    if not a:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if len(a) != 2 or len(b) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {len(a)}, {len(b)}")
    return finish_exactly(_mv(input, vec, out), out)


def _check_kinds(*kinds: dtype) -> None:
    if len(set(kinds)) > 1:
        words = [type_word(kind) for kind in kinds]
        raise RuntimeError("addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*words))


@node_called("MvBackward0")
def _mv(input: Any, vec: Any, out: Any) -> TensorBase:
    rows, columns = input._ms_shape
    if columns != vec._ms_shape[0]:
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{columns}), vec ({vec._ms_shape[0]})")
    fits = isinstance(out, TensorBase) and out._ms_shape == (rows,)
    _check_kinds(out._ms_dtype if fits else vec._ms_dtype, input._ms_dtype, vec._ms_dtype)
    expect_out_dtype(out, vec._ms_dtype)
    if input._ms_dtype.category == 0 and 0 in input._ms_shape:
        return input.new_zeros(input._ms_shape[:1])
    refuse_dtype("addmv_impl_cpu", input._ms_dtype)
    if 0 not in input._ms_shape:
        refuse_codes("addmv_impl_cpu", input)
    return no_view(views.squeeze(call(_mm, (input, views.unsqueeze(vec, 1))), 1))


@operation(autocast=WIDEST_ON_DEVICES)
def dot(input: TensorBase, tensor: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inner product of two vectors."""
    return finish_exactly(_dot(input, tensor, out), out)


@node_called("DotBackward0")
def _dot(input: TensorBase, tensor: TensorBase, out: TensorBase | None) -> TensorBase:
    a, b = input._ms_shape, tensor._ms_shape
    if len(a) != 1 or len(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    if isinstance(out, TensorBase) and out._ms_dtype is not input._ms_dtype:
        raise RuntimeError(f"result dtype {type_word(out._ms_dtype)} does not match input dtype {type_word(input._ms_dtype)}")
    if input._ms_dtype is not tensor._ms_dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {type_word(input._ms_dtype)} and {type_word(tensor._ms_dtype)}"
        )
    if a != b:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same number of elements, but "
            f"got {a[0]} and {b[0]} elements respectively"
        )
    refuse_dtype("dot", input._ms_dtype)
    refuse_codes("dot", input)
    product = call(_mm, (views.unsqueeze(input, 0), views.unsqueeze(tensor, 1)))
    return no_view(views.reshape(product, ()))


@operation(autocast=LOWER)
def matmul(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the matrix product over the last two dimensions; 1-d operands are row or column vectors, leading dimensions broadcast."""
    if not isinstance(other, TensorBase) or not isinstance(input, TensorBase):
        wrong = other if isinstance(input, TensorBase) else input
        raise TypeError(f"matmul(): argument 'other' (position 1) must be Tensor, not {type(wrong).__name__}")
    a, b = input._ms_shape, other._ms_shape
    if not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    if out is None:
        return _matmul(input, other, None)
    shape = _sized_first(input, other, out)
    if shape == () and (out is input or out is other):
        resize(out, shape)
        raise RuntimeError(f"1D tensors expected, but got {len(input._ms_shape)}D and {len(other._ms_shape)}D tensors")
    try:
        result = finish_exactly(_matmul(input, other, out), out)
        if len(a) == 1 and len(b) == 2:
            touch(result)  # torch squeezes the row's dimension in place
        return result
    except RuntimeError:
        if shape is not None:
            resize(out, shape)
        raise


def _sized_first(input: TensorBase, other: TensorBase, out: TensorBase) -> tuple[int, ...] | None:
    """Return the size to which torch resizes ``out=`` if torch resizes before it checks dtypes and lengths; else None."""
    a, b = input._ms_shape, other._ms_shape
    if not isinstance(out, TensorBase) or not out._ms_storage.grows or recording((input, other, out)):
        return None
    if len(a) == len(b) == 1:
        return ()
    if len(a) < 3 and len(b) < 3 or len(a) > 2 and len(b) == 2:
        return None
    lead = broadcast_shape(a[:-2], b[:-2])
    return (*lead, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def _matmul(input: TensorBase, other: TensorBase, out: TensorBase | None) -> TensorBase:
    """Return the product as torch computes it: one matrix product if that needs no copy, else batched products."""
    a, b = input._ms_shape, other._ms_shape
    given = isinstance(out, TensorBase)
    if len(a) == 1 and len(b) == 1:
        return _dot(input, other, out)
    if len(a) == 2 and len(b) == 2:
        return _product(input, other, out)
    if len(a) == 2 and len(b) == 1:
        return _mv(input, other, out)
    if len(a) == 1 and len(b) == 2:
        product = _product(views.unsqueeze(input, 0), other, out)
        touch(product)  # torch squeezes the row's dimension in place
        return _without_row(product)
    swapped = len(b) > len(a)
    larger, smaller = (_transposed(other), input if len(a) == 1 else _transposed(input)) if swapped else (input, other)
    if _folds(larger, smaller, len(a), given):
        product = _folded(larger, smaller, out)
        return contiguous(_transposed(product)) if swapped and len(smaller._ms_shape) == 2 else product
    if len(a) == len(b) == 3 and a[0] != b[0]:
        if a[0] == 1 and is_tracked(input) and not given:
            return _matmul(views.squeeze(input, 0), other, out)
        if b[0] == 1 and is_tracked(other) and not given:
            return _matmul(input, views.squeeze(other, 0), out)
    return _batched(input, other, out)


@node_called("SqueezeBackward4")  # torch squeezes it in place
def _without_row(product: TensorBase) -> TensorBase:
    return no_view(views.squeeze(product, 0))


def _transposed(tensor: TensorBase) -> TensorBase:
    return views.t(tensor) if len(tensor._ms_shape) == 2 else views.transpose(tensor, -2, -1)


def _folds(larger: TensorBase, smaller: TensorBase, first: int, given: bool) -> bool:
    """Return whether a product of an operand of three or more dimensions with a 1-d or 2-d operand is computed as one matrix product."""
    if len(smaller._ms_shape) > 2:
        return False
    if is_tracked(smaller) and not given:
        return True
    if first == 2:  # the batch would have to be transposed
        return False
    if not math.prod(larger._ms_shape):
        return True
    steps, shape = strides_of(larger), larger._ms_shape
    return all(steps[d] == steps[d + 1] * shape[d + 1] for d in range(len(shape) - 2))


def _folded(larger: TensorBase, smaller: TensorBase, out: TensorBase | None) -> TensorBase:
    own, rows = larger._ms_shape, math.prod(larger._ms_shape[:-1])
    flat = views.reshape(larger, (rows, own[-1]))
    if len(smaller._ms_shape) == 2:
        return views.unsafe_view(_product(flat, smaller, out), (*own[:-1], smaller._ms_shape[1]))
    if isinstance(out, TensorBase):
        _check_kinds(out._ms_dtype, larger._ms_dtype, smaller._ms_dtype)
    return views.unsafe_view(_mv(flat, smaller, out), own[:-1])


def _batched(input: TensorBase, other: TensorBase, out: TensorBase | None) -> TensorBase:
    a, b = input._ms_shape, other._ms_shape
    rows, columns = a[-2] if len(a) > 1 else 1, b[-1] if len(b) > 1 else 1
    lead = broadcast_shape(a[:-2], b[:-2])
    count = math.prod(lead)
    left = views.reshape(views.expand(input, (*lead, rows, a[-1])), (count, rows, a[-1]))
    if len(b) == 1:
        right = views.unsqueeze(views.reshape(views.expand(other, (*lead, b[0])), (count, b[0])), 2)
    else:
        right = views.reshape(views.expand(other, (*lead, b[-2], columns)), (count, b[-2], columns))
    _check_lengths(left._ms_shape, right._ms_shape)
    if len(a) == len(b) == 3:
        return _products(left, right, "UnsafeViewBackward0", out)  # torch views the product once more, in its own shape
    product = _products(left, right, "BmmBackward0", out)
    if len(b) == 1:
        product = views.squeeze(product, -1)
    return views.unsafe_view(product, (*lead, *a[-2:-1], *b[1:][-1:]))


def _folded_name(input: TensorBase) -> str:
    """Return the suffix of a linear layer's node name in torch for three and more dimensions: the bias is added separately if rows are not
    contiguous.
    """
    own = input._ms_stride
    return "ViewBackward0" if own is None or is_contiguous(input._ms_shape, own) else "AddBackward0"


@operation(autocast=LOWER, one_device=OneDevice("addmm", numbers=("bias",)))
def linear(input: TensorBase, weight: TensorBase, bias: TensorBase | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input @ weight.T + bias``: (…, in) × (out, in) + (out)."""
    made = _layer(input, weight, bias)
    return made if out is None else finish_exactly(made, out)


def _layer(input: TensorBase, weight: TensorBase, bias: TensorBase | None) -> TensorBase:
    a, w = input._ms_shape, weight._ms_shape
    if len(w) == 1:
        product = matmul(input, weight)
        return product if bias is None else product + bias
    if not a:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are 0D and {len(w)}D")
    if len(w) > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(w)}D")
    if a[-1] != w[1]:
        rows = math.prod(a[:-1])
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {w[1]}x{w[0]})")
    if input._ms_dtype is not weight._ms_dtype:
        if bias is None:
            check_same_dtype(input, weight)
        words = f"{type_word(input._ms_dtype)} and {type_word(weight._ms_dtype)}"
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {words}")
    refuse_dtype("addmm_impl_cpu_", input._ms_dtype)
    single = len(a) == 1
    if single:
        input = views.unsqueeze(input, 0)
    if bias is None:
        product = call(_linear, (input, weight), label=None if len(a) == 2 else "UnsafeViewBackward0")
    else:
        if bias._ms_dtype is not input._ms_dtype:
            raise RuntimeError(
                f"self and mat2 must have the same dtype, but got {type_word(bias._ms_dtype)} and {type_word(input._ms_dtype)}"
            )
        if len(bias._ms_shape) == 1 and bias._ms_shape[0] not in (1, w[0]):
            raise RuntimeError(
                f"The expanded size of the tensor ({w[0]}) must match the existing size ({bias._ms_shape[0]}) at non-singleton dimension "
                f"1.  Target sizes: [{math.prod(a[:-1])}, {w[0]}].  Tensor sizes: [{bias._ms_shape[0]}]"
            )
        if input._ms_dtype.is_integral:
            product = matmul(input, views.transpose(weight, 0, 1)) + bias
        else:
            product = call(_linear_bias, (bias, input, weight), label=None if len(a) == 2 else _folded_name(input))
    if not single:
        return no_view(product)
    return _without_row(product) if bias is None else call_node(no_view(views.squeeze(product, 0)), "ViewBackward0")


OPERATORS = {"matmul": matmul}
REFLECTED = {"matmul": matmul}

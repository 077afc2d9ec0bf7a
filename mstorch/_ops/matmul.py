"""Matrix products."""
from __future__ import annotations

from typing import Any

from .._backend.table import kernel
from .._core.storage import Storage
from .._core.tensor_base import TensorBase, is_tracked, recording, resize, touch
from .._tape.windows import no_view
from . import views
from ._autocast import follow
from ._dispatch import broadcast_shape, call, cast_tensor, cpp_word, finish_exactly, refuse_dtype, shape_of, type_word
from ._forms import without_out_dtype

_mm = kernel("mm")
_bmm = kernel("bmm")
_linear = kernel("linear")
_linear_bias = kernel("linear_bias")



def check_same_dtype(first: Any, second: Any) -> None:
    """Raise torch's error for a product of tensors of two dtypes."""
    if first._dtype is not second._dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {cpp_word(first._dtype)} != {cpp_word(second._dtype)}"
        )


def _check_vector(matrix: Any, vector: Any) -> None:
    """The same for the product of a matrix, or several, and a vector."""
    if matrix._dtype is not vector._dtype:
        own, other = type_word(matrix._dtype), type_word(vector._dtype)
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {other}, {own}, and {other}")


def _check_batches(first: Any, second: Any) -> None:
    """The same for a product of batches, which does without bool, too."""
    refuse_dtype("bmm", first._dtype)
    if first._dtype is not second._dtype:
        raise RuntimeError(f"expected scalar type {type_word(first._dtype)} but found {type_word(second._dtype)}")


def _nothing(first: Any, second: Any, shape: tuple[int, ...]) -> Any:
    """A product of batches that has no elements, or sums of none, of two dtypes or of bool; autograd follows it."""
    made = second.new_zeros(shape)
    for operand in (first, second) if second._dtype.category > 1 else ():
        if is_tracked(operand):
            made = made + cast_tensor(operand.sum(), second._dtype) * 0
    return made


def mm(input: Any, mat2: Any, out_dtype: Any = None, *, out: Any = None) -> Any:
    """The product of matrices (n, m) and (m, p). NotImplementedError for an ``out_dtype``, which torch's CPU has not either."""
    without_out_dtype("mm", out_dtype)
    a, b = shape_of(input), shape_of(mat2)
    if len(a) != 2:
        raise RuntimeError("self must be a matrix")
    if len(b) != 2:
        raise RuntimeError("mat2 must be a matrix")
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
    check_same_dtype(input, mat2)
    if input._dtype.category == 0 and 0 in (*a, *b):
        return finish_exactly(input.new_zeros((a[0], b[1])), out)
    refuse_dtype("addmm_impl_cpu_", input._dtype)
    return finish_exactly(call(_mm, (input, mat2)), out)


def bmm(input: Any, mat2: Any, out_dtype: Any = None, *, out: Any = None) -> Any:
    """The products of matrices (b, n, m) and (b, m, p). NotImplementedError for an ``out_dtype``."""
    without_out_dtype("bmm", out_dtype)
    a, b = shape_of(input), shape_of(mat2)
    if len(a) != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if len(b) != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}]."
        )
    if 0 in (*a, *b) and (input._dtype.category == 0 or input._dtype is not mat2._dtype):
        return finish_exactly(_nothing(input, mat2, (*a[:2], b[2])), out)
    _check_batches(input, mat2)
    return finish_exactly(call(_bmm, (input, mat2)), out)


def mv(input: Any, vec: Any, *, out: Any = None) -> Any:
    """The product of a matrix (n, m) and a vector (m)."""
    a, b = shape_of(input), shape_of(vec)
    if not a:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if len(a) != 2 or len(b) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {len(a)}, {len(b)}")
    if a[1] != b[0]:
        raise RuntimeError(f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})")
    _check_vector(input, vec)
    if isinstance(out, TensorBase) and out._dtype is not input._dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {type_word(out._dtype)}, {type_word(input._dtype)}, and "
            f"{type_word(vec._dtype)}"
        )
    if input._dtype.category == 0 and 0 in a:
        return finish_exactly(input.new_zeros(a[:1]), out)
    refuse_dtype("addmv_impl_cpu", input._dtype)
    return finish_exactly(views.squeeze(call(_mm, (input, views.unsqueeze(vec, 1))), 1), out)


def dot(input: Any, tensor: Any, *, out: Any = None) -> Any:
    """The inner product of two vectors."""
    a, b = shape_of(input), shape_of(tensor)
    if len(a) != 1 or len(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    if input._dtype is not tensor._dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {type_word(input._dtype)} and {type_word(tensor._dtype)}"
        )
    if a != b:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same number of elements, but "
            f"got {a[0]} and {b[0]} elements respectively"
        )
    if isinstance(out, TensorBase) and out._dtype is not input._dtype:
        raise RuntimeError(f"result dtype {type_word(out._dtype)} does not match input dtype {type_word(input._dtype)}")
    refuse_dtype("dot", input._dtype)
    product = call(_mm, (views.unsqueeze(input, 0), views.unsqueeze(tensor, 1)))
    return finish_exactly(views.reshape(product, ()), out)


def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """The matrix product over the last two dimensions; vectors are rows or columns, leading dimensions broadcast."""
    if not isinstance(other, TensorBase) or not isinstance(input, TensorBase):
        wrong = other if isinstance(input, TensorBase) else input
        raise TypeError(f"matmul(): argument 'other' (position 1) must be Tensor, not {type(wrong).__name__}")
    a, b = shape_of(input), shape_of(other)
    if not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    if out is None:
        return no_view(_matmul(input, other, a, b))
    shape = _sized_first(input, other, out)
    if shape == () and (out is input or out is other):
        resize(out, shape)
        raise RuntimeError(f"1D tensors expected, but got {len(input._shape)}D and {len(other._shape)}D tensors")
    try:
        return finish_exactly(_matmul(input, other, a, b), out)
    except RuntimeError:
        if shape is not None:
            resize(out, shape)
        raise


def _sized_first(input: Any, other: Any, out: Any) -> tuple[int, ...] | None:
    """The size that torch gives ``out=`` before it looks at dtypes and lengths; None where it looks first."""
    a, b = input._shape, other._shape
    if not isinstance(out, TensorBase) or out._storage.__class__ is not Storage or recording((input, other, out)):
        return None
    if len(a) == len(b) == 1:
        return ()
    if len(a) < 3 and len(b) < 3 or len(a) > 2 and len(b) == 2:
        return None
    lead = broadcast_shape(a[:-2], b[:-2])
    return (*lead, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def _matmul(input: Any, other: Any, a: tuple[int, ...], b: tuple[int, ...]) -> Any:
    if len(a) == 1 and len(b) == 1:
        return dot(input, other)
    if len(a) == 2 and len(b) == 2:
        return mm(input, other)
    if len(a) == 2 and len(b) == 1:
        return mv(input, other)
    if len(a) == 1:
        if len(b) > 2:
            _check_vector(other, input)
        product = _matmul(views.unsqueeze(input, 0), other, (1, *a), b)
        if len(b) == 2:
            touch(product)  # torch takes the row's dimension out in place
        return views.squeeze(product, -2)
    if len(b) == 1:
        _check_vector(input, other)
        if input._dtype.category == 0 and 0 not in a:
            refuse_dtype("addmv_impl_cpu", input._dtype)
        product = _matmul(input, views.unsqueeze(other, 1), a, (*b, 1))
        return views.squeeze(product, -1)
    lead = broadcast_shape(a[:-2], b[:-2])
    folded = len(b) == 2 or len(a) == 2 and is_tracked(input)  # into one product of matrices
    nothing = 0 in (*lead, *a[-2:], b[-1])
    if folded:
        check_same_dtype(input, other)
    if a[-1] != b[-2]:
        if len(b) == 2:
            rows = 1
            for length in a[:-1]:
                rows *= length
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {b[0]}x{b[1]})")
        batch = 1
        for length in broadcast_shape(a[:-2], b[:-2]):
            batch *= length
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {a[-1]}] but got: [{batch}, {b[-2]}]."
        )
    if len(b) == 2:
        flat = views.reshape(input, (-1, a[-1])) if views.numel_of(a) else None
        if flat is not None:
            refuse_dtype("addmm_impl_cpu_", input._dtype)
            return views.reshape(call(_mm, (flat, other)), (*a[:-1], b[-1]))
    if not (folded or nothing):  # as in torch, whose products of batches look at no dtype where there is nothing to compute
        _check_batches(input, other)
    if nothing and (input._dtype is not other._dtype or input._dtype.category == 0):
        return _nothing(input, other, (*lead, a[-2], b[-1]))
    refuse_dtype("bmm", input._dtype)
    if len(a) == len(b) == 3 and a[0] == b[0]:
        return call(_bmm, (input, other), label="UnsafeViewBackward0")  # torch's matmul views the product once more
    left = views.reshape(views.expand(input, (*lead, *a[-2:])), (views.numel_of(lead), *a[-2:]))
    right = views.reshape(views.expand(other, (*lead, *b[-2:])), (views.numel_of(lead), *b[-2:]))
    return views.reshape(call(_bmm, (left, right)), (*lead, a[-2], b[-1]))


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``: (…, in) × (out, in) + (out)."""
    a, w = shape_of(input), shape_of(weight)
    if len(w) == 1:
        product = matmul(input, weight)
        return product if bias is None else product + bias
    if not a:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are 0D and {len(w)}D")
    if len(w) > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(w)}D")
    if a[-1] != w[1]:
        rows = views.numel_of(a[:-1])
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {w[1]}x{w[0]})")
    if input._dtype is not weight._dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {type_word(input._dtype)} and {type_word(weight._dtype)}")
    refuse_dtype("addmm_impl_cpu_", input._dtype)
    single = len(a) == 1
    if single:
        input = views.unsqueeze(input, 0)
    if bias is None:
        product = call(_linear, (input, weight))
    else:
        if len(shape_of(bias)) == 1 and bias._shape[0] not in (1, w[0]):
            raise RuntimeError(
                f"The expanded size of the tensor ({w[0]}) must match the existing size ({bias._shape[0]}) at non-singleton dimension "
                f"1.  Target sizes: [{views.numel_of(a[:-1])}, {w[0]}].  Tensor sizes: [{bias._shape[0]}]"
            )
        if input._dtype.category < 2:
            product = matmul(input, views.transpose(weight, 0, 1)) + bias
        else:
            product = call(_linear_bias, (bias, input, weight))
    return no_view(views.squeeze(product, 0) if single else product)


follow(globals())

FUNCTIONS = ("mm", "bmm", "mv", "dot", "matmul")
METHODS = ("mm", "bmm", "mv", "dot", "matmul")
OPERATORS = {"matmul": matmul}
REFLECTED = {"matmul": matmul}

"""From tensors to a kernel and back: promotion, casts, autograd, strides, ``out=``, in-place writes."""
from __future__ import annotations

import functools
import numbers
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.cast import cast, numpy_cast
from ..backend.errors import nameless, not_for, wrong_type
from ..backend.raw import from_numpy
from ..backend.table import Kernel, kernel, on_fallback
from ..core.dtype import complex32, dtype, float32, get_default_dtype
from ..core.modes import followed_capture, grad_set_to, modes
from ..core.one_device import check_one_device
from ..core.promotion import WORDS, can_cast, combine, promote_types, scalar_dtype
from ..core.resized import resize_within
from ..core.storage import home
from ..core.strides import (
    broadcast_shape,
    channels_last_strides,
    dense_order,
    normalize,
    suggests_channels_last,
)
from ..core.tangents import LEVELS, is_dual
from ..core.tensor_base import (
    TensorBase,
    array_of,
    in_order,
    is_tracked,
    laid_out,
    meta_tensor,
    on_device,
    put_constant,
    recording,
    tensor_of,
    turn_into,
    value_of,
    wrap,
)
from ..core.warned import warn
from ..core.writable import check_writable, refuse_partial_overlap, refuse_shared_places
from ..leaving import values_set_to
from ..tape.apply import apply, apply_one, apply_pair
from ..tape.bare import repeats
from ..tape.duals import mapped
from ..tape.duals import write as write_tangents
from ..tape.movement import conversion
from ..tape.moving import stays_readable
from ..tape.places import check_copy
from ..tape.ways import ways
from ..tape.windows import linear, linear_node, no_view
from ..tape.writes import assign, settle
from ._into_out import is_copied, is_written
from ._memory_order import result_strides, row_major
from ._parts import expect_parts
from ._scalars import BESIDE, WIDE_SECOND, is_inexact, scalar_array, widened

Tensor = TensorBase  # for isinstance and annotations; results are instances of the final class

def is_number(value: Any) -> bool:
    """Return whether the value is a Python or NumPy number that an operation accepts in place of a tensor."""
    # The usual classes first: for ``numbers.Number`` Python's abc runs a function of its own.
    return isinstance(value, (bool, int, float, complex, np.bool_)) or isinstance(value, numbers.Number)


def python_number(value: Any) -> Any:
    """Return a NumPy scalar as a Python number; other values unchanged. A bool of NumPy is a float to torch, as it is no bool of Python."""
    if value.__class__ is np.bool_:
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


_PLAIN = (bool, int, float, complex)


def result_dtype(operands: Sequence[Any]) -> dtype:
    """Return the promoted dtype of tensors and numbers."""
    dimensioned = zero_dim = wrapped = None
    for operand in operands:
        if isinstance(operand, TensorBase):
            kind = operand._ms_dtype
            if operand._ms_shape:
                dimensioned = kind if dimensioned is None else promote_types(dimensioned, kind)
            else:
                zero_dim = kind if zero_dim is None else promote_types(zero_dim, kind)
        else:
            if operand.__class__ not in _PLAIN and not is_number(operand):
                raise wrong_type(f"unsupported operand: expected Tensor or Number, not {type(operand).__name__}")
            kind = scalar_dtype(python_number(operand))
            wrapped = kind if wrapped is None else promote_types(wrapped, kind)
    return combine(dimensioned, zero_dim, wrapped)


def with_format(result: TensorBase, *sources: TensorBase) -> TensorBase:
    """Return a new result, rearranged to channels-last order if a source of the same rank is in this order."""
    for source in sources:
        stride = source._ms_stride
        if stride is not None and len(result._ms_shape) == len(source._ms_shape) and suggests_channels_last(source._ms_shape, stride):
            return in_order(result, normalize(result._ms_shape, channels_last_strides(result._ms_shape)))
    return result


def _cast_recorded(tensor: TensorBase, kind: dtype) -> TensorBase | None:
    """Cast a tensor that autograd tracks to another floating-point dtype, as a tracked operation; return None for other tensors and dtypes.
    """
    if kind.is_integral or not recording((tensor,)):
        return None
    there, back = (functools.partial(_cast_in_order, target=target) for target in (kind.np, tensor._ms_dtype.np))
    return linear(tensor, there, back, "ToCopyBackward0")


def _cast_absent(tensor: TensorBase, kind: dtype, strides: Any = None) -> TensorBase:
    made = _cast_recorded(tensor, kind)
    return meta_tensor(tensor._ms_shape, kind, strides) if made is None else in_order(made, strides)


def _cast_array(tensor: TensorBase, kind: dtype, strides: tuple[int, ...] | None = None) -> TensorBase:
    made = _cast_recorded(tensor, kind)
    if made is None:
        return laid_out(numpy_cast(array_of(tensor), kind.np), strides)
    if made._ms_stride == strides:
        return made
    laid = laid_out(array_of(made), strides)
    laid._ms_node = made._ms_node
    if LEVELS:
        mapped(made, laid, lambda tangent: tangent)
    return laid


def _cast_captured(tensor: TensorBase, kind: dtype, strides: tuple[int, ...] | None = None) -> TensorBase:
    if kind.ms is None or tensor._ms_dtype.ms is None:
        return _cast_by_host(tensor, kind, strides)
    return wrap(cast(value_of(tensor), kind.name), strides)


def _refuse_cast(tensor: TensorBase, kind: dtype, strides: Any) -> Any:
    raise NotImplementedError(f"mstorch: {tensor._ms_dtype!r} is not converted to {kind!r} in a graph of MindSpore's")


@ways(captured=_refuse_cast)
def _cast_by_host(tensor: TensorBase, kind: dtype, strides: Any) -> TensorBase:
    """Cast a device tensor on the host, if MindSpore lacks the source or the target dtype."""
    for told in on_fallback:
        told("to")
    return on_device(from_numpy(np.asarray(numpy_cast(array_of(tensor), kind.np), order="C")), strides, kind)


def _cast_in_graph(tensor: TensorBase, kind: dtype, strides: tuple[int, ...] | None = None) -> TensorBase:
    """Cast in a capture: MindSpore's autograd follows the cast itself."""
    return _cast_followed(tensor, kind, strides) if followed_capture() else _cast_captured(tensor, kind, strides)


@ways(host=_cast_array, absent=_cast_absent, captured=_cast_in_graph)
def cast_tensor(tensor: TensorBase, kind: dtype, strides: tuple[int, ...] | None = None) -> Any:
    """Cast a tensor, as an operation that autograd tracks; the result has the given ``strides``."""
    return _cast_followed(tensor, kind, strides)


def _cast_followed(tensor: TensorBase, kind: dtype, strides: tuple[int, ...] | None) -> Any:
    made = _cast_captured(tensor, kind, strides)
    if kind.is_integral and strides is None:
        stays_readable(made, tensor, kind)
    if modes.grad and not kind.is_integral and is_tracked(tensor):
        there, back = conversion(kind.name, tensor._ms_dtype.name), conversion(tensor._ms_dtype.name, kind.name)
        made._ms_node = linear_node(tensor, there, back, "ToCopyBackward0")
    if LEVELS and is_dual(tensor):
        mapped(tensor, made, lambda tangent: cast_tensor(tangent, kind))
    return made


def _cast_in_order(array: Array, target: np.dtype[Any]) -> Array:
    """Cast an array and keep its memory order; an array expanded from a single element stays expanded."""
    found = numpy_cast(array, target=target, order="K")
    if found.size == 1 and found.ndim and repeats(array):
        found.flags.writeable = False
    return found


def unary(kernel: Kernel, input: TensorBase, out: TensorBase | None = None, *, to_float: bool = False) -> TensorBase:
    """Run an elementwise kernel on one tensor. With ``to_float``, integers are computed in the default floating dtype."""
    if not isinstance(input, TensorBase):
        raise wrong_type(f"{kernel.op}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    kind = input._ms_dtype
    if out is None and input._ms_stride is None and (not kind.is_integral or not to_float):
        return apply_one(kernel, kind, input)
    refuse_operands(out, (input,))
    if to_float and kind.is_integral:
        kind = get_default_dtype()
    strides = None if input._ms_stride is None else result_strides((input,), input._ms_shape, kind=kind)
    if kind is not input._ms_dtype:
        input = cast_tensor(input, kind)
    result = apply(kernel, kind, (input,), strides=strides, pointwise=True)
    return result if out is None else deliver(result, out)


def binary(kernel: Kernel, input: Any, other: TensorBase | float, out: TensorBase | None = None, *, to_float: bool = False) -> TensorBase:
    """Run an elementwise kernel on two tensors, or a tensor and a number, with promotion and broadcasting."""
    if out is None and isinstance(input, TensorBase) and isinstance(other, TensorBase):
        kind = input._ms_dtype
        if kind is other._ms_dtype and input._ms_stride is None and other._ms_stride is None and (not kind.is_integral or not to_float):
            # The common case, which must take little more time than the kernel: one dtype, two row-major tensors.
            if input._ms_shape != other._ms_shape and 0 in broadcast_shape(input._ms_shape, other._ms_shape):
                return elementwise(kernel, (input, other), to_float=to_float)
            return apply_pair(kernel, kind, input, other)
    elif out is not None and isinstance(out, TensorBase) and is_written(kernel, input, other, out):
        return out
    elif out is None and isinstance(input, TensorBase) and input._ms_stride is None:
        kind = input._ms_dtype
        if other.__class__ in BESIDE.get(kind, ()) and 0 not in input._ms_shape and not (to_float and kind.is_integral):
            return apply(kernel, kind, (input, scalar_array(other, kind)), pointwise=True)
    return elementwise(kernel, (input, other), out, to_float=to_float)


def elementwise(
    kernel: Kernel, operands: Sequence[Any], out: TensorBase | None = None, *, to_float: bool = False, args: tuple[Any, ...] = ()
) -> TensorBase:
    """Run an elementwise kernel on several tensors and numbers, with promotion and broadcasting."""
    kind = result_dtype(operands)
    if to_float and kind.is_integral:
        kind = get_default_dtype()
    refuse_operands(out, operands)
    result = elementwise_in(kind, kernel, operands, args)
    return result if out is None else deliver(result, out)


def elementwise_in(
    kind: dtype, kernel: Kernel, operands: Sequence[Any], args: tuple[Any, ...] = (), numbers_as_tensors: bool = True,
    label: str | None = None,
) -> TensorBase:  # fmt: skip
    """Run an elementwise kernel in the given dtype. For the result's strides, numbers count as operands, as in torch, unless
    ``numbers_as_tensors`` is False (bounds, for example)."""
    tensors = [operand for operand in operands if isinstance(operand, TensorBase)]
    if not tensors:  # torch treats two numbers as 0-d tensors
        tensors = [tensor_of(scalar_array(python_number(operands[0]), kind).copy())]
        operands = (*tensors, *operands[1:])
    shape = tensors[0]._ms_shape
    for tensor in tensors[1:]:
        shape = broadcast_shape(shape, tensor._ms_shape)
    strides = result_strides(tensors, shape, numbers_as_tensors and len(tensors) < len(operands), kind)
    inputs = []
    for operand in operands:
        if operand is None:
            pass
        elif not isinstance(operand, TensorBase):
            operand = scalar_array(python_number(operand), kind)
        elif operand._ms_dtype is not kind:
            operand = cast_tensor(operand, kind)
        inputs.append(operand)
    if kind.itemsize == 2 and kind.is_floating_point and kernel.op in WIDE_SECOND:
        wide = widened(operands[1], tensors, kind)
        if wide is None and is_inexact(operands[1], kind):
            # On a device, operands have one dtype: compute in float32 and cast back, if the number needs float32.
            found = elementwise_in(float32, kernel, [cast_tensor(operands[0], float32), *operands[1:]], args, numbers_as_tensors, label)
            return cast_tensor(found, kind)
        inputs[1] = inputs[1] if wide is None else wide
    return apply(kernel, kind, tuple(inputs), args, label=label, strides=strides, pointwise=not args)


def expect_tensor(name: str, value: object, position: int = 1) -> None:
    """Raise torch's TypeError unless the operand of a binary operation is a tensor."""
    if not isinstance(value, TensorBase):
        word = ("input", "other")[position - 1]
        raise TypeError(f"{name}(): argument '{word}' (position {position}) must be Tensor, not {type(value).__name__}")


def expect_tensors(name: str, input: TensorBase, other: TensorBase) -> None:
    """Raise torch's TypeError unless both operands are tensors."""
    expect_tensor(name, input)
    expect_tensor(name, other, 2)


def expect_a_tensor(name: str, input: Any, other: Any) -> None:
    """Raise torch's TypeError if both operands are numbers."""
    if not isinstance(input, TensorBase) and not isinstance(other, TensorBase):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({type(input).__name__}, {type(other).__name__}): one of "
            "them must be a Tensor"
        )


def call(
    op: Kernel, inputs: Sequence[Any], *args: Any, dtype: dtype | None = None, label: str | None = None,
    strides: tuple[int, ...] | None = None
) -> Any:
    """Run a kernel, tracked by autograd, on tensors that are cast to one dtype (``dtype``, else that of the first) and on other arguments.

    Tensors among ``args`` (indices, masks) are passed without a cast.
    """
    kind = dtype or inputs[0]._ms_dtype
    # Most calls need no cast: a loop finds that out without the call that a comprehension is before Python 3.12.
    for tensor in inputs:
        if tensor._ms_dtype is not kind:
            inputs = [t if t._ms_dtype is kind else cast_tensor(t, kind) for t in inputs]
            break
    tensors = inputs if inputs.__class__ is tuple else tuple(inputs)
    return apply(op, kind, tensors, args, label=label, strides=strides)


def contiguous_copy(tensor: TensorBase) -> Any:
    """Return a contiguous copy of the tensor, in memory of its own; autograd tracks it."""
    return call(_clone, (tensor,))


_clone = kernel("clone")


def check_result_cast(kind: dtype, target: dtype) -> None:
    """Raise torch's error if a result's dtype cannot be cast to that of ``out``."""
    if not can_cast(kind, target):
        raise RuntimeError(f"result type {type_word(kind)} can't be cast to the desired output type {type_word(target)}")


def type_word(kind: dtype) -> str:
    """Return the scalar type's name in torch's messages: ``Float`` for float32."""
    return WORDS[kind.name]


def refuse_dtype(kernel: str, kind: dtype, below: int = 1, operands: Sequence[Any] = ()) -> None:
    """Raise torch's error for a dtype without a kernel: bool, or with ``below=2`` all integers. Shape errors are raised first."""
    if kind.category < below:
        shape: tuple[int, ...] = ()
        for operand in operands:
            shape = broadcast_shape(shape, operand._ms_shape) if isinstance(operand, TensorBase) else shape
        raise not_for(kernel, kind.name)


# Kernels that torch's CPU has for complex32, and not for eight-bit dtypes.
_OF_HALVES = frozenset(("nonzero_count_cpu", "masked_fill", "index_fill_cpu"))


def refuse_codes(kernel: str, *tensors: TensorBase) -> None:
    """Raise torch's error for tensors of a dtype stored as bytes (such as float8) that torch's kernel does not support."""
    for tensor in tensors:
        if tensor._ms_dtype.ms is None and not (tensor._ms_dtype is complex32 and kernel in _OF_HALVES):
            raise not_for(kernel, tensor._ms_dtype.name)


def deliver(result: Any, out: Any, recorded: bool = False) -> Any:
    """Store a result in ``out=`` (a tensor, or a tuple of them) and return ``out``.

    With ``recorded``, gradients flow through the copy to ``out``, as for operations that torch composes of others.
    """
    if isinstance(result, tuple):
        expect_parts(type(result).__name__, out, len(result))
        for item, target in zip(result, out):
            deliver(item, target)
        return result._written(out) if hasattr(result, "_written") else tuple(out)
    if not isinstance(out, TensorBase):
        raise nameless(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if is_copied(result, out):
        return out
    check_result_cast(result._ms_dtype, out._ms_dtype)
    if result._ms_dtype.category == 0 and modes.grad and is_tracked(out):
        # A bool result has no gradient, so that torch allows writing it to an ``out`` that autograd tracks.
        with grad_set_to(False):
            return deliver(result, out)
    if LEVELS and (is_dual(out) or is_dual(result)):
        raise NotImplementedError("Trying to use forward AD with an operation that does not support it because it is an out= function")
    if recorded and is_tracked(out) and result._ms_shape != out._ms_shape:
        raise RuntimeError("cannot resize variables that require grad")
    if not recorded and modes.grad and (is_tracked(out) or is_tracked(result)):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
        )
    check_copy(result, out)
    check_one_device(result, out, "out")
    if result._ms_shape != out._ms_shape and not _fit_out(out, result):
        return out
    write_result(out, result)
    return out


def _fit_out(out: TensorBase, result: TensorBase) -> bool:
    """Resize an ``out`` of another shape; return False if that has made it the result, so that nothing is left to write."""
    if 0 not in out._ms_shape:
        warn(
            f"An output with one or more elements was resized since it had shape {list(out._ms_shape)}, which "
            f"does not match the required output shape {list(result._ms_shape)}. This behavior is deprecated, and in a future "
            "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse an "
            "out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
        )
    if not resize_within(out, result._ms_shape):
        turn_into(out, result if result._ms_dtype is out._ms_dtype else cast_tensor(result, out._ms_dtype))
        return False
    if result._ms_stride is not None and dense_order(result._ms_shape, result._ms_stride) is not None:
        out._ms_stride, out._ms_array = result._ms_stride, None  # as in torch, a resized ``out`` gets the result's memory order
    return True


def write_result(target: TensorBase, values: TensorBase) -> None:
    """Write as ``write``, also to a tensor that a function under a transform of torch.func captured: torch refuses in-place forms alone."""
    if not modes.level:
        write(target, values)
        return
    with values_set_to(modes, level=0):
        write(target, values)


def write(target: TensorBase, values: TensorBase, uniform: bool = False) -> None:
    """Write a tensor's values (of the target's shape, any dtype) to a target, tracked by autograd. On an error the target is unchanged."""
    check_writable(target, uniform)
    if values._ms_dtype is not target._ms_dtype:
        values = cast_tensor(values, target._ms_dtype)
    assign(target, values)


def write_array(target: TensorBase, array: Array, uniform: bool = False, label: str = "CopyBackwards") -> None:
    """Write an array of the target's dtype, broadcast to the target's shape, as a constant that autograd does not track."""
    check_writable(target, uniform)
    put_constant(target, array)
    if modes.grad:
        settle(target, None, label)
    if LEVELS:
        write_tangents(target, None)


def refuse_operands(out: TensorBase | None, operands: Sequence[Any]) -> None:
    """Raise torch's error if ``out`` partly overlaps an operand of an elementwise operation, or would have to be resized."""
    if isinstance(out, TensorBase) and operands:
        refuse_shared_places(out)  # checked before ``out`` is resized
        shape, own = out._ms_shape[:0], False
        for operand in operands:
            if isinstance(operand, TensorBase):
                refuse_partial_overlap(out, operand)
                shape, own = broadcast_shape(shape, operand._ms_shape), own or operand is out
        if own and shape != out._ms_shape:
            raise RuntimeError(f"output with shape {list(out._ms_shape)} doesn't match the broadcast shape {list(shape)}")


FOUND = "Found dtype {out} but expected {kind}"


def expect_out_dtype(out: TensorBase | None, kind: dtype, words: str = "") -> None:
    """Raise torch's error unless ``out`` is None or has exactly this dtype; ``words`` is a message format with the fields ``out`` and
    ``kind``."""
    if isinstance(out, TensorBase) and out._ms_dtype is not kind:
        if words:
            raise RuntimeError(words.format(out=type_word(out._ms_dtype), kind=type_word(kind)))
        raise RuntimeError(f"Expected out tensor to have dtype {cpp_word(kind)}, but got {cpp_word(out._ms_dtype)} instead")


_CPP = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long int",
    "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char", "bool": "bool",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def cpp_word(kind: dtype) -> str:
    """Return the C++ type's name in torch's messages: ``c10::Half`` for float16."""
    return _CPP.get(kind.name, kind.name)


def finish(result: Any, out: Any, *operands: Any) -> Any:
    """Return the result, stored in ``out`` if given; with ``out=`` the result is never a view.

    The operands of an elementwise operation must not overlap with ``out``.
    """
    if out is None:
        if isinstance(result, tuple):
            for item in result:
                no_view(item)
            return result
        return no_view(result)
    refuse_operands(out, operands)
    return deliver(result, out)


def finish_exactly(result: Any, out: Any, words: str = "") -> Any:
    """Return the result, stored in ``out`` if given. Raise torch's error if ``out`` has another dtype; for ``words`` see
    ``expect_out_dtype``.
    """
    if out is not None:
        for item, target in zip(result, out) if isinstance(result, tuple) else ((result, out),):
            expect_out_dtype(target, item._ms_dtype, words)
    return finish(result, out)


def finish_safely(result: Any, out: Any, name: str, *words: str, recorded: bool = False) -> Any:
    """Return the result, stored in ``out`` if given. Raise torch's error if its dtype cannot be cast to that of ``out``; ``words`` name the
    results in the message."""
    if out is None:
        return finish(result, None)
    parts = zip(result, out, words) if isinstance(result, tuple) else ((result, out, "result"),)
    for item, target, word in parts:
        if isinstance(target, TensorBase) and not can_cast(item._ms_dtype, target._ms_dtype):
            raise RuntimeError(
                f"{name}: Expected {word} to be safely castable from {type_word(item._ms_dtype)} dtype, but got {word} with dtype "
                f"{type_word(target._ms_dtype)}"
            )
    if not isinstance(result, tuple) and isinstance(out, TensorBase) and 0 not in out._ms_shape and out._ms_shape != result._ms_shape:
        result = row_major(result)  # LAPACK's memory order is used only if ``out`` had no elements
    return deliver(result, out, recorded)


def finish_recorded(result: TensorBase, out: TensorBase | None, words: str = "") -> TensorBase:
    """Return the result, or ``out`` with the result copied into it; autograd tracks the copy. For ``words`` see ``finish_exactly``."""
    if out is None:
        return finish(result, None)
    if words:
        expect_out_dtype(out, result._ms_dtype, words)
    return deliver(result, out, True)


def without_grad() -> grad_set_to:
    """Context manager that disables gradients."""
    return grad_set_to(False)


def readable(tensor: TensorBase) -> Array | None:
    """Return the values for an argument check; None in a capture, on the meta device, and on a device, which would have to be synchronized.
    """
    return array_of(tensor) if home(tensor).reads_are_free else None


def values_of(tensor: TensorBase) -> Array | None:
    """Return the values, synchronizing a device; None in a capture, or on the meta device."""
    return array_of(tensor) if home(tensor).has_elements else None


def whole(value: Any) -> int:
    """Return an integer argument as an int. Raise TypeError for a bool or other types; the public form replaces it by torch's message."""
    if value.__class__ is not int:
        if value.__class__ is bool:
            raise wrong_type("'bool' object cannot be interpreted as an integer")
        return operator.index(value)
    return value


def wrap_dim(dim: int, rank: int) -> int:
    """Return a nonnegative dimension. Raise IndexError with torch's message if it is out of range."""
    if dim.__class__ is not int:
        dim = whole(dim)
    limit = max(rank, 1)
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim + limit if dim < 0 else dim


def wrap_each(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return nonnegative dimensions. As in torch, the first cannot be a bool, and a later one can."""
    return tuple([wrap_dim(int(dim) if place and dim.__class__ is bool else dim, rank) for place, dim in enumerate(dims)])


def wrap_dims(dim: TensorBase | int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Return the nonnegative dimensions of a reduction; None and () mean all. Raise RuntimeError for a repeated one."""
    if dim is None:
        return tuple(range(rank))
    dims = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if not dims:
        return tuple(range(rank))
    wrapped = wrap_each(dims, rank)
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped


INTS = frozenset((int,))


def shape_args(size: tuple[Any, ...], name: str = "") -> tuple[int, ...]:
    """Return the shape from ``f(2, 3)``, ``f((2, 3))`` or ``f(torch.Size([2, 3]))``; ``name`` is the function's, for error messages."""
    given = size
    if not size:
        raise wrong_type(f"{name}() missing 1 required positional arguments: \"size\"")
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    if INTS.issuperset(map(type, size)):
        return size
    return tuple([length if length.__class__ is int else _length(length, place, given, name) for place, length in enumerate(size)])


def _length(length: Any, place: int, given: tuple[Any, ...], name: str) -> int:
    """Return one length of a shape. Raise TypeError with torch's message if it is not an integer."""
    try:
        if length.__class__ is bool and place == 0:
            raise TypeError  # a later one is a number to torch
        return int(length) if isinstance(length, int) else length.__index__()
    except (AttributeError, TypeError):
        kind = "Tensor" if isinstance(length, TensorBase) else "numpy.ndarray" if isinstance(length, np.ndarray) else type(length).__name__
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        where = f"(position 1) must be tuple of ints, but found element of type {kind} at pos {place}"
    elif place == 0:
        where = f"(position 1) must be tuple of ints, not {kind}"
    else:
        where = f'failed to unpack the object at pos {place + 1} with error "type must be tuple of ints,but got {kind}"'
    word = {"permute": "dims", "repeat": "repeats"}.get(name, "size")
    raise TypeError(f"{name}(): argument '{word}' {where}") if name else nameless(f"argument '{word}' {where}")

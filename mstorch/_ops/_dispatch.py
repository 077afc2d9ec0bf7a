"""How an operation gets from tensors to a kernel and back: promotion, casts, recording, strides, ``out=``, in place."""
from __future__ import annotations

import contextlib
import functools
import numbers
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._backend import tape
from .._backend.cast import cast
from .._backend.raw import Raw, scalar
from .._backend.table import Kernel
from .._core.dtype import OF_MS, by_name, dtype, get_default_dtype
from .._core.promotion import WORDS, can_cast, combine, promote_types, scalar_dtype
from .._core.strides import elementwise_strides, flat_index
from .._core.tensor_base import (
    TensorBase,
    check_writable,
    grad_mode,
    is_tracked,
    recording,
    strides_of,
    value_of,
    wrap,
    wrap_strided,
    write,
)  # fmt: skip

Tensor = TensorBase  # for isinstance and annotations; results are instances of the finished class

_SCALARS: dict[tuple[Any, Any, str], Raw] = {}
_SCALARS_LIMIT = 4096


def scalar_raw(value: Any, name: str) -> Raw:
    """A 0-d raw tensor of a Python number, kept for the next time: making one costs as much as a small kernel."""
    key = (value.__class__, value, name)
    found = _SCALARS.get(key)
    if found is None or tape.tracing() is not None:
        kind = by_name(name)
        if kind.category <= 1 and isinstance(value, float):
            value = int(value)
        if kind.category < 3 and isinstance(value, complex):
            raise RuntimeError(f"value cannot be converted to type {_cpp_name(kind)} without overflow")
        if kind.is_integral:
            found = scalar(np.array(int(value)).astype(kind.np) if name != "bool" else bool(value), name)
        else:
            found = scalar(value, name)
        if value == value and len(_SCALARS) < _SCALARS_LIMIT and not (value == 0 and isinstance(value, float)):
            # NaN never equals its key, and 0.0 == -0.0 would confuse the two.
            _SCALARS[key] = found
    return found


def _cpp_name(kind: dtype) -> str:
    return {"float32": "float", "float64": "double", "int64": "int64_t", "int32": "int", "float16": "at::Half"}.get(
        kind.name, kind.name
    )


def is_number(value: Any) -> bool:
    """Whether the value is a Python or NumPy number that an operation takes in a tensor's place."""
    return isinstance(value, (bool, int, float, complex, np.bool_)) or isinstance(value, numbers.Number)


def python_number(value: Any) -> Any:
    """A NumPy scalar as the Python number it stands for."""
    return value.item() if isinstance(value, np.generic) else value


def broadcast_shape(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """The shape two tensors broadcast to; RuntimeError with torch's words if they do not."""
    if first == second:
        return tuple(first)
    rank = max(len(first), len(second))
    result = [1] * rank
    for i in range(1, rank + 1):
        a = first[-i] if i <= len(first) else 1
        b = second[-i] if i <= len(second) else 1
        if a != b and a != 1 and b != 1:
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {rank - i}"
            )
        result[-i] = b if a == 1 else a
    return tuple(result)


_PLAIN = (bool, int, float, complex)


def result_dtype(operands: Sequence[Any]) -> dtype:
    """The dtype that torch's promotion gives tensors and numbers together."""
    dimensioned = zero_dim = wrapped = None
    for operand in operands:
        if isinstance(operand, TensorBase):
            kind = operand._dtype
            if value_of(operand).shape:
                dimensioned = kind if dimensioned is None else promote_types(dimensioned, kind)
            else:
                zero_dim = kind if zero_dim is None else promote_types(zero_dim, kind)
        else:
            if operand.__class__ not in _PLAIN and not is_number(operand):
                raise TypeError(f"unsupported operand: expected Tensor or Number, not {type(operand).__name__}")
            kind = scalar_dtype(python_number(operand))
            wrapped = kind if wrapped is None else promote_types(wrapped, kind)
    return combine(dimensioned, zero_dim, wrapped)


def unary(kernel: Kernel, input: Any, out: Any = None, *, to_float: bool = False) -> Any:
    """An elementwise operation of one tensor. ``to_float`` computes integers in the default floating dtype."""
    if not isinstance(input, TensorBase):
        raise TypeError(f"{kernel.op}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    tracked = recording((input,))
    raw = value_of(input)
    kind = input._dtype
    if to_float and kind.category < 2:
        kind = get_default_dtype()
        raw = cast(raw, kind.name)
    result = kernel[kind.name](raw)
    result = wrap_like(result, (input,), tracked)
    return result if out is None else deliver(result, out)


def wrap_like(raw: Raw, operands: Sequence[Any], tracked: bool) -> Any:
    """The result of an elementwise operation, with the strides that torch would give it."""
    if tracked and OF_MS[raw.dtype].category < 2:
        tracked = False
    if all(operand._stride is None for operand in operands):
        return wrap(raw, tracked)
    strides = elementwise_strides(
        tuple(raw.shape), [(tuple(value_of(operand).shape), strides_of(operand)) for operand in operands]
    )
    return wrap_strided(raw, tracked, strides)


def binary(kernel: Kernel, input: Any, other: Any, out: Any = None, *, to_float: bool = False) -> Any:
    """An elementwise operation of two tensors, or of a tensor and a number, with promotion and broadcasting."""
    if out is None and isinstance(input, TensorBase) and isinstance(other, TensorBase):
        kind = input._dtype
        if kind is other._dtype and input._view is None and other._view is None and (kind.category >= 2 or not to_float):
            # The common case, which must cost little more than the kernel: one dtype, two base tensors.
            first, second = input._storage, other._storage
            a, b = first.value, second.value
            if a.shape != b.shape:
                shape = broadcast_shape(a.shape, b.shape)
                if grad_mode.deep:
                    a, b = (raw if tuple(raw.shape) == shape else _expand[kind.name](raw, shape) for raw in (a, b))
            if grad_mode.enabled and (first.tracked or second.tracked):
                tape.start_recording()
                first.owned = second.owned = False
                raw = kernel[kind.name](a, b)
                return wrap(raw, OF_MS[raw.dtype].category >= 2)
            return wrap(kernel[kind.name](a, b))
    return elementwise(kernel, (input, other), out, to_float=to_float)


def expect_tensor(name: str, value: Any, position: int = 1) -> None:
    """Raise torch's TypeError unless the operand of a binary operation is a tensor."""
    if not isinstance(value, TensorBase):
        word = ("input", "other")[position - 1]
        raise TypeError(f"{name}(): argument '{word}' (position {position}) must be Tensor, not {type(value).__name__}")


def expect_tensors(name: str, input: Any, other: Any) -> None:
    """Raise torch's TypeError unless both operands are tensors."""
    expect_tensor(name, input)
    expect_tensor(name, other, 2)


def expect_a_tensor(name: str, input: Any, other: Any) -> None:
    """Raise torch's TypeError where both operands are numbers."""
    if not isinstance(input, TensorBase) and not isinstance(other, TensorBase):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({type(input).__name__}, {type(other).__name__}): one of "
            "them must be a Tensor"
        )


def elementwise(kernel: Kernel, operands: Sequence[Any], out: Any = None, *, to_float: bool = False) -> Any:
    """An elementwise operation of several tensors and numbers, with promotion and broadcasting."""
    kind = result_dtype(operands)
    if to_float and kind.category < 2:
        kind = get_default_dtype()
    tensors = [operand for operand in operands if isinstance(operand, TensorBase)]
    tracked = recording(tensors)
    raws = []
    shape: tuple[int, ...] | None = None
    for operand in operands:
        if isinstance(operand, TensorBase):
            raw = value_of(operand)
            own = tuple(raw.shape)
            shape = own if shape is None else broadcast_shape(shape, own)
            if operand._dtype is not kind:
                raw = cast(raw, kind.name)
        else:
            raw = scalar_raw(python_number(operand), kind.name)
        raws.append(raw)
    if grad_mode.deep and tracked and shape is not None:
        raws = [
            raw if not isinstance(operand, TensorBase) or tuple(raw.shape) == shape else _expand[kind.name](raw, shape)
            for operand, raw in zip(operands, raws)
        ]  # fmt: skip
    result = wrap_like(kernel[kind.name](*raws), tensors, tracked)
    return result if out is None else deliver(result, out)


def result(raw: Raw, inputs: Sequence[Any], tracked: bool) -> Any:
    """A base tensor over fresh values. ``tracked`` is what ``recording(inputs)`` gave before the kernel ran."""
    return wrap(raw, tracked and OF_MS[raw.dtype].category >= 2)


def call(kernel: Kernel, inputs: Sequence[Any], *args: Any, dtype: dtype | None = None) -> Any:
    """Run a kernel on tensors of one dtype (the first one's, unless given) and other arguments: a contiguous result."""
    tracked = recording(inputs)
    kind = dtype or inputs[0]._dtype
    raws = [value_of(t) if t._dtype is kind else cast(value_of(t), kind.name) for t in inputs]
    raw = kernel[kind.name](*raws, *args)
    if isinstance(raw, tuple):
        return tuple(result(item, inputs, tracked) for item in raw)
    return result(raw, inputs, tracked)


def contiguous_copy(tensor: Any) -> Any:
    """The tensor's values in a base tensor of their own, recorded."""
    return call(_clone, (tensor,))


_clone = Kernel("clone")
_expand = Kernel("expand")


def check_result_cast(kind: dtype, target: dtype) -> None:
    """Raise torch's error if a result of one dtype may not be stored in another."""
    if not can_cast(kind, target):
        raise RuntimeError(f"result type {type_word(kind)} can't be cast to the desired output type {type_word(target)}")


def type_word(kind: dtype) -> str:
    """The scalar type's name in torch's messages: ``Float`` for float32."""
    return WORDS[kind.name]


def deliver(result: Any, out: Any) -> Any:
    """Store a result in ``out=`` (a tensor, or a tuple of them) and return ``out``."""
    if isinstance(result, tuple):
        for item, target in zip(result, out):
            deliver(item, target)
        return result._written(out) if hasattr(result, "_written") else tuple(out)
    if not isinstance(out, TensorBase):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    check_result_cast(result._dtype, out._dtype)
    if grad_mode.enabled and (is_tracked(out) or is_tracked(result)):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
        )
    raw = value_of(result)
    if tuple(raw.shape) != tuple(value_of(out).shape):
        if value_of(out).size != 0:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(value_of(out).shape)}, which "
                f"does not match the required output shape {list(raw.shape)}. This behavior is deprecated, and in a future "
                "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse an "
                "out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                UserWarning,
                stacklevel=3,
            )
        become(out, result if result._dtype is out._dtype else wrap(cast(raw, out._dtype.name)))
        return out
    if result._dtype is not out._dtype:
        raw = cast(raw, out._dtype.name)
    write(out, raw, False)
    return out


def refuse_overlap(out: Any, *inputs: Any) -> None:
    """Raise torch's error if ``out`` holds an element twice, or shares one with an input: for what is read while it writes."""
    if out is None or not isinstance(out, TensorBase):
        return
    check_writable(out)
    for input in inputs:
        if input._storage is out._storage and np.intersect1d(_places(input), _places(out)).size:
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )


def _places(tensor: Any) -> np.ndarray:
    return flat_index(shape_of(tensor), strides_of(tensor), tensor._offset)


def expect_out_dtype(out: Any, kind: dtype) -> None:
    """Raise torch's error unless ``out`` (a tensor or None) has exactly this dtype."""
    if isinstance(out, TensorBase) and out._dtype is not kind:
        raise RuntimeError(f"Expected out tensor to have dtype {_spoken(kind)}, but got {_spoken(out._dtype)} instead")


def _spoken(kind: dtype) -> str:
    return {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}.get(kind.name, kind.name)


def finish(result: Any, out: Any) -> Any:
    """The result, stored in ``out`` if that is given."""
    return result if out is None else deliver(result, out)


@contextlib.contextmanager
def without_grad() -> Iterator[None]:
    """Nothing is recorded inside."""
    before = grad_mode.enabled
    tape.set_grad_enabled(False)
    try:
        yield
    finally:
        tape.set_grad_enabled(before)


def readable(tensor: Any) -> np.ndarray | None:
    """The values, for a check of arguments; None while a graph is captured, which holds no such check."""
    return value_of(tensor).asnumpy() if tape.tracing() is None else None


def shape_of(tensor: Any) -> tuple[int, ...]:
    """The shape as a plain tuple, at less cost than ``tensor.shape``."""
    return tuple(value_of(tensor).shape)


def become(tensor: Any, other: Any) -> None:
    """Let ``tensor`` show what ``other`` shows (``set_``, ``resize_``, ``.data =``)."""
    for name in ("_storage", "_dtype", "_view", "_stride", "_offset"):
        setattr(tensor, name, getattr(other, name))


def in_place(tensor: Any, result: Any) -> Any:
    """Store the result of an operation in its first operand, and return that operand."""
    check_result_cast(result._dtype, tensor._dtype)
    raw = value_of(result)
    shape = tuple(value_of(tensor).shape)
    if tuple(raw.shape) != shape:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(raw.shape)}")
    if result._dtype is not tensor._dtype:
        raw = cast(raw, tensor._dtype.name)
    write(tensor, raw, is_tracked(result))
    return tensor


def in_place_form(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The method ``name`` (``add_``) that stores what ``function`` (``add``) returns in the tensor itself."""

    run = getattr(function, "outside_autocast", function)

    def method(input: Any, *args: Any, **kwargs: Any) -> Any:
        check_writable(input)
        return in_place(input, run(input, *args, **kwargs))

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"In-place version of ``{function.__name__}``."
    return method


_NUMPY_NAMES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}


def accept_numpy_names(namespace: dict[str, Any], names: Sequence[str]) -> None:
    """Let the functions of a module take NumPy's keywords too, as torch does: ``axis`` for ``dim``, ``keepdims``."""
    for name in names:
        function = namespace[name]
        code = getattr(function, "__wrapped__", function).__code__
        own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if "dim" in own or "keepdim" in own:
            aliases = {alias: target for target in own for alias in _NUMPY_NAMES.get(target, ()) if alias not in own}
            namespace[name] = _with_aliases(function, aliases)


def _with_aliases(function: Callable[..., Any], aliases: dict[str, str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def accepting(*args: Any, **kwargs: Any) -> Any:
        for alias in aliases.keys() & kwargs.keys() if kwargs else ():
            kwargs[aliases[alias]] = kwargs.pop(alias)
        return function(*args, **kwargs)

    return accepting


def wrap_dim(dim: int, rank: int) -> int:
    """A dimension counted from the front; IndexError with torch's words if it is out of range."""
    if not isinstance(dim, int):
        dim = dim.__index__()
    limit = max(rank, 1)
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim + limit if dim < 0 else dim


def wrap_dims(dim: Any, rank: int) -> tuple[int, ...]:
    """Dimensions of a reduction, counted from the front; None and () mean all; a repeated one is an error."""
    if dim is None:
        return tuple(range(rank))
    dims = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if not dims:
        return tuple(range(rank))
    wrapped = tuple(wrap_dim(d, rank) for d in dims)
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped


def shape_args(size: tuple[Any, ...]) -> tuple[int, ...]:
    """``f(2, 3)``, ``f((2, 3))`` and ``f(torch.Size([2, 3]))`` alike."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    return tuple(int(length) if isinstance(length, int) else length.__index__() for length in size)

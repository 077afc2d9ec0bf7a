"""Creation of tensors: filled, uninitialized, ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array, Number
from ...backend.cast import numpy_cast
from ...backend.errors import not_for
from ...backend.geometry import contiguous_strides
from ...core import determinism
from ...core import device as devices
from ...core.above import above
from ...core.device import device
from ...core.device_tensors import as_asked, without_values
from ...core.dtype import (
    by_name,
    complex32,
    complex64,
    dtype,
    float4_e2m1fn_x2,
    float64,
    get_default_dtype,
    int64,
    uint16,
    uint32,
    uint64,
)
from ...core.formats import layout, memory_format, preserve_format, strided
from ...core.no_memory import no_memory
from ...core.promotion import scalar_dtype
from ...core.resized import resize
from ...core.storage import home
from ...core.strides import channels_last_strides, normalize, preserved_strides
from ...core.tensor_base import TensorBase, in_order, strides_of
from ...core.tensor_base import array_of as memory_of
from ...core.warned import warn
from ...quiet import quiet
from ...tape.windows import no_view
from .._dispatch import deliver, python_number, shape_args, type_word
from .._forms import SIZE
from .._fresh_out import fresh_out
from .._numbers import filling, fitting, refuse_tracked
from .._operation import operation
from .._scalars import check_size
from ..shape.views import as_strided, reshape
from ._spaced import evenly_spaced
from .from_data import made, require_leaf
from .placing import placed


def _checked_size(size: Sequence[int]) -> tuple[int, ...]:
    for length in size:
        if length < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {list(size)}")
    return tuple(size)


def _filled(size: tuple[int, ...], value: Number, kind: dtype, requires_grad: bool, place: Any = devices.CPU) -> TensorBase:
    size = _checked_size(size)
    if math.prod(size) * kind.itemsize >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)}")
    if math.prod(size[1:]) >= 2**63 or 0 in size and math.prod(max(length, 1) for length in size) >= 2**60:
        raise RuntimeError("Stride calculation overflowed")
    value = filling(value, kind, math.prod(size))
    found = without_values(place, kind, size, None, requires_grad)
    if found is not None:
        return found
    try:
        if kind is float4_e2m1fn_x2 and (value or value.__class__ is float):
            raise not_for("fill_cpu", "float4_e2m1fn_x2")
        if kind.name == "bfloat16" or kind.ms is None and (value or isinstance(value, (float, complex))):
            array = numpy_cast(np.full(size, value, np.complex64 if kind.is_complex else np.float32), kind.np)
        elif value == 0 and not isinstance(value, float):
            array = np.zeros(size, kind.np)
        else:
            array = np.full(size, value, kind.np)
    except MemoryError as error:  # layers create their parameters here
        raise no_memory(error) from None
    return made(array, requires_grad)


@operation
@placed
def scalar_tensor(
    s: Number, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return a 0-d tensor; floating by default."""
    devices.refuse_pinning(pin_memory, device)
    return _filled((), s, dtype or get_default_dtype(), requires_grad, device)


def _size_and_out(
    name: str, size: tuple[Any, ...], out: TensorBase | None, value: Number, kind: dtype | None, device: int | str | device | None,
    requires_grad: bool
) -> TensorBase:
    place = devices.resolve(device)
    shape = shape_args(size, name)
    if out is not None and kind is not None and out._ms_dtype is not kind:
        raise RuntimeError(f"dtype {type_word(kind)} does not match dtype of out parameter ({type_word(out._ms_dtype)})")
    if out is not None:
        return fresh_out(name, _filled(shape, value, kind or out._ms_dtype, False), out, requires_grad)
    return _filled(shape, value, kind or get_default_dtype(), requires_grad, place)


def _unspecified(layout: layout, shape: tuple[int, ...], kind: dtype | None, requires_grad: bool, place: Any) -> TensorBase:
    """Return a tensor of a sparse layout with no specified elements, that is all zeros."""
    return above.nothing_of(layout, shape, kind or get_default_dtype(), requires_grad, place)


def _strided_only(layout: layout | None) -> None:
    if layout is not None and layout is not strided:
        raise RuntimeError("full(...) is not implemented for sparse layout")


@operation(forms=SIZE)
@placed
def zeros(
    *size: int | Sequence[int], out: TensorBase | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return a tensor of zeros."""
    devices.refuse_pinning(pin_memory, device)
    if any(isinstance(length, int) and length < 0 for length in size):
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    if layout is not None and layout is not strided:
        return _unspecified(layout, shape_args(size), dtype, requires_grad, device)
    return _size_and_out("zeros", size, out, 0, dtype, device, requires_grad)


@operation(forms=SIZE)
@placed
def ones(
    *size: int | Sequence[int], out: TensorBase | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return a tensor of ones."""
    devices.refuse_pinning(pin_memory, device)
    _strided_only(layout)
    return _size_and_out("ones", size, out, 1, dtype, device, requires_grad)


def _unset(tensor_: TensorBase) -> TensorBase:
    """Return a new uninitialized tensor, filled if deterministic algorithms are enabled."""
    if determinism.state["mode"] and home(tensor_).has_elements:
        determinism.fill(memory_of(tensor_), tensor_._ms_dtype)
    return tensor_


@operation(forms=SIZE)
@placed
def empty(
    *size: int | Sequence[int], out: TensorBase | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: memory_format | None = None,
) -> TensorBase:  # fmt: skip
    """Return an uninitialized tensor (in mstorch, of zeros)."""
    devices.refuse_pinning(pin_memory, device)
    if layout is not None and layout is not strided:
        return _unspecified(layout, shape_args(size), dtype, requires_grad, device)
    made_tensor = _unset(_size_and_out("empty", size, out, 0, dtype, device, requires_grad))
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    if memory_format is not None and out is None:
        return _formatted(made_tensor, memory_format)
    return made_tensor


def _formatted(tensor_: TensorBase, memory_format: Any) -> TensorBase:
    shape = tensor_._ms_shape
    name = getattr(memory_format, "name", str(memory_format))
    rank = {"channels_last": 4, "channels_last_3d": 5}.get(name)
    if rank is not None and len(shape) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {name} format")
    if name.startswith("channels_last"):
        return in_order(tensor_, normalize(shape, channels_last_strides(shape)))
    return tensor_


@operation
@placed
def full(
    size: int | Sequence[int], fill_value: Any, *, out: TensorBase | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return a tensor filled with a value, from which the dtype is inferred."""
    if isinstance(size, int):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    devices.refuse_pinning(pin_memory, device)
    _strided_only(layout)
    place = devices.resolve(device)
    if isinstance(fill_value, TensorBase):
        refuse_tracked(fill_value)
        fill_value = fill_value.item()
    fill_value = python_number(fill_value)
    if out is not None:
        return fresh_out("full", _filled(shape_args((size,)), fill_value, dtype or out._ms_dtype, False), out, requires_grad)
    kind = dtype or scalar_dtype(fill_value)
    return _filled(shape_args((size,)), fill_value, complex64 if dtype is None and kind is complex32 else kind, requires_grad, place)


@operation
@placed
def empty_strided(
    size: tuple[int, ...], stride: Sequence[int], *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return an uninitialized tensor of the given size and strides (in mstorch, of zeros)."""
    devices.refuse_pinning(pin_memory, device)
    place = devices.resolve(device)
    kind = dtype or get_default_dtype()
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    found = without_values(place, kind, size, stride, requires_grad)
    if found is not None:
        return found
    span = 0 if 0 in size else 1 + sum((length - 1) * step for length, step in zip(size, stride))
    made_tensor = no_view(as_strided(_unset(_filled((span,), 0, kind, False)), size, stride, 0))
    if requires_grad:
        require_leaf(made_tensor)
    return made_tensor


@operation
@placed
def empty_permuted(
    size: tuple[int, ...], physical_layout: tuple[int, ...], *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return a dense uninitialized tensor of ``size`` whose dimensions are ordered in memory as in ``physical_layout``, outermost first."""
    devices.refuse_pinning(pin_memory, device)
    size, order = tuple(size), tuple(physical_layout)
    if len(order) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}"
        )
    for position, dim in enumerate(order):
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} at index {position}).  "
                "NB: negative dims not currently supported; file an issue if you want it."
            )
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    strides = [0] * len(size)
    for position, step in zip(order, contiguous_strides([size[i] for i in order])):
        strides[position] = step
    return empty_strided(size, strides, dtype=dtype, device=device, requires_grad=requires_grad)


def _like(
    input: TensorBase, value: Number, kind: dtype | None, device: device | str | int | None, requires_grad: bool,
    memory_format: memory_format | None = None
) -> Any:
    shape, kind = input._ms_shape, kind or input._ms_dtype
    name = getattr(memory_format, "name", "preserve_format")
    found = without_values(input.device if device is None else device, kind, shape, None, requires_grad)
    if found is not None:
        kept = preserved_strides(shape, strides_of(input)) if name == "preserve_format" and input._ms_stride is not None else None
        last = normalize(shape, channels_last_strides(shape)) if name.startswith("channels_last") else kept
        return found if last is None else without_values(found.device, kind, shape, last, requires_grad)
    made_tensor = _filled(shape, value, kind, False)
    if name == "channels_last" or name == "channels_last_3d":
        made_tensor = _formatted(made_tensor, memory_format)
    elif name == "preserve_format" and input._ms_stride is not None:
        made_tensor = in_order(made_tensor, preserved_strides(shape, strides_of(input)))
    if requires_grad:
        require_leaf(made_tensor)
    return made_tensor


@operation
@placed(like=True)
def zeros_like(
    input: TensorBase, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    requires_grad: bool = False, memory_format: memory_format | None = None, pin_memory: bool = False, out: TensorBase | None = None,
) -> TensorBase:  # fmt: skip
    """Return zeros with the shape and dtype of ``input``."""
    devices.refuse_pinning(pin_memory, device, input)
    if layout is not None and layout is not strided:
        return _unspecified(layout, tuple(input.shape), dtype or input._ms_dtype, requires_grad, device)
    return _like(input, 0, dtype, device, requires_grad, memory_format)


@operation
@placed(like=True)
def ones_like(
    input: TensorBase, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    requires_grad: bool = False, memory_format: memory_format | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return ones with the shape and dtype of ``input``."""
    devices.refuse_pinning(pin_memory, device, input)
    _strided_only(layout)
    return _like(input, 1, dtype, device, requires_grad, memory_format)


@operation
@placed(like=True)
def empty_like(
    input: TensorBase, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    requires_grad: bool = False, memory_format: memory_format | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return an uninitialized tensor with the shape and dtype of ``input`` (in mstorch, of zeros)."""
    devices.refuse_pinning(pin_memory, device, input)
    if layout is not None and layout is not strided:
        raise NotImplementedError("Could not run 'aten::empty_strided' with arguments from the 'SparseCPU' backend.")
    return _unset(_like(input, 0, dtype, device, requires_grad, memory_format))


@operation
@placed(like=True)
def full_like(
    input: TensorBase, fill_value: complex, *, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False, memory_format: memory_format | None = None, pin_memory: bool = False,
) -> TensorBase:  # fmt: skip
    """Return a tensor filled with a value, with the shape and dtype of ``input``."""
    devices.refuse_pinning(pin_memory, device, input)
    _strided_only(layout)
    if isinstance(fill_value, TensorBase):
        refuse_tracked(fill_value)
        fill_value = fill_value.item()
    return _like(input, python_number(fill_value), dtype, device, requires_grad, memory_format)


_MANY = 1 << 40


@operation
@placed
def arange(
    start: float | None = None, end: float | None = None, step: float = 1, *, out: TensorBase | None = None, dtype: dtype | None = None,
    layout: layout | None = None, device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return ``start, start + step, …`` below ``end``: of integers if all three are integers, else of the default floating dtype."""
    devices.refuse_pinning(pin_memory, device)
    place = devices.resolve(device)
    if start.__class__ is step.__class__ is int and out is dtype is None and (end is None or end.__class__ is int):
        first, last = (0, start) if end is None else (start, end)
        if step > 0 and 0 <= last - first < _MANY and -_MANY < first < _MANY:  # the common case
            return as_asked(made(np.arange(first, last, step, np.int64), requires_grad), place)
    if end is None:
        start, end = 0, start
    if end is None:
        raise TypeError("arange() received an invalid combination of arguments - got (), but expected one of:\n * (Number end)")
    numbers = _bounds(0 if start is None else start, end, step)
    if dtype is None and out is not None:
        dtype = out._ms_dtype
    kind = dtype or (get_default_dtype() if any(isinstance(number, float) for number in numbers) else int64)
    _refuse_row("arange", kind)
    _check_progression(*numbers, dtype)
    array = _progression(*numbers, kind)
    if out is None:
        return as_asked(made(array, requires_grad), place)
    if kind is not out._ms_dtype:
        raise RuntimeError(f"dtype {type_word(kind)} does not match dtype of out parameter ({type_word(out._ms_dtype)})")
    if out.numel() not in (0, len(array)):
        warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which does not match the computed "
            f"number of elements {len(array)}. Note that this may occur as a result of rounding error. The out tensor will be resized "
            f"to a tensor of shape ({len(array)},).",
            UserWarning,
        )
    return _deliver_in_order("arange", made(array), out, requires_grad)


def _bounds(*numbers: Any) -> tuple[Any, Any, Any]:
    """Return start, end and step as Python's numbers."""
    refuse_tracked(*numbers)
    start, end, step = [python_number(number.item() if isinstance(number, TensorBase) else number) for number in numbers]
    for number in (start, end, step):
        if number.__class__ is int:
            check_size(number)
    return start, end, step


def _check_progression(start: Any, end: Any, step: Any, dtype: dtype | None) -> None:
    """Raise torch's error for numbers that do not lead from start to end."""
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if any(isinstance(number, complex) for number in (start, end, step)):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if dtype is int64 and int(step) == 0:  # narrower integers get zeros
        raise ValueError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (step > 0) != (end >= start) and start != end:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _progression(start: Any, end: Any, step: Any, kind: dtype) -> Array:
    """Return the numbers from start to end in a dtype. Their count is taken in int64 for that dtype and for integers, else in float64."""
    if kind is int64:
        start, end, step = int(start), int(end), int(step)
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        count = -((start - end) // step)
    else:
        count = int(np.ceil((float(end) - float(start)) / float(step)))
    if count < 2**63 <= count * kind.itemsize:
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{count}]")
    if count >= 2**60:
        raise RuntimeError("invalid size, possible overflow?")
    wide: Any = np.float64
    if kind.is_integral:
        start, step, wide = int(start), int(step), np.int64
    return numpy_cast(wide(start) + wide(step) * np.arange(count, dtype=wide), kind.np)


_UNSIGNED = (uint16, uint32, uint64)


def _refuse_row(name: str, kind: dtype) -> None:
    if kind.category in (0, 3) and name in ("arange", "range") or not kind.category or kind.ms is None or kind in _UNSIGNED:
        raise not_for(f"{name}_cpu", kind.name)


def _deliver_in_order(name: str, result: TensorBase, out: TensorBase, requires_grad: bool) -> TensorBase:
    """Store a vector in ``out``: in the shape of ``out`` if that has as many elements, else ``out`` is resized to a vector."""
    return fresh_out(name, result, out, requires_grad, _in_order)


def _in_order(result: TensorBase, out: TensorBase) -> TensorBase:
    if out.numel() == result.numel():
        return deliver(reshape(result, out.shape), out)
    resize(out, result._ms_shape)
    return deliver(result, out)


@operation
@placed
def range(
    start: Any = 0, end: float | None = None, step: float = 1, *, out: TensorBase | None = None, dtype: dtype | None = None,
    layout: layout | None = None, device: device | str | int | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return ``start, start + step, …`` up to and including ``end``. Deprecated in torch in favour of ``arange``."""
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
    )
    if end is None:
        start, end = 0, start
    refuse_tracked(start, end, step)
    kind = dtype or get_default_dtype()
    count = int((float(end) - float(start)) / float(step)) + 1
    found = None if out is not None else without_values(device, kind, (count,), None, requires_grad)
    if found is not None:
        return found
    _refuse_row("range", kind)
    array = float(start) + float(step) * np.arange(count, dtype=np.float64)
    values = made(numpy_cast(array, (out._ms_dtype if out is not None and dtype is None else kind).np), requires_grad)
    return values if out is None else _deliver_in_order("range", values, out, requires_grad)


def _steps(name: str, start: TensorBase | float, end: TensorBase | float, steps: int) -> int:
    """Return ``steps`` as an int. Raise torch's TypeError unless it is an int or a one-element integer tensor."""
    if isinstance(steps, (bool, float, complex, str)) or not hasattr(steps, "__index__"):
        got = ", ".join("Tensor" if isinstance(value, TensorBase) else type(value).__name__ for value in (start, end, steps))
        keywords = (
            "int steps, *, Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, "
            "torch.device device = None, bool pin_memory = False, bool requires_grad = False"
        )
        if name == "logspace":
            keywords = keywords.replace("int steps, ", "int steps, float base = 10.0, ")
        pairs = ("Tensor start, Tensor end", "Number start, Tensor end", "Tensor start, Number end", "Number start, Number end")
        forms = "".join(f" * ({pair}, {keywords})\n" for pair in pairs)
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{forms}")
    return int(steps)


def _ends(name: str, start: TensorBase | float, end: TensorBase | float, steps: int, kind: dtype | None) -> tuple[Any, Any, dtype]:
    values = []
    for value in (start, end):
        if isinstance(value, TensorBase):
            if value.dim() != 0:
                raise RuntimeError("linspace only supports 0-dimensional start and end tensors")
            value = value.item()
        values.append(python_number(value))
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if kind is not None and not kind.is_complex and any(isinstance(value, complex) for value in values):
        wide = "double" if get_default_dtype() is float64 else "float"
        raise RuntimeError(
            f"torch.{name}(): inferred dtype c10::complex<{wide}> can't be safely cast to passed dtype {type_word(kind)}"
        )
    if kind is None:
        kind = get_default_dtype()
        if any(isinstance(value, complex) for value in values):
            kind = kind.to_complex()
    if steps and kind.category:  # integer bounds are truncated and wrapped before the computation
        values = [fitting(value, kind) for value in values]
        if kind.category == 1:
            values = [int(numpy_cast(np.asarray(int(value)), kind.np)) for value in values]
    return values[0], values[1], kind


@operation
@placed
def linspace(
    start: TensorBase | float, end: TensorBase | float, steps: int, *, out: TensorBase | None = None, dtype: dtype | None = None,
    layout: layout | None = None, device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return ``steps`` evenly spaced values from ``start`` to ``end``, inclusive."""
    devices.refuse_pinning(pin_memory, device)
    place = devices.resolve(device)
    steps = _steps("linspace", start, end, steps)
    start, end, kind = _ends("linspace", start, end, steps, dtype or (out._ms_dtype if out is not None else None))
    if steps > 1:
        _refuse_row("linspace", kind)
    values = evenly_spaced(start, end, steps, kind)
    if out is not None:
        return _deliver_in_order("linspace", made(values), out, requires_grad)
    return as_asked(made(values, requires_grad), place)


@operation
@placed
def logspace(
    start: TensorBase | float, end: TensorBase | int, steps: int, base: float = 10.0, *, out: TensorBase | None = None,
    dtype: dtype | None = None,
    layout: layout | None = None, device: device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return ``steps`` values from ``base**start`` to ``base**end``, evenly spaced on a logarithmic scale."""
    devices.refuse_pinning(pin_memory, device)
    place = devices.resolve(device)
    steps = _steps("logspace", start, end, steps)
    start, end, kind = _ends("logspace", start, end, steps, dtype or (out._ms_dtype if out is not None else None))
    if steps > 1:
        _refuse_row("logspace", kind)
    wide = float64 if kind.is_integral or kind.name == "float64" else kind
    exponents = evenly_spaced(start, end, steps, by_name("float64") if not kind.is_complex else by_name("complex128"))
    if wide.is_integral:
        exponents = np.trunc(exponents)
    with quiet():
        values = numpy_cast(np.power(np.asarray(base, exponents.dtype), exponents), kind.np)
    if out is not None:
        return _deliver_in_order("logspace", made(values), out, requires_grad)
    return as_asked(made(values, requires_grad), place)


@operation
@placed
def eye(
    n: int, m: int | None = None, *, out: TensorBase | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: int | str | device | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the n by m identity matrix."""
    devices.refuse_pinning(pin_memory, device)
    place = devices.resolve(device)
    if n < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {n}")
    if m is not None and m < 0:
        raise RuntimeError(f"m must be greater or equal to 0, got {m}")
    kind = dtype or (out._ms_dtype if out is not None else get_default_dtype())
    if kind in _UNSIGNED:
        raise not_for("eye", kind.name)
    values = numpy_cast(np.eye(n, n if m is None else m, dtype=np.float32), kind.np)
    return fresh_out("eye", made(values), out, requires_grad) if out is not None else as_asked(made(values, requires_grad), place)

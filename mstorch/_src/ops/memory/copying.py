"""Copies and conversions: clone, contiguous, to, type, copy_."""
from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...backend.arrays import Array, Number
from ...backend.table import kernel
from ...core import device as devices
from ...core.cuda_names import meant
from ...core.device import device
from ...core.device import device as device_class
from ...core.dtype import (
    DTYPES,
    PYTHON_TYPES,
    bfloat16,
    bool_,
    by_name,
    complex32,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from ...core.formats import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format
from ...core.modes import modes
from ...core.refusals import of_mindspore
from ...core.storage import Counter
from ...core.strides import (
    channels_last_strides,
    is_channels_last,
    normalize,
    preserved_strides,
    suggests_channels_last,
)
from ...core.strides import is_contiguous as _strides_contiguous
from ...core.tensor_base import TensorBase, is_tracked, strides_of, touch, window
from ...core.warned import warn_once
from ...core.writable import check_history, check_writable, refuse_partial_overlap, refuse_shared_places
from ...tape import mirrored
from ...tape.moving import brought
from ...tape.writes import assign
from .._dispatch import (
    broadcast_shape,
    call,
    cast_tensor,
    contiguous_copy,
    python_number,
    type_word,
    write_array,
)
from .._forms import Forms
from .._numbers import filling
from .._operation import operation
from .._scalars import scalar_array
from ..indexing._values_put import fitted, stands_in
from .from_data import made as made_of

_clone = kernel("clone")


def _copy_strides(input: TensorBase, format: memory_format | None) -> tuple[int, ...] | None:
    shape = input._ms_shape
    if format is None or format is preserve_format:
        return None if input._ms_stride is None else preserved_strides(shape, input._ms_stride)
    if format is contiguous_format:
        return None
    _check_rank(format, len(shape))
    return normalize(shape, channels_last_strides(shape))


def _check_rank(format: memory_format, rank: int) -> None:
    if format is channels_last and rank != 4:
        raise RuntimeError("required rank 4 tensor to use channels_last format")
    if format is channels_last_3d and rank != 5:
        raise RuntimeError("required rank 5 tensor to use channels_last_3d format")


def clone(input: TensorBase, *, memory_format: memory_format | None = None) -> Any:
    """Return a copy that autograd tracks. It keeps a dense tensor's strides unless another memory format is requested."""
    return call(_clone, (input,), strides=_copy_strides(input, memory_format))


def is_contiguous(self: TensorBase, *, memory_format: memory_format = contiguous_format) -> bool:
    """Return whether the elements are row-major in memory (or in the given format)."""
    shape, strides = self._ms_shape, strides_of(self)
    if memory_format is contiguous_format:
        return self._ms_stride is None or _strides_contiguous(shape, strides)
    if memory_format is channels_last or memory_format is channels_last_3d:
        rank = 4 if memory_format is channels_last else 5
        return len(shape) == rank and is_channels_last(shape, strides)
    return is_contiguous(self)


def contiguous(self: TensorBase, *, memory_format: memory_format = contiguous_format) -> TensorBase:
    """Return the tensor if it is contiguous, else a contiguous copy."""
    _check_rank(memory_format, len(self._ms_shape))
    return self if is_contiguous(self, memory_format=memory_format) else clone(self, memory_format=memory_format)


def _suggested(input: TensorBase) -> memory_format:
    """Return the memory format that a tensor's strides suggest, with or without gaps."""
    shape = input._ms_shape
    if input._ms_stride is not None and suggests_channels_last(shape, input._ms_stride):
        return channels_last if len(shape) == 4 else channels_last_3d
    return contiguous_format


def to_dtype(input: TensorBase, kind: dtype, copy: bool = False, format: memory_format | None = None) -> TensorBase:
    """Return the tensor cast to another dtype; the tensor itself if it has this dtype and no copy is requested."""
    if kind is input._ms_dtype:
        if not copy and (format is None or format is preserve_format or _suggested(input) is format):
            return input
        return clone(input, memory_format=format)
    if not kind.is_complex and input._ms_dtype.is_complex:
        _warn_of_parts(kind)
    return cast_tensor(input, kind, _copy_strides(input, format))


def _warn_of_parts(kind: dtype) -> None:
    if kind is not bool_:
        warn_once("Casting complex values to real discards the imaginary part")


def to(self: TensorBase, *args: Any, **kwargs: Any) -> Any:
    """Implement ``to(dtype)``, ``to(device, dtype)``, ``to(other)``, each with ``non_blocking``, ``copy``, ``memory_format``."""
    kind, target, copy, format_ = parse_to(args, kwargs)
    if target is not None:
        found = devices.resolve(target)
        there = brought(self, found)
        if there is not self:
            return to_dtype(there, kind or self._ms_dtype, False, format_)
    return to_dtype(self, kind or self._ms_dtype, copy, format_)


_FORMS = {"device": ("device", "dtype", "non_blocking", "copy"), "dtype": ("dtype", "non_blocking", "copy"),
          "tensor": ("tensor", "non_blocking", "copy")}  # fmt: skip
_TO = (
    "to() received an invalid combination of arguments - got ({}), but expected one of:\n"
    " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n"
    " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
    " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
)


def _fits(name: str, value: Any) -> bool:
    """Return whether ``to`` accepts a value as its argument of this name."""
    if name == "device":
        return value is None or isinstance(value, (str, int, device_class)) and not isinstance(value, bool)
    if name == "dtype":
        return value is None or isinstance(value, dtype) or value in (float, int, bool, complex)
    if name == "tensor":
        return isinstance(value, TensorBase)
    if name == "memory_format":
        return value is None or isinstance(value, memory_format)
    return isinstance(value, bool)


def parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dtype | None, Any, bool, Any]:
    """Return the dtype, device, copy flag and memory format from the arguments of ``to``. Raise TypeError with torch's message."""
    first = args[0] if args else None
    if isinstance(first, TensorBase) or "tensor" in kwargs or "other" in kwargs:
        form = _FORMS["tensor"]
    elif first is not None and _fits("dtype", first):
        form = _FORMS["dtype"]
    else:
        form = _FORMS["device"]
    given = {"tensor" if name == "other" else name: value for name, value in kwargs.items()}
    named = dict(zip(form, args))
    allowed = {*form, "memory_format"}
    if len(args) > len(form) or named.keys() & given.keys() or given.keys() - allowed or not all(
        _fits(name, value) for name, value in {**named, **given}.items()
    ):
        kinds = [_kind_of(value) for value in args] + [f"{name}={_kind_of(value)}" for name, value in kwargs.items()]
        error = TypeError(_TO.format(", ".join(kinds)))
        raise of_mindspore(args, kwargs, error) or error
    named.update(given)
    like = named.get("tensor")
    kind, place = (named.get("dtype"), named.get("device")) if like is None else (like._ms_dtype, like.device)
    if kind is not None and not isinstance(kind, dtype):
        kind = PYTHON_TYPES[kind]
    return kind, place, bool(named.get("copy", False)), named.get("memory_format")


def _kind_of(value: TensorBase | complex | dtype | None) -> str:
    """Return the name of a value's type in torch's messages."""
    if isinstance(value, TensorBase):
        return value.__class__.__name__
    return f"torch.{value.__class__.__name__}" if isinstance(value, (dtype, device_class, memory_format)) else value.__class__.__name__


@operation(forms=Forms({"other": "src"}))
def copy_(self: TensorBase, src: TensorBase, non_blocking: bool = False) -> TensorBase:
    """Copy the values of ``src`` (broadcast and cast) into this tensor; return it."""
    return _copied_into(self, src, "CopyBackwards")


def _copied_into(self: TensorBase, src: TensorBase, label: str) -> TensorBase:
    if src is self:
        check_history(self)
        touch(self)
        return self
    fits = isinstance(src, TensorBase) and src._ms_storage is self._ms_storage and len(src._ms_shape) <= len(self._ms_shape)
    if fits and stands_in(src, self):
        if not (modes.grad and (is_tracked(src) or is_tracked(self))):
            check_history(self)
            if src._ms_shape != self._ms_shape:
                refuse_shared_places(self)
            touch(self)
            return self
        src = contiguous_copy(src)  # the values stay, but the autograd graph changes
    check_writable(self)
    if isinstance(src, complex) and not self._ms_dtype.is_complex:
        _warn_of_parts(self._ms_dtype)
        src = src.real
    if isinstance(src, TensorBase):
        refuse_partial_overlap(self, src)
        if not self._ms_dtype.is_complex and src._ms_dtype.is_complex:
            _warn_of_parts(self._ms_dtype)
        if src._ms_shape != self._ms_shape:
            wide = broadcast_shape(self._ms_shape, src._ms_shape)
            if wide != self._ms_shape:
                raise RuntimeError(f"output with shape {list(self._ms_shape)} doesn't match the broadcast shape {list(wide)}")
    assign(self, fitted(src, self, self._ms_shape), label, given=True)
    return self


def fill_(self: TensorBase, value: TensorBase | complex) -> TensorBase:
    """Set every element to one value; return the tensor."""
    if isinstance(value, TensorBase) and value.dim() != 0:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
        )
    if not isinstance(value, TensorBase):
        return _filled(self, value, "FillBackward2")
    return _copied_into(self, clone(value), "FillBackward3")


def zero_(self: TensorBase) -> TensorBase:
    """Set every element to 0; return the tensor."""
    return _filled(self, 0, "ZeroBackward0")


def _filled(self: TensorBase, value: Number | Sequence[float | str | None], label: str) -> TensorBase:
    value = filling(python_number(value), self._ms_dtype, math.prod(self._ms_shape))
    write_array(self, scalar_array(value, self._ms_dtype), True, label)
    return self


_TYPE_STRINGS = {f"torch.{type_word(kind)}Tensor": kind for kind in DTYPES}


@operation
def type(self: TensorBase, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the tensor's type as a string, or the tensor converted to another type; a type of a device also moves the tensor to that
    device.
    """
    here = self.device
    if dtype is None:
        return f"torch.{devices.prefix(here)}{type_word(self._ms_dtype)}Tensor"
    kind = as_dtype(dtype)
    moves = devices.accelerator_is() and (isinstance(dtype, str) or hasattr(dtype, "_legacy_dtype"))
    place = place_of_type(dtype) if moves and self._ms_storage.has_elements else here.type
    return to_dtype(self, kind) if place == here.type else to(self, place, kind)


def place_of_type(name: Any) -> str:
    """Return the device of a tensor type, given as ``"torch.npu.FloatTensor"`` or ``torch.npu.FloatTensor``; "cpu" for others."""
    if isinstance(name, str):
        room = name.split(".")[1:-1]
        return meant(room[0]) if room else "cpu"
    return getattr(name, "_place", "cpu")


def as_dtype(name: Any) -> dtype:
    """Return the dtype that is given as a dtype, a legacy tensor class or its name, such as ``"torch.FloatTensor"``. Raise ValueError for
    other values."""
    if isinstance(name, dtype):
        return name
    if isinstance(name, str) and name.count(".") == 2 and devices.accelerator_is(place_of_type(name)):
        name = f"torch.{name.rpartition('.')[2]}"
    if TensorBase in getattr(name, "__mro__", ()):  # class Tensor itself
        return get_default_dtype()
    if not isinstance(name, (str, builtins.type)):
        raise TypeError("dtype must be a type, str, or dtype object")
    found = _TYPE_STRINGS.get(name) if isinstance(name, str) else getattr(name, "_legacy_dtype", None)
    if found is None:
        raise ValueError(f"invalid type: '{getattr(name, '__name__', name)}'")
    return found


def type_as(self: TensorBase, other: TensorBase) -> TensorBase:
    """Return the tensor cast to the dtype of ``other``, on its device."""
    return to_dtype(brought(self, other.device), other._ms_dtype)


def _conversion(name: str, kind: dtype) -> Callable[..., Any]:
    def method(self: TensorBase, *, memory_format: memory_format = preserve_format) -> TensorBase:
        return to_dtype(self, kind, format=memory_format)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"Return the tensor cast to {kind!r}; itself if it has that dtype."
    return method


CONVERSIONS = {
    name: _conversion(name, kind)
    for name, kind in {
        "float": float32, "double": float64, "half": float16, "bfloat16": bfloat16, "int": int32, "long": int64,
        "short": int16, "char": int8, "byte": uint8, "bool": bool_, "cfloat": complex64, "chalf": complex32, "cdouble": complex128,
    }.items()
}  # fmt: skip


def cpu(self: TensorBase, *, memory_format: memory_format = preserve_format) -> TensorBase:
    """Return the tensor on the CPU."""
    return to(self, "cpu", memory_format=memory_format)


def cuda(
    self: TensorBase, device: device | str | int | None = None, non_blocking: bool = False, *,
    memory_format: memory_format = preserve_format,
) -> TensorBase:
    """Return the tensor on a GPU. Raise if there is none."""
    return to(self, "cuda" if device is None else device, memory_format=memory_format)


def npu(
    self: TensorBase, device: int | str | device_class | None = None, non_blocking: bool = False, *,
    memory_format: memory_format = preserve_format
) -> TensorBase:
    """Return the tensor on an Ascend device. Raise if there is none."""
    return to(self, "npu" if device is None else device, memory_format=memory_format)


# Copies of whole storages


def rebuilt(
    cls: Any, array: Array, name: str, geometry: tuple[Any, Any, int], requires_grad: bool, state: dict[str, Any], place: str = "cpu"
) -> TensorBase:
    """Rebuild a pickled tensor. Raise RuntimeError if its device is not available."""
    flat = made_of(array.view(by_name(name).np))
    if place != "cpu":
        flat = brought(flat, devices.resolve(place))
    made = window(flat._ms_storage, flat._ms_dtype, *geometry)
    made._ms_counter = Counter(1)
    made.__class__ = cls
    if requires_grad:
        made.requires_grad_()
    made.__dict__.update(state)
    return made


def place_of(tensor: TensorBase) -> tuple[str, ...]:
    """Return the device's name as a tuple, the last argument of ``rebuilt``; () for the CPU and meta."""
    name = str(tensor.device)
    return () if name in ("cpu", "meta") else (name,)


def copy_storage(tensor: TensorBase, memo: dict[int, Any]) -> Any:
    """Return a copy of a tensor with its whole storage. Copies of tensors that share a storage share its copy, which ``memo`` holds."""
    if mirrored.is_mirrored(tensor):
        return mirrored.resolved(tensor)
    storage: Any = tensor._ms_storage
    key = ("storage", id(storage))
    found = memo.get(key)  # type: ignore[call-overload]
    if found is None:
        found = memo[key] = storage.copied()  # type: ignore[index]
    return window(found, tensor._ms_dtype, tensor._ms_shape, strides_of(tensor), tensor._ms_offset)


NAMED_METHODS = {**CONVERSIONS, "npu": npu} if devices.accelerator_is("npu") else CONVERSIONS

"""Tensors as strided views of storages: how they are made, read and written. Their class is in ``tensor_class.py``."""
from __future__ import annotations

import copyreg
import operator
import sys
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from ..backend.cell import tensors_of
from ..backend.float8 import typed
from ..backend.geometry import contiguous_strides, row_major_strides
from ..backend.host.narrow import assign, row_major
from ..backend.raw import NAME_OF, ON_CPU, Array, Raw, face, from_numpy, number_in, raw_dtype, raw_shape
from ..backend.table import kernel
from ..backend.tape import bump_versions, refuse_in_trace
from .above import copied
from .auto import Auto
from .device import META
from .dtype import OF_MS, OF_NP, dtype
from .marks import mark
from .mirrors import Mirror
from .modes import modes
from .storage import Absent, Counter, DeviceMemory, Storage, Value
from .strides import Strides, dense_layout, dense_order, normalize
from .tangents import LEVELS, is_dual, keep
from .tensor_class import SparseOperand as SparseOperand
from .tensor_class import TensorBase
from .tensor_class import on_subclass as on_subclass

_permute = kernel("permute")

_new = object.__new__
_new_storage = Storage.__new__
_class: list[type] = [TensorBase]


def set_tensor_class(cls: type) -> None:
    """Set the class of the instances that ``tensor_of`` and ``wrap`` make."""
    _class[0] = cls


# Making tensors


def tensor_of(array: Array) -> Any:
    """Return a base tensor that takes ownership of an array's memory."""
    if modes.native is not None:
        if array.dtype.names:
            raise NotImplementedError(f"mstorch: a tensor of torch.{array.dtype.names[0]} in a graph of MindSpore's")
        return wrap(from_numpy(np.ascontiguousarray(array).reshape(array.shape)))
    return _host(array)


def _host(array: Array) -> TensorBase:
    if array.flags.c_contiguous:
        return fresh(array)
    stride, source, array = _dense(array)
    return fresh(array, None, None, stride, source)


def fresh(
    array: Array, kind: Any = None, shape: tuple[int, ...] | None = None, stride: Strides | None = None, source: Array | None = None
) -> TensorBase:
    """Return a base tensor of a kernel's row-major result, faster than ``tensor_of``, but only while ``modes.native`` is None.

    ``kind`` and ``shape``: dtype and shape, by default the array's. ``stride``, ``source``: for a result that is not row-major, the
    strides, and the dense row-major memory of the same elements."""
    if source is None:
        if kind is None and not array.flags.c_contiguous:
            array = np.array(array, order="C")
        source = array
    tensor: Any = _new(_class[0])
    # Storage(…) written out: every operation ends here, and the call alone costs 0.2 µs.
    storage: Any = _new_storage(Storage)
    storage._source = source
    storage._memory = None
    storage.version = 0
    storage.moved = False
    storage.shared = None
    storage.parameter = None
    storage.pinned = False
    tensor._ms_storage = tensor._ms_counter = storage
    tensor._ms_dtype = OF_NP[array.dtype] if kind is None else kind
    tensor._ms_shape = array.shape if shape is None else shape
    tensor._ms_stride = stride
    tensor._ms_offset = 0
    tensor._ms_array = array
    tensor._ms_raw = None
    tensor._ms_at = None
    tensor._ms_node = None
    tensor._ms_number = 0
    tensor._ms_auto = None
    if modes.marks:
        mark(tensor)
    return tensor


def _dense(array: Array) -> tuple[Strides | None, Array, Array]:
    """Return (strides, memory as a row-major array, the array) for an array that is dense but not row-major; for an array with gaps (None,
    copy, copy)."""
    size = array.itemsize
    if array.size and array.ndim:
        strides = tuple(step // size for step in array.strides)
        order = dense_order(array.shape, strides) if min(strides) >= 0 else None
        if order is not None:
            source = array.transpose(order)
            if source.flags.c_contiguous:
                return normalize(array.shape, strides), source, array
    copy = np.array(array, order="C", copy=True)
    return None, copy, copy


def wrap(raw: Raw, strides: Strides | None = None) -> Any:
    """Return a base tensor that takes ownership of a MindSpore tensor; ``strides`` give the order of the elements in its memory."""
    if ON_CPU and modes.native is None:
        array = raw.asnumpy()
        return _host(array) if strides is None else laid_out(array, strides)
    return on_device(raw, strides)


def on_device(raw: Raw, strides: Strides | None = None, kind: dtype | None = None) -> TensorBase:
    """Return a base tensor that takes ownership of a MindSpore tensor; ``kind`` is the dtype that its bytes encode."""
    own, shape = OF_MS[raw_dtype(raw)], raw_shape(raw)
    kind = kind or own
    lies = raw
    if strides is not None:
        order, _, strides, _ = dense_layout(shape, strides)
        if strides is not None:
            lies = _permute[kind.held](raw, order)
    if ON_CPU or (modes.native is not None and modes.native.captured):
        cell = Value(lies)
        tensor = _make(cell, kind, shape, strides, 0)
        tensor._ms_raw, tensor._ms_at = raw, (cell, cell.writes)
    else:
        storage = DeviceMemory(lies)
        tensor = _make(storage, kind, shape, strides, 0)
        if strides is None and kind is own:
            tensor._ms_at = (storage, 0)  # the base is the tensor's value (`value_of`)
    if modes.marks:
        mark(tensor)
    return tensor


def laid_out(array: Array, strides: Strides | None) -> Any:
    """Return a base tensor with these values in the memory order of ``strides``, which are dense."""
    if strides is None:
        return tensor_of(array if array.flags.c_contiguous else row_major(array))
    if modes.native is not None:
        return wrap(face(array), strides)
    order, back, steps, in_rows = dense_layout(array.shape, strides)
    if in_rows and array.flags.c_contiguous:
        return fresh(array, None, None, steps, array)
    source = row_major(array.transpose(order))
    return fresh(source.transpose(back), None, None, steps, source)


def _make(storage: Any, kind: dtype, shape: tuple[int, ...], stride: Strides | None, offset: int) -> TensorBase:
    tensor: Any = _new(_class[0])
    tensor._ms_storage = tensor._ms_counter = storage
    tensor._ms_dtype = kind
    tensor._ms_shape = shape
    tensor._ms_stride = stride
    tensor._ms_offset = offset
    tensor._ms_array = None
    tensor._ms_raw = None
    tensor._ms_at = None
    tensor._ms_node = None
    tensor._ms_number = 0
    tensor._ms_auto = None
    return tensor


def window(storage: Absent | DeviceMemory | Storage, kind: dtype, shape: Sequence[int], strides: Strides | None, offset: int) -> Any:
    """Return a detached tensor of any geometry over a storage."""
    shape = tuple(shape)
    return _make(storage, kind, shape, None if strides is None else normalize(shape, strides), offset)


def in_class(tensor: TensorBase, cls: type) -> Any:
    """Return a new tensor as an instance of the subclass ``cls``; this is another object if ``cls`` has additional slots."""
    if cls.__basicsize__ == type(tensor).__basicsize__:
        tensor.__class__ = cls
        return tensor
    made: Any = _new(cls)
    for name in TensorBase.__slots__[:-2]:
        setattr(made, name, getattr(tensor, name))
    return made


def _wrapper_like(tensor: TensorBase, made: TensorBase) -> TensorBase:
    """Return a new tensor in another tensor's wrapper subclass, with the attributes of that tensor."""
    made = in_class(made, tensor.__class__)
    for name in set(copyreg._slotnames(tensor.__class__)).difference(TensorBase.__slots__):  # type: ignore[attr-defined]
        if hasattr(tensor, name):
            setattr(made, name, getattr(tensor, name))
    made.__dict__.update(tensor.__dict__)
    return made


def twin(tensor: TensorBase) -> Any:
    """Return an alias of the tensor that shares its version counter and autograd node; neither a view nor a leaf of its own."""
    made = _make(tensor._ms_storage, tensor._ms_dtype, tensor._ms_shape, tensor._ms_stride, tensor._ms_offset)
    if tensor._ms_storage.__class__ is Absent and tensor.__class__ is not made.__class__:
        made = _wrapper_like(tensor, made)
    made._ms_array, made._ms_raw, made._ms_at, made._ms_counter = tensor._ms_array, tensor._ms_raw, tensor._ms_at, tensor._ms_counter
    made._ms_node, made._ms_number = tensor._ms_node, tensor._ms_number
    return made


# Reading


def array_of(tensor: Any) -> Array:
    """Return the tensor's elements as a NumPy view of its memory."""
    array = tensor._ms_array
    if array is not None and modes.native is None and not tensor._ms_storage.moved:
        return array
    storage = tensor._ms_storage
    if modes.native is not None:
        return typed(value_of(tensor).asnumpy(), tensor._ms_dtype.np)
    kind, shape = tensor._ms_dtype, tensor._ms_shape
    if storage.__class__ is DeviceMemory or storage.__class__ is Value:
        shadow = None if storage.shadow is None else storage.shadowed(kind.np, shape, strides_of(tensor), tensor._ms_offset)
        return copied(tensor, typed(value_of(tensor).asnumpy(), kind.np) if shadow is None else shadow)
    if storage.__class__ is Absent:
        return storage.elements(kind.np, shape)
    if storage.__class__ is Mirror:
        return storage.turned(array_of(as_it_lies(tensor)))
    if storage.parameter is not None:
        storage.follow()
    size, element = kind.itemsize, kind._np or kind.np  # the properties' fields first: each view that is read comes here
    if 0 in shape:
        array = np.empty(shape, element)
    else:
        memory = storage._memory
        if memory is None:  # the array that the storage was made of will do, unless its dtype is not NumPy's own, as bfloat16
            memory = storage._source if storage._source.dtype.isbuiltin == 1 else storage.memory
        steps = None if tensor._ms_stride is None else tuple(map(operator.mul, tensor._ms_stride, repeat(size)))
        array = np.ndarray(shape, element, memory, tensor._ms_offset * size, steps)
    if not storage.moved:
        tensor._ms_array = array
    return array


def as_it_lies(tensor: TensorBase) -> TensorBase:
    """Return an alias without conjugate and negative bits, which shows the elements as stored; it has the same autograd state and version
    counter."""
    made = twin(tensor)
    made._ms_storage, made._ms_auto, made._ms_array = tensor._ms_storage.inner, tensor._ms_auto, None
    return made


def is_meta(tensor: TensorBase) -> bool:
    """Return whether a tensor is on the meta device."""
    storage = tensor._ms_storage
    return storage.__class__ is Absent and storage.device is META


def meta_tensor(shape: tuple[int, ...], kind: dtype, strides: Strides | None = None, requires_grad: bool = False) -> TensorBase:
    """Return a meta tensor."""
    steps = contiguous_strides(shape) if strides is None else strides
    span = 0 if 0 in shape else 1 + sum((length - 1) * step for length, step in zip(shape, steps))
    made = window(Absent(META, span * kind.itemsize), kind, shape, strides, 0)
    if requires_grad:
        require_grad(made, True)
    return made


def to_meta(tensor: TensorBase, requires_grad: bool = False) -> TensorBase:
    """Return a meta tensor with the same shape, strides and dtype."""
    return meta_tensor(tensor._ms_shape, tensor._ms_dtype, tensor._ms_stride, requires_grad)


def value_of(tensor: TensorBase) -> Raw:
    """Return the elements as a MindSpore tensor: it shares the memory of a row-major tensor and is a copy of any other."""
    storage = tensor._ms_storage
    if storage.__class__ is DeviceMemory and modes.native is None:
        at = tensor._ms_at
        if at is not None and at[0] is storage and at[1] == storage.exchanges:
            window = tensor._ms_raw
            return storage.base if window is None else window.raw
        return _device_value(tensor, storage)
    if storage.__class__ is Value:
        cell = storage
    elif storage.__class__ is Mirror:
        return face(array_of(tensor)) if modes.native is None else storage.turned_raw(value_of(as_it_lies(tensor)))
    elif modes.native is not None:
        cell = modes.native.cell(storage, tensor._ms_dtype.np, _leaf_of(tensor))
    else:
        return face(array_of(tensor))
    at = tensor._ms_at
    if at is None or at[0] is not cell or at[1] != cell.writes:
        tensor._ms_raw = cell.read(tensor._ms_dtype.held, tensor._ms_shape, tensor._ms_stride, tensor._ms_offset)
        tensor._ms_at = (cell, cell.writes)
    return tensor._ms_raw


def _device_value(tensor: Any, storage: DeviceMemory) -> Raw:
    held = tensor._ms_dtype._held  # not the property: every operand of a kernel comes here
    raw = storage.read(held, tensor._ms_shape, tensor._ms_stride, tensor._ms_offset)
    if OF_MS[raw_dtype(storage.base)].name != held:
        return raw  # a copy, in which later writes are not visible
    tensor._ms_raw = None if raw is storage.base else storage.windows.keep(raw)
    tensor._ms_at = (storage, storage.exchanges)
    return raw


def values_of(tensors: Sequence[Any]) -> list[Raw]:
    """Return ``value_of`` of each tensor, without a call for those that are all of a device's memory."""
    raws = []
    for tensor in tensors:
        storage = tensor._ms_storage
        if storage.__class__ is DeviceMemory and tensor._ms_stride is None and not tensor._ms_offset and modes.native is None:
            base = storage.base
            if raw_shape(base) == tensor._ms_shape and NAME_OF[raw_dtype(base)] == tensor._ms_dtype._held:
                raws.append(base)
                continue
        raws.append(value_of(tensor))
    return raws


def _leaf_of(tensor: TensorBase) -> TensorBase | None:
    """Return the tensor if it is a leaf that requires grad, else its base if that is one. Return None if neither is, or in no-grad mode."""
    auto = tensor._ms_auto
    if auto is None or not modes.grad:
        return None
    if auto.leaf:
        return tensor
    base = auto.base
    return base if base is not None and base._ms_auto is not None and base._ms_auto.leaf else None


def strides_of(tensor: TensorBase) -> Strides:
    """Return the strides in elements, as a tuple."""
    return tensor._ms_stride if tensor._ms_stride is not None else row_major_strides(tensor._ms_shape)


# History


def tensors_in(values: Sequence[Any]) -> list[Any]:
    """Return the tensors among the values, in order."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, TensorBase):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found += tensors_in(value)
    return found


def is_tracked(tensor: Any) -> bool:
    """Return whether the tensor requires grad."""
    if tensor._ms_node is not None:
        return True
    auto = tensor._ms_auto
    if auto is None:
        if modes.native is None:
            return False
        raw = tensor._ms_storage.base if tensor._ms_storage.__class__ is DeviceMemory else tensor._ms_raw
        return raw is not None and bool(raw._requires_grad)  # tracked by MindSpore's autograd
    written = auto.pending is not None and auto.pending[1] == tensor._ms_counter.version
    return auto.leaf or auto.base is not None and (written or is_tracked(auto.base))


def auto_of(tensor: Any) -> Auto:
    """Return the autograd state of the tensor, which is created if necessary."""
    if tensor._ms_auto is None:
        tensor._ms_auto = Auto()
    return tensor._ms_auto


def recording(tensors: Sequence[Any]) -> bool:
    """Return whether autograd has to track an operation on these tensors, or compute tangents for it."""
    if modes.grad:
        for tensor in tensors:
            if tensor._ms_node is not None or is_tracked(tensor):
                return True
    return bool(LEVELS) and any(map(is_dual, tensors))


def make_view(
    source: TensorBase, read: Callable[[Raw], Raw] | None, shape: Sequence[int], strides: Strides, offset: int, kind: dtype | None = None
) -> TensorBase:
    """Return a detached tensor over a part of ``source``'s storage; within a MindSpore block, ``read`` computes its value.

    Without ``read`` the value is taken from the whole storage on demand.
    """
    shape = tuple(shape)
    storage = source._ms_storage
    made = _make(storage, kind or source._ms_dtype, shape, None if strides == row_major_strides(shape) else strides, offset)
    made._ms_counter = source._ms_counter
    if source._ms_auto is not None and source._ms_auto.inference:
        auto_of(made).inference = True
    if read is not None and (modes.native is not None or storage.__class__ is Value):
        made._ms_raw, made._ms_at = read(value_of(source)), source._ms_at
    return made


# Writing


def put_array(tensor: TensorBase, values: Array) -> None:
    """Write an array, which has the tensor's dtype and broadcasts to its shape, into the tensor's memory, and increment the version."""
    if tensor._ms_storage.__class__ is Absent:
        touch(tensor)
        return
    if tensor._ms_storage.__class__ is Mirror:
        put_array(as_it_lies(tensor), tensor._ms_storage.turned(values))
        return
    if tensor._ms_storage.__class__ is not Storage or modes.native is not None:
        put_raw(tensor, from_numpy(np.array(np.broadcast_to(values, tensor._ms_shape), tensor._ms_dtype.np, order="C")))
        return
    if 0 not in tensor._ms_shape:
        assign(array_of(tensor), values)
    touch(tensor)


def put_constant(tensor: TensorBase, array: Array) -> None:
    """Write a scalar as ``put_array`` does; on a device it is passed to the kernel as a number."""
    storage = tensor._ms_storage
    if storage.__class__ is DeviceMemory and modes.native is None and not array.ndim and storage.fill(
        tensor._ms_dtype.held, number_in(array), tensor._ms_shape, tensor._ms_stride, tensor._ms_offset
    ):
        touch(tensor)
    else:
        put_array(tensor, array)


def put_raw(tensor: Any, new: Raw, own: bool | None = None) -> None:
    """Write the elements of ``new``, which has the tensor's shape and dtype, into its memory.

    ``own``: True if ``new`` has no other owners, None if it is a kernel's result.
    """
    storage, block = tensor._ms_storage, modes.native
    if storage.__class__ is Value:
        _rebind(tensor, storage, new)
    elif storage.__class__ is DeviceMemory:
        if block is not None:
            _rebind(tensor, block.cell(storage, tensor._ms_dtype.np), new)
        if (block is None or not block.captured) and storage.write(new, tensor._ms_shape, tensor._ms_stride, tensor._ms_offset, own):
            tensor._ms_raw, tensor._ms_at = None, (storage, storage.exchanges) if tuple(new.shape) == tensor._ms_shape else None
    elif storage.__class__ is Mirror:
        put_raw(as_it_lies(tensor), storage.turned_raw(new))
        return
    elif block is None or not block.captured:
        array_of(tensor)[...] = typed(new.asnumpy(), tensor._ms_dtype.np)
        if block is not None:
            _rebind(tensor, block.cell(storage, tensor._ms_dtype.np), new)
    else:
        _rebind(tensor, block.cell(storage, tensor._ms_dtype.np), new)
    touch(tensor)


def _rebind(tensor: TensorBase, cell: Value, new: Raw) -> None:
    cell.write(new, tensor._ms_shape, tensor._ms_stride, tensor._ms_offset)
    tensor._ms_raw, tensor._ms_at = new, (cell, cell.writes)


def touch(tensor: TensorBase) -> None:
    """Bump the version counter."""
    tensor._ms_counter.version += 1
    parameter = tensor._ms_storage.parameter
    if parameter is not None:
        bump_versions([parameter])


def touch_all(tensors: Sequence[TensorBase]) -> None:
    """Bump the version counters of tensors, once for each time that one is listed."""
    for tensor in tensors:
        if tensor._ms_storage.parameter is None:
            tensor._ms_counter.version += 1
        else:
            touch(tensor)


def require_grad(tensor: TensorBase, requires_grad: bool) -> None:
    """Set ``requires_grad`` of a leaf."""
    if requires_grad and modes.native is not None and modes.native.captured:
        refuse_in_trace("a tensor is made a leaf")
    auto_of(tensor).leaf = requires_grad
    if any(tensor is known for known in tensors_of(tensor._ms_storage.parameter)):
        tensor._ms_storage.parameter.requires_grad = requires_grad


def whole_storage(tensor: TensorBase) -> TensorBase:
    """Return a 1-d tensor over all of a tensor's storage, in its dtype."""
    return _make(tensor._ms_storage, tensor._ms_dtype, (tensor._ms_storage.nbytes // tensor._ms_dtype.itemsize,), None, 0)


def become(tensor: TensorBase, other: TensorBase) -> None:
    """Make ``tensor`` an alias of ``other``, with its memory and version counter; the autograd state of ``tensor`` is kept."""
    for name in ("_ms_storage", "_ms_dtype", "_ms_shape", "_ms_stride", "_ms_offset", "_ms_array", "_ms_raw", "_ms_at"):
        setattr(tensor, name, getattr(other, name))
    tensor._ms_counter = other._ms_counter


def become_apart(tensor: TensorBase, other: TensorBase) -> None:
    """Make ``tensor`` an alias of ``other`` that keeps its own version counter."""
    counter = _kept_counter(tensor)
    become(tensor, other)
    tensor._ms_counter = counter


def turn_into(tensor: TensorBase, other: TensorBase) -> None:
    """Do what ``become_apart`` does, and increment the version."""
    become_apart(tensor, other)
    tensor._ms_counter.version += 1


def _kept_counter(tensor: TensorBase) -> Any:
    """Return the version counter to keep when the tensor's memory is replaced; its views and detached aliases share the counter."""
    counter = tensor._ms_counter
    # A storage counts its own writes. If there are no other references (two of the tensor, two of this function), a separate counter
    # lets the memory be freed.
    return Counter(counter.version) if counter.__class__ is Storage and sys.getrefcount(counter) <= 4 else counter


def in_order(tensor: TensorBase, strides: Strides | None) -> Any:
    """Return a new tensor laid out with other (dense) strides, with the same values and autograd node."""
    if strides is None or tensor._ms_stride == strides:
        return tensor
    made = (
        meta_tensor(tensor._ms_shape, tensor._ms_dtype, strides) if is_meta(tensor)
        else laid_out(array_of(tensor), strides) if tensor._ms_storage.__class__ is Storage else wrap(value_of(tensor), strides)
    )  # fmt: skip
    made._ms_node, made._ms_number = tensor._ms_node, tensor._ms_number
    if LEVELS and tensor._ms_auto is not None:
        for level, tangent in (tensor._ms_auto.tangents or {}).items():
            keep(auto_of(made), level, in_order(tangent, strides))
    return made

"""Creation of tensors from data: Python numbers, nested sequences, NumPy arrays, buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.cast import numpy_cast
from ...backend.errors import wrong_type
from ...backend.float8 import as_bytes
from ...backend.geometry import contiguous_strides
from ...core import device as devices
from ...core.device import device
from ...core.dlpack import array_of as array_of_capsule
from ...core.dtype import OF_NP, bfloat16, bool_, dtype, get_default_dtype, int64, of_numpy
from ...core.promotion import promote_types, scalar_dtype
from ...core.storage import FIXED
from ...core.strides import preserved_strides
from ...core.tensor_base import TensorBase, is_tracked, laid_out, meta_tensor, require_grad, tensor_of, to_meta, window
from ...core.tensor_base import array_of as memory_of
from ...core.warned import warn, warn_once
from .._dispatch import type_word
from .._numbers import integer_fits
from .._operation import operation
from ..shape import views
from .placing import placed


def made(array: Array, requires_grad: bool = False, strides: tuple[int, ...] | None = None) -> Any:
    """Return a tensor that owns a new row-major array; with ``strides``, its memory is rearranged to them."""
    tensor = tensor_of(array) if strides is None else laid_out(array, strides)
    if requires_grad:
        require_leaf(tensor)
    return tensor


def require_leaf(tensor: TensorBase) -> None:
    if tensor._ms_dtype.is_integral:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    require_grad(tensor, True)


def _python_array(data: Any, kind: dtype | None) -> Array:
    """Return nested sequences of numbers, one-element tensors or arrays as one array, of the dtype that torch infers."""
    shape = [] if data.__class__ in (int, float) else _shape_of(data)
    leaves: list[Any] = []
    _flatten(data, shape, 0, leaves)
    if bytes in map(type, leaves[:1]) and shape and kind is not None:  # bytes are accepted as numbers if a dtype is given
        return _python_array(_spread(data), kind)
    array = _of_one_type(leaves, kind)
    if array is not None:
        return array.reshape(shape)
    wanted = kind
    if kind is None:
        kind = _inferred(leaves)
    flat = [_number(leaf, kind, wanted, bool(shape)) for leaf in leaves]
    if kind is bool_:
        return np.array([bool(v) for v in flat], np.bool_).reshape(shape)
    if not kind.is_complex and any(isinstance(value, complex) for value in flat):
        integers = kind.category == 1
        raise wrong_type("'complex' object cannot be interpreted as an integer" if integers else "must be real number, not complex")
    if kind.category == 1:
        _check_range(flat, kind)
        return np.array([int(v) for v in flat], np.int64 if kind.name != "uint64" else np.uint64).astype(kind.np).reshape(shape)
    return numpy_cast(np.array(flat, np.complex128 if kind.is_complex else np.float64).reshape(shape), kind.np)


def _shape_of(data: Any) -> list[int]:
    """Return the lengths of nested sequences, as far as the first items tell."""
    shape: list[int] = []
    probe = data
    while probe.__class__ is list or _is_sequence(probe):  # most are lists, and the call costs
        shape.append(len(probe))
        if len(shape) > 128:
            raise ValueError(f"too many dimensions '{type(probe).__name__}'")
        if len(probe) == 0:
            break
        probe = probe[0]
    if shape and isinstance(probe, str) and probe:
        raise ValueError("too many dimensions 'str'")
    if shape and isinstance(probe, np.ndarray):
        raise TypeError("len() of unsized object")  # torch treats a 0-d array that comes first as a sequence
    return shape


def _of_one_type(leaves: list[Any], kind: dtype | None) -> Array | None:
    """Return an array of the numbers if all are ints or all are floats. Return None otherwise, for bool, and if a number does not fit."""
    types = set(map(type, leaves))
    if types == {float}:
        kind = kind or get_default_dtype()
    elif types == {int}:
        kind = kind or int64
    else:
        return None
    if not kind.is_integral:
        return numpy_cast(np.array(leaves, np.complex128 if kind.is_complex else np.float64), kind.np)
    if types == {float} or kind is bool_:
        return None
    for end in (min(leaves), max(leaves)):
        if not -(2**63) <= end < 2**63 or not integer_fits(end, kind):
            return None
    return np.array(leaves, np.int64).astype(kind.np)


def _spread(data: Any) -> int | Sequence[Any]:
    """Return nested lists, in which bytes objects are replaced by tuples of their ints."""
    return tuple(data) if isinstance(data, bytes) else [_spread(item) for item in data] if isinstance(data, (list, tuple)) else data


def _check_range(flat: list[Any], kind: dtype) -> None:
    for value in flat:
        if not isinstance(value, float) and not -(2**63) <= int(value) < (2**64 if kind.name == "uint64" else 2**63):
            raise ValueError("Overflow when unpacking long long")
        if not integer_fits(value, kind):
            raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow")


def _is_sequence(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, (list, tuple)) or (
        not isinstance(value, (str, bytes, dict, TensorBase, np.generic)) and hasattr(value, "__getitem__") and hasattr(value, "__len__")
    )


def _flatten(data: Any, shape: list[int], depth: int, leaves: list[Any]) -> None:
    """Append the items at depth ``len(shape)`` (numbers, one-element tensors and arrays) to ``leaves``."""
    if depth == len(shape):
        leaves.append(data)
        return
    if not _is_sequence(data) and not (isinstance(data, TensorBase) and data.dim()):
        if depth == 0:
            leaves.append(data)
            return
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if isinstance(data, np.ndarray) and depth == len(shape) - 1 and data.ndim == 1:
        leaves.extend(data)
        return
    if depth == len(shape) - 1 and np.ndarray not in map(type, data):
        leaves.extend(data)
        return
    for item in data:
        if isinstance(item, np.ndarray) and 0 not in shape:
            _discourage_arrays()
        _flatten(item, shape, depth + 1, leaves)


def _discourage_arrays() -> None:
    warn_once(
        "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single "
        "numpy.ndarray with numpy.array() before converting to a tensor."
    )


def _number(value: Any, kind: dtype | None = None, wanted: dtype | None = None, nested: bool = False) -> Any:
    """Return one leaf of nested sequences as a Python number. Raise torch's TypeError or ValueError for other values; ``wanted`` is the
    requested dtype."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, TensorBase):
        if value.numel() != 1:
            if kind is not None and kind.is_integral:
                raise TypeError("only integer tensors of a single element can be converted to an index")
            raise ValueError("only one element tensors can be converted to Python scalars")
        return value.item()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value.item()
    if _is_sequence(value):
        raise wrong_type(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    if wanted is not None and wanted.is_floating_point and nested and (value is None or isinstance(value, (str, dict))):
        raise wrong_type(f"must be real number, not {type(value).__name__}")
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    for protocol in ("__index__", "__float__", "__complex__"):
        if hasattr(value, protocol):
            return getattr(value, protocol)()
    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


def _leaf_dtype(value: Any) -> dtype:
    if isinstance(value, TensorBase):
        return value._ms_dtype
    if isinstance(value, (np.generic, np.ndarray)):
        return of_numpy(value.dtype)
    return scalar_dtype(_number(value))


def _inferred(leaves: list[Any]) -> dtype:
    kind: dtype | None = None
    for leaf in leaves:
        own = _leaf_dtype(leaf)
        kind = own if kind is None else promote_types(kind, own)
        if kind.is_complex:
            break
    return kind or get_default_dtype()


@operation
@placed
def tensor(
    data: Array | Sequence[float], *, dtype: dtype | None = None, device: device | str | int | None = None,
    requires_grad: bool = False, pin_memory: bool = False
) -> TensorBase:
    """Return a new leaf tensor with a copy of ``data`` (numbers, nested sequences, NumPy array or tensor)."""
    devices.refuse_pinning(pin_memory, device)
    found = without_values(data, dtype, device, requires_grad)
    if found is not None:
        return found
    if isinstance(data, TensorBase):
        return copied_tensor(data, dtype, requires_grad, "torch.tensor")
    return copied(data, dtype, requires_grad)


def copied_tensor(data: TensorBase, kind: dtype | None, requires_grad: bool, way: str) -> Any:
    """Return a new leaf tensor with the values of a tensor that was given as data, and warn with the name of the function."""
    warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        f"sourceTensor.detach().clone().requires_grad_(True), rather than {way}(sourceTensor).",
        UserWarning,
    )
    order = None if data._ms_stride is None else preserved_strides(data._ms_shape, data._ms_stride)
    return made(numpy_cast(memory_of(data), (kind or data._ms_dtype).np), requires_grad, order)


def copied(data: Any, kind: dtype | None, requires_grad: bool = False) -> Any:
    """Return a tensor of numbers, sequences or arrays with its own memory, in an array's memory order."""
    order = _order_of(data) if isinstance(data, np.ndarray) else None
    return made(array_of(data, kind), requires_grad, order)


def _order_of(array: Array) -> tuple[int, ...] | None:
    """Return the strides for a copy of an array: the array's own if it is dense, else without gaps in the same order; None if row-major."""
    if not array.dtype.isnative:
        raise ValueError(_FOREIGN)
    if array.flags.c_contiguous and array.size:
        return None
    strides = tuple(step // array.itemsize for step in array.strides)
    if min(strides, default=0) < 0:
        raise ValueError(_NEGATIVE)
    return preserved_strides(array.shape, strides)


_FOREIGN = (
    "given numpy array has byte order different from the native byte order. Conversion between byte orders is currently not supported."
)
_NEGATIVE = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
    "currently supported. (You can probably work around this by making a copy of your array  with array.copy().) "
)


def without_values(data: Any, kind: dtype | None, device: device | str | int | None, requires_grad: bool) -> TensorBase | None:
    """Return the data as a tensor on the meta device if ``device`` is meta; else None."""
    if not devices.is_meta(device):
        return None
    like = to_meta(data) if isinstance(data, TensorBase) else to_meta(made(array_of(data, kind)))
    if kind is not None and kind is not like._ms_dtype:
        like = meta_tensor(like._ms_shape, kind)
    if requires_grad:
        require_leaf(like)
    return like


def array_of(data: Any, kind: dtype | None) -> Array:
    """Return a new row-major array of ``data`` in the requested (or inferred) dtype."""
    if hasattr(data, "elements_in"):  # a storage
        return data.elements_in(kind).copy()
    if isinstance(data, (list, tuple)):
        if data and (len(data) > 256 or isinstance(data[0], np.ndarray)):
            array = _of_equal_items(data, kind)
            if array is not None:
                return array
        return _python_array(data, kind)
    if isinstance(data, np.generic):
        data = np.asarray(data)
    elif not isinstance(data, (np.ndarray, bool, int, float, complex)):
        if hasattr(data, "__array__"):
            data = np.asarray(data)
        elif hasattr(data, "__dlpack__"):
            data = np.from_dlpack(data)
    if isinstance(data, np.ndarray):
        data = np.asarray(data)
        return numpy_cast(data, (kind or of_numpy(data.dtype)).np)
    return _python_array(data, kind)


def _of_equal_items(data: list[Any] | tuple[Any, ...], kind: dtype | None) -> Array | None:
    """Return the array of arrays of one shape, or of many numbers, which NumPy reads faster; None for other sequences."""
    first = data[0]
    if isinstance(first, np.ndarray) and first.ndim and all(isinstance(item, np.ndarray) and item.shape == first.shape for item in data):
        whole = np.stack(data)
        if whole.size:
            _discourage_arrays()
        return numpy_cast(whole, (kind or of_numpy(whole.dtype)).np)
    if len(data) > 256 and type(first) in (int, float):
        quick = np.array(data)
        if quick.dtype.kind in "if" and quick.ndim == 1 and (kind is None or not kind.is_integral):
            inferred = int64 if quick.dtype.kind == "i" else get_default_dtype()
            return numpy_cast(quick, (kind or inferred).np)
    return None


@operation
@placed
def as_tensor(data: TensorBase | type | Array, dtype: dtype | None = None, device: device | str | int | None = None) -> TensorBase:
    """Return ``data`` as a tensor, without a copy if possible (a tensor, or an array of the requested dtype)."""
    found = without_values(data, dtype, device, False)
    if found is not None:
        return found
    if isinstance(data, TensorBase):
        return data if dtype is None or dtype is data._ms_dtype else data.to(dtype)
    if isinstance(data, np.ndarray):
        shared = from_numpy(data)
        return shared if dtype is None or dtype is shared._ms_dtype else shared.to(dtype)
    if hasattr(data, "__dlpack__"):
        shared = from_dlpack(data)
        return shared if dtype is None or dtype is shared._ms_dtype else shared.to(dtype)
    return copied(data, dtype)


@operation
@placed
def asarray(
    obj: Any, *, dtype: dtype | None = None, device: device | str | int | None = None, copy: bool | None = None,
    requires_grad: bool | None = None
) -> TensorBase:
    """Return ``obj`` as a tensor. ``copy``: True always copies, False never does (ValueError if a copy is needed), None copies if needed.
    """
    devices.resolve(device)
    if isinstance(obj, TensorBase):
        shared = obj
    elif isinstance(obj, np.ndarray):
        shared = from_numpy(obj)
    elif isinstance(obj, np.generic):
        if copy is False:
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
        shared = None
    elif type(obj).__name__ == "PyCapsule" or hasattr(obj, "__dlpack__"):
        shared = from_dlpack(obj)
    elif _has_buffer(obj):
        shared = frombuffer(obj, dtype=dtype or get_default_dtype())
    else:
        shared = None
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
    if shared is None:
        found = made(array_of(obj, dtype))
    else:
        if copy is False and dtype is not None and dtype is not shared._ms_dtype:
            raise ValueError(f"can't alias tensor with dtype '{type_word(shared._ms_dtype)}' into dtype '{type_word(dtype)}'.")
        found = shared if dtype is None or dtype is shared._ms_dtype else shared.to(dtype)
        if copy and found is shared:
            found = shared.clone()
    if device is not None:
        found = found.to(device)
    return _with_history(obj, found, requires_grad)


def _has_buffer(obj: Any) -> bool:
    """Return whether the object supports the buffer protocol."""
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def _with_history(obj: Any, found: TensorBase, requires_grad: bool | None) -> TensorBase:
    """Return the result of ``asarray``, detached or with requires_grad as requested."""
    own = isinstance(obj, TensorBase) and obj.requires_grad
    if requires_grad is None and own:
        warn(
            "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass requires_grad=False "
            "explicitly to get the old behavior and silence this warning.",
            UserWarning,
        )
    if requires_grad and not found.requires_grad:
        require_leaf(found)
    if requires_grad is False and found.requires_grad:
        found = found.detach_() if found is obj else found.detach()
    return found


def from_numpy(ndarray: Array, /) -> Any:
    """Return a tensor that shares the array's memory, so that writes to either are seen by both."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    ndarray = np.asarray(ndarray)  # a subclass, such as a matrix, as a plain array
    kind = of_numpy(ndarray.dtype)
    if not ndarray.dtype.isnative:
        raise ValueError(_FOREIGN)
    if any(stride < 0 for stride in ndarray.strides):
        raise ValueError(_NEGATIVE)
    if not ndarray.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing "
            "to this tensor will result in undefined behavior. You may want to copy the array to protect its data or make "
            "it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this "
            "program."
        )
    if not ndarray.size:
        strides = tuple(step // ndarray.itemsize for step in ndarray.strides)
        found = window(tensor_of(ndarray)._ms_storage, kind, ndarray.shape, strides, 0)
    else:
        found = tensor_of(ndarray) if ndarray.flags.c_contiguous else _from_strided_array(ndarray, kind)
        if 1 in ndarray.shape and found._ms_stride is None:  # a dimension of length 1 keeps the array's own stride
            steps = tuple(step // ndarray.itemsize for step in ndarray.strides)
            if steps != contiguous_strides(ndarray.shape):
                found = window(found._ms_storage, kind, ndarray.shape, steps, 0)
    FIXED.add(found._ms_storage)
    return found


def _from_strided_array(array: Array, kind: dtype) -> TensorBase:
    """Return a tensor over a strided array; its storage is the span of memory that contains the array's elements."""
    strides = tuple(stride // kind.itemsize for stride in array.strides)
    if any(stride % kind.itemsize for stride in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
        )
    span = 1 + sum((length - 1) * stride for length, stride in zip(array.shape, strides)) if array.size else 0
    flat = np.lib.stride_tricks.as_strided(array, (span,), (kind.itemsize,))
    return window(tensor_of(flat)._ms_storage, kind, array.shape, strides, 0)


@operation
def frombuffer(buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> TensorBase:
    """Return a 1-d tensor over the memory of an object with the buffer protocol."""
    if not _has_buffer(buffer):
        raise ValueError("object does not implement Python buffer protocol.")
    memory = memoryview(buffer)
    size, item = memory.nbytes, dtype.itemsize
    if size == 0 or count == 0:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1")
    if count > 0 and offset + count * item > size:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be greater than actual buffer "
            f"length ({size} bytes)"
        )
    if count < 0 and (size - offset) % item:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({item})"
        )
    if memory.readonly:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to the "
            "underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its data or "
            "make it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
        )
    found = tensor_of(np.frombuffer(buffer, dtype.np, max(count, -1), offset))
    FIXED.add(found._ms_storage)
    if requires_grad:
        require_leaf(found)
    return found


def from_dlpack(ext_tensor: Any, *, device: int | str | device | None = None, copy: bool | None = None) -> TensorBase:
    """Return a tensor over the memory of another library's array, or of a capsule; a copy on request."""
    devices.resolve(device)
    if isinstance(ext_tensor, TensorBase):
        if is_tracked(ext_tensor):
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return ext_tensor.clone() if copy else views.detach(ext_tensor)
    capsule = ext_tensor.__dlpack__() if hasattr(ext_tensor, "__dlpack__") else ext_tensor
    array, narrow = array_of_capsule(capsule)
    if array.dtype.names:
        found = views.view(from_numpy(as_bytes(array)), OF_NP[array.dtype])
    else:
        found = views.view(from_numpy(array), bfloat16) if narrow else from_numpy(array)
    return found.clone() if copy else found

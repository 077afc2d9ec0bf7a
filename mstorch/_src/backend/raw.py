"""Raw MindSpore tensors: created from NumPy, converted to NumPy, cast, detached; independent of mstorch's tensors."""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import mindspore
import numpy as np
from mindspore import Tensor as Raw
from mindspore._c_expression import TensorPy

from . import numpy2, runtime
from .arrays import Array, Number
from .float8 import NP_STORED, as_bytes

if runtime.NUMPY_2:
    from ml_dtypes import bfloat16 as np_bfloat16

    numpy2.read_bfloat16(np.dtype(np_bfloat16))
    numpy2.read_rows()
else:  # MindSpore's own NumPy dtype, which exists for NumPy 1 only
    from mindspore.common.np_dtype import bfloat16 as np_bfloat16


class _Known(dict[str, Any]):
    """Mapping from names to MindSpore's dtypes; raises NotImplementedError for the names of torch's other dtypes."""

    def __missing__(self, name: str) -> Any:
        raise NotImplementedError(f"mstorch: MindSpore has no tensors of torch.{name}")


# torch's dtype name → MindSpore's dtype
MS_DTYPE: dict[str, Any] = _Known({
    name: getattr(mindspore, "bool_" if name == "bool" else name)
    for name in (
        "bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
        "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
    )
})  # fmt: skip
NAME_OF: dict[Any, str] = {ms_dtype: name for name, ms_dtype in MS_DTYPE.items()}
NP_DTYPE: dict[str, np.dtype[Any]] = _Known(
    {name: np.dtype(np_bfloat16 if name == "bfloat16" else name) for name in MS_DTYPE} | NP_STORED
)
NAME_OF_NP: dict[np.dtype[Any], str] = {np_dtype: name for name, np_dtype in NP_DTYPE.items()}

ON_CPU = runtime.DEVICE_TARGET == "CPU"
SHARES = ON_CPU
"""True if a raw tensor may share the memory of an array; False on a device, where a pending transfer must not see later writes to the
array.
"""


# Attributes of MindSpore's class in C++: the properties that its Python class puts over them take a call each.
raw_dtype: Callable[[Raw], Any] = operator.attrgetter("_dtype" if hasattr(TensorPy, "_dtype") else "dtype")
raw_shape: Callable[[Raw], tuple[int, ...]] = operator.attrgetter("_shape" if hasattr(TensorPy, "_shape") else "shape")
raw_size: Callable[[Raw], int] = operator.attrgetter("_size" if hasattr(TensorPy, "_size") else "size")
is_contiguous: Callable[[Raw], bool] = getattr(TensorPy, "is_contiguous", Raw.is_contiguous)
storage_offset: Callable[[Raw], int] = getattr(TensorPy, "storage_offset", Raw.storage_offset)

_from_numpy = mindspore.Tensor.from_numpy
RawDtype = mindspore.common.dtype.Type
"""The class of MindSpore's dtypes."""
_asnumpy = Raw.asnumpy

uploads: list[Callable[[int], None]] = []
"""Functions called with the size in bytes at each copy from the host to the stand-in device."""


def small_array(raw: Raw) -> Array:
    """Return the values of a tensor in host memory as a new array."""
    kind = NP_DTYPE[NAME_OF[raw_dtype(raw)]]
    return np.frombuffer(bytearray(TensorPy.get_bytes(raw)), kind).reshape(raw_shape(raw))


def from_numpy(array: Array) -> Raw:
    """Return a raw tensor that shares the memory of a C-contiguous, native-endian array and keeps it alive."""
    if array.dtype.names:
        array = as_bytes(array)
    if SHARES:
        return _from_numpy(array)
    for told in uploads:
        told(array.nbytes)
    return mindspore.Tensor(array)


def to_numpy(raw: Raw) -> Array:
    """Return the values as an array; on the CPU the array shares the memory of a contiguous tensor."""
    return raw.asnumpy()


def face(array: Array) -> Raw:
    """Return a MindSpore tensor that shares an array's memory; for an array that is not row-major, a copy."""
    return from_numpy(array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape))


def host_face(array: Array) -> Raw:
    """Return a MindSpore tensor that shares the memory of a C-contiguous host array, for a host kernel; it is never copied to a device."""
    return _from_numpy(as_bytes(array) if array.dtype.names else array)


def host_array(raw: Raw) -> Array:
    """Return the values of a tensor made by a host kernel, without a read from a device."""
    return _asnumpy(raw)


def instances(values: Iterable[Any], kind: type) -> Iterator[Any]:
    """Yield the instances of a class among values, and among the items of lists and tuples."""
    for value in values:
        if isinstance(value, kind):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from instances(value, kind)


def to_arrays(value: Any) -> Any:
    """Return MindSpore tensors, also in sequences, as C-contiguous host arrays; other values unchanged."""
    if isinstance(value, Raw):
        return np.asarray(value.asnumpy(), order="C")
    return type(value)(map(to_arrays, value)) if isinstance(value, (list, tuple)) else value


def from_arrays(value: Any) -> Raw | tuple[Raw, ...]:
    """Return a host array, or a tuple of arrays, as raw tensors; a NumPy scalar becomes a 0-d tensor."""
    if isinstance(value, (list, tuple)):
        return tuple(map(from_arrays, value))
    return from_numpy(np.asarray(value, order="C")) if isinstance(value, (np.ndarray, np.generic)) else value


def number_in(array: Array) -> Number:
    """Return the Python number in a 0-d array, including bfloat16; the byte for dtypes held as bytes."""
    if array.dtype.names:
        array = as_bytes(array)
    return array.item() if array.dtype.kind in "biufc" else float(array)


def scalar(value: Number, name: str) -> Raw:
    """Return a 0-d raw tensor."""
    for told in uploads:
        told(NP_DTYPE[name].itemsize)
    return mindspore.Tensor(value, MS_DTYPE[name])

"""DLPack capsules over the memory of NumPy arrays, in both directions, including bool and bfloat16, which NumPy does not support.

The structures follow dlpack.h 0.8 (https://github.com/dmlc/dlpack): a capsule named ``dltensor`` holds a pointer to a DLManagedTensor; the
consumer renames the capsule and calls the deleter once.
"""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.float8 import NAME_OF_STORED, NP_STORED, PAIRS

_NAME, _USED = b"dltensor", b"used_dltensor"
CPU = 1
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT16 = 4
_FLOAT8 = {
    "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14, "float4_e2m1fn_x2": 17,
}  # fmt: skip
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c"}


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class _DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _api))
# A capsule that is being destroyed must not become a Python object again, so it is passed by address.
_dying_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_dying_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))

# Owners of exported memory, until the other library releases it.
_kept: dict[int, Any] = {}


@_Deleter
def _release(address: int) -> None:
    _kept.pop(address, None)


@_Destructor
def _destroy(capsule: int) -> None:
    if _dying_is_valid(capsule, _NAME):  # no consumer has taken it
        _release(_dying_pointer(capsule, _NAME))


def capsule_of(array: Array, bfloat16: bool = False) -> Any:
    """Return a capsule over an array's memory; with ``bfloat16``, its 16-bit elements are declared as bfloat16."""
    rank = array.ndim
    shape = (ctypes.c_int64 * max(rank, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(rank, 1))(*(stride // array.itemsize for stride in array.strides))
    managed = _DLManagedTensor()
    named = NAME_OF_STORED.get(array.dtype)
    code = _BFLOAT16 if bfloat16 else _CODES[array.dtype.kind] if named is None else _FLOAT8[named]
    managed.tensor = _DLTensor(array.ctypes.data, CPU, 0, rank, code, *_width(array, named), shape, strides, 0)
    managed.deleter = ctypes.cast(_release, ctypes.c_void_p)
    address = ctypes.addressof(managed)
    _kept[address] = (managed, array, shape, strides)
    return _new(address, _NAME, ctypes.cast(_destroy, ctypes.c_void_p))


def _width(array: Array, named: str | None) -> tuple[int, int]:
    """Return the bits per number and the numbers per element (DLPack's bits and lanes)."""
    return (4, 2) if named == PAIRS else (array.itemsize * 8, 1)


class _Memory:
    """Owner of another library's memory, which calls the deleter when it is garbage-collected."""

    def __init__(self, address: int, deleter: int | None, size: int, data: int) -> None:
        self._address, self._deleter = address, deleter
        self.__array_interface__ = {"version": 3, "shape": (size,), "typestr": "|u1", "data": (data, False)}

    def __del__(self) -> None:
        if self._deleter:
            _Deleter(self._deleter)(self._address)


def array_of(capsule: Any) -> tuple[Array, bool]:
    """Return an array over a capsule's memory, and whether its 16-bit elements are bfloat16.

    Raise RuntimeError for a consumed capsule, BufferError for a device or dtype that NumPy does not support.
    """
    if not _is_valid(capsule, _NAME):
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have "
            "already constructed a tensor from it once."
        )
    address = _pointer(capsule, _NAME)
    managed = _DLManagedTensor.from_address(address)
    tensor = managed.tensor
    size = tensor.bits * tensor.lanes // 8
    if tensor.device_type != CPU:
        raise BufferError(f"memory of the DLPack device {tensor.device_type} is not the CPU's")
    if tensor.code in _FLOAT8.values() and tensor.bits * tensor.lanes == 8:
        kind: np.dtype[Any] = NP_STORED[next(name for name, code in _FLOAT8.items() if code == tensor.code)]
    elif tensor.code == 6 and tensor.bits == 8:
        kind = np.dtype(bool)
    elif tensor.code == _BFLOAT16 and tensor.bits == 16:
        kind = np.dtype(np.int16)
    elif tensor.code in _KINDS and tensor.bits in (8, 16, 32, 64, 128):
        kind = np.dtype(f"{_KINDS[tensor.code]}{size}")
    else:
        raise BufferError(f"no dtype for DLPack's code {tensor.code} of {tensor.bits} bits")
    if tensor.lanes != 1 and kind != NP_STORED[PAIRS]:
        raise BufferError("vectors as elements are not supported")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[i] for i in range(tensor.ndim))
    else:
        strides = tuple(int(np.prod(shape[i + 1 :])) for i in range(tensor.ndim))
    _rename(capsule, _USED)
    if 0 in shape:
        _Memory(address, managed.deleter, 0, 0)
        return np.empty(shape, kind), tensor.code == _BFLOAT16
    if any(stride < 0 for stride in strides):
        raise BufferError("negative strides are not supported")
    length = (sum((n - 1) * stride for n, stride in zip(shape, strides)) + 1) * kind.itemsize
    memory = np.asarray(_Memory(address, managed.deleter, length, tensor.data + tensor.byte_offset)).view(kind)
    return (
        np.lib.stride_tricks.as_strided(memory, shape, tuple(stride * kind.itemsize for stride in strides)),
        tensor.code == _BFLOAT16,
    )

"""Conversion of values to plain Python data, for the process that runs real torch, and back.

A tensor is ``{"is": "tensor", "dtype", "shape", "strides", "data", "grad", "leaf", "number"}``: the bytes of the memory that it spans (None
without memory), and its number among the call's tensors.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._src.backend.arrays import Array
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._src.core.formats import layout, memory_format
from ..._src.core.generator import Generator
from ..._src.core.overriding import PLAIN
from ..._src.core.tensor_base import TensorBase, array_of, is_meta, is_tracked, strides_of
from .memories import Recent

Message = Any
_SIMPLE = frozenset((int, float, bool, complex, str, bytes, type(None)))
_RECENT = Recent()


def _is_accelerator(text: str) -> bool:
    """Return whether a text names a device that torch on the CPU lacks: "npu:0", "cuda"."""
    kind, _, index = text.partition(":")
    return kind in _ACCELERATORS and (not index or index.isdecimal())


_ACCELERATORS = frozenset(("npu", "cuda", "xpu", "mps", "privateuseone"))


class NotComparable(Exception):
    """Raised for a value that cannot be passed to real torch: an object, a function, an instance of a user's tensor subclass."""


class Encoder:
    """Encodes the values of one call as messages; a tensor that occurs twice keeps its number."""

    def __init__(self) -> None:
        self.tensors: list[Any] = []

    def encode(self, value: Any) -> Message:
        """Return the message of a value. Raise NotComparable if there is none."""
        kind = type(value)
        if kind is str and _is_accelerator(value):
            return {"is": "device", "name": "cpu"}
        if kind in _SIMPLE:
            return value
        if isinstance(value, TensorBase):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            names = {"list": "list"}.get(kind.__name__, "tuple")
            return {"is": names, "items": [self.encode(item) for item in value]}
        if kind is dict:
            return {"is": "dict", "items": [(self.encode(key), self.encode(item)) for key, item in value.items()]}
        if kind is slice:
            return {"is": "slice", "items": [self.encode(item) for item in (value.start, value.stop, value.step)]}
        if value is Ellipsis:
            return {"is": "ellipsis"}
        if kind is range:
            return {"is": "list", "items": list(value)}
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
            return _of_array(np.asarray(value), kind is not np.ndarray)
        if isinstance(value, dtype):
            return {"is": "name", "name": str(value)}
        if isinstance(value, (layout, memory_format)):
            return {"is": "name", "name": str(value)}
        if isinstance(value, device):
            return {"is": "device", "name": "meta" if value.type == "meta" else "cpu"}
        if isinstance(value, Generator):
            return {"is": "generator", "state": bytes(array_of(value.get_state()))}
        if isinstance(value, type) and value in (bool, int, float, complex):
            return {"is": "type", "name": value.__name__}
        raise NotComparable(kind.__name__)

    def _tensor(self, tensor: Any) -> Message:
        if type(tensor) not in PLAIN or tensor._ms_sparse:
            raise NotComparable(type(tensor).__name__)
        for number, known in enumerate(self.tensors):
            if known is tensor:
                return {"is": "again", "number": number}
        self.tensors.append(tensor)
        strides = tuple(strides_of(tensor))
        tracked = bool(is_tracked(tensor))
        return {
            "is": "tensor", "dtype": tensor._ms_dtype.name, "shape": tuple(tensor._ms_shape), "strides": strides,
            "data": None if is_meta(tensor) else _RECENT.copy(
                (id(tensor._ms_storage), tensor._ms_offset), _spanned(array_of(tensor), strides)
            ),
            "grad": tracked,
            "leaf": tracked and bool(tensor.is_leaf), "number": len(self.tensors) - 1,
        }  # fmt: skip


def _of_array(array: Array, number: bool) -> Message:
    if any(step < 0 or step % array.itemsize for step in array.strides):
        raise NotComparable("an array that runs backwards")
    data = _spanned(array, tuple(step // array.itemsize for step in array.strides))
    return {"is": "array", "dtype": array.dtype.str, "shape": array.shape, "strides": array.strides, "data": data, "number": number}


def _spanned(array: Array, strides: tuple[int, ...]) -> bytes:
    """Return the bytes from a tensor's first element to its last, with zeros in the gaps."""
    if 0 in array.shape:
        return b""
    span = 1 + sum((length - 1) * step for length, step in zip(array.shape, strides))
    if span == array.size and array.flags.c_contiguous:
        return array.tobytes()
    memory = np.zeros(span, array.dtype)
    np.lib.stride_tricks.as_strided(memory, array.shape, [step * array.itemsize for step in strides])[...] = array
    return memory.tobytes()


def values_of(message: Message) -> Array:
    """Return the elements of a tensor message as an array; bfloat16 as float32."""
    name = message["dtype"]
    if name == "bfloat16":
        flat = (np.frombuffer(message["data"], np.uint16).astype(np.uint32) << 16).view(np.float32)
    else:
        flat = np.frombuffer(message["data"], np.dtype(name))
    if 0 in message["shape"]:
        return np.empty(message["shape"], flat.dtype)
    return np.lib.stride_tricks.as_strided(flat, message["shape"], [step * flat.itemsize for step in message["strides"]])


def encoded_result(value: Any) -> Message:
    """Return the message of a result, without the parts that cannot be compared."""
    try:
        return Encoder().encode(value)
    except NotComparable:
        if isinstance(value, (list, tuple)):
            return {"is": "tuple", "items": [encoded_result(item) for item in value]}
        return {"is": "unknown"}

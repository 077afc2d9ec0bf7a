"""Read the bytes of the storages in a checkpoint, and the item size of each dtype that checkpoints name."""

from __future__ import annotations

import reprlib
import types
from typing import Any

from mstorch._src.core import device as devices
from mstorch._src.core.above import above

from ..backend.arrays import Array

ITEMSIZE = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1,
    "uint16": 2, "uint32": 4, "uint64": 8, "bool": 1, "complex128": 16, "complex64": 8, "complex32": 4, "qint8": 1,
    "qint32": 4, "quint8": 1, "quint4x2": 1, "quint2x4": 1, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1,
}  # fmt: skip


class _Brief(reprlib.Repr):
    """A repr of a file's contents that limits nesting and calls no code of the objects' classes."""

    def repr_instance(self, x: Any, level: int) -> str:
        plain = (type, types.FunctionType, types.BuiltinFunctionType, bool, type(None), float, complex, bytes)
        return repr(x)[:200] if type(x) in plain else f"<{type(x).__name__} object>"


brief = _Brief().repr
"""Return a short repr of any object, of about 200 characters at most."""


class LoadedStorage:
    """The bytes of one storage of a file; tensors that share it are views of one base tensor."""

    def __init__(self, data: Array, device: Any = "cpu"):
        self.data = data
        self.device_text = str(device)
        self.bases: dict[str, Any] = {}

    @property
    def device(self) -> Any:
        """The device of the tensors to be made of this storage."""
        return devices.device(self.device_text)

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self.data.size

    __len__ = nbytes

    def to(self, device: Any = None, non_blocking: bool = False) -> LoadedStorage:
        """Return a storage of the same bytes for ``device``."""
        if str(device) == self.device_text:
            return self
        return LoadedStorage(self.data, device)

    def cpu(self) -> LoadedStorage:
        """Return the storage for the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> LoadedStorage:
        """Return the storage for a CUDA device. Raise RuntimeError if there is none."""
        return self._on("cuda", device)

    def npu(self, device: Any = None, non_blocking: bool = False) -> LoadedStorage:
        """Return the storage for an NPU. Raise RuntimeError if there is none."""
        return self._on("npu", device)

    def _on(self, kind: str, device: Any) -> LoadedStorage:
        text = kind if device is None else f"{kind}:{device}" if isinstance(device, int) else str(device)
        return above.restored(self, text)

    def tolist(self) -> list[int]:
        """Return the bytes as a list of ints."""
        return self.data.tolist()

    def __getitem__(self, index: Any) -> Any:
        found = self.data[index]
        return LoadedStorage(found, self.device_text) if isinstance(index, slice) else int(found)

    def __repr__(self) -> str:
        return f"<mstorch storage of {self.nbytes()} bytes for {self.device_text}>"


class TypedRef:
    """A storage with the dtype under which a file refers to it."""

    __slots__ = ("dtype_name", "storage")

    def __init__(self, storage: LoadedStorage, dtype_name: str | None):
        self.storage = storage
        self.dtype_name = dtype_name

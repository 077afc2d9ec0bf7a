"""Storages on their way into and out of a file: bytes with an identity, and the dtypes a file can name."""

from __future__ import annotations

from typing import Any

import numpy as np

from mstorch._serialization import adapter

# torch's class names for the dtypes that had one before such classes were given up.
STORAGE_CLASSES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "BFloat16Storage": "bfloat16",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
    "QInt8Storage": "qint8",
    "QInt32Storage": "qint32",
    "QUInt8Storage": "quint8",
    "QUInt4x2Storage": "quint4x2",
    "QUInt2x4Storage": "quint2x4",
}
CLASS_OF_DTYPE = {dtype: name for name, dtype in STORAGE_CLASSES.items()}
# Dtypes without a class of their own are saved as untyped bytes, the dtype beside them.
UNTYPED_DTYPES = (
    "uint16", "uint32", "uint64", "complex32", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu",
)  # fmt: skip

ITEMSIZE = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1,
    "uint16": 2, "uint32": 4, "uint64": 8, "bool": 1, "complex128": 16, "complex64": 8, "complex32": 4, "qint8": 1,
    "qint32": 4, "quint8": 1, "quint4x2": 1, "quint2x4": 1, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
}  # fmt: skip


class StorageType:
    """Stands for a storage class that a file names; ``dtype_name`` is None for untyped bytes."""

    def __init__(self, name: str):
        if name in ("UntypedStorage", "TypedStorage"):
            self.dtype_name = None
        elif name in STORAGE_CLASSES:
            self.dtype_name = STORAGE_CLASSES[name]
        else:
            raise KeyError(name)

    @property
    def dtype(self) -> Any:
        """The dtype of the elements; uint8 for untyped bytes."""
        return adapter.dtype_of(self.dtype_name or "uint8")

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


class LoadedStorage:
    """The bytes of one storage of a file; tensors that share it are views of one base tensor."""

    def __init__(self, data: np.ndarray, device: Any = "cpu"):
        self.data = data
        self.device_text = str(device)
        self.bases: dict[str, Any] = {}

    @property
    def device(self) -> Any:
        """The device that tensors of this storage will live on."""
        return adapter.device_of(self.device_text)

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self.data.size

    __len__ = nbytes

    def to(self, device: Any = None, non_blocking: bool = False) -> LoadedStorage:
        """Return a storage of the same bytes meant for ``device``."""
        if str(device) == self.device_text:
            return self
        return LoadedStorage(self.data, device)

    def cpu(self) -> LoadedStorage:
        """Return the storage meant for the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> LoadedStorage:
        """Return the storage meant for a CUDA device; raises RuntimeError where there is none."""
        return self._on("cuda", device)

    def npu(self, device: Any = None, non_blocking: bool = False) -> LoadedStorage:
        """Return the storage meant for an NPU; raises RuntimeError where there is none."""
        return self._on("npu", device)

    def _on(self, kind: str, device: Any) -> LoadedStorage:
        from mstorch._serialization.locations import restored

        text = kind if device is None else f"{kind}:{device}" if isinstance(device, int) else str(device)
        return restored(self, text)

    def tolist(self) -> list[int]:
        """Return the bytes as a list of integers."""
        return self.data.tolist()

    def __getitem__(self, index: Any) -> Any:
        found = self.data[index]
        return LoadedStorage(found, self.device_text) if isinstance(index, slice) else int(found)

    def __repr__(self) -> str:
        return f"<mstorch storage of {self.nbytes()} bytes for {self.device_text}>"


class TypedRef:
    """A storage together with the dtype under which a file refers to it."""

    __slots__ = ("dtype_name", "storage")

    def __init__(self, storage: LoadedStorage, dtype_name: str | None):
        self.storage = storage
        self.dtype_name = dtype_name


def handed_out(ref: TypedRef) -> Any:
    """What a file's object graph holds for a storage: one of our own, which knows its reference; else the reference."""
    if ref.storage.device_text != "cpu" or (ref.dtype_name or "uint8") not in adapter.NUMPY_DTYPES:
        return ref
    made = adapter.public_storage(ref.storage, ref.dtype_name)
    made.in_file = ref
    return made


def swap_bytes(data: np.ndarray, dtype_name: str | None) -> None:
    """Reverse the byte order of the elements in place; untyped bytes have none and stay."""
    size = ITEMSIZE[dtype_name] if dtype_name is not None else 1
    if dtype_name is not None and dtype_name.startswith("complex"):
        size //= 2
    if size > 1:
        data.view(f"u{size}").byteswap(inplace=True)

"""Storages during saving and loading: bytes with an identity, and the dtypes that a file can name."""

from __future__ import annotations

from typing import Any

from mstorch._src.serialization import adapter
from mstorch._src.serialization.loaded import ITEMSIZE, TypedRef

from ...storage import TypedStorage
from ..backend.arrays import Array

# torch's storage classes for the dtypes that had one before torch stopped adding such classes.
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
# Dtypes without a storage class are saved as untyped bytes, with the dtype next to them.
UNTYPED_DTYPES = (
    "uint16", "uint32", "uint64", "complex32", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu", "float4_e2m1fn_x2",
)  # fmt: skip

class StorageType:
    """Represents a storage class named by a file; ``dtype_name`` is None for untyped bytes."""

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


def handed_out(ref: TypedRef) -> TypedRef | TypedStorage:
    """Return the object that stands for a storage in the loaded objects: a storage of mstorch over the file's bytes if they belong on the
    CPU, else ``ref``."""
    if ref.storage.device_text != "cpu" or not adapter.is_readable(ref.dtype_name or "uint8"):
        return ref
    made = adapter.public_storage(ref.storage, ref.dtype_name)
    made.in_file = ref
    return made


def swap_bytes(data: Array, dtype_name: str | None) -> None:
    """Reverse the byte order of the elements in place; no-op for untyped bytes."""
    size = ITEMSIZE[dtype_name] if dtype_name is not None else 1
    if dtype_name is not None and dtype_name.startswith("complex"):
        size //= 2
    if size > 1:
        data.view(f"u{size}").byteswap(inplace=True)

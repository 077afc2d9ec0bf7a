"""Errors of torch that the constructors of typed storages raise, and the behaviour of storages on the meta device."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NoReturn

from .core.device import device as Device
from .core.dtype import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    qint8,
    qint32,
    quint2x4,
    quint4x2,
    quint8,
    uint8,
)  # fmt: skip
from .core.dtype import dtype as Dtype
from .core.tensor_base import TensorBase

LEGACY = {
    "DoubleStorage": float64, "FloatStorage": float32, "HalfStorage": float16, "LongStorage": int64, "IntStorage": int32,
    "ShortStorage": int16, "CharStorage": int8, "ByteStorage": uint8, "BoolStorage": bool_, "BFloat16Storage": bfloat16,
    "ComplexDoubleStorage": complex128, "ComplexFloatStorage": complex64, "QUInt8Storage": quint8, "QInt8Storage": qint8,
    "QInt32Storage": qint32, "QUInt4x2Storage": quint4x2, "QUInt2x4Storage": quint2x4,
}  # fmt: skip
WORDS = {
    "double": float64, "float": float32, "half": float16, "long": int64, "int": int32, "short": int16, "char": int8,
    "byte": uint8, "bool": bool_, "bfloat16": bfloat16, "complex_double": complex128, "complex_float": complex64,
}  # fmt: skip
_OF_LEGACY = (
    "{}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n * (int size)\n * (Sequence data)\n"
    " * (*, UntypedStorage wrap_storage)\n"
)
_OF_TYPED = (
    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n"
)


def check_arguments(
    cls: type, legacy: Dtype | None, args: tuple[Any, ...], wrap_storage: Any, dtype: Dtype | None,
    device: int | str | Device | None, untyped: type
) -> None:
    """Raise torch's error for arguments that exclude each other; ``legacy`` is the dtype of a class such as FloatStorage."""
    head = _OF_TYPED if legacy is None else _OF_LEGACY.format(f"<class 'torch.{cls.__name__}'>")
    if legacy is not None:
        for name, value in (("device", device), ("dtype", dtype)):
            if value is not None:
                raise RuntimeError(f"{head}Keyword argument '{name}' cannot be specified")
    if wrap_storage is None:
        if len(args) > 1:
            raise RuntimeError(f"{head}Too many positional arguments")
        return
    if args:
        raise RuntimeError(f"{head}No positional arguments should be given when using 'wrap_storage'")
    if legacy is None:
        if dtype is None:
            raise RuntimeError(f"{head}Argument 'dtype' must be specified")
        if not isinstance(dtype, Dtype):
            raise TypeError(f"{head}Argument 'dtype' must be torch.dtype, not {type(dtype)}")
        if device is not None:
            raise RuntimeError(f"{head}Argument 'device' should not be specified when 'wrap_storage' is given")
    if not isinstance(wrap_storage, untyped):
        raise TypeError(f"{head}Argument 'wrap_storage' must be UntypedStorage, but got <class 'torch.storage.TypedStorage'>")


def on_meta(device: int | str | Device) -> bool:
    """Return whether a storage is to be on the meta device; raise RuntimeError for devices without storages."""
    place = Device(device)
    if place.type not in ("cpu", "meta", "cuda", "npu"):
        raise RuntimeError(f"torch.UntypedStorage(): Storage device not recognized: {place.type}")
    return place.type == "meta"


def length(cls: type, legacy: Dtype | None, value: Any) -> int | None:
    """Return the number of elements if a constructor's argument is an integer, None if it is a sequence; raise TypeError for other
    arguments."""
    if isinstance(value, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(value, Sequence):
        return None
    if not isinstance(value, TensorBase) and hasattr(value, "__index__"):
        return operator.index(value)
    refuse_kind(cls, legacy, value)


def refuse_kind(cls: Any, legacy: Any, value: Any) -> NoReturn:
    """Raise TypeError for a constructor's argument that is neither an integer nor a sequence."""
    head = _OF_TYPED if legacy is None else _OF_LEGACY.format(f"<class 'torch.{cls.__name__}'>")
    kind = "<class 'torch.Tensor'>" if type(value).__name__ == "Tensor" else f"{type(value)}"
    raise TypeError(f"{head}Argument type not recognized: {kind}")

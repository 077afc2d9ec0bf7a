"""torch.FloatTensor and its kin: types of one dtype, as constructors and in ``isinstance``."""
from __future__ import annotations

from typing import Any

from ._core.dtype import bfloat16, bool_, dtype, float16, float32, float64, int8, int16, int32, int64, uint8
from ._core.size import Size
from ._core.tensor_base import TensorBase
from ._ops.creation import empty
from ._ops.from_data import array_of, made
from .storage import is_storage, tensor_over


class _LegacyType(type):
    """``isinstance(tensor, FloatTensor)`` asks for the dtype; calling makes a tensor of it."""

    _legacy_dtype: dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorBase) and instance._dtype is cls._legacy_dtype

    def __call__(cls, *args: Any) -> Any:
        kind = cls._legacy_dtype
        if len(args) == 1 and is_storage(args[0]):
            return tensor_over(args[0], kind)
        if len(args) == 1 and not isinstance(args[0], (int, Size)):
            return made(array_of(args[0], kind))
        return empty(*(args or (0,)), dtype=kind)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _type(name: str, kind: dtype) -> _LegacyType:
    return _LegacyType(name, (), {"_legacy_dtype": kind, "dtype": kind, "__doc__": f"Tensors of {kind!r}.", "__module__": "mstorch"})


BFloat16Tensor = _type("BFloat16Tensor", bfloat16)
BoolTensor = _type("BoolTensor", bool_)
ByteTensor = _type("ByteTensor", uint8)
CharTensor = _type("CharTensor", int8)
DoubleTensor = _type("DoubleTensor", float64)
FloatTensor = _type("FloatTensor", float32)
HalfTensor = _type("HalfTensor", float16)
IntTensor = _type("IntTensor", int32)
LongTensor = _type("LongTensor", int64)
ShortTensor = _type("ShortTensor", int16)

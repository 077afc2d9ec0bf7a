"""torch.FloatTensor, torch.sparse.FloatTensor and other legacy types, as constructors and in ``isinstance``."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ...storage import is_storage, tensor_over
from ..core import device as devices
from ..core.device import device
from ..core.dtype import bfloat16, bool_, dtype, float16, float32, float64, int8, int16, int32, int64, uint8
from ..core.formats import layout, sparse_coo, strided
from ..core.size import Size
from ..core.tensor_base import TensorBase
from ..core.warned import warn_once
from ..ops.memory.creation import empty
from ..ops.memory.from_data import array_of, made
from ..ops.memory.memory import expect_dtype
from ..ops.shape import views
from ..sparse.coo import is_checking, sparse_coo_tensor


class _LegacyType(type):
    """Metaclass of legacy types: ``isinstance(tensor, FloatTensor)`` checks the dtype, and a call constructs a tensor of this dtype."""

    _legacy_dtype: dtype
    layout: layout

    def __new__(meta, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
        for base in bases:
            raise TypeError(f"type '{base.__module__.replace('mstorch', 'torch', 1)}.{base.__name__}' is not an acceptable base type")
        return super().__new__(meta, name, bases, members)

    def __instancecheck__(cls, instance: Tensor | int) -> bool:
        return isinstance(instance, TensorBase) and instance._ms_dtype is cls._legacy_dtype and instance.layout is cls.layout

    def __call__(cls, *args: Any, device: device | str | int | None = None) -> Tensor:
        kind = cls._legacy_dtype
        if device is not None and devices.device(device).type != "cpu":
            raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {devices.device(device).type} was passed")
        if len(args) == 1 and isinstance(args[0], TensorBase):
            if device is not None:
                raise RuntimeError(
                    "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported.  Use torch.tensor(...) "
                    "or torch.as_tensor(...) instead."
                )
            expect_dtype(kind, args[0])
            return views.alias(args[0])  # type: ignore[return-value]
        if len(args) == 1 and is_storage(args[0]):
            return tensor_over(args[0], kind)
        if len(args) == 1 and not isinstance(args[0], (int, Size)):
            return made(array_of(args[0], kind))
        return empty(*(args or (0,)), dtype=kind)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__.replace('mstorch', 'torch', 1)}.{cls.__name__}'>"


class _LegacySparseType(_LegacyType):
    """Metaclass of the legacy types of sparse COO tensors; a call takes ``(indices, values)``, ``(indices, values, size)`` or a size."""

    def __call__(cls, *args: Any, device: device | str | int | None = None) -> Tensor:
        if len(args) == 1 and isinstance(args[0], (list, tuple)) and not isinstance(args[0], Size):
            raise TypeError(
                "torch.sparse.SparseTensor(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or construct a strided "
                "tensor and convert it to sparse via to_sparse."
            )
        if len(args) in (2, 3) and all(isinstance(part, TensorBase) for part in args[:2]):
            form = ("indices, values", "indices, values, shape")[len(args) - 2]
            _discouraged(f"{form}, *, device=", f"{form}, dtype=, device=")
            return sparse_coo_tensor(*args, device=device, check_invariants=is_checking())
        size = args[0] if len(args) == 1 and isinstance(args[0], Size) else args or (0,)
        if not all(isinstance(length, int) for length in size):
            given = ", ".join("Tensor" if isinstance(part, TensorBase) else type(part).__name__ for part in args)
            raise TypeError(f"new() received an invalid combination of arguments - got ({given})")
        _discouraged(*(("shape, *, device=", "shape, dtype=, device=") if args else ("", "(0,), dtype=")))
        return sparse_coo_tensor(size, dtype=cls._legacy_dtype, device=device, check_invariants=is_checking())


def _discouraged(given: str, wanted: str) -> None:
    warn_once(f"torch.sparse.SparseTensor({given}) is deprecated.  Please use torch.sparse_coo_tensor({wanted}).")


def _members(kind: dtype, form: layout, module: str) -> dict[str, Any]:
    plain = form is strided
    return {
        "_legacy_dtype": kind, "dtype": kind, "layout": form, "is_sparse": not plain, "is_cuda": False, "is_xpu": False,
        "__module__": module,
        "__doc__": f"{'T' if plain else 'Sparse t'}ensors of {kind!r}.",
    }  # fmt: skip


def _type(name: str, kind: dtype) -> _LegacyType:
    return _LegacyType(name, (), _members(kind, strided, "mstorch"))


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

PLAIN = (
    BFloat16Tensor, BoolTensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor, ShortTensor
)  # fmt: skip
SPARSE = {
    name: _LegacySparseType(name, (), _members(kind._legacy_dtype, sparse_coo, "mstorch.sparse"))
    for name, kind in list(globals().items())
    if isinstance(kind, _LegacyType) and kind is not BoolTensor
}

"""torch.npu.FloatTensor and the like: tensor types of one dtype on the device, for construction, ``isinstance`` and ``Tensor.type``."""
from __future__ import annotations

from typing import Any

from .. import storage as _storage
from .._src.backend import runtime
from .._src.core.cuda_names import is_there
from .._src.namespace import legacy_types


class _OnDevice(type):
    """Metaclass of torch's tensor and storage types on the device."""

    _base: Any
    is_cuda = property(lambda cls: is_there(), doc="True if \"cuda\" names the device.")

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls._base) and instance.device.type == runtime.device_type()

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._base(*args, **kwargs).to(runtime.device_type())


def _tensor(name: str) -> _OnDevice:
    base = getattr(legacy_types, name)
    members = {"_base": base, "_legacy_dtype": base._legacy_dtype, "_place": runtime.device_type(), "dtype": base._legacy_dtype}
    return _OnDevice(name, (), {**members, "__module__": "mstorch.npu", "__doc__": f"Tensors of {base._legacy_dtype!r} on the device."})


def _storage_of(name: str) -> _OnDevice:
    base = getattr(_storage, name)
    return _OnDevice(name, (), {"_base": base, "__module__": "mstorch.npu", "__doc__": f"Storages of the device: {name}."})


_KINDS = ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
MADE = {
    **{f"{kind}Tensor": _tensor(f"{kind}Tensor") for kind in _KINDS},
    **{f"{kind}Storage": _storage_of(f"{kind}Storage") for kind in _KINDS},
}

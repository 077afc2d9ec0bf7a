"""torch.utils.dlpack: exchange of tensors between array libraries without a copy."""
from __future__ import annotations

import enum
from typing import Any

from .._src.core.overriding import WITHOUT_SUBCLASSES, level_set_to
from .._src.core.tensor_base import array_of, is_tracked
from .._src.ops.memory.from_data import from_dlpack
from .._src.ops.memory.memory import to_dlpack
from .._tensor import Tensor


class ReadOnlyTensorWrapper(Tensor):
    """A tensor that other libraries may read through DLPack and not write to; nothing else can be done with it (torch 2.14)."""

    @staticmethod
    def __new__(cls, tensor: Tensor) -> ReadOnlyTensorWrapper:
        """Return a wrapper over the memory of a tensor."""
        return tensor.as_subclass(cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the two functions of DLPack. Raise RuntimeError for all others."""
        if func not in (Tensor.__dlpack__, Tensor.__dlpack_device__):
            raise RuntimeError(
                f"{cls.__name__} only supports DLPack export; '{getattr(func, '__name__', func)}' is not allowed. "
                "Unwrap the tensor to operate on its data."
            )
        with level_set_to(WITHOUT_SUBCLASSES):
            return func(*args, **(kwargs or {}))

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **kwargs: Any) -> Any:
        """Return a capsule that is marked as read-only."""
        with level_set_to(WITHOUT_SUBCLASSES):
            if is_tracked(self):
                raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
            if self._ms_dtype.name == "bfloat16":
                raise NotImplementedError("mstorch: ReadOnlyTensorWrapper exports no bfloat16, which NumPy's capsules lack")
            array = array_of(self).view()
        array.flags.writeable = False
        try:
            return array.__dlpack__(max_version=max_version or (1, 0), **kwargs)  # type: ignore[call-arg] # NumPy 1's types
        except TypeError:  # NumPy 1 exports nothing that is read-only
            raise NotImplementedError("mstorch: ReadOnlyTensorWrapper needs NumPy 2, whose capsules can be read-only") from None

    def __dlpack_device__(self) -> Any:
        """Return DLPack's device type and index."""
        with level_set_to(WITHOUT_SUBCLASSES):
            return Tensor.__dlpack_device__(self)


class DLDeviceType(enum.IntEnum):
    """DLPack's codes of device types."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


__all__ = ["DLDeviceType", "ReadOnlyTensorWrapper", "from_dlpack", "to_dlpack"]

"""The members of torch.cuda while "cuda" is an alias of Ascend: the function or class of the same name in torch.npu."""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ..core.cuda_names import is_on
from ..core.device import device

_NAMES = {"CUDAGraph": "NPUGraph", "CUDAPluggableAllocator": "NPUPluggableAllocator", "cudart": "npurt"}


def _twin(name: str) -> Any:
    # Imported only if there is such a device.
    return getattr(sys.modules["mstorch.npu"], _NAMES.get(name, name), None) if is_on() else None


def _no_capability(device: int | str | device | None = None) -> tuple[int, int]:
    """Return (0, 0), lower than any capability required for CUDA kernels; packages expect two numbers, and torch.npu returns None."""
    return 0, 0


_OWN = {"get_device_capability": _no_capability}


def _counterpart(name: str) -> Any:
    found = _OWN.get(name) or _twin(name)
    if found is None:
        raise NotImplementedError(f"mstorch: torch.cuda.{name} has no counterpart on an Ascend device")
    return found


def as_npu(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which dispatches to torch.npu's while "cuda" is an alias of it."""
    name = function.__name__

    @functools.wraps(function)
    def either(*args: Any, **kwargs: Any) -> Any:
        return (_counterpart(name) if is_on() else function)(*args, **kwargs)

    return either


class AsNpu(type):
    """Metaclass of classes that instantiate torch.npu's class of the same name while "cuda" is an alias of it."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _counterpart(cls.__name__)(*args, **kwargs) if is_on() else super().__call__(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        twin = _twin(cls.__name__)
        if twin is None:
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        return getattr(twin, name)

    def __instancecheck__(cls, instance: Any) -> bool:
        twin = _twin(cls.__name__)
        return super().__instancecheck__(instance) if twin is None else isinstance(instance, twin)

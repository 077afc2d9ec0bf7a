"""The members of torch.cuda where MindSpore computes on a GPU, or "cuda" is an alias of Ascend: those of the same name in torch.npu, which
call MindSpore's runtime for either device.
"""
from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from ..backend import runtime
from ..core.cuda_names import is_there
from ..core.device import device
from ..core.device import index_of as _index_of
from ..core.warned import warn

_NAMES = {"CUDAGraph": "NPUGraph", "CUDAPluggableAllocator": "NPUPluggableAllocator", "cudart": "npurt"}


def _twin(name: str) -> Any:
    if not is_there():
        return None
    return getattr(importlib.import_module(f"{__name__.partition('.')[0]}.npu"), _NAMES.get(name, name), None)


def _capability(device: int | str | device | None = None) -> tuple[int, int]:
    """Return the GPU's capability; on an Ascend (0, 0), lower than any required for CUDA kernels: packages expect two numbers."""
    return runtime.capability(_index_of(device)) if runtime.device_type() == "cuda" else (0, 0)


def _architectures() -> list[str]:
    """Return the architectures for which kernels are built, as CUDA names them: the GPU's own."""
    return ["sm_{}{}".format(*_capability())] if runtime.device_type() == "cuda" else []


def _has_tf32() -> bool:
    """Return whether the device computes in TF32, which GPUs of capability 8.0 do."""
    return _capability() >= (8, 0)


_OWN = {"get_device_capability": _capability, "get_arch_list": _architectures, "is_tf32_supported": _has_tf32}


def _counterpart(name: str) -> Any:
    found = _OWN.get(name) or _twin(name)
    if found is None:
        raise NotImplementedError(f"mstorch: torch.cuda.{name} has no counterpart in MindSpore's runtime")
    return found


_RESETS_ALL = "torch.cuda.{} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak memory stats."
_RENAMED = "`torch.cuda.{}` has been renamed to `torch.cuda.{}`"
_FORMER = {
    **{name: _RESETS_ALL.format(name) for name in ("reset_max_memory_allocated", "reset_max_memory_cached")},
    **{name: _RENAMED.format(name, name.replace("cached", "reserved")) for name in ("memory_cached", "max_memory_cached")},
}
"""torch's FutureWarning for each former name of a function."""


def as_npu(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which dispatches to torch.npu's where there is such a device."""
    name = function.__name__

    @functools.wraps(function)
    def either(*args: Any, **kwargs: Any) -> Any:
        if name in _FORMER:
            warn(_FORMER[name], FutureWarning)
        return (_counterpart(name) if is_there() else function)(*args, **kwargs)

    return either


class AsNpu(type):
    """Metaclass of classes that instantiate torch.npu's class of the same name where there is such a device."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _counterpart(cls.__name__)(*args, **kwargs) if is_there() else super().__call__(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        twin = _twin(cls.__name__)
        if twin is None:
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        return getattr(twin, name)

    def __instancecheck__(cls, instance: Any) -> bool:
        twin = _twin(cls.__name__)
        return super().__instancecheck__(instance) if twin is None else isinstance(instance, twin)

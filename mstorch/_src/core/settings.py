"""Process-wide settings: threads, determinism, precision, the default device."""
from __future__ import annotations

import os
from typing import Any

from ..backend import runtime
from ..backend.blocks import threads
from . import device as devices
from .determinism import state as _deterministic
from .device import device
from .tensor_base import TensorBase

_threads = [os.cpu_count() or 1]
_precision = ["highest"]


def get_num_threads() -> int:
    """Return the number of host threads that kernels may use."""
    return _threads[0]


def set_num_threads(int: int, /) -> None:
    """Set the number of host threads that kernels may use. Raise RuntimeError if it is less than one."""
    if type(int) is str or not hasattr(int, "__index__"):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(int).__name__}")
    if int < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    _threads[0] = int
    runtime.set_threads(int)
    threads.use(int)


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Require deterministic kernels. MindSpore's are deterministic, on a device once MindSpore's own option is set."""
    for where, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"_set_deterministic_algorithms(): argument {where} must be bool, not {type(value).__name__}")
    _deterministic.update(mode=bool(mode), warn_only=bool(warn_only))
    runtime.set_deterministic(bool(mode))


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether deterministic kernels are required."""
    return _deterministic["mode"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether nondeterministic operations only warn."""
    return _deterministic["warn_only"]


def get_float32_matmul_precision() -> str:
    """Return ``highest``, ``high`` or ``medium``; matrix products on the CPU always have full precision."""
    return _precision[0]


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision of float32 matrix products; the CPU ignores it."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"invalid value for float32 matmul precision: {precision}. Must be one of: highest, high, medium"
        )
    _precision[0] = precision


def get_default_device() -> device:
    """Return the default device of new tensors."""
    return devices.default()


def set_default_device(device: device | str | int | None) -> None:
    """Set this thread's default device: the CPU, the device that MindSpore computes on, or meta."""
    devices.defaults.chosen = None if device is None else devices.named(device)


def typename(obj: Any) -> str:
    """Return the name of a class, function or module, or of the class of another object; a tensor's is torch's: ``torch.FloatTensor`` for
    float32."""
    if isinstance(obj, TensorBase):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") or hasattr(obj, "__name__") else type(obj)
    name = getattr(named, "__qualname__", None) or named.__name__
    module = getattr(named, "__module__", None) or ""
    whole = name if module in ("builtins", "") else f"{module}.{name}"
    return whole.replace("mstorch", "torch", 1) if whole.startswith("mstorch") else whole

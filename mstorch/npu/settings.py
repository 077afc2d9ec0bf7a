"""Options of torch.npu. A setting never ends a program: one that changes nothing with MindSpore is kept, and says so once."""
from __future__ import annotations

import enum
from typing import Any

from .._src.core.dtype import bfloat16, dtype, float16
from .._src.core.warned import warn_once
from ..amp import _settings

_kept: dict[str, Any] = {"jit_compile": False, "is_nd": True, "compatible": False}
"""Settings that are only kept."""


def _has_no_effect(name: str, value: Any, there: Any) -> None:
    if value != there:
        warn_once(f"torch.npu.{name} = {value} is kept and has no effect: with MindSpore it is {there}")


def set_option(option: Any) -> None:
    """Keep options of ACL, and warn once for each that MindSpore sets them itself. Raise TypeError for what is no dict."""
    if not isinstance(option, dict):
        raise TypeError("npu option must be a dict.")
    for name, value in option.items():
        _kept[name] = value
        warn_once(f"torch.npu.set_option({{{name!r}: …}}) is kept and has no effect: options of ACL are set by MindSpore")


def set_compile_mode(jit_compile: bool = False) -> None:
    """Keep the mode; ``jit_compile=True`` has no effect, as a warning says once: kernels are precompiled."""
    _kept["jit_compile"] = bool(jit_compile)
    _has_no_effect("set_compile_mode(jit_compile=)", bool(jit_compile), False)


def is_jit_compile_false() -> bool:
    """Return what was set: True, unless the program has set ``jit_compile=True``."""
    return not _kept["jit_compile"]


def set_mm_bmm_format_nd(is_nd: bool) -> None:
    """Keep the setting; False has no effect, as a warning says once: matmuls take row-major tensors."""
    _kept["is_nd"] = bool(is_nd)
    _has_no_effect("set_mm_bmm_format_nd()", bool(is_nd), True)


def get_mm_bmm_format_nd() -> bool:
    """Return what was set: True, unless the program has set another value."""
    return bool(_kept["is_nd"])


def use_compatible_impl(is_enable: bool) -> None:
    """Keep the setting; True has no effect, as a warning says once: operators do not imitate GPUs bit by bit."""
    _kept["compatible"] = bool(is_enable)
    _has_no_effect("use_compatible_impl()", bool(is_enable), False)


def are_compatible_impl_enabled() -> bool:
    """Return what was set: False, unless the program has set another value."""
    return bool(_kept["compatible"])


class CubeMathType(enum.IntEnum):
    """Precision of float32 matmuls."""

    KEEP_DTYPE = 0
    ALLOW_FP32_DOWN_PRECISION = 1
    USE_FP16 = 2
    USE_HF32 = 3


class _Precision:
    """``allow_hf32`` of matmuls or convolutions: kept, without effect, as a warning says once; MindSpore has its own setting."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_set", {"allow_hf32": False, "cube_math_type": CubeMathType.KEEP_DTYPE})

    def __getattr__(self, name: str) -> Any:
        kept = object.__getattribute__(self, "_set")
        if name not in kept:
            raise AttributeError(f"torch.npu.{object.__getattribute__(self, '_name')} has no attribute '{name}'")
        return kept[name]

    def __setattr__(self, name: str, value: Any) -> None:
        there = getattr(self, name)
        self._set[name] = type(there)(value)
        _has_no_effect(f"{self._name}.{name}", value, there)


class _Config:
    """``allow_internal_format`` and others: whether kernels may use private memory formats. The settings are only stored: the kernels
    themselves
    decide."""

    __slots__ = ("allow_internal_format", "allow_large_kernels", "weight_prefetch")

    def __init__(self) -> None:
        self.allow_internal_format = False
        self.allow_large_kernels = self.weight_prefetch = False


matmul, conv, aclnn, config = _Precision("matmul"), _Precision("conv"), _Precision("aclnn"), _Config()


def get_amp_supported_dtype() -> list[dtype]:
    """Return the dtypes that autocast supports."""
    return [float16, bfloat16]


def is_autocast_enabled() -> bool:
    """Return whether autocast is enabled on the device."""
    return _settings.is_autocast_enabled("npu")


def set_autocast_enabled(enable: bool) -> None:
    """Enable or disable autocast on the device."""
    _settings.set_autocast_enabled("npu", enable)


def get_autocast_dtype() -> dtype:
    """Return autocast's dtype on the device."""
    return _settings.get_autocast_dtype("npu")


def set_autocast_dtype(dtype: dtype) -> None:
    """Set autocast's dtype on the device."""
    _settings.set_autocast_dtype("npu", dtype)


__all__ = [
    "CubeMathType", "aclnn", "are_compatible_impl_enabled", "config", "conv", "get_amp_supported_dtype", "get_autocast_dtype",
    "get_mm_bmm_format_nd", "is_autocast_enabled", "is_jit_compile_false", "matmul", "set_autocast_dtype", "set_autocast_enabled",
    "set_compile_mode", "set_mm_bmm_format_nd", "use_compatible_impl",
]  # fmt: skip

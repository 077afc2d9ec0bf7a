"""Options of torch.npu. Values that match MindSpore's behaviour are accepted; others raise NotImplementedError."""
from __future__ import annotations

import enum
from typing import Any

from .._src.core.dtype import bfloat16, dtype, float16
from ..amp import _settings


def _refuse_other(name: str, value: Any, there: Any) -> None:
    if value != there:
        raise NotImplementedError(f"mstorch: torch.npu.{name} is {there} with MindSpore, and cannot be {value}")


def set_compile_mode(jit_compile: bool = False) -> None:
    """Raise NotImplementedError for ``jit_compile=True``: kernels are precompiled."""
    _refuse_other("set_compile_mode(jit_compile=)", bool(jit_compile), False)


def is_jit_compile_false() -> bool:
    """Return True: kernels are precompiled."""
    return True


def set_mm_bmm_format_nd(is_nd: bool) -> None:
    """Raise NotImplementedError for False: matmuls take row-major tensors."""
    _refuse_other("set_mm_bmm_format_nd()", bool(is_nd), True)


def get_mm_bmm_format_nd() -> bool:
    """Return True: matmuls take row-major tensors."""
    return True


class CubeMathType(enum.IntEnum):
    """Precision of float32 matmuls."""

    KEEP_DTYPE = 0
    ALLOW_FP32_DOWN_PRECISION = 1
    USE_FP16 = 2
    USE_HF32 = 3


class _Precision:
    """``allow_hf32`` of matmuls or convolutions: always off in mstorch; MindSpore has its own setting."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    @property
    def allow_hf32(self) -> bool:
        """False: float32 is always computed with full precision."""
        return False

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "allow_hf32":
            raise AttributeError(f"torch.npu.{self._name} has no attribute '{name}'")  # type: ignore[attr-defined]
        _refuse_other(f"{self._name}.allow_hf32", bool(value), False)  # type: ignore[attr-defined]


class _Config:
    """``allow_internal_format``: whether kernels may use private memory formats. The setting is only stored: the kernels themselves decide.
    """

    __slots__ = ("allow_internal_format",)

    def __init__(self) -> None:
        self.allow_internal_format = False


matmul, conv, config = _Precision("matmul"), _Precision("conv"), _Config()


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
    "CubeMathType", "config", "conv", "get_amp_supported_dtype", "get_autocast_dtype", "get_mm_bmm_format_nd", "is_autocast_enabled",
    "is_jit_compile_false", "matmul", "set_autocast_dtype", "set_autocast_enabled", "set_compile_mode", "set_mm_bmm_format_nd",
]  # fmt: skip

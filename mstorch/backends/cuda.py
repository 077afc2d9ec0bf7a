"""torch.backends.cuda: options of GPU libraries, stored without effect; mstorch has a single implementation of attention."""
from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial
from typing import Any

from typing_extensions import deprecated

from .._src.core import cuda_names
from .._src.core.device import device
from .._src.hook import missing as _missing
from .._src.leaving import END, Undo, undoing

_sdp = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True, "fp16_bf16_reduction_math": False}


class _Checked:
    """Options of one type; unknown names raise AttributeError."""

    _switches: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name in type(self)._switches:
            return type(self)._switches[name]
        raise AttributeError("Unknown attribute " + name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in type(self)._switches:
            raise AttributeError("Unknown attribute " + name)
        type(self)._switches[name] = value


class cuBLASModule(_Checked):
    """Options of matrix products on a GPU."""

    _switches = {
        "allow_tf32": False, "allow_fp16_reduced_precision_reduction": True, "allow_bf16_reduced_precision_reduction": True,
        "allow_fp16_accumulation": False, "fp32_precision": "none",
    }  # fmt: skip


class _PlanCache(_Checked):
    _switches = {"size": 0, "max_size": 4096}

    def clear(self) -> None:
        """Do nothing: mstorch caches no FFT plans."""

    def __getitem__(self, device: int | str | device) -> _PlanCache:
        return self


matmul = cuBLASModule()
cufft_plan_cache = _PlanCache()


def is_built() -> bool:
    """Return whether MindSpore computes on a GPU, or on the Ascend device of which "cuda" is an alias."""
    return cuda_names.is_there()


def _reader(name: str) -> Callable[..., Any]:
    def function() -> bool:
        return _sdp[name]

    reduced = name.startswith("fp16")
    function.__name__ = function.__qualname__ = f"{name}_sdp_allowed" if reduced else f"{name}_sdp_enabled"
    function.__doc__ = f"Return whether {name} attention is enabled; the option has no effect."
    return function


def _writer(name: str) -> Callable[..., Any]:
    def function(enabled: bool) -> None:
        _sdp[name] = bool(enabled)

    reduced = name.startswith("fp16")
    function.__name__ = function.__qualname__ = f"allow_{name}_sdp" if reduced else f"enable_{name}_sdp"
    function.__doc__ = f"Enable {name} attention; without effect, as attention has a single implementation here."
    return function


flash_sdp_enabled, math_sdp_enabled, mem_efficient_sdp_enabled, cudnn_sdp_enabled, fp16_bf16_reduction_math_sdp_allowed = map(
    _reader, _sdp
)
enable_flash_sdp, enable_math_sdp, enable_mem_efficient_sdp, enable_cudnn_sdp, allow_fp16_bf16_reduction_math_sdp = map(
    _writer, _sdp
)


def is_flash_attention_available() -> bool:
    """Return False: MindSpore's own attention is used."""
    return False


def is_ck_sdpa_available() -> bool:
    """Return False: the Composable Kernel library is not used."""
    return False


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """Return False: mstorch has no flash attention kernel for GPUs."""
    return False


def can_use_efficient_attention(params: Any, debug: bool = False) -> bool:
    """Return False: mstorch has no memory-efficient attention kernel for GPUs."""
    return False


def can_use_cudnn_attention(params: Any, debug: bool = False) -> bool:
    """Return False: mstorch does not use cuDNN."""
    return False


@deprecated(
    "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
    "`torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
    category=FutureWarning,
)
@undoing
def sdp_kernel(
    undo: Undo, enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> dict[str, Any]:
    """Context manager that enables attention backends."""
    undo[END:] = (partial(_sdp.update, dict(_sdp)),)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    return {}


LinalgBackend = enum.Enum("_LinalgBackend", {"Default": 0, "Cusolver": 1, "Magma": 2})
BlasBackend = enum.Enum("_BlasBackend", {"Default": 0, "Cublas": 1, "Cublaslt": 2, "Ck": 3})
_libraries: dict[type, enum.Enum] = {LinalgBackend: LinalgBackend["Default"], BlasBackend: BlasBackend["Cublas"]}
_BLAS = {"default": "Cublas", "cublas": "Cublas", "hipblas": "Cublas", "cublaslt": "Cublaslt", "hipblaslt": "Cublaslt", "ck": "Ck"}
_LINALG = {"default": "Default", "cusolver": "Cusolver", "magma": "Magma"}
_ABSENT = {"Cusolver": "cuSOLVER", "Magma": "MAGMA", "Cublaslt": "cuBLASLt"}


def _prefer(kind: Any, words: dict[str, str], backend: Any) -> Any:
    """Set the preferred GPU library for an operation (linear algebra, BLAS, …) if given, and return the current one."""
    if backend is not None:
        if not isinstance(backend, (str, kind)):
            raise RuntimeError("Unknown input value type.")
        if isinstance(backend, str) and backend not in words:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(words)}.")
        wanted = kind[words[backend]] if isinstance(backend, str) else backend
        if wanted.name in _ABSENT:
            library = _ABSENT[wanted.name]
            raise RuntimeError(f"Cannot set preferred backend to {library} if PyTorch has not been compiled with {library}.")
        _libraries[kind] = wanted
    return _libraries[kind]


def preferred_linalg_library(backend: Any = None) -> Any:
    """Set or return the preferred GPU library for torch.linalg, which has no effect; raise RuntimeError if it is not available."""
    return _prefer(LinalgBackend, _LINALG, backend)


def preferred_blas_library(backend: Any = None) -> Any:
    """Set or return the preferred GPU library for matrix products, which has no effect; raise RuntimeError if it is not available."""
    return _prefer(BlasBackend, _BLAS, backend)


__all__ = [
    "preferred_linalg_library", "preferred_blas_library",
    "is_built", "cuBLASModule", "cufft_plan_cache", "matmul", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp",
    "enable_cudnn_sdp", "flash_sdp_enabled", "math_sdp_enabled", "mem_efficient_sdp_enabled", "cudnn_sdp_enabled", "sdp_kernel",
    "is_flash_attention_available", "can_use_flash_attention", "can_use_efficient_attention", "can_use_cudnn_attention",
]  # fmt: skip

__getattr__ = _missing(__name__)

"""torch.backends.cudnn: options stored without effect; MindSpore chooses its own algorithms."""
from __future__ import annotations

import contextlib
from typing import Any

from .._src.backend import cuda_versions, runtime
from .._src.core.dtype import float16, float32, float64
from .._src.devices.flags import as_flags, switched

__path__: list[str] = []  # modules below this one are in _src/unbuilt/modules.txt

enabled: bool = True
benchmark: bool = False
deterministic: bool = False
benchmark_limit: int | None = 10
allow_tf32: bool = True
fp32_precision: str = "none"
_kinds = {"enabled": bool, "benchmark": bool, "deterministic": bool, "allow_tf32": bool}
CUDNN_TENSOR_DTYPES: set[Any] = set()


def is_available() -> bool:
    """Return whether MindSpore computes on a GPU: its convolutions there are cuDNN's."""
    return runtime.device_type() == "cuda"


def version() -> int | None:
    """Return cuDNN's version as one number; None without a GPU."""
    return cuda_versions.cudnn_version() if is_available() else None


def is_acceptable(tensor: Any) -> bool:
    """Return whether cuDNN may compute with a tensor: one of floating point on a GPU."""
    return is_available() and tensor.is_cuda and tensor.dtype in (float16, float32, float64)


def set_flags(
    _enabled: bool | None = None, _benchmark: bool | None = None, _benchmark_limit: int | None = None,
    _deterministic: bool | None = None, _allow_tf32: bool | None = None, _fp32_precision: str = "none",
) -> tuple[Any, ...]:  # fmt: skip
    """Set several options; return their previous values."""
    before = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    for name, value in zip(names, (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)):
        if value is not None:
            globals()[name] = value
    return before


def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
    allow_tf32: bool = True, fp32_precision: str = "none",
) -> contextlib.AbstractContextManager[None]:  # fmt: skip
    """Context manager that sets options."""
    return switched(
        __name__, enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit, deterministic=deterministic,
        allow_tf32=allow_tf32,
    )  # fmt: skip


class _Part:
    fp32_precision = "none"


conv, rnn = _Part(), _Part()
as_flags(__name__)

"""The versions of CUDA's libraries that MindSpore's plugin for GPUs has loaded."""
from __future__ import annotations

import ctypes
import functools


@functools.cache
def runtime_version() -> str | None:
    """Return the version of CUDA's runtime, such as "11.8"; None if it is not loaded."""
    number = ctypes.c_int()
    try:
        failed = ctypes.CDLL("libcudart.so.11.0").cudaRuntimeGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return None if failed else f"{number.value // 1000}.{number.value % 1000 // 10}"


@functools.cache
def cudnn_version() -> int | None:
    """Return cuDNN's version as one number, such as 8907; None if it is not loaded."""
    try:
        function = ctypes.CDLL("libcudnn.so.8").cudnnGetVersion
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_size_t
    return int(function())

"""The errors of a host and of a device that have no memory left are torch's, which tools that try smaller batches look for."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class OutOfMemoryError(RuntimeError):
    """A device has no memory left."""


OutOfMemoryError.__module__ = "torch"


# MindSpore raises a plain RuntimeError with one of these in its text.
_WORDS = ("Memory not enough", "memory isn't enough", "memory not enough", "Memory isn't enough")


def no_memory(error: BaseException) -> RuntimeError:
    """torch's error in place of NumPy's or Python's, or of MindSpore's about a device."""
    if not isinstance(error, MemoryError):
        return OutOfMemoryError(f"NPU out of memory. {error}")
    shape, kind = getattr(error, "shape", None), getattr(error, "dtype", None)
    size = f" you tried to allocate {math.prod(shape) * kind.itemsize} bytes." if shape is not None and kind is not None else ""
    return RuntimeError(f"DefaultCPUAllocator: can't allocate memory:{size} Error code 12 (Cannot allocate memory)")


def lacks_memory(error: BaseException) -> bool:
    """Whether an error says that there is no memory, and is not torch's already."""
    if error.__class__ is OutOfMemoryError or not isinstance(error, (MemoryError, RuntimeError)):
        return False
    return isinstance(error, MemoryError) or any(words in str(error) for words in _WORDS)


def tells_no_memory(function: Function) -> Function:
    """A function whose errors about memory are torch's."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (MemoryError, RuntimeError) as error:
            if not lacks_memory(error):
                raise
            raise no_memory(error) from None

    return call  # type: ignore[return-value]

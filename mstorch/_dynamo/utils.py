"""torch._dynamo.utils: what programs ask torch's compiler about itself."""
from __future__ import annotations

import sys
import warnings
from collections import Counter, defaultdict
from functools import cache
from typing import Any

from . import config
from .eval_frame import is_dynamo_supported

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
"""What torch's compiler counts, by kind. Nothing counts here; programs clear and read it."""


def is_compile_supported(device_type: Any) -> bool:
    """Return whether ``torch.compile`` works for tensors of a type of device."""
    kind = getattr(device_type, "type", device_type)
    return is_dynamo_supported() and str(kind).partition(":")[0] in ("cpu", "cuda", "npu")


@cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn the first time that a process says this."""
    warnings.warn(msg, stacklevel=stacklevel + 1)


def disable_cache_limit() -> config.patch:
    """Return a context manager within which the settings for how many graphs a function may have say that any number is well."""
    return config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize)


__all__ = ["counters", "disable_cache_limit", "is_compile_supported", "warn_once"]

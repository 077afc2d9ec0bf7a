"""torch._dynamo.utils: queries about torch's compiler."""
from __future__ import annotations

import sys
import warnings
from collections import Counter, defaultdict
from functools import cache
from typing import Any

from . import config
from .eval_frame import is_dynamo_supported

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
"""Counters of torch's compiler by kind. Nothing increments them here; programs clear and read them."""


def is_compile_supported(device_type: Any) -> bool:
    """Return whether ``torch.compile`` supports a device type."""
    kind = getattr(device_type, "type", device_type)
    return is_dynamo_supported() and str(kind).partition(":")[0] in ("cpu", "cuda", "npu")


@cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn once per process with this message."""
    warnings.warn(msg, stacklevel=stacklevel + 1)


def disable_cache_limit() -> config.patch:
    """Return a context manager that removes the limits on recompilation."""
    return config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize)


__all__ = ["counters", "disable_cache_limit", "is_compile_supported", "warn_once"]

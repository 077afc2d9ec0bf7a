"""torch._dynamo.utils: what programs ask torch's compiler about itself."""
from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from functools import cache
from typing import Any

from .eval_frame import is_dynamo_supported

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
"""What torch's compiler counts, by kind. Nothing counts here; programs clear and read it."""


def is_compile_supported(device_type: Any) -> bool:
    """Whether ``torch.compile`` works for tensors of a type of device."""
    kind = getattr(device_type, "type", device_type)
    return is_dynamo_supported() and str(kind).partition(":")[0] in ("cpu", "cuda", "npu")


@cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn the first time that a process says this."""
    warnings.warn(msg, stacklevel=stacklevel + 1)


__all__ = ["counters", "is_compile_supported", "warn_once"]

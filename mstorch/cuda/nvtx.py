"""torch.cuda.nvtx: ranges for NVIDIA's profiler, which raise without it."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._src.devices.faces import faces

_NO = RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
_made = faces(__name__, (_NO, "range_push(msg); range_pop(); range_start(msg); range_end(range_id); mark(msg)"))
globals().update(_made)


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Raise RuntimeError on entry."""
    _made["range_push"](msg.format(*args, **kwargs))
    yield


__all__ = [*_made, "range"]

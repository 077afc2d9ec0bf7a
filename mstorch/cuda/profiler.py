"""torch.cuda.profiler: the switch of NVIDIA's profiler, which MindSpore does not reach."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

from . import cudart as _cudart

__all__ = ["start", "stop", "profile"]


def start() -> None:
    """Raise: there is no CUDA runtime to ask."""
    _cudart()


def stop() -> None:
    """Raise: there is no CUDA runtime to ask."""
    _cudart()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Raise on entry: there is no CUDA runtime to ask."""
    start()
    yield

"""torch.cuda.profiler: the switch of NVIDIA's profiler, which MindSpore does not reach."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .._src.devices import no_cuda as _no_cuda

__all__ = ["start", "stop", "profile"]


def start() -> None:
    """Raise: there is no CUDA runtime to ask."""
    _no_cuda.FUNCTIONS["cudart"]()


def stop() -> None:
    """Raise: there is no CUDA runtime to ask."""
    _no_cuda.FUNCTIONS["cudart"]()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Raise on entry: there is no CUDA runtime to ask."""
    start()
    yield

"""torch.profiler.itt: markers for Intel's profiler, which is not available: ``is_available()`` is False, the functions raise."""
from __future__ import annotations

from typing import Any, NoReturn


def _refuse(*args: Any) -> NoReturn:
    raise RuntimeError("ITT functions not installed. Are you sure you have a ITT build?")


def is_available() -> bool:
    """Return False: the profiler is not available."""
    return False


def range_push(msg: str) -> None:
    """Raise RuntimeError: the profiler is not available."""
    _refuse(msg)


def range_pop() -> None:
    """Raise RuntimeError: the profiler is not available."""
    _refuse()


def mark(msg: str) -> None:
    """Raise RuntimeError: the profiler is not available."""
    _refuse(msg)


def range(msg: str, *args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError: the profiler is not available."""
    _refuse(msg)


__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]

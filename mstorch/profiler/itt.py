"""torch.profiler.itt: marks for Intel's profiler, which is not there: ``is_available()`` says so, the functions raise."""
from __future__ import annotations

from typing import Any, NoReturn


def _refuse(*args: Any) -> NoReturn:
    raise RuntimeError("ITT functions not installed. Are you sure you have a ITT build?")


def is_available() -> bool:
    """Return whether marks can be set: never."""
    return False


def range_push(msg: str) -> None:
    """Raise RuntimeError: there is no profiler to tell."""
    _refuse(msg)


def range_pop() -> None:
    """Raise RuntimeError: there is no profiler to tell."""
    _refuse()


def mark(msg: str) -> None:
    """Raise RuntimeError: there is no profiler to tell."""
    _refuse(msg)


def range(msg: str, *args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError: there is no profiler to tell."""
    _refuse(msg)


__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]

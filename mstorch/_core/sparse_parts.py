"""Rows of gradients that a backward pass leaves for leaves whose gradient is to be sparse."""
from __future__ import annotations

from typing import Any

from .._backend.raw import Raw

_waiting: list[tuple[Any, Any, Raw]] = []


def leave(leaf: Any, rows: Any, gradient: Raw) -> None:
    """Leave a gradient (n, *) for the rows (n) of a leaf, until the running backward pass has ended."""
    _waiting.append((leaf, rows, gradient))


def take(leaf: Any) -> list[tuple[Any, Raw]]:
    """Take away what was left for a leaf, in the order of its use in the forward pass."""
    found = [(rows, gradient) for owner, rows, gradient in reversed(_waiting) if owner is leaf]
    _waiting[:] = [part for part in _waiting if part[0] is not leaf]
    return found


def any_left() -> bool:
    """Whether anything was left."""
    return bool(_waiting)


def forget() -> None:
    """Drop what was left."""
    _waiting.clear()

"""Lengths of datapipes, from those of their sources."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any

from ..datapipe import _Pipe


def no_length(pipe: Any) -> TypeError:
    """Return the TypeError of a datapipe without length."""
    return TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


def length_of(source: Any, pipe: _Pipe) -> int:
    """Return the length of ``pipe``'s source. Raise TypeError, naming ``pipe``, if it has none."""
    if not isinstance(source, Sized):
        raise no_length(pipe)
    return len(source)


def lengths_of(sources: Iterable[Any], pipe: Any) -> list[int]:
    """Return the lengths of ``pipe``'s sources. Raise TypeError, naming ``pipe``, if one has none."""
    return [length_of(source, pipe) for source in sources]


def batches(length: int, batch_size: int, drop_last: bool) -> int:
    """Return the number of batches for ``length`` samples."""
    return length // batch_size if drop_last else -(-length // batch_size)

"""Lengths of pipes, and of pipes made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any


def no_length(pipe: Any) -> TypeError:
    """Return the error of a pipe that cannot tell its length."""
    return TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


def length_of(source: Any, pipe: Any) -> int:
    """Return the length of what `pipe` reads from. Raises TypeError, in the pipe's name, if it has none."""
    if not isinstance(source, Sized):
        raise no_length(pipe)
    return len(source)


def lengths_of(sources: Iterable[Any], pipe: Any) -> list[int]:
    """Return the lengths of all that `pipe` reads from. Raises TypeError, in the pipe's name, if one has none."""
    return [length_of(source, pipe) for source in sources]


def batches(length: int, batch_size: int, drop_last: bool) -> int:
    """Return how many batches as many samples make."""
    return length // batch_size if drop_last else -(-length // batch_size)

"""Uniforms that are made in blocks before an engine draws them, for samplers that draw an unknown number of them."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from operator import length_hint

from .engine import Engine
from .uniform import unit64, units64

FEW = 32
"""Number of samples up to which the uniforms are drawn one by one: a copy of the engine takes as long as they do."""

_BLOCK = 1 << 13


def taken_ahead(engine: Engine, samples: int) -> tuple[Callable[[], float], Callable[[], None]]:
    """Return a function that returns the next float64 uniform, and one that moves the engine past the uniforms returned by then."""
    if samples <= FEW:
        return partial(unit64, engine), lambda: None
    copy = engine.clone()
    made = 0
    current: Iterator[float] = iter(())

    def blocks() -> Iterator[Iterator[float]]:
        nonlocal made, current
        while True:
            current = iter(units64(copy, _BLOCK).tolist())
            made += _BLOCK
            yield current

    def finish() -> None:
        engine.words32(2 * (made - length_hint(current)))

    return chain.from_iterable(blocks()).__next__, finish

"""Random functions of a device draw the CPU's numbers, in the CPU's order, so that tests can compare."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore

from mstorch._src import mt19937 as numbers


def sources(engine: Any) -> dict[str, Callable[..., Any]]:
    """Return functions by their names in MindSpore's ``mint`` that draw from an engine of the CPU."""
    return {
        "rand": lambda shape, name: numbers.uniform(engine, shape, 0.0, 1.0, name),
        "randn": lambda shape, name: numbers.normal(engine, shape, 0.0, 1.0, name, True),
        "randint": lambda low, high, shape, name: numbers.random_between(engine, shape, low, high, name),
        "randperm": lambda n, name: numbers.permutation(engine, n, name),
    }  # fmt: skip


SOURCES: dict[str, Callable[..., Any]] = {}
"""What ``draw_from_sources`` draws from, by name; a test's engine fills it."""


def draw_from_sources() -> None:
    """Let MindSpore's functions draw from ``SOURCES``, which may be filled later; without a source they draw as ever."""

    def replacement(name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, generator: Any, dtype: Any) -> Any:
            if name not in SOURCES:
                return draw(*args, generator=generator, dtype=dtype)
            return mindspore.Tensor(SOURCES[name](*args, str(dtype).lower()), dtype)

        return call

    for name in sources(None):
        setattr(mindspore.mint, name, replacement(name, getattr(mindspore.mint, name)))


def draw(engine: Any) -> None:
    """Let MindSpore's functions draw from an engine of the CPU."""
    SOURCES.update(sources(engine))
    draw_from_sources()

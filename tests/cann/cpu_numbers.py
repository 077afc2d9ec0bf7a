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


def draw_from(names: dict[str, Callable[..., Any]]) -> None:
    """Let MindSpore's functions draw from ``names``, which may be filled later; without a source they draw as ever."""

    def replacement(name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, generator: Any, dtype: Any) -> Any:
            if name not in names:
                return draw(*args, generator=generator, dtype=dtype)
            return mindspore.Tensor(names[name](*args, str(dtype).lower()), dtype)

        return call

    for name in sources(None):
        setattr(mindspore.mint, name, replacement(name, getattr(mindspore.mint, name)))


def draw(engine: Any) -> None:
    """Let MindSpore's functions draw from an engine of the CPU."""
    draw_from(sources(engine))

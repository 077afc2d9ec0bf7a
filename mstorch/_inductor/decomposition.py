"""torch._inductor.decomposition: decompositions for a compiler that mstorch does not have, stored without effect."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

decompositions: dict[Any, Callable[..., Any]] = {}

__all__ = ["decompositions", "register_decomposition"]


def register_decomposition(ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that registers a function for one or several operators, and returns it."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops if isinstance(ops, Sequence) else [ops]:
            decompositions[op] = function
        return function

    return register

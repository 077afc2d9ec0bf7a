"""torch._inductor.decomposition: how operators fall into others for a compiler that is not here. What is registered is kept, unread."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

decompositions: dict[Any, Callable[..., Any]] = {}

__all__ = ["decompositions", "register_decomposition"]


def register_decomposition(ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that enters a function for an operator or several, and returns it."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops if isinstance(ops, Sequence) else [ops]:
            decompositions[op] = function
        return function

    return register

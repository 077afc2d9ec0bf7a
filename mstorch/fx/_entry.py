"""How torch's functions, methods and modules come to know proxies while code is traced."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .proxy import proxy_in


class Patches:
    """Replaces attributes and items for a while."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """Give an attribute another value."""
        own = name in vars(owner)
        before = getattr(owner, name)
        self._undo.append((lambda: setattr(owner, name, before)) if own else (lambda: delattr(owner, name)))
        setattr(owner, name, value)

    def item(self, owner: dict[str, Any], name: str, value: Any) -> None:
        """Give an item another value, or add it."""
        missing = object()
        before = owner.get(name, missing)

        def undo() -> None:
            if before is missing:
                owner.pop(name, None)
            else:
                owner[name] = before

        self._undo.append(undo)
        owner[name] = value

    def __enter__(self) -> Patches:
        return self

    def __exit__(self, *error: Any) -> None:
        while self._undo:
            self._undo.pop()()


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls with proxies are recorded."""

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        proxy = proxy_in((*args, *kwargs.values()))
        return function(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_function", function, args, kwargs)

    return recorded

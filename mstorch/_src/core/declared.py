"""Tables whose entries are declared at the functions that they hold."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def declared(table: dict[str, Any], *names: str) -> Callable[[_Function], _Function]:
    """Return a decorator that enters a function in a table under these names."""

    def decorate(function: _Function) -> _Function:
        table.update(dict.fromkeys(names, function))
        return function

    return decorate

"""``patch`` for modules of options."""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from .leaving import Block, each, values_again


def _place(module: str, name: str) -> tuple[Any, str]:
    """Return the module or group that holds an option, and its name there (``triton.cudagraphs`` is in the group ``triton``).

    Raise AttributeError for an option that does not exist.
    """
    holder: Any = sys.modules[module]
    path = name.split(".")
    for part in path[:-1]:
        holder = getattr(holder, part, None)
    if not hasattr(holder, path[-1]):
        raise AttributeError(f"{module.replace('mstorch', 'torch', 1)}.{name} does not exist")
    return holder, path[-1]


class Patch(Block):
    """Context manager and decorator that sets options: ``patch("verbose", True)``, ``patch(verbose=True)``."""

    module = ""  # the module of the settings

    def __init__(self, arg1: str | dict[str, Any] | None = None, arg2: bool | None = None, **kwargs: Any) -> None:
        if arg1 is not None and kwargs:
            raise AssertionError("cannot pass both positional and keyword arguments to patch")
        self._changes = {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or kwargs)

    def __enter__(self) -> None:
        places = [(*_place(self.module, name), value) for name, value in self._changes.items()]
        end = each(*(values_again(holder, name) for holder, name, _ in places))
        self.at_end(end)
        try:  # an interrupt during or after the loop is caught here; nothing is called after it
            for holder, name, value in places:
                members = vars(holder)
                members |= {name: value}
        except BaseException:
            end()
            raise

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def patched(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return patched

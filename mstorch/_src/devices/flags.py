"""Options of torch.backends: typed module attributes, and context managers that set several of them."""
from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..leaving import END, Undo, undoing, values_again


class FlagModule(ModuleType):
    """Module whose options, listed in ``_kinds``, accept values of their types only."""

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self.__dict__.get("_kinds", {}).get(name)
        if kind is not None and not isinstance(value, kind):
            library = self.__name__.rpartition(".")[2]
            raise RuntimeError(f"set_{name}_{library} expects a {kind.__name__}, but got {type(value).__name__}")
        super().__setattr__(name, value)


def as_flags(module: str) -> None:
    """Make a module check the assignment of its options."""
    sys.modules[module].__class__ = FlagModule


@undoing
def switched(undo: Undo, module: str, **values: Any) -> None:
    """Context manager that sets options of a module; None leaves an option unchanged."""
    home = sys.modules[module]
    undo[END:] = (values_again(home, *values),)
    for name, value in values.items():
        if value is not None:
            setattr(home, name, value)

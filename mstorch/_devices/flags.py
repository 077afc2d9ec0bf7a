"""Switches of torch.backends: attributes of a module that take values of one type, and contexts that set several of them."""
from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .._leaving import END, Undo, undoing, values_again


class FlagModule(ModuleType):
    """A module whose switches, listed in ``_kinds``, take values of their types only."""

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self.__dict__.get("_kinds", {}).get(name)
        if kind is not None and not isinstance(value, kind):
            library = self.__name__.rpartition(".")[2]
            raise RuntimeError(f"set_{name}_{library} expects a {kind.__name__}, but got {type(value).__name__}")
        super().__setattr__(name, value)


def as_flags(module: str) -> None:
    """Let a module check what is assigned to its switches."""
    sys.modules[module].__class__ = FlagModule


@undoing
def switched(undo: Undo, module: str, **values: Any) -> None:
    """Set switches of a module inside of a ``with`` block; None leaves one as it is."""
    home = sys.modules[module]
    undo[END:] = (values_again(home, *values),)
    for name, value in values.items():
        if value is not None:
            setattr(home, name, value)

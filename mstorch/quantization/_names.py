"""Forwarding of the deprecated modules' names to the new ones."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..ao import quantization  # which has loaded its modules; two of them are hidden by functions of their names


def of(old: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` for the deprecated module of this name."""
    new = sys.modules[old.replace(__package__, quantization.__name__, 1)]
    names = list(new.__all__)

    def attribute(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{old}' has no attribute '{name}'")
        return getattr(new, name)

    return names, attribute, lambda: names


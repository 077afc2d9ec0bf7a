"""What the old modules have: the names of the new ones, read where they are."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..ao import quantization  # which has loaded its modules; two of them are hidden by functions of their names


def of(old: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of the module of this old name."""
    new = sys.modules[old.replace(__package__, quantization.__name__, 1)]
    names = list(new.__all__)

    def attribute(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{old}' has no attribute '{name}'")
        return getattr(new, name)

    return names, attribute, lambda: names


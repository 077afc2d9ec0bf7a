"""Forwarding of modules' former names, ``torch.quantization`` and ``torch.nn.quantized``, to those under ``torch.ao``."""
from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

_HOME = __name__.partition(".")[0]


def of(old: str, without: Sequence[str] = ()) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a deprecated module, which forward to the module under ``ao``. Names in
    ``without`` are left out."""
    new = importlib.import_module(old.replace(_HOME, f"{_HOME}.ao", 1))
    names = [name for name in new.__all__ if name not in without]

    def attribute(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{old}' has no attribute '{name}'")
        return getattr(new, name)

    return names, attribute, lambda: names

"""torch.classes: classes of libraries compiled for torch. Only mstorch's own stand-ins of such libraries have some."""
from __future__ import annotations

from typing import Any

from .ops import load_library, loaded_libraries


class _Namespace:
    """Classes of one library."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attr: str) -> Any:
        raise RuntimeError(
            f"Tried to instantiate class '{self.name}.{attr}', but it does not exist! Ensure that it is registered via torch::class_"
        )


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.classes' has no attribute '{name}'")
    return globals().setdefault(name, _Namespace(name))


__all__ = ["load_library", "loaded_libraries"]

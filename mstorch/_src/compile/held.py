"""The values that guards hold, by the way in which each is checked."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class Held:
    """Values with their names, which errors show."""

    def __init__(self, spaces: Iterable[Any]) -> None:
        self.dicts: list[tuple[dict[str, Any], list[tuple[str, Any, bool]], str]] = []
        self.sizes: list[tuple[Any, Any, str]] = []  # lists and dictionaries, with copies of them
        self.items: list[tuple[Any, Any, Any, bool, str]] = []
        self.cells: list[tuple[Any, Any, bool, str]] = []
        self.tensors: list[tuple[Any, Any, bool, bool, str, tuple[Any, ...]]] = []
        self.keys: list[tuple[dict[str, Any], frozenset[str], str]] = []
        self.kinds: list[tuple[Any, type, str]] = []  # objects and their classes
        # (function that returns a value, the value, function that restores it or None, name)
        self.probes: list[tuple[Callable[[], Any], Any, Callable[[Any], Any] | None, str]] = []
        # (module, name of a dict of hooks, the dict, the hooks)
        self.hooks: list[tuple[dict[str, Any], str, dict[Any, Any], tuple[Any, ...]]] = []
        self.classes: list[tuple[type, dict[str, Any]]] = []
        self.public = [(vars(space), dict(vars(space))) for space in spaces]

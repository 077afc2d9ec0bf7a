"""Handles of hooks."""
from __future__ import annotations

import weakref
from typing import Any


class RemovableHandle:
    """Removes a hook, by ``remove()`` or at the end of a ``with`` block."""

    _next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self._hooks = weakref.ref(hooks_dict)
        self._extra = [weakref.ref(d) for d in (extra_dict if isinstance(extra_dict, list) else [extra_dict]) if d is not None]
        self.id = RemovableHandle._next_id
        RemovableHandle._next_id += 1

    def remove(self) -> None:
        """Take the hook away; more calls do nothing."""
        for reference in (self._hooks, *self._extra):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


class Hooks(dict):
    """Hooks by handle id, in the order of registration; a dict that handles can refer to weakly."""

    __slots__ = ("__weakref__",)

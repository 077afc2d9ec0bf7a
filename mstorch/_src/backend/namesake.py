"""Subclasses of MindSpore's classes, with the same names, for single instances, so that MindSpore's own classes stay unchanged."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

_made: dict[tuple[type, str], type] = {}


def namesake(kind: type, purpose: str, members: Callable[[type], dict[str, Any]]) -> type:
    """Return a subclass of ``kind`` with the same name and the members ``members(kind)``, cached by class and ``purpose``. Return ``kind``
    itself if it is a subclass made for this purpose."""
    if kind.__dict__.get("_mstorch_namesake") == purpose:
        return kind
    key = kind, purpose
    if key not in _made:
        named = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
        _made[key] = type(kind.__name__, (kind,), {**named, **members(kind), "_mstorch_namesake": purpose})
    return _made[key]

"""torch.utils.data._utils.pin_memory: the tensors of a batch, and what has a ``pin_memory`` of its own, in page-locked memory."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any


def pin_memory(data: Any, device: Any = None) -> Any:
    """The batch with everything pinned that can be, in containers like the batch's own."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _mapping(data, {key: pin_memory(item, device) for key, item in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(item, device) for item in data))
    if isinstance(data, tuple):
        return type(data)(pin_memory(item, device) for item in data)
    if isinstance(data, Sequence):
        return _sequence(data, [pin_memory(item, device) for item in data])
    return data


def _mapping(data: Any, items: dict[Any, Any]) -> Any:
    """Items in a mapping like another, with its attributes where it can be changed; a dict where its class takes no items."""
    try:
        if isinstance(data, MutableMapping):
            made = copy.copy(data)
            made.update(items)
            return made
        return type(data)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def _sequence(data: Any, items: list[Any]) -> Any:
    """The same for sequences."""
    try:
        if isinstance(data, MutableSequence):
            made = copy.copy(data)
            for place, item in enumerate(items):
                made[place] = item
            return made
        return type(data)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


__all__ = ["pin_memory"]

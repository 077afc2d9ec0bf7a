"""torch.utils.data._utils.pin_memory: pin a batch's tensors, and objects with a ``pin_memory`` method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._collate import like_mapping, like_sequence


def pin_memory(data: Any, device: Any = None) -> Any:
    """Return the batch with tensors pinned, in containers of the same types."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return like_mapping(data, {key: pin_memory(item, device) for key, item in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(item, device) for item in data))
    if isinstance(data, tuple):
        return type(data)(pin_memory(item, device) for item in data)
    if isinstance(data, Sequence):
        return like_sequence(data, [pin_memory(item, device) for item in data])
    return data


__all__ = ["pin_memory"]

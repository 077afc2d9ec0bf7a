"""torch.utils.data._utils.pin_memory: the tensors of a batch, and what has a ``pin_memory`` of its own, in page-locked memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._collate import like_mapping, like_sequence


def pin_memory(data: Any, device: Any = None) -> Any:
    """Return the batch with everything pinned that can be, in containers like the batch's own."""
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

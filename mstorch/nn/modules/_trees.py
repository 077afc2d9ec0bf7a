"""Trees of tuples, lists and dicts with MindSpore or torch tensors as leaves."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._src.backend import cell as native
from ..._src.core.tensor_base import TensorBase
from ..._tensor import from_mindspore


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        items = [changed(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [changed(item, change) for item in value]
    if isinstance(value, dict):
        return {key: changed(item, change) for key, item in value.items()}
    return change(value)


def as_mstorch(value: Any) -> Any:
    """Return a tree of tuples, lists and dicts with MindSpore tensors replaced by torch tensors."""
    return changed(value, lambda leaf: from_mindspore(leaf) if native.is_raw(leaf) else leaf)


def as_native(value: Any) -> Any:
    """Return a tree with torch tensors replaced by MindSpore tensors."""
    return changed(value, lambda leaf: leaf.to_mindspore() if isinstance(leaf, TensorBase) else leaf)


def holds_ours(value: Any) -> bool:
    """Return whether a tree contains a torch tensor."""
    if isinstance(value, (list, tuple)):
        return any(holds_ours(item) for item in value)
    if isinstance(value, dict):
        return any(holds_ours(item) for item in value.values())
    return isinstance(value, TensorBase)

"""Marks of new tensors: those made in inference mode, and those made by a function under a transform of ``torch.func``, which may write to
no others."""
from __future__ import annotations

from typing import Any

from .auto import Auto
from .mirrors import Mirror
from .modes import modes
from .storage import DeviceMemory, Storage


def mark(tensor: Any) -> None:
    """Note the mode and the level of ``torch.func`` in which a new tensor was made."""
    if modes.inference:
        if tensor._ms_auto is None:
            tensor._ms_auto = Auto()
        tensor._ms_auto.inference = True
    if isinstance(tensor._ms_storage, (Storage, DeviceMemory)):
        tensor._ms_storage.level = modes.level


def is_captured(storage: Any) -> bool:
    """Return whether a storage was made before the innermost transform of ``torch.func`` began, and is not an argument's."""
    while isinstance(storage, Mirror):
        storage = storage.inner
    if not isinstance(storage, (Storage, DeviceMemory)) or storage in modes.admitted:
        return False
    return getattr(storage, "level", 0) < modes.level

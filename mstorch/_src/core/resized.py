"""Another shape for a tensor within its storage, which grows on the host if necessary."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import determinism
from .modes import modes
from .no_memory import counted
from .storage import DeviceMemory, Storage, Value, refuse_growth
from .tensor_base import TensorBase

on_resize: list[Callable[[Any, tuple[int, ...]], None]] = []  # called with a tracked tensor whose shape has changed, and its old shape


def resize_within(tensor: TensorBase, shape: tuple[int, ...]) -> bool:
    """Set a tensor's shape within its storage; return False, without effect, if the storage is too small and cannot grow."""
    storage = tensor._ms_storage
    fits = storage.__class__ is Value and (tensor._ms_offset + math.prod(shape)) * tensor._ms_dtype.itemsize <= storage.nbytes
    if modes.native is not None or not (storage.grows or fits):
        return False
    resize(tensor, shape)
    return True


def resize(tensor: TensorBase, shape: tuple[int, ...]) -> None:
    """Give a tensor a row-major shape within its storage, which grows on the host if necessary."""
    storage, size = tensor._ms_storage, tensor._ms_dtype.itemsize
    count = counted(shape, size)
    need = (tensor._ms_offset + count) * size
    if count and storage.nbytes < need:
        refuse_growth(storage)
        whole = storage.nbytes // size * size
        storage.resize(need)
        if storage.__class__ is Storage:
            determinism.fill(storage.memory[whole : need // size * size].view(tensor._ms_dtype.np), tensor._ms_dtype)
        elif storage.__class__ is DeviceMemory and determinism.fills():
            storage.fill(tensor._ms_dtype.held, determinism.filler(tensor._ms_dtype), ((need - whole) // size,), None, whole // size)
    before = tensor._ms_shape
    tensor._ms_shape, tensor._ms_stride, tensor._ms_array, tensor._ms_raw, tensor._ms_at = shape, None, None, None, None
    if tensor._ms_node is not None and (tensor._ms_auto is None or tensor._ms_auto.base is None):
        for told in on_resize:
            told(tensor, before)

"""Results that depend on one tensor's values alone, such as a mask's, kept until the values change."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.modes import modes
from ..core.storage import DeviceMemory, home
from ..core.tangents import LEVELS
from ..core.tensor_base import TensorBase


def derived_from(tensor: TensorBase, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return ``make()``, which depends on ``key`` and the values of ``tensor``, and is not tracked by autograd.

    A device's memory keeps its last result, for the next layer that asks with an equal key, until it is written to or freed.
    """
    memory = home(tensor)
    if memory.__class__ is not DeviceMemory or memory.lent or memory.parameter is not None or LEVELS:
        return make()
    key = (*key, tensor._ms_offset, tensor._ms_shape, tensor._ms_stride, tensor._ms_dtype, modes.inference)
    if memory.derived is None or memory.derived[0] != key:
        memory.derived = key, make()
    return memory.derived[1]

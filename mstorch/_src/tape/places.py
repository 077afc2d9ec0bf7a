"""The device of an operation, and the rules which operands may be combined."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..backend.arrays import Array
from ..core.modes import modes
from ..core.storage import Absent, DeviceMemory, Storage
from ..core.tensor_base import TensorBase, is_meta, meta_tensor


def kind_among(inputs: Sequence[Any]) -> str:
    """Return the storage class that dispatch uses for these operands: meta or mirror first, then a device, then the host."""
    if modes.native is not None:
        return "captured"
    found = "host"
    for item in inputs:
        if isinstance(item, TensorBase):
            kind = item._ms_storage.kind
        elif isinstance(item, (list, tuple)) and item:
            kind = kind_among(item)
        else:
            continue
        if kind == "absent" or kind == "mirrored":
            return kind
        if kind == "device" or (kind == "captured" and found == "host"):  # a value that outlives its block is a MindSpore tensor too
            found = kind
    return found


def elsewhere(inputs: Sequence[Any]) -> RuntimeError:
    """Return torch's error for operands on different devices, 0-d CPU tensors aside."""
    places = [item.device for item in _flat(inputs)]
    other = next(place for place in places if place != places[0])
    return RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {places[0]} and {other}!")


def _flat(inputs: Sequence[Any]) -> list[Any]:
    return [item for part in inputs for item in (part if isinstance(part, (list, tuple)) else (part,)) if isinstance(item, TensorBase)]


def without_memory(inputs: Sequence[Any]) -> bool:
    """Return whether one of the inputs is on the meta device."""
    return any(
        is_meta(item) if isinstance(item, TensorBase) else isinstance(item, (list, tuple)) and without_memory(item) for item in inputs
    )


def without_values(gradients: Iterable[Any]) -> bool:
    """Return True if one of the gradients is on the meta device."""
    for item in gradients:
        if item.__class__ is not np.ndarray and isinstance(item, TensorBase) and not item._ms_sparse and is_meta(item):
            return True
    return False


# Kernels whose output shape torch computes without checking the operands' devices; neither schemas nor tags show which.
_LENIENT = {"mm", "bmm", "small_matmul", "linear", "scatter", *(f"conv{form}{rank}" for form in ("", "_transpose") for rank in ("", "2d"))}


def check_places(op: str, inputs: Sequence[Any]) -> None:
    """Raise torch's error if meta tensors are combined with others; 0-d CPU tensors are allowed."""
    placed = [item for item in _flat(inputs) if is_meta(item) or item._ms_shape]
    if op in _LENIENT and is_meta(placed[0]):
        return
    for item in placed:
        if is_meta(item) is not is_meta(placed[0]):
            here, there = placed[0].device, item.device
            raise RuntimeError(f"Tensor on device {there} is not on the expected device {here}!")


_SHAPED_BY_VALUES = {"nonzero", "masked_select", "bincount", "unique", "repeat_interleave"}


def check_meta(op: str) -> None:
    """Raise NotImplementedError for an operation whose output shape depends on values."""
    if op in _SHAPED_BY_VALUES:
        raise NotImplementedError(f"The shape of torch.{op}() depends on values, which tensors on the meta device have not")


class Shaped(NamedTuple):
    """Result of an operation on the meta device: a shape and a dtype."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def shaped(value: Array) -> Any:
    """Return the value with its arrays, also those in tuples and lists, replaced by ``Shaped``."""
    if isinstance(value, (np.ndarray, np.generic)):
        return Shaped(value.shape, value.dtype)
    return tuple(map(shaped, value)) if isinstance(value, (tuple, list)) else value


def onto_meta(value: TensorBase | float) -> TensorBase | float | str:
    """Return a tensor as a meta tensor; other values unchanged."""
    if isinstance(value, TensorBase) and value._ms_storage.__class__ in (Storage, DeviceMemory):
        return meta_tensor(value._ms_shape, value._ms_dtype)
    return value


def check_copy(source: TensorBase, target: TensorBase) -> None:
    """Raise torch's error if only one of source and target is on the meta device."""
    if (source._ms_storage.__class__ is Absent) is not (target._ms_storage.__class__ is Absent):
        raise RuntimeError(
            f"Attempting to copy from device {source.device} to device {target.device}, but cross-device copies are not allowed!"
        )

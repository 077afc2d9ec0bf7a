"""Where the operands of an operation are: on the host, on a device, on the meta device, and what may stand beside what."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._backend.raw import ON_CPU
from .._core.storage import Absent, DeviceMemory, Storage
from .._core.tensor_base import TensorBase, is_meta, meta_tensor


def host_inputs(inputs: Sequence[Any]) -> bool:
    """Whether the first tensor among the inputs is on the host."""
    for item in inputs:
        if isinstance(item, TensorBase):
            return item._storage.__class__ is Storage
        if isinstance(item, (list, tuple)) and item:
            return host_inputs(item)
    return True


def _all_host_inputs(inputs: Sequence[Any]) -> bool:
    """The same in a process with an accelerator: a mix of devices is an error, but for numbers of the CPU."""
    flat = [item for part in inputs for item in (part if isinstance(part, (list, tuple)) else (part,)) if isinstance(item, TensorBase)]
    if not any(item._storage.__class__ is DeviceMemory for item in flat):
        return host_inputs(inputs)
    for item in flat:
        if item._storage.__class__ is Storage and item._shape:
            first, other = flat[0].device, next(one.device for one in flat if one.device != flat[0].device)  # type: ignore[attr-defined]
            raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {first} and {other}!")
    return False


on_host = host_inputs if ON_CPU else _all_host_inputs


def without_memory(inputs: Sequence[Any]) -> bool:
    """Whether a tensor among the inputs is on the meta device."""
    return any(
        is_meta(item) if isinstance(item, TensorBase) else isinstance(item, (list, tuple)) and without_memory(item) for item in inputs
    )


def without_values(gradients: Sequence[Any]) -> bool:
    """Whether gradients are tensors on the meta device, of which only shapes are known."""
    return any(isinstance(item, TensorBase) and getattr(item, "_layout", None) is None and is_meta(item) for item in gradients)


_LENIENT = frozenset("mm bmm small_matmul linear conv conv2d conv_transpose conv_transpose2d scatter".split())
"""What torch gives the shape of without a look at the other operands' devices."""


def check_places(op: str, inputs: Sequence[Any]) -> None:
    """Raise torch's error where tensors with memory stand beside ones without; numbers of the CPU may."""
    flat = [item for part in inputs for item in (part if isinstance(part, (list, tuple)) else (part,)) if isinstance(item, TensorBase)]
    placed = [item for item in flat if is_meta(item) or item._shape]
    if op in _LENIENT and is_meta(placed[0]):
        return
    for item in placed:
        if is_meta(item) is not is_meta(placed[0]):
            here, there = placed[0].device, item.device  # type: ignore[attr-defined]
            raise RuntimeError(f"Tensor on device {there} is not on the expected device {here}!")


_SHAPED_BY_VALUES = {"nonzero", "masked_select", "bincount", "unique", "repeat_interleave"}


def check_meta(op: str) -> None:
    """Raise NotImplementedError for an operation whose result's shape depends on values."""
    if op in _SHAPED_BY_VALUES:
        raise NotImplementedError(f"The shape of torch.{op}() depends on values, which tensors on the meta device have not")


class Shaped(NamedTuple):
    """What an operation on the meta device gives."""

    shape: tuple[int, ...]
    dtype: np.dtype


def shaped(value: Any) -> Any:
    """Arrays of no values as what they show: shape and dtype."""
    if isinstance(value, (np.ndarray, np.generic)):
        return Shaped(value.shape, value.dtype)
    return tuple(map(shaped, value)) if isinstance(value, (tuple, list)) else value


def onto_meta(value: Any) -> Any:
    """A tensor of the host or of a device as one without memory; anything else as it is."""
    if isinstance(value, TensorBase) and value._storage.__class__ in (Storage, DeviceMemory):
        return meta_tensor(value._shape, value._dtype)
    return value


def check_copy(source: Any, target: Any) -> None:
    """Raise torch's error if a result is to be stored where there is no memory, or comes from there."""
    if (source._storage.__class__ is Absent) is not (target._storage.__class__ is Absent):
        raise RuntimeError(
            f"Attempting to copy from device {source.device} to device {target.device}, but cross-device copies are not allowed!"
        )

"""torch._prims_common: questions about shapes and strides that packages ask."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .._core.device import device
from .._core.formats import channels_last, channels_last_3d, contiguous_format, memory_format
from . import wrappers

DeviceLikeType: TypeAlias = str | device | int

__all__ = ["DeviceLikeType", "make_channels_last_strides_for", "make_contiguous_strides_for", "suggest_memory_format", "wrappers"]


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """The strides of a contiguous tensor; ``row_major=False``: each matrix of its last two dimensions lies column by column."""
    if any(size < 0 for size in shape):
        raise AssertionError(f"sizes must not be negative: {tuple(shape)}")
    strides: list[int] = []
    count = 1
    for size in reversed(shape):
        strides.insert(0, count)
        count *= max(size, 1)
    if row_major or len(shape) < 2:
        return tuple(strides)
    return (*strides[:-2], 1, max(shape[-2], 1))


def make_channels_last_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor of shape (C, H, W), (N, C, H, W) or (N, C, D, H, W) whose channels lie beside each other."""
    order = {3: (0, 2, 1), 4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}.get(len(shape))
    if order is None:
        raise RuntimeError(f"no channels last strides exist in {len(shape)} dimensions")
    strides, count = [0] * len(shape), 1
    for dim in order:
        strides[dim] = count
        count *= max(shape[dim], 1)
    return tuple(strides)


def suggest_memory_format(x: Any) -> memory_format:
    """``channels_last`` or ``channels_last_3d`` where a tensor of four or five dimensions has these strides, else ``contiguous_format``."""
    if len(x.shape) in (4, 5) and tuple(x.stride()) == make_channels_last_strides_for(x.shape):
        return channels_last if len(x.shape) == 4 else channels_last_3d
    return contiguous_format

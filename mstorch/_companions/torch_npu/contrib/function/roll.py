"""torch_npu.contrib.function.roll: images that are rolled."""
from __future__ import annotations

from typing import Any

import mstorch as torch


def roll(x: Any, shifts: tuple[int, int], dims: tuple[int, int]) -> Any:
    """Roll (N, H, W, C) along H and W. Raise ValueError for other dimensions or another number of shifts."""
    if x.dim() != 4 or len(shifts) != 2 or len(dims) != 2:
        raise ValueError(f"Expected x.dim() == 4 with two shifts and two dims, got {x.dim()}, {shifts} and {dims}")
    return torch.roll(x, tuple(shifts), (1, 2))


__all__ = ["roll"]

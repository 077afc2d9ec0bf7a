"""torch_npu.contrib.function.index_op: writes where a condition holds."""
from __future__ import annotations

from typing import Any

import mstorch as torch


def npu_fast_condition_index_put(x: Any, condition: Any, value: float) -> Any:
    """Return ``x`` with ``value`` where ``condition`` is True. Raise TypeError if ``condition`` is not bool."""
    if condition.dtype is not torch.bool:
        raise TypeError(f"Expected condition.dtype in [torch.bool], got {condition.dtype}")
    return torch.where(condition, torch.full_like(x, value), x)


__all__ = ["npu_fast_condition_index_put"]

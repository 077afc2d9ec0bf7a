"""torch_npu.contrib.function.npu_functional: dropout with a mask of bytes."""
from __future__ import annotations

from typing import Any

import mstorch as torch

F = torch.nn.functional


def dropout_with_byte_mask(input1: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Apply dropout. Raise ValueError for a probability outside [0, 1], or for ``inplace``."""
    if not 0.0 <= p <= 1.0 or inplace:
        raise ValueError(f"dropout probability has to be between 0 and 1, and not in place, but got {p}")
    return F.dropout(input1, p, training)


__all__ = ["dropout_with_byte_mask"]

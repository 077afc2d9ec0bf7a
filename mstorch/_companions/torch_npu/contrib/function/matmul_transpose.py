"""torch_npu.contrib.function.matmul_transpose: products with a transposed matrix."""
from __future__ import annotations

from typing import Any

import mstorch as torch


def matmul_transpose(tensor1: Any, tensor2: Any) -> Any:
    """Return ``tensor1 @ tensor2.transpose(-2, -1)``."""
    return torch.matmul(tensor1, tensor2.transpose(-2, -1))


__all__ = ["matmul_transpose"]

"""torch_npu.contrib.function.fuse_add_softmax_dropout: attention's weights."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mstorch as torch

F = torch.nn.functional


def fuse_add_softmax_dropout(
    training: bool, dropout: Callable[[Any], Any], attn_mask: Any, attn_scores: Any, attn_head_size: float, p: float = 0.5, dim: int = -1
) -> Any:
    """Return attention weights: dropout(softmax(scores / sqrt(head size) + mask))."""
    weights = F.softmax(torch.add(attn_mask, attn_scores, alpha=1 / math.sqrt(attn_head_size)), dim=-1)
    return F.dropout(weights, p, training) if dropout is None else dropout(weights)


__all__ = ["fuse_add_softmax_dropout"]

"""torch_npu.contrib.function: replacements of torch functions in models written for Ascend."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mstorch as torch

from .boxes import (
    npu_bbox_coder_decode_xywh2xyxy,
    npu_bbox_coder_encode_xyxy2xywh,
    npu_ciou,
    npu_diou,
    npu_giou,
    npu_iou,
    npu_ptiou,
    npu_single_level_responsible_flags,
)

F = torch.nn.functional


def roll(x: Any, shifts: tuple[int, int], dims: tuple[int, int]) -> Any:
    """Roll (N, H, W, C) along H and W. Raise ValueError for other dimensions or another number of shifts."""
    if x.dim() != 4 or len(shifts) != 2 or len(dims) != 2:
        raise ValueError(f"Expected x.dim() == 4 with two shifts and two dims, got {x.dim()}, {shifts} and {dims}")
    return torch.roll(x, tuple(shifts), (1, 2))


def matmul_transpose(tensor1: Any, tensor2: Any) -> Any:
    """Return ``tensor1 @ tensor2.transpose(-2, -1)``."""
    return torch.matmul(tensor1, tensor2.transpose(-2, -1))


def npu_fast_condition_index_put(x: Any, condition: Any, value: float) -> Any:
    """Return ``x`` with ``value`` where ``condition`` is True. Raise TypeError if ``condition`` is not bool."""
    if condition.dtype is not torch.bool:
        raise TypeError(f"Expected condition.dtype in [torch.bool], got {condition.dtype}")
    return torch.where(condition, torch.full_like(x, value), x)


def fuse_add_softmax_dropout(
    training: bool, dropout: Callable[[Any], Any], attn_mask: Any, attn_scores: Any, attn_head_size: float, p: float = 0.5, dim: int = -1
) -> Any:
    """Return attention weights: dropout(softmax(scores / sqrt(head size) + mask))."""
    weights = F.softmax(torch.add(attn_mask, attn_scores, alpha=1 / math.sqrt(attn_head_size)), dim=-1)
    return F.dropout(weights, p, training) if dropout is None else dropout(weights)


def dropout_with_byte_mask(input1: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Apply dropout. Raise ValueError for a probability outside [0, 1], or for ``inplace``."""
    if not 0.0 <= p <= 1.0 or inplace:
        raise ValueError(f"dropout probability has to be between 0 and 1, and not in place, but got {p}")
    return F.dropout(input1, p, training)


__all__ = [
    "dropout_with_byte_mask", "fuse_add_softmax_dropout", "matmul_transpose", "npu_bbox_coder_decode_xywh2xyxy",
    "npu_bbox_coder_encode_xyxy2xywh", "npu_ciou", "npu_diou", "npu_fast_condition_index_put", "npu_giou", "npu_iou", "npu_ptiou",
    "npu_single_level_responsible_flags", "roll",
]  # fmt: skip

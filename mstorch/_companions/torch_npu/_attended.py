"""Attention of (B, N, S, D) with the arguments of Ascend's kernels: by the fused kernel where the device supports the call, else from
separate operations.
"""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ...nn._functional.fused_attention import attention_with_sums, fits

_WIDTH = 8  # the kernel repeats each row's numbers this often


def attended(
    query: Any, key: Any, value: Any, hidden: Any, causal: bool, scale: float, pse: Any = None, inside: bool = True, keep: float = 1.0,
    sink: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return attention, and each row's maximum score and sum of exponentials, both repeated 8 times. With ``inside``, ``pse`` is added
    before the scores are scaled, else after. ``sink`` has a score for each head whose exponential is part of the sums alone."""
    heads, kept = query.shape[1], key.shape[1]
    if kept == 0 or heads % kept:
        raise RuntimeError(f"the {kept} heads of key and value must divide the {heads} of the query")
    allowed = None if hidden is None else ~hidden
    if pse is None and sink is None and fits(query, key, value, allowed, 1.0 - keep):
        found, top, total = attention_with_sums(query, key, value, allowed, causal, scale, 1.0 - keep)
        return found, top.detach(), total.detach()
    kind = query.dtype
    if kind in (torch.float16, torch.bfloat16):  # scores and weights are not rounded to half precision
        query, key, value = query.float(), key.float(), value.float()
    if kept != heads:
        key, value = (item.repeat_interleave(heads // kept, 1) for item in (key, value))
    scores = query @ key.transpose(-2, -1)
    if pse is not None:
        pse = pse.to(scores.dtype)
        scores = (scores + pse) * scale if inside else scores * scale + pse
    else:
        scores = scores * scale
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    top = scores.detach().amax(-1, keepdim=True)
    if sink is not None:
        sunk = sink.to(scores.dtype).reshape(-1, 1, 1)
        top = torch.maximum(top, sunk.detach().expand(top.shape))
    weights = (scores - top.masked_fill(top == float("-inf"), 0.0)).exp()
    total = weights.sum(-1, keepdim=True)
    if sink is not None:
        total = total + (sunk - top).exp()
    weights = weights / total.masked_fill(total == 0, 1.0)  # a fully masked row gives zeros
    if keep < 1.0:
        weights = torch.nn.functional.dropout(weights, 1.0 - keep, True)
    wide = (*top.shape[:-1], _WIDTH)
    return (weights @ value).to(kind), top.float().expand(wide).contiguous(), total.detach().float().expand(wide).contiguous()


def heads_first(item: Any, layout: str, heads: int) -> Any:
    """Return a tensor of the given layout as (B, N, S, D); ``heads`` is needed if the layout merges heads and head size."""
    wanted = 3 if layout in ("BSH", "SBH", "NSD") else 2 if layout == "SH" else 4
    if item.dim() != wanted:
        raise RuntimeError(f"attention of layout {layout} takes tensors of {wanted} dimensions, got {list(item.shape)}")
    if "H" in layout:
        if heads <= 0 or item.shape[-1] % heads:
            raise RuntimeError(f"{heads} heads do not divide {list(item.shape)} of layout {layout}")
        item = item.unflatten(-1, (heads, item.shape[-1] // heads))
    if layout in ("SH", "NSD"):
        item = item.unsqueeze(0)
    order = {"BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SH": (0, 2, 1, 3), "SBH": (1, 2, 0, 3)}.get(layout)
    return item if order is None else item.permute(order)


def laid_out(item: Any, layout: str) -> Any:
    """Return a (B, N, S, D) tensor converted to the given layout."""
    order = {"BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SH": (0, 2, 1, 3), "SBH": (2, 0, 1, 3)}.get(layout)
    item = item if order is None else item.permute(order)
    item = item.flatten(-2) if "H" in layout else item.contiguous()
    return item.squeeze(0) if layout in ("SH", "NSD") else item

"""Attention over packed sequences of different lengths."""
from __future__ import annotations

from typing import Any, NamedTuple

import mstorch as torch

from ..._tensor import Tensor


class AuxRequest(NamedTuple):
    """Selects the auxiliary outputs."""

    lse: bool = False


def _attention(query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: tuple[int, int]) -> tuple[Any, Any]:
    """Compute attention on (tokens, heads, width) of one sequence each; the window is relative to the lower right diagonal."""
    q, k, v = (t.transpose(0, 1) for t in (query, key, value))
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    scores = (q @ k.mT).float() * factor
    place = torch.arange(k.shape[1]) - (torch.arange(q.shape[1]).unsqueeze(-1) + k.shape[1] - q.shape[1])
    left, right = window
    seen = torch.ones_like(place, dtype=torch.bool)
    if left >= 0:
        seen = seen & (place >= -left)
    if right >= 0:
        seen = seen & (place <= right)
    scores = scores.masked_fill(~seen, -torch.inf)
    weights = torch.softmax(scores, -1).masked_fill(~seen.any(-1, keepdim=True), 0.0)
    return (weights.to(v.dtype) @ v).transpose(0, 1), scores.logsumexp(-1)


def varlen_attn(
    query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Any, cu_seq_k: Any, max_q: int, max_k: int, *,
    return_aux: AuxRequest | None = None, scale: float | None = None, window_size: tuple[int, int] = (-1, -1), enable_gqa: bool = False,
    seqused_k: Tensor | None = None, block_table: Tensor | None = None, num_splits: int | None = None,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    """Compute attention on packed (tokens, heads, width) sequences; ``cu_seq_q`` and ``cu_seq_k`` hold their offsets, the end included.

    ``window_size`` (-1, 0) is causal. Computed one sequence at a time. Raise NotImplementedError for ``block_table``.
    """
    if block_table is not None:
        raise NotImplementedError("mstorch: varlen_attn has no paged keys and values (block_table)")
    heads, kv_heads = query.shape[1], key.shape[1]
    if not enable_gqa and heads != kv_heads:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={kv_heads}. "
            "Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and heads % kv_heads != 0:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={kv_heads}."
        )
    if heads != kv_heads:
        key, value = (torch.repeat_interleave(t, heads // kv_heads, dim=1) for t in (key, value))
    q_ends, k_ends = cu_seq_q.tolist(), cu_seq_k.tolist()
    used = [end - start for start, end in zip(k_ends, k_ends[1:])] if seqused_k is None else seqused_k.tolist()
    parts, sums = [], []
    for number, (start, end) in enumerate(zip(q_ends, q_ends[1:])):
        first = k_ends[number]
        rows = slice(first, first + used[number])
        out, lse = _attention(query[start:end], key[rows], value[rows], scale, (window_size[0], window_size[1]))
        parts.append(out)
        sums.append(lse)
    result = torch.cat(parts)
    return (result, torch.cat(sums, -1)) if return_aux is not None and return_aux.lse else result


def varlen_attn_out(
    out: Tensor, query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Tensor, cu_seq_k: Tensor | None, max_q: int, max_k: int, *,
    return_aux: AuxRequest | None = None, scale: float | None = None, window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False, seqused_k: Tensor | None = None, block_table: Tensor | None = None, num_splits: int | None = None,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    """Compute ``varlen_attn`` without gradients, write it into ``out``, and return ``out``."""
    with torch.no_grad():
        result, sums = varlen_attn(
            query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, return_aux=AuxRequest(lse=True), scale=scale, window_size=window_size,
            enable_gqa=enable_gqa, seqused_k=seqused_k, block_table=block_table, num_splits=num_splits,
        )  # fmt: skip
        if out.shape != result.shape:
            raise ValueError(f"out must have the shape {tuple(result.shape)}, got {tuple(out.shape)}")
        out.copy_(result)
    return (out, sums) if return_aux is not None and return_aux.lse else out


__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]

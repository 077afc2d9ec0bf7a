"""apex.transformer.functional.fused_rope: rotary embeddings of the first elements of each head; the others stay."""

from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor


def _rotated(t: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    width = cos.shape[-1]
    turned, rest = t[..., :width], t[..., width:]
    first, second = turned.chunk(2, -1)
    turned = (turned * cos + torch.cat((-second, first), -1) * sin).to(t.dtype)
    return torch.cat((turned, rest), -1) if rest.shape[-1] else turned


def fused_apply_rotary_pos_emb(t: Tensor, freqs: Tensor, transpose_output_memory: bool = False) -> Tensor:
    """Return (places, batch, heads, size) turned by angles of (places, 1, 1, size)."""
    return fused_apply_rotary_pos_emb_cached(t, freqs.cos(), freqs.sin(), transpose_output_memory)


def fused_apply_rotary_pos_emb_cached(
    t: Tensor, cos_: Tensor, sin_: Tensor, transpose_output_memory: bool = False
) -> Tensor:
    """Return (places, batch, heads, size) turned by angles whose cosines and sines are given."""
    result = _rotated(t, cos_, sin_)
    return result.transpose(0, 1).contiguous().transpose(0, 1) if transpose_output_memory else result


def fused_apply_rotary_pos_emb_thd(t: Tensor, cu_seqlens: Tensor, freqs: Tensor) -> Tensor:
    """Return (tokens of sequences one after another, heads, size) turned; ``cu_seqlens`` has the sequences' ends, after a zero."""
    tokens = torch.arange(t.shape[0], device=t.device)
    starts = cu_seqlens.to(tokens.dtype)
    places = tokens - starts[torch.searchsorted(starts, tokens, right=True) - 1]
    angles = freqs.squeeze(1)[places]
    return _rotated(t, angles.cos(), angles.sin())


__all__ = ["fused_apply_rotary_pos_emb", "fused_apply_rotary_pos_emb_cached", "fused_apply_rotary_pos_emb_thd"]

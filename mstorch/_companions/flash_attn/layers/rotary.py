"""flash_attn.layers.rotary: rotation of pairs of features by their place."""
from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor


def apply_rotary_emb(
    x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False, inplace: bool = False, seqlen_offsets: int | Tensor = 0,
    cu_seqlens: Tensor | None = None, max_seqlen: int | None = None,
) -> Tensor:  # fmt: skip
    """Return (batch, places, heads, size), or with ``cu_seqlens`` (places, heads, size) of sequences one after the other, with the first
    features rotated by the angles of ``cos`` and ``sin`` (places, half of them). Pairs are halves, or neighbours if ``interleaved``."""
    single = cu_seqlens is not None
    if cu_seqlens is not None:
        lengths = cu_seqlens[1:] - cu_seqlens[:-1]
        place = torch.arange(x.shape[0], device=x.device) - cu_seqlens[:-1].long().repeat_interleave(lengths)
        if isinstance(seqlen_offsets, Tensor):
            place = place + seqlen_offsets.long().repeat_interleave(lengths)
        else:
            place = place + seqlen_offsets
        place = place[None]
        given = x[None]
    else:
        given = x
        place = torch.arange(x.shape[1], device=x.device)[None]
        place = place + (seqlen_offsets.long()[:, None] if isinstance(seqlen_offsets, Tensor) else seqlen_offsets)
    half = cos.shape[-1]
    if 2 * half > x.shape[-1]:
        raise RuntimeError(f"{2 * half} rotated features do not fit into {x.shape[-1]}")
    c, s = (table[place].unsqueeze(2).to(torch.promote_types(x.dtype, torch.float32)) for table in (cos, sin))
    turned = given[..., : 2 * half].to(c.dtype)
    first, second = (turned[..., 0::2], turned[..., 1::2]) if interleaved else turned.chunk(2, -1)
    pair = first * c - second * s, second * c + first * s
    found = torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)
    found = torch.cat([found.to(x.dtype), given[..., 2 * half :]], -1)
    found = found[0] if single else found
    return x.copy_(found) if inplace else found


apply_rotary_emb_func = apply_rotary_emb

__all__ = ["apply_rotary_emb", "apply_rotary_emb_func"]

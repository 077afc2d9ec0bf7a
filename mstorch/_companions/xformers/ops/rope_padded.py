"""xformers.ops.rope_padded: queries and keys turned by their places, keys and values written into a cache."""
from __future__ import annotations

import math

import mstorch as torch

from .fmha.attn_bias import BlockDiagonalCausalWithOffsetPaddedKeysMask

Tensor = torch.Tensor


def _check(xq: Tensor, xk: Tensor, xv: Tensor, cache_k: Tensor, cache_v: Tensor, queries: int, keys: int) -> None:
    """Raise ValueError for shapes that do not fit."""
    if xq.dim() not in (4, 5):
        raise ValueError("Unexpected xq dimension")
    middle = xq.shape[2:-2]
    for name, item, length in (("xk", xk, queries), ("xv", xv, queries), ("cache_k", cache_k, keys), ("cache_v", cache_v, keys)):
        heads = xk.shape[-2] if item is xk or item is xv or xk.shape[-2] != 1 else item.shape[-2]
        want = (1, length, *middle, heads, xq.shape[-1])
        if tuple(item.shape) != want:
            raise ValueError(f"unexpected shape of {name} {tuple(item.shape)}: expected {want}")
    if xq.shape[:2] != (1, queries):
        raise ValueError(f"the queries of all sequences stand in one row: expected (1, {queries}, …), got {tuple(xq.shape)}")


def _rates(
    size: int, kind: torch.dtype, device: torch.device, theta: float, context: float, factor: float, low: float, high: float, dynamic: bool
) -> Tensor:  # fmt: skip
    """Return the angle of each pair of elements at place 1. With ``dynamic``, pairs that turn less than ``low`` times in ``context`` places
    turn ``factor`` times slower, those that turn more than ``high`` times as before, the others between."""
    powers = torch.arange(0, size, 2, device=device, dtype=kind) / -size
    rates = torch.pow(torch.tensor(theta, dtype=kind, device=device), powers)
    if not dynamic:
        return rates
    turns = context * rates / (2 * math.pi)
    smooth = ((turns - low) / (high - low)).clamp(0, 1)
    return rates * ((1 - smooth) / factor + smooth)


def _turned(item: Tensor, cos: Tensor, sin: Tensor, adjacents: bool) -> Tensor:
    """Return (1, places, …, size) with each pair of elements turned; pairs are neighbours, or the halves' elements."""
    real, imaginary = (item[..., ::2], item[..., 1::2]) if adjacents else item.chunk(2, -1)
    shape = (1, -1, *([1] * (item.dim() - 3)), cos.shape[-1])
    cos, sin = cos.view(shape), sin.view(shape)
    turned = real * cos - imaginary * sin, imaginary * cos + real * sin
    result = torch.stack(turned, -1).flatten(-2) if adjacents else torch.cat(turned, -1)
    return result.to(item.dtype)


def rope_padded(
    xq: Tensor, xk: Tensor, xv: Tensor, cache_k: Tensor, cache_v: Tensor, attn_bias: BlockDiagonalCausalWithOffsetPaddedKeysMask, *,
    theta: float = 10000.0, linear_scale: float = 1.0, use_dynamic_scaling: bool = False, dynamic_old_context_len: float = 8192.0,
    dynamic_scale_factor: float = 16.0, dynamic_low_freq_factor: float = 1.0, dynamic_high_freq_factor: float = 32.0,
    out_q: Tensor | None = None, first_seqpos: Tensor | None = None, seqpos: Tensor | None = None, adjacents: bool = True,
    internal_dtype: str = "",
) -> Tensor:  # fmt: skip
    """Return queries (1, places, heads, size) turned by their places, after writing turned keys, and values, behind what the cache (1,
    places, heads, size) holds of each sequence of ``attn_bias``. There are no gradients.

    The place of a query is that of its key in the cache, plus ``first_seqpos`` (sequences,) of its sequence, or in ``seqpos`` (places,).
    """
    if torch.is_grad_enabled() and (out_q is not None or any(item.requires_grad for item in (xq, xk, xv, cache_k, cache_v))):
        raise ValueError("Gradients not supported.")
    if first_seqpos is not None and seqpos is not None:
        raise ValueError("seqpos and first_seqpos may not both be provided")
    queries, keys = attn_bias.q_seqinfo, attn_bias.k_seqinfo
    total = queries.seqstart_py[-1]
    _check(xq, xk, xv, cache_k, cache_v, total, keys.seqstart_py[-1])
    device = xq.device
    sequence = torch.tensor([n for n, (start, stop) in enumerate(queries.intervals()) for _ in range(stop - start)], device=device).long()
    ends, starts, lengths = (item.to(device).long() for item in (queries.seqstart[1:], keys.seqstart, keys.seqlen))
    own = lengths[sequence] - (ends[sequence] - torch.arange(total, device=device))
    place = own if first_seqpos is None else own + first_seqpos.to(device)[sequence]
    kind = torch.float64 if internal_dtype == "f64" else torch.float32
    scaling = dynamic_old_context_len, dynamic_scale_factor, dynamic_low_freq_factor, dynamic_high_freq_factor, use_dynamic_scaling
    rates = _rates(xq.shape[-1], kind, device, theta, *scaling)
    angle = (place if seqpos is None else seqpos).to(kind)[:, None] * rates / linear_scale
    cos, sin = angle.cos(), angle.sin()
    with torch.no_grad():
        written = starts[sequence] + own
        heads = xk.shape[-2]  # one head of keys may be expanded in the cache
        for cache, item in ((cache_k, _turned(xk, cos, sin, adjacents)), (cache_v, xv)):
            cache[..., :heads, :][0, written] = item[0].to(cache.dtype)
        result = _turned(xq, cos, sin, adjacents)
        return result if out_q is None else out_q.copy_(result)


__all__ = ["rope_padded"]

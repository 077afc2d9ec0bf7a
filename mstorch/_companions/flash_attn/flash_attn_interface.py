"""flash_attn.flash_attn_interface: attention of whole batches, packed tensors, sequences of several lengths, and caches."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ..._src.tape.derived import derived_from
from .. import absent_names
from .attending import Keys, Setting, attend, attend_packed, attend_with_sums
from .layers.rotary import apply_rotary_emb

Tensor = torch.Tensor
_WHOLE = (-1, -1)


def _of_batch(q: Tensor, k: Tensor, v: Tensor, setting: Setting, return_attn_probs: bool) -> Any:
    if not return_attn_probs:
        return attend(q, k, v, setting)
    if setting.dropout:
        raise NotImplementedError("mstorch: flash_attn returns no attention probabilities with dropout; call it with dropout_p=0")
    return *attend_with_sums(q, k, v, setting), None


def flash_attn_func(
    q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False,
    window_size: tuple[int, int] = _WHOLE, softcap: float = 0.0, alibi_slopes: Tensor | None = None, deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """Return attention of (batch, places, heads, size); the last query is at the last key's place. Fewer heads of keys are shared.

    With ``return_attn_probs`` also the logarithms of sums of exponentials (batch, heads, places), and None.
    """
    setting = Setting(dropout_p, softmax_scale, causal, tuple(window_size), softcap, alibi_slopes)  # type: ignore[arg-type]
    return _of_batch(q, k, v, setting, return_attn_probs)


def flash_attn_kvpacked_func(q: Tensor, kv: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Return flash_attn_func of keys and values (batch, places, 2, heads, size)."""
    k, v = kv.unbind(2)
    return flash_attn_func(q, k, v, *args, **kwargs)


def flash_attn_qkvpacked_func(qkv: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Return flash_attn_func of queries, keys and values (batch, places, 3, heads, size)."""
    q, k, v = qkv.unbind(2)
    return flash_attn_func(q, k, v, *args, **kwargs)


def _bounds(cu_seqlens: Tensor) -> list[int]:
    """Return the bounds of sequences. They are read from a device once for all layers that are called with the same tensor."""
    return derived_from(cu_seqlens, ("bounds",), cu_seqlens.tolist)


def flash_attn_varlen_func(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int, max_seqlen_k: int,
    dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False, window_size: tuple[int, int] = _WHOLE,
    softcap: float = 0.0, alibi_slopes: Tensor | None = None, deterministic: bool = False, return_attn_probs: bool = False,
    block_table: Tensor | None = None,
) -> Any:  # fmt: skip
    """Return attention of sequences one after the other (places, heads, size), between these bounds, each over its own keys; with
    ``block_table``, keys and values are pages."""
    if cu_seqlens_q.numel() != cu_seqlens_k.numel():
        raise RuntimeError(f"cu_seqlens of {cu_seqlens_q.numel()} and {cu_seqlens_k.numel()} bounds are of different batches")
    q_bounds = _bounds(cu_seqlens_q)
    k_bounds = q_bounds if cu_seqlens_k is cu_seqlens_q else _bounds(cu_seqlens_k)
    if q_bounds[-1] != q.shape[0] or block_table is None and k_bounds[-1] != k.shape[0]:
        raise RuntimeError(f"the sequences end at {q_bounds[-1]} and {k_bounds[-1]}, not with {q.shape[0]} queries and {k.shape[0]} keys")
    whole = softcap <= 0.0 and alibi_slopes is None and dropout_p == 0.0 and block_table is None and not return_attn_probs
    if whole:
        setting = Setting(0.0, softmax_scale, causal, tuple(window_size))  # type: ignore[arg-type]
        found = attend_packed(q, k, v, q_bounds[1:], k_bounds[1:], setting)
        if found is not None:
            return found
    parts, sums = [q[:0]], []
    for number in range(len(q_bounds) - 1):
        slopes = alibi_slopes if alibi_slopes is None or alibi_slopes.dim() == 1 else alibi_slopes[number]
        setting = Setting(dropout_p, softmax_scale, causal, tuple(window_size), softcap, slopes)  # type: ignore[arg-type]
        own = q[None, q_bounds[number] : q_bounds[number + 1]]
        start, stop = k_bounds[number], k_bounds[number + 1]
        if block_table is None:
            keys, values = k[None, start:stop], v[None, start:stop]
        else:
            keys, values = (_unpaged(item, block_table[number : number + 1])[:, : stop - start] for item in (k, v))
        found = _of_batch(own, keys, values, setting, return_attn_probs)
        if return_attn_probs:
            sums.append(found[1][0])
            found = found[0]
        parts.append(found[0])
    result = torch.cat(parts)
    return (result, torch.cat(sums, 1), None) if return_attn_probs else result


def flash_attn_varlen_kvpacked_func(q: Tensor, kv: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Return flash_attn_varlen_func of keys and values (places, 2, heads, size)."""
    k, v = kv.unbind(1)
    return flash_attn_varlen_func(q, k, v, *args, **kwargs)


def flash_attn_varlen_qkvpacked_func(qkv: Tensor, cu_seqlens: Tensor, max_seqlen: int, *args: Any, **kwargs: Any) -> Any:
    """Return flash_attn_varlen_func of queries, keys and values (places, 3, heads, size)."""
    q, k, v = qkv.unbind(1)
    return flash_attn_varlen_func(q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, *args, **kwargs)


# Caches


def _unpaged(cache: Tensor, block_table: Tensor) -> Tensor:
    """Return pages (pages, places, heads, size) as the examples' (batch, places, heads, size)."""
    return cache[block_table.long()].flatten(1, 2)


def _write(cache: Tensor, new: Tensor, places: Tensor, example: Tensor, block_table: Tensor | None) -> None:
    """Write new keys or values into the cache at places (batch, new)."""
    if block_table is None:
        cache[example[:, None].expand_as(places), places] = new.to(cache.dtype)
        return
    page = cache.shape[1]
    number = block_table.long().gather(1, torch.div(places, page, rounding_mode="floor"))
    cache[number, places % page] = new.to(cache.dtype)


def flash_attn_with_kvcache(
    q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Tensor | None = None, v: Tensor | None = None, rotary_cos: Tensor | None = None,
    rotary_sin: Tensor | None = None, cache_seqlens: int | Tensor | None = None, cache_batch_idx: Tensor | None = None,
    cache_leftpad: Tensor | None = None, block_table: Tensor | None = None, softmax_scale: float | None = None, causal: bool = False,
    window_size: tuple[int, int] = _WHOLE, softcap: float = 0.0, rotary_interleaved: bool = True, alibi_slopes: Tensor | None = None,
    num_splits: int = 0, return_softmax_lse: bool = False,
) -> Any:  # fmt: skip
    """Return attention to the keys in a cache (batch, places, heads, size), or in pages with ``block_table``, after writing new ones behind
    the ``cache_seqlens`` that are there. With rotary_cos, new keys and queries are rotated by their places."""
    if (k is None) != (v is None):
        raise RuntimeError("new keys and values are given together")
    if block_table is not None and (cache_batch_idx is not None or cache_leftpad is not None):
        raise RuntimeError("cache_batch_idx and cache_leftpad do not go with block_table")
    batch, device = q.shape[0], q.device
    most = k_cache.shape[1] * (block_table.shape[1] if block_table is not None else 1)
    if cache_seqlens is None:
        lengths = torch.full((batch,), most if k is None else 0, device=device)
    elif isinstance(cache_seqlens, int):
        lengths = torch.full((batch,), cache_seqlens, device=device)
    else:
        lengths = cache_seqlens.long()
    if rotary_cos is not None:
        if k is None or rotary_sin is None:
            raise RuntimeError("rotary_cos rotates new keys, and needs rotary_sin")
        runs = causal or tuple(window_size) != _WHOLE
        q = _rotated(q, rotary_cos, rotary_sin, lengths, rotary_interleaved, runs)
        k = _rotated(k, rotary_cos, rotary_sin, lengths, rotary_interleaved, True)
    example = torch.arange(batch, device=device) if cache_batch_idx is None else cache_batch_idx.long()
    if k is not None and v is not None:
        places = lengths[:, None] + torch.arange(k.shape[1], device=device)
        with torch.no_grad():
            _write(k_cache, k, places, example, block_table)
            _write(v_cache, v, places, example, block_table)
        lengths = lengths + k.shape[1]
    if block_table is not None:
        keys, values = _unpaged(k_cache, block_table), _unpaged(v_cache, block_table)
    else:
        keys, values = (item if cache_batch_idx is None else item[example] for item in (k_cache, v_cache))
    setting = Setting(0.0, softmax_scale, causal, tuple(window_size), softcap, alibi_slopes)  # type: ignore[arg-type]
    among = Keys(None if cache_leftpad is None else cache_leftpad.long(), None if cache_seqlens is None and k is None else lengths)
    return attend_with_sums(q, keys, values, setting, among) if return_softmax_lse else attend(q, keys, values, setting, among)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor, lengths: Tensor, interleaved: bool, runs: bool) -> Tensor:
    """Return new keys or queries rotated by their places; unless it ``runs``, all are at the first one's."""
    if runs:
        return apply_rotary_emb(x, cos, sin, interleaved, seqlen_offsets=lengths)
    flat = x.flatten(1, 2).unsqueeze(1)
    return apply_rotary_emb(flat, cos, sin, interleaved, seqlen_offsets=lengths).view(x.shape)


__getattr__ = absent_names(__name__.partition("_companions.")[2], {
    **{f"{start}_flash_attn_{way}": "flash_attn_func" for start in ("", "_wrapped") for way in ("forward", "backward")},
    **{f"{start}_flash_attn_varlen_{way}": "flash_attn_varlen_func" for start in ("", "_wrapped") for way in ("forward", "backward")},
})  # fmt: skip
__all__ = [
    "flash_attn_func", "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func", "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func", "flash_attn_with_kvcache",
]  # fmt: skip

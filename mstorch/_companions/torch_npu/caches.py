"""Caches of keys and values in blocks, and rotary positions on the way into them."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from . import layers
from .attention import refuse
from .integers import rounded


def _slots(cache: torch.Tensor) -> torch.Tensor:
    """Return (blocks, tokens, …) of a cache as (blocks · tokens, …), a view."""
    return cache.view(-1, *cache.shape[2:])


def _written_rows(cache: torch.Tensor, rows: torch.Tensor, slots: Any) -> Any:
    """Write rows at slots of a cache; a negative slot writes nothing."""
    flat = _slots(cache)
    places = slots.reshape(-1).long()
    kept = (places >= 0).reshape(-1, *[1] * (flat.dim() - 1))
    rows = rows.reshape(-1, *flat.shape[1:]).to(flat.dtype)
    safe = places.clamp(min=0)
    # Rows that go nowhere are all put where a row of the cache holds what is there; index_put's order among equal places is not fixed,
    # so that such rows are given the slot of the first kept row together with its values.
    first = (places >= 0).to(torch.int32).argmax()
    safe = torch.where(places >= 0, safe, safe[first])
    values = torch.where(kept, rows, torch.where((places >= 0).any(), rows[first], flat[safe[first]]))
    flat.index_put_((safe,), values)
    return cache


def _in_fractals(cache: torch.Tensor, rows: torch.Tensor, slots: Any) -> Any:
    """Write rows into a cache of (blocks, row / width, tokens, width)."""
    view = cache.transpose(1, 2)
    whole = view.contiguous()
    _written_rows(whole, rows.reshape(rows.shape[0], view.shape[2], view.shape[3]), slots)
    cache.copy_(whole.transpose(1, 2))
    return cache


def _is_plain(cache: torch.Tensor, rows: torch.Tensor) -> bool:
    return tuple(cache.shape[2:]) == tuple(rows.shape[1:])


def npu_scatter_pa_kv_cache(
    key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor, slot_mapping: torch.Tensor, *,
    compress_lens: Any = None, compress_seq_offsets: Any = None,
    seq_lens: Any = None, cache_mode: str | None = "PA_NZ",
) -> None:  # fmt: skip
    """Write the keys and values of tokens at their slots of paged caches: (blocks, tokens, heads, size), or (blocks, heads · size / width,
    tokens, width)."""
    refuse("npu_scatter_pa_kv_cache", compress_lens=compress_lens, compress_seq_offsets=compress_seq_offsets, seq_lens=seq_lens)
    for cache, rows in ((key_cache, key), (value_cache, value)):
        (_written_rows if _is_plain(cache, rows) else _in_fractals)(cache, rows, slot_mapping)


def npu_scatter_pa_kv_cache_functional(
    key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor, slot_mapping: torch.Tensor, **options: Any
) -> tuple[Any, Any]:  # fmt: skip
    """Return copies of the caches with the keys and values written, as ``npu_scatter_pa_kv_cache``."""
    caches = key_cache.clone(), value_cache.clone()
    npu_scatter_pa_kv_cache(key, value, *caches, slot_mapping, **options)
    return caches


def npu_scatter_pa_cache__value(
    key: torch.Tensor, slot_mapping: torch.Tensor, *, compress_lens: Any = None, compress_seq_offsets: Any = None, seq_lens: Any = None,
    key_cache: torch.Tensor
) -> Any:  # fmt: skip
    """Write rows at their slots of one paged cache."""
    refuse("npu_scatter_pa_cache", compress_lens=compress_lens, compress_seq_offsets=compress_seq_offsets, seq_lens=seq_lens)
    return _written_rows(key_cache, key, slot_mapping)


def _npu_reshape_and_cache(
    key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor, slot_indices: Any
) -> None:  # fmt: skip
    """Write the keys and values of tokens at their slots of paged caches."""
    npu_scatter_pa_kv_cache(key, value, key_cache, value_cache, slot_indices)


def _npu_reshape_and_cache_siso(key: torch.Tensor, key_cache: torch.Tensor, slot_indices: Any) -> None:
    """Write rows at their slots of one paged cache."""
    _written_rows(key_cache, key, slot_indices)


def npu_gather_pa_kv_cache_functional(
    key_cache: torch.Tensor, value_cache: torch.Tensor, block_tables: Any, seq_lens: Any, key: torch.Tensor, value: torch.Tensor, *,
    seq_offset: Any = None,
    is_seq_lens_cumsum: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the keys and values of sequences one after another from paged caches; what no block holds is zero.

    The lengths are read on the host. ``seq_offset`` is the first token of each sequence, of whose block the sequence begins.
    """
    lengths = seq_lens.diff() if is_seq_lens_cumsum else seq_lens
    size = key_cache.shape[1] if _is_plain(key_cache, key) else key_cache.shape[2]
    places = []
    for row, count in enumerate(int(length) for length in lengths.tolist()):
        steps = torch.arange(count, device=block_tables.device)
        first = 0 if seq_offset is None else int(seq_offset[row]) // size
        blocks = steps // size + first
        inside = blocks < block_tables.shape[1]
        numbers = torch.where(inside, block_tables[row].long()[blocks.clamp(max=block_tables.shape[1] - 1)], -1)
        places.append(torch.where(numbers >= 0, numbers * size + steps % size, -1))
    slots = torch.cat(places)[: key.shape[0]]
    results = []
    for cache, rows in ((key_cache, key), (value_cache, value)):
        flat = _slots(cache) if _is_plain(cache, rows) else _slots(cache.transpose(1, 2).contiguous())
        there = ((slots >= 0) & (slots < flat.shape[0])).reshape(-1, *[1] * (rows.dim() - 1))
        taken = torch.where(there, flat[slots.clamp(0, flat.shape[0] - 1)].reshape(-1, *rows.shape[1:]), 0)
        results.append(torch.cat([taken, rows[taken.shape[0] :]]) if taken.shape[0] < rows.shape[0] else taken)
    return results[0], results[1]


def npu_gather_pa_kv_cache(
    key_cache: torch.Tensor, value_cache: torch.Tensor, block_tables: Any, seq_lens: Any, key: torch.Tensor, value: torch.Tensor, *,
    seq_offset: Any = None,
    is_seq_lens_cumsum: bool = False,
) -> None:  # fmt: skip
    """Write what ``npu_gather_pa_kv_cache_functional`` returns into ``key`` and ``value``."""
    for target, result in zip((key, value), npu_gather_pa_kv_cache_functional(
        key_cache, value_cache, block_tables, seq_lens, key, value, seq_offset=seq_offset, is_seq_lens_cumsum=is_seq_lens_cumsum
    )):  # fmt: skip
        target.copy_(result)


# Rotary positions


def _turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mode: str) -> Any:
    wide = x.float()
    if mode == "half":
        first, second = wide.chunk(2, -1)
        other = torch.cat((-second, first), -1)
    else:
        other = torch.stack((-wide[..., 1::2], wide[..., ::2]), -1).flatten(-2)
    return (wide * cos.float() + other * sin.float()).to(x.dtype)


def npu_apply_rotary_pos_emb(
    query: torch.Tensor, key: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, layout: str = "BSND", rotary_mode: str = "half"
) -> tuple[Any, Any]:  # fmt: skip
    """Return query and key turned by their positions; ``rotary_mode`` is half, quarter or interleave."""
    if rotary_mode not in ("half", "interleave"):
        raise NotImplementedError(f"mstorch: npu_apply_rotary_pos_emb() with rotary_mode={rotary_mode!r}")
    size = cos.shape[-1]
    turned = []
    for x in (query, key):
        part = _turned(x[..., :size], cos, sin, rotary_mode)
        turned.append(part if size == x.shape[-1] else torch.cat([part, x[..., size:]], -1))
    return turned[0], turned[1]


def npu_interleave_rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Return neighbours moved into halves, and turned by their positions."""
    halves = torch.cat([x[..., ::2], x[..., 1::2]], -1)
    return _turned(halves, cos, sin, "half")


def _npu_rotary_embedding(
    positions: Any, query: torch.Tensor, key: torch.Tensor, head_size: int, cos_sin_cache: Any, is_neox_style: bool
) -> None:  # fmt: skip
    """Turn query and key in place by rows of a table of cosines and sines."""
    cos, sin = cos_sin_cache[positions.reshape(-1)].chunk(2, -1)
    for target in (query, key):
        heads = target.reshape(cos.shape[0], -1, head_size)
        target.copy_(_by_table(heads, cos, sin, is_neox_style).reshape(target.shape))


def _by_table(heads: Any, cos: torch.Tensor, sin: torch.Tensor, in_halves: bool) -> Any:
    size = cos.shape[-1] * 2
    if in_halves:
        cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)
    else:
        cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
    part = _turned(heads[..., :size], cos.unsqueeze(1), sin.unsqueeze(1), "half" if in_halves else "interleave")
    return torch.cat([part, heads[..., size:]], -1)


def npu_mrope(
    positions: Any, query: torch.Tensor, key: torch.Tensor, cos_sin_cache: Any, head_size: int, *, mrope_section: Any = None,
    rotary_mode: str | None = "half",
    cache_mode: str | None = "default",
) -> tuple[Any, Any]:  # fmt: skip
    """Return query and key turned by rows of a table; with a section, by rows for time, height and width in parts of the columns."""
    if cache_mode != "default":
        raise NotImplementedError(f"mstorch: npu_mrope() with cache_mode={cache_mode!r}")
    cos, sin = cos_sin_cache[positions.long()].chunk(2, -1)
    if mrope_section and any(mrope_section):
        cos, sin = (torch.cat([part[place] for place, part in enumerate(item.split(list(mrope_section), -1))], -1) for item in (cos, sin))
    turned = [_by_table(x.reshape(cos.shape[0], -1, head_size), cos, sin, rotary_mode == "half").reshape(x.shape) for x in (query, key)]
    return turned[0], turned[1]


def npu_kv_rmsnorm_rope_cache(
    kv: torch.Tensor, gamma: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, index: Any, k_cache: Any, ckv_cache: Any, *,
    k_rope_scale: Any = None, c_kv_scale: Any = None,
    k_rope_offset: Any = None, c_kv_offset: Any = None, v: Any = None, epsilon: float = 1e-5, cache_mode: str = "Norm",
    is_output_kv: bool = False,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Normalize the first part of ``kv``, turn the second by its positions, and write both into the caches.

    Return the caches, and the two parts (empty without ``is_output_kv``). kv: (batch, 1, tokens, size).
    """
    refuse("npu_kv_rmsnorm_rope_cache", k_rope_offset=k_rope_offset, c_kv_offset=c_kv_offset, v=v)
    if cache_mode not in ("Norm", "PA", "PA_BNSD"):
        raise NotImplementedError(f"mstorch: npu_kv_rmsnorm_rope_cache() with cache_mode={cache_mode!r}")
    size = gamma.shape[-1]
    normal = layers.npu_rms_norm(kv[..., :size].float(), gamma.float(), epsilon)[0]
    turned = npu_interleave_rope(kv[..., size:].float(), cos, sin)
    for cache, part, scale in ((k_cache, turned, k_rope_scale), (ckv_cache, normal, c_kv_scale)):
        rows = part.to(kv.dtype) if scale is None else rounded(part * scale.float(), torch.int8)
        rows = rows.to(cache.dtype)
        if cache_mode == "Norm":
            batch, _, tokens, width = rows.shape
            places = index.long().reshape(batch, 1, tokens, 1).expand(rows.shape)
            cache.scatter_(2, places, rows)
        else:
            _written_rows(cache, rows.reshape(-1, *cache.shape[2:]), index)
    if is_output_kv:
        return k_cache, ckv_cache, turned.to(kv.dtype), normal.to(kv.dtype)
    empty = torch.empty(0, dtype=kv.dtype, device=kv.device)
    return k_cache, ckv_cache, empty, empty

"""Attention for inference: npu_fused_infer_attention_score and the operators of the ATB library, over whole or paged caches."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from ._attended import attended, heads_first, laid_out
from ._masks import hidden as hidden_of
from .attention import refuse
from .codes import dtype_of

_FAR = 2147483647
_DONE = {
    "BSH": "BSH", "BSND": "BSND", "BNSD": "BNSD", "BNSD_BSND": "BSND", "BSH_BNSD": "BNSD", "BSND_BNSD": "BNSD", "TND": "TND", "NTD": "NTD",
    "NTD_TND": "TND", "TND_NTD": "NTD", "BSH_NBSD": "NBSD", "BSND_NBSD": "NBSD", "BNSD_NBSD": "NBSD",
}  # fmt: skip


def _numbers(lengths: Any) -> list[int] | None:
    if lengths is None:
        return None
    return [int(length) for length in (lengths.tolist() if isinstance(lengths, torch.Tensor) else lengths)]


def paged(cache: torch.Tensor, table: Any, heads: int) -> torch.Tensor:
    """Return (sequences, heads, tokens, size) of a cache of blocks, (blocks, tokens, heads · size), (blocks, tokens, heads,
    size) or (blocks,
    heads, tokens, size), by a table of each sequence's blocks."""
    if cache.dim() == 3:
        cache = cache.unflatten(-1, (heads, cache.shape[-1] // heads))
    elif cache.dim() == 4 and cache.shape[1] == heads and cache.shape[2] != heads:
        cache = cache.transpose(1, 2)
    elif cache.dim() == 5:  # (blocks, heads, size / 16, tokens, 16)
        cache = cache.permute(0, 3, 1, 2, 4).flatten(-2)
    rows = cache[table.long().clamp(min=0)]
    return rows.flatten(1, 2).transpose(1, 2)


def _log_sums(top: Any, total: Any) -> Any:
    return top[..., :1] + total[..., :1].log()


def _one(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any, mode: int, before: int, after: int, scale: float, pse: Any, sink: Any
) -> tuple[Any, Any]:  # fmt: skip
    """Return attention of (batch, heads, tokens, size), and the logarithms of the sums."""
    hidden, causal = hidden_of(mask, mode, before, after, (q.shape[2], k.shape[2]), q.device)
    result, top, total = attended(q, k, v, hidden, causal, scale, pse, False, sink=sink)
    return result, _log_sums(top, total)


def _infer(
    function: str, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, ropes: tuple[Any, Any], pse: Any, mask: Any, q_lengths: Any,
    k_lengths: Any, table: Any,
    heads: int, kept: int, scale: float, before: int, after: int, layout: str, mode: int, sink: Any, wants_sums: bool,
) -> tuple[Any, Any]:  # fmt: skip
    if layout not in _DONE:
        raise NotImplementedError(f"mstorch: {function}() with input_layout={layout!r}")
    inner, kept = layout.partition("_")[0], kept or heads
    q_lengths, k_lengths = _numbers(q_lengths), _numbers(k_lengths)
    packed = inner in ("TND", "NTD")
    q, k, v = query, key, value
    if ropes[0] is not None:
        q = torch.cat([q, ropes[0]], -1) if "H" not in inner else torch.cat([q.unflatten(-1, (heads, -1)), ropes[0].unflatten(-1, (heads,
            -1))], -1).flatten(-2)
    if table is not None:
        k, v = paged(k, table, kept), paged(v, table, kept)
        if ropes[1] is not None:
            k = torch.cat([k, paged(ropes[1], table, kept)], -1)
    else:
        if ropes[1] is not None:
            k = torch.cat([k, ropes[1]], -1) if "H" not in inner else torch.cat([k.unflatten(-1, (kept, -1)), ropes[1].unflatten(-1, (kept,
                -1))], -1).flatten(-2)
        if not packed:
            k, v = heads_first(k, inner, kept), heads_first(v, inner, kept)
    if packed:
        result, sums = _of_packed(q, k, v, mask, q_lengths, k_lengths, table is not None, inner, scale, before, after, mode, pse, sink)
        done = result if _DONE[layout] == "TND" else result.transpose(0, 1)
    else:
        q = heads_first(q, inner, heads)
        result, sums = _of_lengths(q, k, v, mask, q_lengths, k_lengths, scale, before, after, mode, pse, sink)
        done = result.permute(1, 0, 2, 3) if _DONE[layout] == "NBSD" else laid_out(result, _DONE[layout])
    return done.to(query.dtype), sums if wants_sums else torch.empty(1, dtype=torch.float32, device=query.device)


def _of_packed(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any, q_ends: Any, k_ends: Any, in_pages: bool, inner: str, scale: float,
    before: int, after: int, mode: int,
    pse: Any, sink: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Compute sequences that lie one after another; keys in pages have lengths, others ends."""
    if inner == "NTD":
        q = q.transpose(0, 1)
        if not in_pages:
            k, v = k.transpose(0, 1), v.transpose(0, 1)
    q_ends = q_ends if q_ends is not None else [q.shape[0]]
    k_ends = k_ends if k_ends is not None else q_ends if not in_pages else [k.shape[2]] * len(q_ends)
    results, sums, start, first = [], [], 0, 0
    for place, end in enumerate(q_ends):
        own = q[start:end].transpose(0, 1).unsqueeze(0)
        if in_pages:
            keys, values = k[place : place + 1, :, : k_ends[place]], v[place : place + 1, :, : k_ends[place]]
        else:
            keys, values = (item[first : k_ends[place]].transpose(0, 1).unsqueeze(0) for item in (k, v))
        seen = mask
        if mask is not None and mode < 2:
            seen = mask[place] if mask.dim() > 2 and mask.shape[0] == len(q_ends) else mask
            seen = seen[..., : end - start, : keys.shape[2]]
        result, total = _one(own, keys, values, seen, mode, before, after, scale, pse, sink)
        results.append(result.squeeze(0).transpose(0, 1))
        sums.append(total.squeeze(0).transpose(0, 1))
        start, first = end, k_ends[place]
    whole = torch.cat(results)
    if start < q.shape[0]:
        whole = torch.nn.functional.pad(whole, (0, 0, 0, 0, 0, q.shape[0] - start))
    return whole, torch.cat(sums)


def _of_lengths(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any, q_lengths: Any, k_lengths: Any, scale: float, before: int, after: int,
    mode: int, pse: Any, sink: Any
) -> tuple[Any, Any]:  # fmt: skip
    """Compute each sequence with its own numbers of queries and keys; beyond them the result is zero."""
    batch, queries, keys = q.shape[0], q.shape[2], k.shape[2]
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(1)
    if not q_lengths and not k_lengths:
        return _one(q, k, v, mask, mode, before, after, scale, pse, sink)
    used = _each(q_lengths, batch, queries)
    seen = _each(k_lengths, batch, keys)
    results, sums = [], []
    for place in range(batch):
        one = slice(place, place + 1)
        own = mask
        if mask is not None and mode < 2:
            own = (mask[one] if mask.dim() == 4 and mask.shape[0] == batch else mask)[..., : used[place], : seen[place]]
        shift = None if pse is None else (pse[one] if pse.shape[0] == batch else pse)[..., : used[place], : seen[place]]
        result, total = _one(q[one, :, : used[place]], k[one, :, : seen[place]], v[one, :, : seen[place]], own, mode, before, after, scale,
            shift, sink)
        results.append(torch.nn.functional.pad(result, (0, 0, 0, queries - used[place])))
        sums.append(torch.nn.functional.pad(total, (0, 0, 0, queries - used[place]), value=float("inf")))
    return torch.cat(results), torch.cat(sums)


def _each(lengths: Sequence[int] | None, batch: int, most: int) -> list[int]:
    each = [most] * batch if not lengths else list(lengths) * (batch if len(lengths) == 1 else 1)
    if len(each) != batch or not all(0 <= length <= most for length in each):
        raise RuntimeError(f"{batch} sequences of at most {most} elements were given the lengths {lengths}")
    return each


def npu_fused_infer_attention_score(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, pse_shift: Any = None, atten_mask: Any = None,
    actual_seq_lengths: Any = None,
    actual_seq_lengths_kv: Any = None, dequant_scale1: Any = None, quant_scale1: Any = None, dequant_scale2: Any = None,
    quant_scale2: Any = None, quant_offset2: Any = None, antiquant_scale: Any = None, antiquant_offset: Any = None,
    key_antiquant_scale: Any = None, key_antiquant_offset: Any = None, value_antiquant_scale: Any = None,
    value_antiquant_offset: Any = None,
    block_table: Any = None, query_padding_size: Any = None, kv_padding_size: Any = None, key_shared_prefix: Any = None,
    value_shared_prefix: Any = None, actual_shared_prefix_len: Any = None, query_rope: Any = None, key_rope: Any = None,
    key_rope_antiquant_scale: Any = None, num_heads: int = 1, scale: float = 1.0, pre_tokens: int = _FAR, next_tokens: int = _FAR,
    input_layout: str = "BSH", num_key_value_heads: int = 0, sparse_mode: int = 0, inner_precise: int = 0, block_size: int = 0,
    antiquant_mode: int = 0, key_antiquant_mode: int = 0, value_antiquant_mode: int = 0, softmax_lse_flag: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Return attention of prompts or new tokens to whole or paged keys,
    and the logarithms of the sums (empty without ``softmax_lse_flag``)."""
    refuse(
        "npu_fused_infer_attention_score", dequant_scale1=dequant_scale1, quant_scale1=quant_scale1, dequant_scale2=dequant_scale2,
        quant_scale2=quant_scale2, quant_offset2=quant_offset2, antiquant_scale=antiquant_scale, antiquant_offset=antiquant_offset,
        key_antiquant_scale=key_antiquant_scale, key_antiquant_offset=key_antiquant_offset, value_antiquant_scale=value_antiquant_scale,
        value_antiquant_offset=value_antiquant_offset, query_padding_size=query_padding_size, kv_padding_size=kv_padding_size,
        key_shared_prefix=key_shared_prefix, value_shared_prefix=value_shared_prefix, actual_shared_prefix_len=actual_shared_prefix_len,
        key_rope_antiquant_scale=key_rope_antiquant_scale,
    )  # fmt: skip
    return _infer(
        "npu_fused_infer_attention_score", query, key, value, (query_rope, key_rope), pse_shift, atten_mask, actual_seq_lengths,
        actual_seq_lengths_kv, block_table, num_heads, num_key_value_heads, scale, pre_tokens, next_tokens, input_layout, sparse_mode, None,
        softmax_lse_flag,
    )  # fmt: skip


def npu_fused_infer_attention_score_v2(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, query_rope: Any = None, key_rope: Any = None, pse_shift: Any = None,
    atten_mask: Any = None,
    actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None, block_table: Any = None, dequant_scale_query: Any = None,
    dequant_scale_key: Any = None, dequant_offset_key: Any = None, dequant_scale_value: Any = None, dequant_offset_value: Any = None,
    dequant_scale_key_rope: Any = None, quant_scale_out: Any = None, quant_offset_out: Any = None, quant_scale_p: Any = None,
    learnable_sink: Any = None, num_query_heads: int = 1, num_key_value_heads: int = 0, softmax_scale: float = 1.0, pre_tokens: int = _FAR,
    next_tokens: int = _FAR, input_layout: str = "BSH", sparse_mode: int = 0, block_size: int = 0, query_quant_mode: int = 0,
    key_quant_mode: int = 0, value_quant_mode: int = 0, inner_precise: int = 0, return_softmax_lse: bool = False, query_dtype: Any = None,
    key_dtype: Any = None, value_dtype: Any = None, query_rope_dtype: Any = None, key_rope_dtype: Any = None,
    key_shared_prefix_dtype: Any = None, value_shared_prefix_dtype: Any = None, dequant_scale_query_dtype: Any = None,
    dequant_scale_key_dtype: Any = None, dequant_scale_value_dtype: Any = None, dequant_scale_key_rope_dtype: Any = None,
    out_dtype: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Compute ``npu_fused_infer_attention_score`` under the second form's names,
    with a score of each head that counts in the sums alone."""
    refuse(
        "npu_fused_infer_attention_score_v2", dequant_scale_query=dequant_scale_query, dequant_scale_key=dequant_scale_key,
        dequant_offset_key=dequant_offset_key, dequant_scale_value=dequant_scale_value, dequant_offset_value=dequant_offset_value,
        dequant_scale_key_rope=dequant_scale_key_rope, quant_scale_out=quant_scale_out, quant_offset_out=quant_offset_out,
        quant_scale_p=quant_scale_p,
    )  # fmt: skip
    result, sums = _infer(
        "npu_fused_infer_attention_score_v2", query, key, value, (query_rope, key_rope), pse_shift, atten_mask, actual_seq_qlen,
        actual_seq_kvlen, block_table, num_query_heads, num_key_value_heads, softmax_scale, pre_tokens, next_tokens, input_layout,
        sparse_mode, learnable_sink, return_softmax_lse,
    )  # fmt: skip
    return result.to(dtype_of("npu_fused_infer_attention_score_v2", out_dtype, result.dtype)), sums


def _npu_fused_infer_attention_score_get_max_workspace(query: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
    """Return an empty tensor: MindSpore gives kernels the memory that they work in."""
    return torch.empty(0, dtype=torch.uint8, device=query.device)


_npu_fused_infer_attention_score_v2_get_max_workspace = _npu_fused_infer_attention_score_get_max_workspace


def _out_of_kernels(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, Any]:
    out = options.pop("out")
    options.pop("workspace", None)
    results = function(*args, **options)
    for target, result in zip(out, results):
        if target.numel() == result.numel():
            target.copy_(result.reshape(target.shape))
    return tuple(out)


def npu_fused_infer_attention_score__out(*args: Any, **options: Any) -> tuple[Any, Any]:
    """Write the results of ``npu_fused_infer_attention_score`` into two tensors."""
    return _out_of_kernels(npu_fused_infer_attention_score, args, options)


def npu_fused_infer_attention_score_v2__out(*args: Any, **options: Any) -> tuple[Any, Any]:
    """Write the results of ``npu_fused_infer_attention_score_v2`` into two tensors."""
    return _out_of_kernels(npu_fused_infer_attention_score_v2, args, options)


# The ATB library's operators


def _npu_paged_attention(
    query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor, num_kv_heads: int, num_heads: int, scale_value: float,
    block_table: torch.Tensor, context_lens: Any,
    out: Any, *, workspace: Any = None,
) -> Any:  # fmt: skip
    """Write attention of one new token of each sequence, (sequences, heads, size), to a paged cache into ``out``."""
    k, v = (paged(cache, block_table, num_kv_heads) for cache in (key_cache, value_cache))
    result, _ = _of_lengths(query.unsqueeze(2), k, v, None, None, _numbers(context_lens), scale_value, _FAR, _FAR, 0, None, None)
    return out.copy_(result.reshape(out.shape))


def _npu_paged_attention_get_workspace(query: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
    """Return an empty tensor: MindSpore gives kernels the memory that they work in."""
    return torch.empty(0, dtype=torch.uint8, device=query.device)


def _npu_paged_attention_splitfuse(
    query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor, block_table: torch.Tensor, context_lens: Any, mask: Any,
    seq_len: Any, num_kv_heads: int, num_heads: int,
    scale_value: float, out: Any,
) -> Any:  # fmt: skip
    """Write attention of each sequence's last ``seq_len`` tokens, which see what precedes them, to a paged cache into ``out``."""
    k, v = (paged(cache, block_table, num_kv_heads) for cache in (key_cache, value_cache))
    results, start = [], 0
    for place, (count, keys) in enumerate(zip(_numbers(seq_len) or (), _numbers(context_lens) or ())):
        own = query[start : start + count].transpose(0, 1).unsqueeze(0)
        rows = torch.arange(count, device=query.device)[:, None] + keys - count
        hidden = torch.arange(keys, device=query.device)[None, :] > rows
        result = attended(own, k[place : place + 1, :, :keys], v[place : place + 1, :, :keys], hidden, False, scale_value)[0]
        results.append(result.squeeze(0).transpose(0, 1))
        start += count
    return out.copy_(torch.cat(results).reshape(out.shape))


def _npu_flash_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, seq_len: Any, scale_value: float, num_heads: int,
    num_kv_heads: int, out: Any
) -> Any:  # fmt: skip
    """Write attention of sequences that lie one after another, with a mask that is added to the scores, into ``out``."""
    results, start = [], 0
    for count in _numbers(seq_len) or ():
        q, k, v = (item[start : start + count].reshape(count, heads, -1).transpose(0, 1).unsqueeze(0) for item, heads in ((query,
            num_heads), (key, num_kv_heads), (value, num_kv_heads)))
        shift = None if mask is None else mask[..., :count, :count].float()
        result = attended(q, k, v, None, False, scale_value, shift if shift is None or shift.dim() == 4 else shift.reshape(1, -1, count,
            count), False)[0]
        results.append(result.squeeze(0).transpose(0, 1))
        start += count
    return out.copy_(torch.cat(results).reshape(out.shape))


def _npu_flash_attention_unpad(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, seq_len: Any, scale_value: float, num_heads: int, num_kv_heads: int,
    out: Any
) -> Any:  # fmt: skip
    """Write attention of sequences that lie one after another, without a mask, into ``out``."""
    return _npu_flash_attention(query, key, value, None, seq_len, scale_value, num_heads, num_kv_heads, out=out)


def _npu_flash_attention_unpad_v2(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, seq_len: Any, scale_value: float, num_heads: int, num_kv_heads: int, *,
    kernel_type: int | None = 0, out: Any
) -> Any:  # fmt: skip
    """Write attention of sequences that lie one after another, without a mask, into ``out``."""
    return _npu_flash_attention(query, key, value, None, seq_len, scale_value, num_heads, num_kv_heads, out=out)

"""npu_fusion_attention, npu_prompt_flash_attention, npu_incre_flash_attention."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from ...nn._functional.packed_attention import fits_packed, packed_attention
from ._attended import attended, heads_first, laid_out
from ._masks import SIDE, as_bool
from ._masks import hidden as hidden_of

_FAR = 2147483647
_LAYOUTS = ("BSH", "SBH", "BSND", "BNSD", "TND")


def refuse(function: str, **given: Any) -> None:
    """Raise NotImplementedError for given arguments that are not supported."""
    names = [name for name, value in given.items() if value is not None and not (isinstance(value, (list, tuple)) and not value)]
    if names:
        raise NotImplementedError(f"mstorch: {function}() with {', '.join(names)}")


def _position(pse: Any, queries: int) -> Any:
    if pse is not None and pse.shape[-2] not in (1, queries):
        raise NotImplementedError(f"mstorch: npu_fusion_attention() with a compressed pse of {list(pse.shape)} for {queries} queries")
    return pse


def npu_fusion_attention(
    query: Any, key: Any, value: Any, head_num: int, input_layout: str, pse: Any = None, padding_mask: Any = None, atten_mask: Any = None,
    scale: float = 1.0, keep_prob: float = 1.0, pre_tockens: int = _FAR, next_tockens: int = _FAR, inner_precise: int = 0,
    prefix: Any = None, actual_seq_qlen: Sequence[int] | None = None, actual_seq_kvlen: Sequence[int] | None = None, sparse_mode: int = 0,
    gen_mask_parallel: bool = True, sync: bool = False, softmax_layout: str = "", sink: Any = None, dropout_mask: Any = None, seed: int = 0,
    offset: int = 0,
) -> tuple[Any, Any, Any, Any, int, int, int]:  # fmt: skip
    """Return ``dropout(softmax(masked(scale * (query @ key.T + pse)))) @ value``; ``atten_mask`` is True where a key is masked out.

    Also return each row's maximum score and sum of exponentials (repeated 8 times, in float32), an empty tensor, and the seed, offset and
    size of the dropout mask. Seed and offset are 0: gradients use the mask that was drawn. ``sink`` has a score for each head that counts
    in
    the sums alone; ``softmax_layout="same_as_input"`` gives maxima and sums of layout TND as (heads, tokens, 8).
    """
    return _fused(
        query, key, value, head_num, input_layout, pse, padding_mask, atten_mask, scale, keep_prob, pre_tockens, next_tockens, prefix,
        actual_seq_qlen, actual_seq_kvlen, sparse_mode, softmax_layout, sink, dropout_mask, True,
    )  # fmt: skip


def npu_fusion_attention_v2(
    query: Any, key: Any, value: Any, head_num: int, input_layout: str, *, pse: Any = None, padding_mask: Any = None,
    atten_mask: Any = None,
    query_rope: Any = None, key_rope: Any = None, scale: float = 1.0, keep_prob: float = 1.0, pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    inner_precise: int = 0, prefix: Any = None, actual_seq_qlen: Sequence[int] | None = None, actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0, gen_mask_parallel: bool = True, sync: bool = False, pse_type: int = 1, q_start_idx: Any = None,
    kv_start_idx: Any = None,
    softmax_layout: str = "", sink: Any = None, dropout_mask: Any = None, seed: int = 0, offset: int = 0,
) -> tuple[Any, Any, Any, Any, int, int, int]:  # fmt: skip
    """Compute ``npu_fusion_attention`` with parts of query and key for rotary positions in tensors of their own,
    and ``pse`` added after the
    scores are scaled (``pse_type=0``) or before (1)."""
    if pse_type not in (0, 1):
        raise NotImplementedError(f"mstorch: npu_fusion_attention_v2() with pse_type={pse_type}")
    refuse("npu_fusion_attention_v2", q_start_idx=q_start_idx, kv_start_idx=kv_start_idx)
    if query_rope is not None:
        if "H" in input_layout:
            raise RuntimeError(f"npu_fusion_attention_v2(): layout {input_layout} has no query_rope")
        query, key = torch.cat([query, query_rope], -1), torch.cat([key, key_rope], -1)
    return _fused(
        query, key, value, head_num, input_layout, pse, padding_mask, atten_mask, scale, keep_prob, pre_tokens, next_tokens, prefix,
        actual_seq_qlen, actual_seq_kvlen, sparse_mode, softmax_layout, sink, dropout_mask, pse_type == 1,
    )  # fmt: skip


def _fused(
    query: Any, key: Any, value: Any, head_num: int, input_layout: str, pse: Any, padding_mask: Any, atten_mask: Any, scale: float,
    keep_prob: float, pre_tockens: int, next_tockens: int, prefix: Any, actual_seq_qlen: Any, actual_seq_kvlen: Any, sparse_mode: int,
    softmax_layout: str, sink: Any, dropout_mask: Any, inside: bool,
) -> tuple[Any, Any, Any, Any, int, int, int]:  # fmt: skip
    refuse("npu_fusion_attention", padding_mask=padding_mask, prefix=prefix, dropout_mask=dropout_mask)
    if softmax_layout not in ("", "same_as_input"):
        raise NotImplementedError(f"mstorch: npu_fusion_attention() with softmax_layout={softmax_layout!r}")
    if input_layout not in _LAYOUTS:
        raise RuntimeError(f"input_layout must be one of {', '.join(_LAYOUTS)}, got {input_layout}")
    if not 0.0 < keep_prob <= 1.0:
        raise RuntimeError(f"keep_prob must be above 0 and at most 1, got {keep_prob}")
    rest = scale, keep_prob, pre_tockens, next_tockens, sparse_mode, sink, inside
    if input_layout == "TND":
        found: tuple[Any, Any, Any] = _packed(query, key, value, head_num, pse, atten_mask, actual_seq_qlen, actual_seq_kvlen, rest)
        if softmax_layout:
            found = found[0], found[1].transpose(0, 1).contiguous(), found[2].transpose(0, 1).contiguous()
    else:
        q = heads_first(query, input_layout, head_num)
        if q.shape[1] != head_num:
            raise RuntimeError(f"head_num is {head_num}, and the query has {q.shape[1]} heads")
        kept = key.shape[-1] // q.shape[-1] if "H" in input_layout else 0
        k, v = (heads_first(item, input_layout, kept) for item in (key, value))
        out, top, total = _of_batch(q, k, v, pse, atten_mask, rest)
        found = laid_out(out, input_layout), top, total
    size = 0 if keep_prob == 1.0 else int(found[1].numel() // 8) * key.shape[{"SBH": 0, "BNSD": 2, "TND": 0}.get(input_layout, 1)]
    return (*found, torch.empty(0, dtype=query.dtype, device=query.device), 0, 0, size)


def _of_batch(q: Any, k: Any, v: Any, pse: Any, mask: Any, rest: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    scale, keep, before, after, mode, sink, inside = rest
    hidden, causal = hidden_of(mask, mode, before, after, (q.shape[2], k.shape[2]), q.device)
    return attended(q, k, v, hidden, causal, scale, _position(pse, q.shape[2]), inside, keep, sink)


def _in_one_kernel(
    query: Any, key: Any, value: Any, mask: Any, q_ends: list[int], k_ends: list[int], rest: tuple[Any, ...]
) -> tuple[Any, Any, Any] | None:  # fmt: skip
    """Return attention of packed sequences by the device's kernel for all of them; None if it has none for the call."""
    scale, keep, before, after, mode, sink, _ = rest
    whole = mask is None and mode == 0
    compressed = mask is not None and mode in (2, 3, 4) and tuple(mask.shape[-2:]) == (SIDE, SIDE)
    corner = {0: "", 2: "first", 3: "last", 4: "last"}.get(mode, "")
    if keep < 1.0 or sink is not None or not (whole or compressed) or mode == 4 and min(before, after) < 0:
        return None
    if not fits_packed(query, key, value, q_ends, k_ends, corner):
        return None
    reach = (before, after) if mode == 4 else ()
    out, top, total = packed_attention(query, key, value, q_ends, k_ends, scale, corner, *reach)
    return out, top.detach(), total.detach()


def _packed(
    query: Any, key: Any, value: Any, heads: int, pse: Any, mask: Any, q_ends: Sequence[int] | None, k_ends: Sequence[int] | None,
    rest: tuple[Any, ...],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Compute attention on packed sequences (T, N, D), each over its own keys."""
    if q_ends is None or k_ends is None or len(q_ends) != len(k_ends):
        raise RuntimeError("layout TND needs actual_seq_qlen and actual_seq_kvlen, of one length: where each sequence ends")
    refuse("npu_fusion_attention", pse=pse)
    if query.dim() != 3 or query.shape[1] != heads:
        raise RuntimeError(f"layout TND takes (tokens, heads, size) with {heads} heads, got {list(query.shape)}")
    if list(q_ends[-1:]) != [query.shape[0]] or list(k_ends[-1:]) != [key.shape[0]]:
        raise RuntimeError(
            f"the sequences end at {q_ends[-1:]} and {k_ends[-1:]}, not with the {query.shape[0]} queries and {key.shape[0]} keys"
        )
    q_ends, k_ends = [int(end) for end in q_ends], [int(end) for end in k_ends]
    found = _in_one_kernel(query, key, value, mask, q_ends, k_ends, rest)
    if found is not None:
        return found
    parts, q_from, k_from = [], 0, 0
    for q_to, k_to in zip(q_ends, k_ends):
        q = query[q_from:q_to].transpose(0, 1).unsqueeze(0)
        k, v = (item[k_from:k_to].transpose(0, 1).unsqueeze(0) for item in (key, value))
        own = mask if mask is None or rest[4] > 1 else mask[..., : q_to - q_from, : k_to - k_from]
        parts.append([item.squeeze(0).transpose(0, 1) for item in _of_batch(q, k, v, None, own, rest)])
        q_from, k_from = q_to, k_to
    return tuple(torch.cat(items) for items in zip(*parts))  # type: ignore[return-value]


def npu_prompt_flash_attention(
    query: Any, key: Any, value: Any, *, pse_shift: Any = None, padding_mask: Any = None, atten_mask: Any = None,
    actual_seq_lengths: Sequence[int] | None = None, deq_scale1: Any = None, quant_scale1: Any = None, deq_scale2: Any = None,
    quant_scale2: Any = None, quant_offset2: Any = None, num_heads: int = 1, scale_value: float = 1.0, pre_tokens: int = _FAR,
    next_tokens: int = 0, input_layout: str = "BSH", num_key_value_heads: int = 0, actual_seq_lengths_kv: Sequence[int] | None = None,
    sparse_mode: int = 0,
) -> Any:  # fmt: skip
    """Compute attention on whole sequences of valid length ``actual_seq_lengths``; the result is zero beyond it."""
    refuse(
        "npu_prompt_flash_attention", padding_mask=padding_mask, deq_scale1=deq_scale1, quant_scale1=quant_scale1, deq_scale2=deq_scale2,
        quant_scale2=quant_scale2, quant_offset2=quant_offset2,
    )  # fmt: skip
    inner, _, outer = input_layout.partition("_")
    if input_layout not in ("BSH", "BSND", "BNSD", "BNSD_BSND", "NSD", "SH"):
        raise RuntimeError(f"input_layout must be one of BSH, BSND, BNSD, BNSD_BSND, NSD, SH, got {input_layout}")
    q = heads_first(query, inner, num_heads)
    k, v = (heads_first(item, inner, num_key_value_heads or num_heads) for item in (key, value))
    if q.shape[1] != num_heads or k.shape[1] != (num_key_value_heads or num_heads):
        raise RuntimeError(
            f"num_heads is {num_heads}, num_key_value_heads {num_key_value_heads}; there are {q.shape[1]} and {k.shape[1]} heads"
        )

    def part(index: slice, queries: int, keys: int) -> Any:
        mask = atten_mask
        if mask is not None and sparse_mode < 2:
            mask = mask[index] if mask.dim() > 2 and mask.shape[0] == q.shape[0] else mask
            mask = mask.unsqueeze(1) if mask.dim() == 3 else mask
            mask = mask[..., :queries, :keys]
        hidden, causal = hidden_of(mask, sparse_mode, pre_tokens, next_tokens, (queries, keys), q.device)
        shift = pse_shift
        if shift is not None:
            shift = (shift[index] if shift.shape[0] == q.shape[0] else shift)[..., :queries, :keys]
        return attended(q[index, :, :queries], k[index, :, :keys], v[index, :, :keys], hidden, causal, scale_value, shift, False)[0]

    found = _of_lengths(part, q, k.shape[2], actual_seq_lengths, actual_seq_lengths_kv)
    return laid_out(found, outer or inner)


def _of_lengths(part: Any, q: Any, keys: int, q_lengths: Sequence[int] | None, k_lengths: Sequence[int] | None) -> Any:
    """Compute attention for all batch entries at once, or for each batch entry with its valid lengths."""
    batch, queries = q.shape[0], q.shape[2]
    if not q_lengths and not k_lengths:
        return part(slice(None), queries, keys)
    lengths = []
    for given, most in ((q_lengths, queries), (k_lengths, keys)):
        each = [most] * batch if not given else [int(length) for length in given] * (batch if len(given) == 1 else 1)
        if len(each) != batch or not all(0 <= length <= most for length in each):
            raise RuntimeError(f"{batch} sequences of at most {most} elements were given the lengths {list(given or ())}")
        lengths.append(each)
    rows = []
    for index, (used, seen) in enumerate(zip(*lengths)):
        row = part(slice(index, index + 1), used, seen)
        rows.append(torch.nn.functional.pad(row, (0, 0, 0, queries - used)))
    return torch.cat(rows)


def npu_incre_flash_attention(
    query: Any, key: Any, value: Any, *, padding_mask: Any = None, pse_shift: Any = None, atten_mask: Any = None,
    actual_seq_lengths: Sequence[int] | None = None, dequant_scale1: Any = None, quant_scale1: Any = None, dequant_scale2: Any = None,
    quant_scale2: Any = None, quant_offset2: Any = None, antiquant_scale: Any = None, antiquant_offset: Any = None, block_table: Any = None,
    kv_padding_size: Any = None, num_heads: int = 1, scale_value: float = 1.0, input_layout: str = "BSH", num_key_value_heads: int = 0,
    block_size: int = 0, inner_precise: int = 1,
) -> Any:  # fmt: skip
    """Compute attention of one new query per sequence to its first ``actual_seq_lengths`` keys."""
    refuse(
        "npu_incre_flash_attention", padding_mask=padding_mask, dequant_scale1=dequant_scale1, quant_scale1=quant_scale1,
        dequant_scale2=dequant_scale2, quant_scale2=quant_scale2, quant_offset2=quant_offset2, antiquant_scale=antiquant_scale,
        antiquant_offset=antiquant_offset, block_table=block_table, kv_padding_size=kv_padding_size,
    )  # fmt: skip
    if input_layout not in ("BSH", "BSND", "BNSD"):
        raise RuntimeError(f"input_layout must be one of BSH, BSND, BNSD, got {input_layout}")
    queries = query.shape[2 if input_layout == "BNSD" else 1]
    if queries != 1:
        raise RuntimeError(f"npu_incre_flash_attention takes one query of each sequence, got {queries}")
    if atten_mask is not None:
        atten_mask = as_bool(atten_mask).reshape(atten_mask.shape[0], 1, 1, atten_mask.shape[-1])
    return npu_prompt_flash_attention(
        query, key, value, pse_shift=pse_shift, atten_mask=atten_mask, actual_seq_lengths_kv=actual_seq_lengths, num_heads=num_heads,
        scale_value=scale_value, input_layout=input_layout, num_key_value_heads=num_key_value_heads,
        sparse_mode=0 if atten_mask is None else 1,
    )  # fmt: skip

"""Attention to chosen keys, the indexers that choose them, and the gated delta rule in chunks."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import mstorch as torch

from .attention import refuse

_FAR = 9223372036854775807


def _ends(lengths: Any, layout: str, batch: int, size: int) -> list[int]:
    """Return each sequence's length; in the layout TND ``lengths`` holds the sequences' ends."""
    if lengths is None:
        if layout == "TND":
            raise RuntimeError("the layout TND takes the lengths of the sequences")
        return [size] * batch
    numbers = [int(number) for number in (lengths.tolist() if isinstance(lengths, torch.Tensor) else lengths)]
    return [end - start for start, end in zip([0, *numbers], numbers)] if layout == "TND" else numbers


def _sequences(x: Any, lengths: list[int], layout: str, table: Any = None) -> Iterator[Any]:
    """Yield each sequence, (length, heads, size); ``table`` has the blocks of a paged cache."""
    start = 0
    for number, length in enumerate(lengths):
        if layout == "TND":
            yield x[start : start + length]
            start += length
        elif layout == "BSND":
            yield x[number, :length]
        elif layout == "PA_BSND":
            yield x[table[number].long()].flatten(0, 1)[:length]
        else:
            raise RuntimeError(f"the layout must be BSND, TND or PA_BSND, got {layout}")


def _check(function: str, sparse_mode: int, pre_tokens: int, next_tokens: int) -> None:
    refuse(function, pre_tokens=None if pre_tokens == _FAR else pre_tokens, next_tokens=None if next_tokens == _FAR else next_tokens)
    if sparse_mode not in (0, 3):
        raise RuntimeError(f"{function}(): sparse_mode must be 0 or 3, got {sparse_mode}")


def _behind(queries: int, keys: int, device: Any) -> Any:
    """Return where a key comes after a query, the last query being level with the last key."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).triu(keys - queries + 1)


def _gathered(rows: list[Any], like: Any, layout: str) -> Any:
    """Return the results of sequences in the layout of ``like``, with zeros where it has no more tokens."""
    if layout == "TND":
        return torch.cat(rows)
    pad = torch.nn.functional.pad
    return torch.stack([pad(row, (0, 0) * (row.dim() - 1) + (0, like.shape[1] - row.shape[0])) for row in rows])


def _chosen(
    function: str, query: Any, key: Any, weights: Any, scales: tuple[Any, Any] | None, lengths: tuple[Any, Any], block_table: Any,
    layouts: tuple[str, str], count: int, sparse_mode: int
) -> tuple[Any, Any]:  # fmt: skip
    """Return the places and the scores of the ``count`` keys of each query with the greatest sums of ``weights * relu(query @ key)``;
    -1 where there are fewer."""
    batch = query.shape[0] if layouts[0] == "BSND" else len(lengths[0])
    ours = _ends(lengths[0], layouts[0], batch, query.shape[1])
    theirs = _ends(lengths[1], layouts[1], batch, key.shape[1])
    parts = [_sequences(query, ours, layouts[0]), _sequences(key, theirs, layouts[1], block_table), _sequences(weights, ours, layouts[0])]
    if scales is not None:
        parts += [_sequences(scales[0], ours, layouts[0]), _sequences(scales[1], theirs, layouts[1], block_table)]
    places, scores = [], []
    for q, k, w, *factors in zip(*parts):
        score = torch.einsum("snd,td->snt", q.float(), k[:, 0].float())
        if factors:
            score = score * factors[0].float().unsqueeze(-1) * factors[1].float().reshape(-1)
        score = (score.relu() * w.float().unsqueeze(-1)).sum(1)
        if sparse_mode == 3:
            score = score.masked_fill(_behind(score.shape[0], score.shape[1], score.device), -torch.inf)
        best, place = score.sort(dim=-1, descending=True, stable=True)
        missing = (0, max(0, count - score.shape[1]))
        best = torch.nn.functional.pad(best[:, :count], missing, value=-torch.inf)
        place = torch.nn.functional.pad(place[:, :count], missing, value=-1)
        places.append(torch.where(best == -torch.inf, -1, place).int().unsqueeze(1))
        scores.append(best.unsqueeze(1).to(query.dtype if query.is_floating_point() else weights.dtype))
    return _gathered(places, query, layouts[0]), _gathered(scores, query, layouts[0])


def npu_lightning_indexer(
    query: Any, key: Any, weights: Any, *, actual_seq_lengths_query: Any = None, actual_seq_lengths_key: Any = None,
    block_table: Any = None, layout_query: str = "BSND", layout_key: str = "BSND", sparse_count: int = 2048, sparse_mode: int = 3,
    pre_tokens: int = _FAR, next_tokens: int = _FAR, return_value: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the places of the keys that matter most to each query, and with ``return_value`` their scores."""
    _check("npu_lightning_indexer", sparse_mode, pre_tokens, next_tokens)
    places, scores = _chosen(
        "npu_lightning_indexer", query, key, weights, None, (actual_seq_lengths_query, actual_seq_lengths_key), block_table,
        (layout_query, layout_key), sparse_count, sparse_mode,
    )  # fmt: skip
    return places, scores if return_value else scores.new_empty(0)


def npu_quant_lightning_indexer(
    query: Any, key: Any, weights: Any, query_dequant_scale: Any, key_dequant_scale: Any, query_quant_mode: int, key_quant_mode: int, *,
    actual_seq_lengths_query: Any = None, actual_seq_lengths_key: Any = None, block_table: Any = None, layout_query: str = "BSND",
    layout_key: str = "BSND", sparse_count: int = 2048, sparse_mode: int = 3, pre_tokens: int = _FAR, next_tokens: int = _FAR,
    query_dtype: Any = None, key_dtype: Any = None,
) -> Any:  # fmt: skip
    """Return ``npu_lightning_indexer``'s places for quantised queries and keys with a scale for each token and head."""
    name = "npu_quant_lightning_indexer"
    _check(name, sparse_mode, pre_tokens, next_tokens)
    refuse(name, query_quant_mode=query_quant_mode or None, key_quant_mode=key_quant_mode or None, query_dtype=query_dtype,
        key_dtype=key_dtype)
    return _chosen(
        name, query, key, weights, (query_dequant_scale, key_dequant_scale), (actual_seq_lengths_query, actual_seq_lengths_key),
        block_table, (layout_query, layout_key), sparse_count, sparse_mode,
    )[0]  # fmt: skip


def npu_sparse_flash_attention(
    query: Any, key: Any, value: Any, sparse_indices: Any, scale_value: float, *, block_table: Any = None,
    actual_seq_lengths_query: Any = None, actual_seq_lengths_kv: Any = None, query_rope: Any = None, key_rope: Any = None,
    sparse_block_size: int = 1, layout_query: str = "BSND", layout_kv: str = "BSND", sparse_mode: int = 3, pre_tokens: int = _FAR,
    next_tokens: int = _FAR, attention_mode: int = 0, return_softmax_lse: bool = False, sinks: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return attention of each query to the blocks of keys that ``sparse_indices`` has for it, up to the first -1, and with
    ``return_softmax_lse`` each row's greatest score and sum of exponentials."""
    _check("npu_sparse_flash_attention", sparse_mode, pre_tokens, next_tokens)
    batch = query.shape[0] if layout_query == "BSND" else len(actual_seq_lengths_query)
    ours = _ends(actual_seq_lengths_query, layout_query, batch, query.shape[1])
    theirs = _ends(actual_seq_lengths_kv, layout_kv, batch, key.shape[1])
    if query_rope is not None:
        query, key = torch.cat([query, query_rope], -1), torch.cat([key, key_rope], -1)
    outs, tops, sums = [], [], []
    parts = [
        _sequences(query, ours, layout_query), _sequences(key, theirs, layout_kv, block_table),
        _sequences(value, theirs, layout_kv, block_table), _sequences(sparse_indices, ours, layout_query),
    ]  # fmt: skip
    for q, k, v, places in zip(*parts):
        queries, keys = q.shape[0], k.shape[0]
        there = (places[:, 0] < 0).int().cumsum(-1) == 0
        blocks = -(-keys // sparse_block_size)
        used = torch.zeros(queries, blocks + 1, dtype=torch.int32, device=q.device)
        used = used.scatter(1, torch.where(there, places[:, 0], blocks).long(), 1)[:, :blocks].bool()
        seen = used.repeat_interleave(sparse_block_size, 1)[:, :keys]
        if sparse_mode == 3:
            seen = seen & ~_behind(queries, keys, q.device)
        score = torch.einsum("snd,td->snt", q.float(), k[:, 0].float()) * scale_value
        score = score.masked_fill(~seen.unsqueeze(1), -torch.inf)
        top = score.amax(-1, keepdim=True).clamp(min=-3e38)
        if sinks is not None:
            top = torch.maximum(top, sinks.float().reshape(1, -1, 1))
        power = (score - top).exp()
        total = power.sum(-1, keepdim=True)
        total = total if sinks is None else total + (sinks.float().reshape(1, -1, 1) - top).exp()
        outs.append((torch.einsum("snt,td->snd", power, v[:, 0].float()) / total.clamp(min=1e-38)).to(value.dtype))
        tops.append(top)
        sums.append(total)
    out = _gathered(outs, query, layout_query)
    if not return_softmax_lse:
        return out, out.new_empty(0, dtype=torch.float32), out.new_empty(0, dtype=torch.float32)
    place = 1 if layout_query == "BSND" else 0
    return out, *[_gathered(rows, query, layout_query).squeeze(-1).unsqueeze(place) for rows in (tops, sums)]


def npu_block_sparse_attention(
    query: Any, key: Any, value: Any, block_sparse_mask: Any, block_shape: Sequence[int], *, q_input_layout: str = "TND",
    kv_input_layout: str = "TND", num_key_value_heads: int = 1, scale_value: float = 0.0, inner_precise: int = 1,
    actual_seq_lengths: Any = None, actual_seq_lengths_kv: Any = None, softmax_lse_flag: int | None = 0,
) -> tuple[Any, Any]:  # fmt: skip
    """Return attention of blocks of queries to the blocks of keys that the mask, (batch, heads, blocks, blocks), has for them, and with
    ``softmax_lse_flag`` the logarithms of the rows' sums of exponentials."""
    if q_input_layout != kv_input_layout or q_input_layout not in ("TND", "BNSD"):
        raise RuntimeError(f"npu_block_sparse_attention(): layouts {q_input_layout} and {kv_input_layout}")
    layout = "TND" if q_input_layout == "TND" else "BSND"
    if layout == "BSND":
        query, key, value = (x.transpose(1, 2) for x in (query, key, value))
    elif actual_seq_lengths is None or actual_seq_lengths_kv is None:
        raise RuntimeError("npu_block_sparse_attention(): the layout TND takes the lengths of the sequences")
    # The lists have each sequence's length, in both layouts.
    ours = _ends(actual_seq_lengths, "BSND", query.shape[0], query.shape[1])
    theirs = _ends(actual_seq_lengths_kv, "BSND", key.shape[0], key.shape[1])
    outs, logs = [], []
    parts = [_sequences(query, ours, layout), _sequences(key, theirs, layout), _sequences(value, theirs, layout)]
    for number, (q, k, v) in enumerate(zip(*parts)):
        repeats = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(repeats, 1).float(), v.repeat_interleave(repeats, 1).float()
        seen = block_sparse_mask[number].bool().repeat_interleave(block_shape[0], 1).repeat_interleave(block_shape[1], 2)
        score = torch.einsum("snd,tnd->nst", q.float(), k) * scale_value
        score = score.masked_fill(~seen[:, : q.shape[0], : k.shape[0]], -torch.inf)
        log = score.logsumexp(-1, keepdim=True)
        outs.append(torch.einsum("nst,tnd->snd", (score - log.clamp(min=-3e38)).exp(), v).to(query.dtype))
        logs.append(log.transpose(0, 1))
    out, log = _gathered(outs, query, layout), _gathered(logs, query, layout)
    if layout == "BSND":
        out, log = out.transpose(1, 2).contiguous(), log.transpose(1, 2).contiguous()
    return out, log if softmax_lse_flag else log.new_empty(0)


def npu_chunk_gated_delta_rule(
    query: Any, key: Any, value: Any, *, beta: Any = None, initial_state: Any = None, actual_seq_lengths: Any = None,
    scale: float | None = None, g: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return ``state @ (scale * query)`` of each token and the last states: each token lets the state decay by ``exp(g)``, and moves
    what the state gives for its key by ``beta`` towards its value. Computed token by token."""
    if beta is None or initial_state is None or actual_seq_lengths is None:
        raise RuntimeError("npu_chunk_gated_delta_rule() takes beta, initial_state and actual_seq_lengths")
    repeats = value.shape[1] // key.shape[1]
    q, k = (x.float().repeat_interleave(repeats, 1) for x in (query, key))
    decay = torch.ones_like(beta, dtype=torch.float32) if g is None else g.float().exp()
    outs, states, start = [], [], 0
    for number, length in enumerate(_ends(actual_seq_lengths, "BSND", 0, 0)):
        state = initial_state[number].float()
        for token in range(start, start + length):
            state = state * decay[token].reshape(-1, 1, 1)
            step = (value[token].float() - (state @ k[token].unsqueeze(-1)).squeeze(-1)) * beta[token].float().unsqueeze(-1)
            state = state + step.unsqueeze(-1) * k[token].unsqueeze(1)
            outs.append((state @ q[token].unsqueeze(-1)).squeeze(-1) * (1.0 if scale is None else scale))
        states.append(state)
        start += length
    return torch.stack(outs).to(value.dtype), torch.stack(states).to(initial_state.dtype)

"""Routing of tokens to experts: the second forms, with ranges of experts, capacities, quantised rows and maps."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from . import quantised
from .attention import refuse
from .backward import through
from .experts import npu_moe_gating_top_k_softmax, npu_moe_token_permute, npu_moe_token_unpermute


def npu_moe_gating_top_k_softmax_v2(
    x: torch.Tensor, *, k: int = 1, finished: Any = None, renorm: int | None = 0, output_softmax: bool | None = False
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the ``k`` largest of ``softmax(x)``, or the softmax of the largest (``renorm=1``), their experts,
    and the softmax if wanted."""
    weights = torch.softmax(x.float(), -1)
    if not renorm:
        top, experts, _ = npu_moe_gating_top_k_softmax(x.float(), finished, k)
        return top.to(x.dtype), experts, weights if output_softmax else torch.empty(0, dtype=torch.float32, device=x.device)
    scores, experts = x.float().topk(k, -1)
    experts = experts.int()
    if finished is not None:
        experts = experts.masked_fill(finished.bool().unsqueeze(-1), x.shape[-1])
    return torch.softmax(scores, -1).to(x.dtype), experts, torch.empty(0, dtype=torch.float32, device=x.device)


def npu_moe_gating_top_k(
    x: torch.Tensor, k: int, *, bias: Any = None, input_ids: Any = None, tid2eid: Any = None, k_group: int = 1, group_count: int = 1,
    group_select_mode: int = 0, renorm: int = 0, norm_type: int = 0, out_flag: bool = False, routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the weights of the ``k`` best experts of each row, the experts, and all weights with ``out_flag``.

    Weights are a softmax (``norm_type=0``) or a sigmoid (1) of the scores; experts are chosen with the bias added,
    of the ``k_group`` best groups,
    by their best expert or by the sum of their two best (``group_select_mode=1``).
    """
    refuse("npu_moe_gating_top_k", input_ids=input_ids, tid2eid=tid2eid)
    if norm_type not in (0, 1) or renorm not in (0, 1):
        raise NotImplementedError(f"mstorch: npu_moe_gating_top_k() with norm_type={norm_type}, renorm={renorm}")
    scores = x.float()
    weights = torch.softmax(scores, -1) if norm_type == 0 else torch.sigmoid(scores)
    ranked = weights if bias is None else weights + bias.float()
    if group_count > 1:
        groups = ranked.unflatten(-1, (group_count, -1))
        best = groups.amax(-1) if group_select_mode == 0 else groups.topk(min(2, groups.shape[-1]), -1).values.sum(-1)
        chosen = best.sort(dim=-1, descending=True, stable=True).indices[..., :k_group]
        open_groups = torch.zeros_like(best).scatter(-1, chosen, 1.0).bool()
        ranked = groups.masked_fill(~open_groups.unsqueeze(-1), float("-inf")).flatten(-2)
    experts = ranked.sort(dim=-1, descending=True, stable=True).indices[..., :k]
    top = weights.gather(-1, experts)
    if norm_type == 1 or renorm == 1:
        top = top / (top.sum(-1, keepdim=True) + eps)
    out = weights if out_flag else torch.empty(0, dtype=torch.float32, device=x.device)
    return (top * routed_scaling_factor).to(x.dtype), experts.int(), out


def npu_moe_init_routing_v2(
    x: torch.Tensor, expert_idx: torch.Tensor, *, scale: Any = None, offset: Any = None, active_num: int = -1, expert_capacity: int = -1,
    expert_num: int = -1,
    drop_pad_mode: int = 0, expert_tokens_num_type: int = 0, expert_tokens_num_flag: bool = False, quant_mode: int = -1,
    active_expert_range: Sequence[int] = (), row_idx_type: int = 0, x_dtype: Any = None,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return the rows sorted by expert, their places, the experts' numbers of rows (ends, counts, or pairs of expert and count),
    and scales.

    Places are those of each entry of ``expert_idx`` among the sorted rows (-1 for experts out of range),
    or with ``row_idx_type=1`` the entries
    in order. With ``drop_pad_mode=1`` each expert has ``expert_capacity`` rows, the rest of which are zero.
    """
    refuse("npu_moe_init_routing_v2", x_dtype=x_dtype)
    if quant_mode not in (-1, 0, 1):
        raise NotImplementedError(f"mstorch: npu_moe_init_routing_v2() with quant_mode={quant_mode}")
    rows, k = x.shape[0], expert_idx.shape[-1]
    first, last = (active_expert_range[0], active_expert_range[1]) if len(active_expert_range) == 2 else (0, expert_num)
    flat = expert_idx.reshape(-1).long()
    inside = (flat >= first) & (flat < last)
    keys = torch.where(flat < first, torch.iinfo(torch.int32).max, flat)  # experts after the range sort behind it by themselves
    ordered, order = keys.sort(stable=True)
    numbers = torch.arange(first, last, device=x.device)
    counts = (flat[None, :] == numbers[:, None]).sum(1)
    there = torch.arange(rows * k, device=x.device)
    live = inside.sum()
    if drop_pad_mode == 0:
        shown = rows * k if active_num <= 0 else min(active_num, rows * k)
        expanded = _quantised(x[order[:shown] // k], scale, offset, quant_mode, ordered[:shown] - first)
        places = order if row_idx_type == 1 else _inverse(order, torch.where(there < live, there, -1))
        if active_num > 0 and row_idx_type == 0:
            places = torch.where(places >= shown, -1, places)
    else:
        starts = counts.cumsum(0) - counts
        own = (ordered - first).clamp(0, last - first - 1)
        within = there - starts[own]
        kept = (there < live) & (within < expert_capacity)
        slots = torch.where(kept, own * expert_capacity + within, (last - first) * expert_capacity)
        total = (last - first) * expert_capacity
        sources = torch.full((total + 1,), -1, dtype=torch.int64, device=x.device).scatter(0, slots, torch.where(kept, order, -1))[:total]
        taken = torch.where((sources >= 0).unsqueeze(-1), x[sources.clamp(min=0) // k], 0)
        expanded = _quantised(taken, scale, offset, quant_mode, torch.arange(total, device=x.device) // expert_capacity)
        expanded = expanded[0].reshape(last - first, expert_capacity, -1), expanded[1]
        places = sources if row_idx_type == 1 else _inverse(order, torch.where(kept, slots, -1))
        if expert_tokens_num_type != 2:
            counts = counts.clamp(max=max(expert_capacity, 0)) if expert_tokens_num_type == 1 else counts
    if not expert_tokens_num_flag:
        tokens = torch.empty(0, dtype=torch.int64, device=x.device)
    elif expert_tokens_num_type == 0:
        tokens = counts.cumsum(0)
    elif expert_tokens_num_type == 1:
        tokens = counts
    else:
        empty = torch.where(counts == 0, 1, 0)
        sequence = empty.sort(stable=True).indices
        tokens = torch.stack([torch.where(counts > 0, numbers, 0)[sequence], counts[sequence]], 1)
    return expanded[0], places.int(), tokens, expanded[1]


def _inverse(order: Any, values: Any) -> Any:
    return torch.empty_like(order).scatter(0, order, values)


def _quantised(rows: torch.Tensor, scale: Any, offset: Any, mode: int, experts: Any) -> tuple[Any, Any]:
    if mode == 1:
        scale = None if scale is None or not scale.numel() else scale
        factors = None if scale is None else scale.float()[experts.clamp(0, scale.shape[0] - 1)] if scale.shape[0] > 1 else scale.float()
        return quantised.npu_dynamic_quant(rows, smooth_scales=factors)
    if mode == 0:
        small = quantised.rounded(rows.float() * scale.float() + (0.0 if offset is None else offset.float()), torch.int8)
        return small, torch.empty(0, dtype=torch.float32, device=rows.device)
    if scale is None:
        return rows, torch.empty(rows.shape[:1], dtype=torch.float32, device=rows.device)
    return rows, torch.empty(rows.shape[:1], dtype=torch.float32, device=rows.device)


def npu_moe_re_routing(
    tokens: torch.Tensor, expert_token_num_per_rank: Any, *, per_token_scales: Any = None, expert_token_num_type: int = 1,
    idx_type: int = 0,
    tokens_dtype: Any = None,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return rows that lie by rank and expert in the order of expert and rank, their scales, the rows' old places,
    and the experts' counts."""
    refuse("npu_moe_re_routing", tokens_dtype=tokens_dtype, idx_type=idx_type or None)
    counts = expert_token_num_per_rank.long()
    ranks, experts = counts.shape
    flat = counts.reshape(-1)
    ends = flat.cumsum(0)
    place = torch.arange(tokens.shape[0], device=tokens.device)
    block = (place[:, None] >= ends[None, :]).sum(1).clamp(max=ranks * experts - 1)
    order = (block % experts * ranks + block // experts).sort(stable=True).indices
    scales = torch.empty(0, dtype=torch.float32, device=tokens.device) if per_token_scales is None else per_token_scales[order]
    totals = counts.sum(0)
    return tokens[order], scales, order.int(), (totals if expert_token_num_type == 1 else
        totals.cumsum(0)).to(expert_token_num_per_rank.dtype)


# Maps of tokens and experts


def npu_moe_token_permute_with_routing_map(
    tokens: torch.Tensor, routing_map: torch.Tensor, *, probs: Any = None, num_out_tokens: int | None = None, drop_and_pad: bool = False
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the rows of each expert one after another, their weights, and for each entry of the map (by token) its row.

    How many entries the map has is read on the host unless ``num_out_tokens`` is positive. With ``drop_and_pad`` each expert has as many
    rows as
    the others, and the last result has the rows' tokens.
    """
    count, experts = routing_map.shape
    by_expert = routing_map.bool().t().contiguous()
    if drop_and_pad:
        capacity = int(num_out_tokens or 0) // experts
        chosen = by_expert.to(torch.int8).sort(dim=-1, descending=True, stable=True).indices[:, :capacity].reshape(-1)
        owners = torch.arange(experts, device=tokens.device).repeat_interleave(capacity)
        weights = None if probs is None else probs[chosen, owners]
        return tokens[chosen], _or_none(weights, tokens), chosen.int()
    total = num_out_tokens if num_out_tokens and num_out_tokens > 0 else int(by_expert.sum())
    flat = by_expert.reshape(-1)
    entries = torch.where(flat, 0, 1).sort(stable=True).indices[:total]
    owners, chosen = entries // count, entries % count
    weights = None if probs is None else probs[chosen, owners]
    return tokens[chosen], _or_none(weights, tokens), chosen.sort(stable=True).indices.int()


def _or_none(weights: Any, like: Any) -> Any:
    return torch.empty(0, dtype=like.dtype, device=like.device) if weights is None else weights


def npu_moe_token_unpermute_with_routing_map(
    permuted_tokens: torch.Tensor, sorted_indices: torch.Tensor, restore_shape: Sequence[int], *, probs: Any = None,
    routing_map: Any = None,
    drop_and_pad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """Return each token's sum of its rows, times the weights of the map's entries."""
    if drop_and_pad:
        rows = permuted_tokens
        if probs is not None:
            capacity = sorted_indices.shape[0] // probs.shape[1]
            owners = torch.arange(probs.shape[1], device=rows.device).repeat_interleave(capacity)
            rows = rows * probs[sorted_indices.long(), owners].unsqueeze(-1)
        whole = torch.zeros(list(restore_shape), dtype=rows.dtype, device=rows.device)
        return whole.index_add(0, sorted_indices.long(), rows).to(permuted_tokens.dtype)
    rows = permuted_tokens[sorted_indices.long()]
    count = restore_shape[0]
    k = rows.shape[0] // count
    if probs is not None:
        entries = torch.where(routing_map.bool().reshape(-1), 0, 1).sort(stable=True).indices[: rows.shape[0]]
        rows = rows * probs.reshape(-1)[entries].unsqueeze(-1)
    return rows.reshape(count, k, -1).sum(1).to(permuted_tokens.dtype)


def npu_moe_token_permute_with_routing_map_grad(
    permuted_token_out_grad: torch.Tensor, probs_grad: Any, sorted_indices: torch.Tensor, routing_map: torch.Tensor, experts_num: int,
    tokens_num: int, drop_and_pad: bool
) -> tuple[Any, Any]:  # fmt: skip
    """Return the gradients of ``npu_moe_token_permute_with_routing_map`` with respect to the tokens and the weights."""
    grad, size = permuted_token_out_grad, permuted_token_out_grad.shape[-1]
    tokens = torch.zeros((tokens_num, size), dtype=grad.dtype, device=grad.device)
    weights = torch.zeros((tokens_num, experts_num), dtype=grad.dtype if probs_grad is None else probs_grad.dtype, device=grad.device)

    def run(rows: torch.Tensor, probs: Any) -> Any:
        return npu_moe_token_permute_with_routing_map(rows, routing_map, probs=probs, num_out_tokens=grad.shape[0],
            drop_and_pad=drop_and_pad)[:2]

    given = [tokens, None if probs_grad is None else weights]
    found = through(run, given, [grad, probs_grad])
    return found[0], _or_none(found[1], grad)


def npu_moe_token_permute_grad(
    tokens: torch.Tensor, grad_permuted_tokens: torch.Tensor, indices: torch.Tensor, sorted_indices: torch.Tensor, padded_mode: bool = False
) -> torch.Tensor:  # fmt: skip
    """Return the gradient of ``npu_moe_token_permute`` with respect to the tokens."""
    return through(lambda rows: npu_moe_token_permute(rows, indices, grad_permuted_tokens.shape[0], padded_mode)[0], [tokens],
        [grad_permuted_tokens])[0]


def npu_moe_token_unpermute_grad(
    permuted_tokens: torch.Tensor, grad_unpermuted_tokens: torch.Tensor, sorted_indices: torch.Tensor, probs: Any = None,
    padded_mode: bool = False, restore_shape: Any = None
) -> tuple[Any, Any]:  # fmt: skip
    """Return the gradients of ``npu_moe_token_unpermute`` with respect to the rows and the weights."""
    found = through(
        lambda rows, weights: npu_moe_token_unpermute(rows, sorted_indices, weights, padded_mode, restore_shape), [permuted_tokens, probs],
        [grad_unpermuted_tokens],
    )  # fmt: skip
    return found[0], _or_none(found[1], permuted_tokens)

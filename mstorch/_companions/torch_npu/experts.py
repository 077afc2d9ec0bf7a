"""Grouped matmuls, and routing of tokens to experts (MoE)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from . import quantised
from .attention import refuse
from .codes import dtype_of


def npu_grouped_matmul(
    x: Sequence[Any], weight: Sequence[Any], *, bias: Sequence[Any] | None = None, scale: Any = None, offset: Any = None,
    antiquant_scale: Any = None, antiquant_offset: Any = None, per_token_scale: Any = None, group_list: Any = None,
    activation_input: Any = None, activation_quant_scale: Any = None, activation_quant_offset: Any = None, split_item: int = 0,
    group_type: int | None = None, group_list_type: int = 0, act_type: int = 0, tuning_config: Any = None, output_dtype: Any = None,
    x_dtype: Any = None, weight_dtype: Any = None, scale_dtype: Any = None, per_token_scale_dtype: Any = None,
) -> list[Any]:  # fmt: skip
    """Return ``x[i] @ weight[i] + bias[i]`` of each group.

    A single ``x`` is split by ``group_list``, which holds end offsets, or sizes (``group_list_type=1``), along rows, or along the reduction
    dimension (``group_type=2``). ``split_item`` 2 and 3 concatenate the results. With ``scale`` the matrices are int8, and the results are
    scaled by it and by ``per_token_scale``.
    """
    output_dtype = dtype_of("npu_grouped_matmul", output_dtype)
    refuse(
        "npu_grouped_matmul", offset=offset, x_dtype=x_dtype, weight_dtype=weight_dtype, scale_dtype=scale_dtype,
        per_token_scale_dtype=per_token_scale_dtype, antiquant_scale=antiquant_scale, antiquant_offset=antiquant_offset,
        activation_input=activation_input, activation_quant_scale=activation_quant_scale,
        activation_quant_offset=activation_quant_offset, act_type=act_type or None,
    )  # fmt: skip
    split_item = split_item or 0
    _check_groups(x, weight, split_item, group_type, group_list)
    sizes = None if group_list is None else _sizes(group_list, group_list_type or 0)
    if group_type == 2:
        results = [_along_sums(x, weight, sizes)]
        split_item = 0
    else:
        matrices = list(weight[0].unbind(0)) if len(weight) == 1 and weight[0].dim() == 3 else list(weight)
        parts = _split(x, matrices, sizes)
        added = _each(bias, len(parts))
        if scale:
            results = _quantised(parts, matrices, added, scale, per_token_scale, output_dtype)
        else:
            results = [part @ matrix for part, matrix in zip(parts, matrices)]
            results = [item if extra is None else item + extra.to(item.dtype) for item, extra in zip(results, added)]
    if output_dtype is not None:
        results = [item.to(output_dtype) for item in results]
    return results if split_item < 2 else [_joined(results, x)]


def _check_groups(x: Sequence[Any], weight: Sequence[Any], split_item: int, group_type: int | None, group_list: Any) -> None:
    """Raise RuntimeError for arguments that do not say what the groups are."""
    if split_item not in (0, 1, 2, 3):
        raise RuntimeError(f"npu_grouped_matmul(): split_item must be 0, 1, 2 or 3, got {split_item}")
    if group_type not in (None, -1, 0, 2):
        raise RuntimeError(f"npu_grouped_matmul(): The group type must be -1, 0 or 2, got {group_type}")
    if group_type is None and not isinstance(group_list, (list, tuple)):
        raise RuntimeError("npu_grouped_matmul(): Requires manual passing group_type, unless group_list is a list")
    if not x or not weight:
        raise RuntimeError("npu_grouped_matmul(): neither x nor weight can be empty")
    if group_list is None and len(x) == 1 and (len(weight) > 1 or (group_type in (0, 2) and weight[0].dim() == 3)):
        raise RuntimeError("npu_grouped_matmul(): one x for several weights takes a group_list")


def _split(x: Sequence[Any], matrices: list[Any], sizes: list[int] | None) -> list[Any]:
    """Return the rows of each group."""
    parts = list(x)
    if len(x) == 1 and sizes is not None:
        rows = x[0].shape[0]
        if len(sizes) != len(matrices) or sum(sizes) > rows:
            raise RuntimeError(f"npu_grouped_matmul(): groups of {sizes} rows for {rows} rows and {len(matrices)} weights")
        parts = list(x[0][: sum(sizes)].split(sizes))
    if len(parts) != len(matrices):
        raise RuntimeError(f"npu_grouped_matmul(): {len(parts)} groups and {len(matrices)} weights")
    return parts


def _each(items: Sequence[Any] | None, count: int) -> list[Any]:
    """Return an item for each group: of a list, or of one tensor whose rows they are."""
    if not items:
        return [None] * count
    return list(items[0].unbind(0)) if len(items) == 1 < count else list(items)


def _joined(results: list[Any], x: Sequence[Any]) -> Any:
    """Return the results below each other, with zeros for rows of a single ``x`` that are in no group."""
    whole = torch.cat(results)
    missing = x[0].shape[0] - whole.shape[0] if len(x) == 1 else 0
    return torch.nn.functional.pad(whole, (0, 0, 0, missing)) if missing else whole


def _quantised(
    parts: list[Any], matrices: list[Any], added: list[Any], scale: Sequence[Any], per_token: Any, kind: Any
) -> list[Any]:  # fmt: skip
    """Return the products of int8 matrices, scaled."""
    scales = list(scale[0].unbind(0)) if len(scale) == 1 < len(parts) else [item.squeeze(0) if item.dim() > 1 else item for item in scale]
    tokens = [None] * len(parts)
    if per_token:
        rows = [part.shape[0] for part in parts]
        tokens = list(per_token[0][: sum(rows)].split(rows)) if len(per_token) == 1 else list(per_token)
    return [
        quantised.npu_quant_matmul(part, matrix, own, pertoken_scale=token, bias=extra, output_dtype=kind or torch.float16)
        for part, matrix, own, token, extra in zip(parts, matrices, scales, tokens, added)
    ]


npu_grouped_matmul__List = npu_grouped_matmul


def _along_sums(x: Sequence[Any], weight: Sequence[Any], sizes: list[int] | None) -> Any:
    if len(x) != 1 or len(weight) != 1 or sizes is None or sum(sizes) > x[0].shape[1]:
        raise RuntimeError("npu_grouped_matmul() with group_type=2 takes one x, one weight, and groups of what is summed over")
    used = sum(sizes)
    return torch.stack([a @ b for a, b in zip(x[0][:, :used].split(sizes, 1), weight[0][:used].split(sizes))])


def _sizes(group_list: Any, kind: int) -> list[int]:
    """Return group sizes from ``group_list``, a list or tensor of end offsets (``kind`` 0) or of sizes (1)."""
    if kind not in (0, 1):
        raise NotImplementedError(f"mstorch: npu_grouped_matmul() with group_list_type={kind}")
    numbers = [int(number) for number in (group_list.tolist() if isinstance(group_list, torch.Tensor) else group_list)]
    sizes = numbers if kind else [end - start for start, end in zip([0, *numbers], numbers)]
    if any(size < 0 for size in sizes):
        raise RuntimeError(f"npu_grouped_matmul(): groups of {sizes} elements")
    return sizes


def npu_moe_gating_top_k_softmax(x: Any, finished: Any = None, k: int = 1) -> tuple[Any, Any, Any]:
    """Return the ``k`` largest of ``softmax(x)``, their experts (the number of experts for finished rows), and the column-major row
    indices.
    """
    weights = torch.softmax(x.float(), -1)
    top, experts = weights.topk(k, -1)
    experts = experts.int()
    if finished is not None:
        experts = experts.masked_fill(finished.bool().unsqueeze(-1), x.shape[-1])
    rows = top.numel() // k
    places = torch.arange(rows * k, dtype=torch.int32, device=x.device).reshape(k, rows).t().reshape(top.shape).contiguous()
    return top.to(x.dtype), experts, places


def npu_moe_init_routing(x: Any, row_idx: Any, expert_idx: Any, active_num: int) -> tuple[Any, Any, Any]:
    """Return the rows sorted by expert, the new position of each entry of ``row_idx``, and the sorted experts."""
    rows, k = x.shape[0], expert_idx.shape[-1]
    experts, order = expert_idx.reshape(-1).sort(stable=True)
    places = row_idx.reshape(-1)[order].long()
    went = torch.empty_like(places).index_put((places,), torch.arange(rows * k, device=x.device))
    return x[places[: min(rows, active_num) * k] % rows], went.int(), experts.int()


def npu_moe_compute_expert_tokens(sorted_experts: Any, num_expert: int) -> Any:
    """Return the cumulative token count of each expert."""
    return (sorted_experts.reshape(1, -1) <= torch.arange(num_expert, device=sorted_experts.device).reshape(-1, 1)).sum(1).int()


def npu_moe_finalize_routing(
    expanded_permuted_rows: Any, skip1: Any, skip2: Any, bias: Any, scales: Any, expanded_src_to_dst_row: Any, export_for_source_row: Any,
    drop_pad_mode: int | None = 0, k: int | None = 1,
) -> Any:  # fmt: skip
    """Return the combined expert outputs: ``skip1 + skip2`` plus the sum of ``scales * (row + bias[expert])``.

    ``drop_pad_mode``: 1 and 3 read padded rows of experts, (experts, capacity, size); 2 and 3 have the entries of each row side by side.
    """
    if drop_pad_mode not in (0, 1, 2, 3, None):
        raise RuntimeError(f"npu_moe_finalize_routing(): drop_pad_mode must be 0, 1, 2 or 3, got {drop_pad_mode}")
    if skip1 is None and skip2 is not None:
        raise RuntimeError("npu_moe_finalize_routing(): skip2 without skip1")
    count = expanded_src_to_dst_row.numel()
    k = scales.shape[1] if scales is not None else export_for_source_row.shape[1] if export_for_source_row is not None else k or 1
    flat, places = expanded_permuted_rows.reshape(-1, expanded_permuted_rows.shape[-1]), expanded_src_to_dst_row.reshape(-1).long()
    rows = flat[places.clamp(min=0)]
    if drop_pad_mode:
        rows = torch.where((places >= 0).unsqueeze(-1), rows, 0.0)  # dropped rows have the place -1
    by_row = drop_pad_mode in (2, 3)
    rows = rows.reshape(count // k, k, -1) if by_row else rows.reshape(k, count // k, -1).transpose(0, 1)
    if bias is not None:
        rows = rows + bias[export_for_source_row.long()]
    if scales is not None:
        rows = rows * scales.unsqueeze(-1)
    found = rows.sum(1)
    for skip in (skip1, skip2):
        found = found if skip is None else found + skip
    return found.to(expanded_permuted_rows.dtype)


def npu_moe_token_permute(tokens: Any, indices: Any, num_out_tokens: int | None = None, padded_mode: bool = False) -> tuple[Any, Any]:
    """Return the tokens repeated for each of their experts, sorted by expert, and each copy's position."""
    refuse("npu_moe_token_permute", padded_mode=padded_mode or None)
    k = indices.shape[1] if indices.dim() == 2 else 1
    order = indices.reshape(-1).argsort(stable=True)
    count = order.numel()
    wanted = count if not num_out_tokens else min(num_out_tokens, count) if num_out_tokens > 0 else count + num_out_tokens
    return tokens[order[:wanted] // k], order.argsort().int()


def npu_moe_token_unpermute(
    permuted_tokens: Any, sorted_indices: Any, probs: Any = None, padded_mode: bool = False, restore_shape: Any = None
) -> Any:  # fmt: skip
    """Return each token's sum of expert outputs, weighted by ``probs``; dropped tokens count as zero."""
    refuse("npu_moe_token_unpermute", padded_mode=padded_mode or None)
    k = 1 if probs is None else probs.shape[1]
    places, there = sorted_indices.long(), permuted_tokens.shape[0]
    if there < places.numel():
        kept = (places < there).unsqueeze(-1)
        rows = torch.where(kept, permuted_tokens[places.clamp(max=there - 1)], 0.0)
    else:
        rows = permuted_tokens[places]
    rows = rows.reshape(-1, k, permuted_tokens.shape[-1])
    return (rows if probs is None else rows * probs.unsqueeze(-1)).sum(1).to(permuted_tokens.dtype)

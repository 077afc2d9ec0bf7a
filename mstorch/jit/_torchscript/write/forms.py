"""Functions whose operator has another name or other arguments, and functions that torch composes of operators in Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...._src.core.above import above
from ...._tensor import Tensor
from ..._trace_graph import _FORMS

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_MODES = {
    ("nearest", 3): "upsample_nearest1d",
    ("nearest", 4): "upsample_nearest2d",
    ("nearest", 5): "upsample_nearest3d",
    ("nearest-exact", 3): "_upsample_nearest_exact1d",
    ("nearest-exact", 4): "_upsample_nearest_exact2d",
    ("nearest-exact", 5): "_upsample_nearest_exact3d",
    ("linear", 3): "upsample_linear1d",
    ("bilinear", 4): "upsample_bilinear2d",
    ("bicubic", 4): "upsample_bicubic2d",
    ("trilinear", 5): "upsample_trilinear3d",
}
Form = tuple[str, tuple[Any, ...]]


def _interpolated(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Form | None:  # fmt: skip
    if mode == "area" and scale_factor is None:
        return f"adaptive_avg_pool{input.dim() - 2}d", (input, size)
    name = _MODES.get((mode, input.dim()))
    if name is None or recompute_scale_factor or antialias and name not in ("upsample_bilinear2d", "upsample_bicubic2d"):
        return None
    spatial = input.dim() - 2
    sizes = [size] * spatial if isinstance(size, int) else None if size is None else list(size)
    factors = [float(scale_factor)] * spatial if isinstance(scale_factor, (int, float)) else None
    if factors is None and scale_factor is not None:
        factors = [float(factor) for factor in scale_factor]
    corners = () if "nearest" in mode else (bool(align_corners),)
    return (f"_{name}_aa" if antialias else name), (input, sizes, *corners, factors)


def _crossed(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Form | None:  # fmt: skip
    if size_average is not None or reduce is not None:
        return None
    return "cross_entropy_loss", (input, target, weight, _REDUCTIONS[reduction], ignore_index, label_smoothing)


def _columns(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Form:
    return "im2col", (input, *([one] * 2 if isinstance(one, int) else list(one) for one in (kernel_size, dilation, padding, stride)))


def _instances(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Form:  # fmt: skip
    return "instance_norm", (input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def _summed(equation: str, *operands: Any) -> Form:
    return "einsum", (equation, list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands))


def _embedded(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Form | None:  # fmt: skip
    if max_norm is not None:
        return None
    return "embedding", (weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)


def _sampled(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Form:
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return "grid_sampler", (input, grid, modes.index(mode), paddings.index(padding_mode), bool(align_corners))


def _grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Form:
    return "affine_grid_generator", (theta, list(size), bool(align_corners))


FORMS: dict[str, Callable[..., Any]] = {
    **_FORMS,
    "interpolate": _interpolated,
    "cross_entropy": _crossed,
    "unfold": _columns,
    "instance_norm": _instances,
    "einsum": _summed,
    "embedding": _embedded,
    "grid_sample": _sampled,
    "affine_grid": _grid,
}


def _normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


def _mask(mask: Tensor, like: Tensor) -> Tensor:
    """Return a mask as numbers to add: minus infinity where a bool mask is True."""
    if mask.dtype is not above.torch.bool:
        return mask
    return above.torch.zeros_like(mask, dtype=like.dtype).masked_fill(mask, -math.inf)


def _attend(
    query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_heads: int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None,
    bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
    out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True,
    attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
    static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> Any:  # fmt: skip
    """Return multi-head attention of (L, N, E), as public calls, whose sizes a program may hold as computed ones."""
    torch = above.torch
    linear = torch.nn.functional.linear
    if bias_k is not None or bias_v is not None or add_zero_attn or static_k is not None or static_v is not None or query.dim() != 3:
        return NotImplemented
    biases: Sequence[Any] = [None] * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    weights = [q_proj_weight, k_proj_weight, v_proj_weight] if in_proj_weight is None else in_proj_weight.chunk(3)
    q, k, v = (linear(one, weight, bias) for one, weight, bias in zip((query, key, value), weights, biases))
    length, batch, width = query.size(0), query.size(1), embed_dim // num_heads
    q, k, v = (one.contiguous().view(one.size(0), batch, num_heads, width).permute(1, 2, 0, 3) for one in (q, k, v))
    mask = None
    if attn_mask is not None:
        mask = _mask(attn_mask, q)
        mask = mask.view(batch, num_heads, length, k.size(2)) if mask.dim() == 3 else mask.unsqueeze(0).unsqueeze(0)
    if key_padding_mask is not None:
        padded = _mask(key_padding_mask, q).view(batch, 1, 1, k.size(2))
        mask = padded if mask is None else mask + padded
    scores = torch.matmul(q * (1.0 / math.sqrt(width)), k.transpose(-2, -1))
    shares = (scores if mask is None else scores + mask).softmax(-1)
    shares = torch.nn.functional.dropout(shares, dropout_p, True) if training and dropout_p > 0 else shares
    joined = torch.matmul(shares, v).permute(2, 0, 1, 3).contiguous().view(length, batch, embed_dim)
    result = linear(joined, out_proj_weight, out_proj_bias)
    if not need_weights:
        return result, None
    return result, shares.mean(1) if average_attn_weights else shares


COMPOSED: dict[str, Callable[..., Any]] = {"normalize": _normalize, "multi_head_attention_forward": _attend}

"""Operators that quantise, and products of quantised matrices."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from . import layers
from .attention import refuse
from .codes import dtype_of
from .integers import greatest, packed, plain_scale, product, rounded, unpacked

_EIGHT = (torch.float8_e4m3fn, torch.float8_e5m2)


def npu_trans_quant_param(scale: Any, offset: Any = None, round_mode: int | None = 0) -> torch.Tensor:
    """Return the int64 words of float32 scales for the device's products: the scale's upper 19 bits, a mark, and the offset's nine bits."""
    bits = scale.float().contiguous().view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    if round_mode == 1:
        bits = (bits + 0x1000) & 0xFFFFE000
    else:
        bits = bits & 0xFFFFE000
    words = bits | (1 << 46)
    if offset is not None:
        words = words | ((offset.round().clamp(-256, 255).to(torch.int64) & 0x1FF) << 37)
    return words


def _result(total: Any, kind: Any, offset: Any) -> Any:
    if kind in (None, torch.int8):
        return rounded(total if offset is None else total + offset.float(), torch.int8)
    return total.to(kind)


def _spread(scales: Any, count: int, axis: int) -> torch.Tensor:
    """Return scales of groups of 32 numbers, in pairs along the last dimension, as a factor for each number of an axis."""
    pairs = scales.float()
    pairs = pairs.flatten(-2) if axis == -1 else pairs.movedim(-1, -2).flatten(-3, -2)
    return pairs.repeat_interleave(32, axis).narrow(axis, 0, count)


def npu_quant_matmul(
    x1: torch.Tensor, x2: torch.Tensor, scale: Any, *, offset: Any = None, pertoken_scale: Any = None, bias: Any = None,
    output_dtype: Any = None,
    x1_dtype: Any = None, x2_dtype: Any = None, pertoken_scale_dtype: Any = None, scale_dtype: Any = None, group_sizes: Any = None,
    y_scale: Any = None,
) -> torch.Tensor:  # fmt: skip
    """Return the scaled product of quantised matrices: ``(x1 @ x2 + bias) * scale * pertoken_scale``; int8 without an ``output_dtype``.

    A bias of floats is added to the scaled product. int32 matrices hold eight four-bit numbers in a word. Scales of ``float8_e8m0fnu`` are
    those of groups of 32.
    """
    refuse("npu_quant_matmul", y_scale=y_scale)
    kind = dtype_of("npu_quant_matmul", output_dtype)
    if scale.dtype is torch.float8_e8m0fnu or dtype_of("npu_quant_matmul", scale_dtype) is torch.float8_e8m0fnu:
        return _of_groups(x1, x2, scale, pertoken_scale, bias, kind)
    if scale.dim() == 2 and scale.shape[0] > 1:
        return _of_packed_groups(x1, x2, scale, offset, pertoken_scale, bias, kind)
    if x1.dtype in _EIGHT:
        total = x1.float() @ x2.float()
    else:
        if x2.dtype is torch.int32:
            x1, x2 = (unpacked(x1) if x1.dtype is torch.int32 else x1), _unpacked_right(x1, x2)
        total = product(x1, x2)
        if bias is not None and bias.dtype is torch.int32:
            total, bias = total + bias, None
        if kind is torch.int32:
            return total
    total = total.float() * plain_scale(scale)
    if pertoken_scale is not None:
        total = total * pertoken_scale.float().unsqueeze(-1)
    if bias is not None:
        total = total + bias.float()
    return _result(total, kind, offset)


def _unpacked_right(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """Return the right matrix of int32 words: packed along its rows, or along its columns where it is a transposed one."""
    width = x1.shape[-1] * (8 if x1.dtype is torch.int32 else 1)
    return unpacked(x2) if x2.shape[-2] == width else unpacked(x2.transpose(-2, -1)).transpose(-2, -1)


def _of_packed_groups(
    x1: torch.Tensor, x2: torch.Tensor, scale: Any, offset: Any, pertoken_scale: Any, bias: Any, kind: Any
) -> torch.Tensor:  # fmt: skip
    """Return the product with a matrix of four-bit numbers and scales of groups of its rows.

    Four-bit rows take an offset of each group, which is subtracted from the matrix; rows of int8 take a row of offsets that holds eight
    times the sums of the scaled columns, which is how CANN prepares it.
    """
    if x2.dtype is not torch.int32 or pertoken_scale is None or bias is not None:
        raise NotImplementedError("mstorch: npu_quant_matmul() with scales of groups takes packed four-bit numbers, and no bias")
    small = x1.dtype is torch.int32
    left, right = (unpacked(x1) if small else x1).float(), _unpacked_right(x1, x2).float()
    size = right.shape[-2] // scale.shape[0]
    if small and offset is not None:
        right = right - offset.float().repeat_interleave(size, 0)
    right = right * plain_scale(scale).repeat_interleave(size, 0)
    total = left @ right
    if not small and offset is not None:
        total = total - 8.0 * right.sum(-2) + offset.float()
    return _result(total * pertoken_scale.float().reshape(-1, 1), kind or torch.bfloat16, None)


def _of_groups(x1: torch.Tensor, x2: torch.Tensor, scale: Any, pertoken_scale: Any, bias: Any, kind: Any) -> Any:
    if x1.dtype not in _EIGHT or scale.dtype is not torch.float8_e8m0fnu or pertoken_scale is None:
        raise NotImplementedError("mstorch: npu_quant_matmul() with scales of groups takes float8 matrices and float8_e8m0fnu scales")
    left = x1.float() * _spread(pertoken_scale, x1.shape[-1], -1)
    right = x2.float() * _spread(scale, x2.shape[-2], -2)
    total = left @ right
    return _result(total if bias is None else total + bias.float(), kind or torch.bfloat16, None)


def npu_quant_matmul_dequant(
    x: torch.Tensor, quantized_weight: Any, weight_scale: Any, *, bias: Any = None, x_scale: Any = None, x_offset: Any = None,
    smooth_scale: Any = None,
    quant_mode: str | None = "pertoken",
) -> torch.Tensor:  # fmt: skip
    """Return ``x @ weight.T`` for a weight of int8, with ``x`` quantised for the product."""
    refuse("npu_quant_matmul_dequant", x_offset=x_offset)
    wide = x.float() if smooth_scale is None else x.float() * smooth_scale.float()
    if x_scale is None:
        x_scale = wide.abs().amax(-1, keepdim=True) / 127 if quant_mode == "pertoken" else wide.abs().amax() / 127
    small = rounded(wide / x_scale, torch.int8)
    total = product(small, quantized_weight.t())
    if bias is not None:
        total = total + bias
    return (total.float() * x_scale * plain_scale(weight_scale)).to(x.dtype)


def _groups(input: torch.Tensor, smooth: Any, group_index: Any) -> torch.Tensor:
    """Return the rows times their group's factors; ``group_index`` has the groups' ends."""
    rows = input.flatten(0, -2)
    return (rows * _of_rows(smooth, group_index, rows.shape[0])).reshape(input.shape)


def _of_rows(factors: Any, group_index: Any, count: int) -> torch.Tensor:
    """Return for each of ``count`` rows its group's row of the factors; ``group_index`` has the groups' ends."""
    places = torch.arange(count, device=factors.device)
    group = (places[:, None] >= group_index.to(places.dtype)[None, :]).sum(1).clamp(max=factors.shape[0] - 1)
    return factors.float()[group]


_DIMS = {"pertoken": (-1,), "perchannel": (-2,), "pertensor": None}


def _smoothed(function: str, input: torch.Tensor, smooth_scales: Any, group_index: Any, quant_mode: str) -> tuple[Any, Any]:
    if quant_mode not in _DIMS:
        raise RuntimeError(f"{function}(): quant_mode must be pertoken, perchannel or pertensor, got {quant_mode}")
    wide = input.float()
    if smooth_scales is not None:
        wide = wide * smooth_scales.float() if group_index is None else _groups(wide, smooth_scales, group_index)
    return wide, tuple(range(-wide.dim(), 0)) if _DIMS[quant_mode] is None else _DIMS[quant_mode]


def _flat(scale: Any, quant_mode: str) -> Any:
    return scale.reshape(1) if quant_mode == "pertensor" else scale.squeeze(-1 if quant_mode == "pertoken" else -2)


def npu_dynamic_quant(
    input: torch.Tensor, *, smooth_scales: Any = None, group_index: Any = None, dst_type: Any = None, quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the input quantised by the greatest absolute value of each row (column, or of all), and the float32 scales."""
    kind = dtype_of("npu_dynamic_quant", dst_type, torch.int8)
    wide, dims = _smoothed("npu_dynamic_quant", input, smooth_scales, group_index, quant_mode)
    scale = wide.abs().amax(dims, keepdim=True) / (dst_type_max or greatest(kind))
    return rounded(wide / torch.where(scale == 0, 1.0, scale), kind), _flat(scale, quant_mode)


def npu_dynamic_quant_asymmetric(
    input: torch.Tensor, *, smooth_scales: Any = None, group_index: Any = None, dst_type: Any = None, quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the input quantised by the range of each row, with float32 scales and offsets."""
    kind = dtype_of("npu_dynamic_quant_asymmetric", dst_type, torch.int8)
    wide, dims = _smoothed("npu_dynamic_quant_asymmetric", input, smooth_scales, group_index, quant_mode)
    most = greatest(kind)
    high, low = wide.amax(dims, keepdim=True), wide.amin(dims, keepdim=True)
    scale = (high - low) / (2 * most + 1)
    offset = most - high / torch.where(scale == 0, 1.0, scale)
    small = rounded(wide / torch.where(scale == 0, 1.0, scale) + offset, kind)
    return small, _flat(scale, quant_mode), _flat(offset, quant_mode)


def _along(factors: Any, axis: int, dims: int) -> Any:
    if factors is None or factors.dim() != 1 or factors.numel() == 1:
        return factors
    shape = [1] * dims
    shape[axis] = -1
    return factors.reshape(shape)


def npu_quantize(input: torch.Tensor, scales: Any, zero_points: Any, dtype: Any, axis: int = 1, div_mode: bool = True) -> torch.Tensor:
    """Return ``input / scales + zero_points`` (times the scales without ``div_mode``), rounded to a dtype."""
    kind = dtype_of("npu_quantize", dtype)
    factors = _along(scales, axis, input.dim()).float()
    wide = input.float() / factors if div_mode else input.float() * factors
    if zero_points is not None:
        wide = wide + _along(zero_points, axis, input.dim()).float()
    return rounded(wide, kind)


def npu_group_quant(x: torch.Tensor, scale: Any, group_index: Any, *, offset: Any = None, dst_dtype: Any = None) -> torch.Tensor:
    """Return ``x * scale[group] + offset``, rounded; ``group_index`` has the ends of the groups of rows."""
    wide = x.float() * _of_rows(scale, group_index, x.shape[0])
    kind = dtype_of("npu_group_quant", dst_dtype, torch.int8)
    return rounded(wide if offset is None else wide + offset.float(), kind)


def npu_anti_quant(x: torch.Tensor, scale: Any, *, offset: Any = None, dst_dtype: Any = None, src_dtype: Any = None) -> torch.Tensor:
    """Return ``(x + offset) * scale`` in half precision, for int8, or for int32 words of eight four-bit numbers."""
    kind = dtype_of("npu_anti_quant", dst_dtype, torch.float16)
    wide = (unpacked(x) if x.dtype is torch.int32 else x).float()
    return ((wide if offset is None else wide + offset.float()) * scale.float()).to(kind)


def npu_convert_weight_to_int4pack(weight: Any, inner_k_tiles: int = 0) -> torch.Tensor:
    """Return int32 words with eight numbers from -8 to 7 of the last dimension each."""
    return packed(weight)


def npu_weight_quant_batchmatmul(
    x: torch.Tensor, weight: Any, antiquant_scale: Any, antiquant_offset: Any = None, quant_scale: Any = None, quant_offset: Any = None,
    bias: Any = None, antiquant_group_size: int = 0, inner_precise: int = 0, weight_dtype: Any = None,
) -> torch.Tensor:  # fmt: skip
    """Return ``x @ ((weight + antiquant_offset) * antiquant_scale) + bias``, quantised to int8 if there is a ``quant_scale``."""
    kind = x.dtype
    if weight.dtype is torch.int32:
        weight = _unpacked_right(x, weight)
    wide = weight.float()

    def spread(factors: Any) -> Any:
        factors = plain_scale(factors) if factors.dtype is torch.int64 else factors.float()
        if antiquant_group_size and factors.dim() > 1:
            return factors.repeat_interleave(antiquant_group_size, -2)[..., : wide.shape[-2], :]
        return factors

    if antiquant_offset is not None:
        wide = wide + spread(antiquant_offset)
    result = x.float() @ (wide * spread(antiquant_scale))
    result = result if bias is None else result + bias.float()
    if quant_scale is None:
        return result.to(kind)
    result = result * plain_scale(quant_scale)
    return rounded(result if quant_offset is None else result + quant_offset.float(), torch.int8)


def npu_dequant_bias(x: torch.Tensor, weight_scale: Any, activation_scale: Any, bias: Any, *, output_dtype: Any = None) -> torch.Tensor:
    """Return ``(x + bias) * weight_scale * activation_scale`` in half precision; a bias of floats is added at the end."""
    wide = x
    if bias is not None and bias.dtype is torch.int32:
        wide, bias = wide + bias, None
    wide = wide.float() * weight_scale.float()
    if activation_scale is not None:
        wide = wide * activation_scale.float().reshape(-1, 1)
    return (wide if bias is None else wide + bias.float()).to(output_dtype or torch.float16)


# Normalizations and gates whose results are quantised


def _normal(x: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> Any:
    wide = x.float()
    return wide * (wide.square().mean(-1, keepdim=True) + epsilon).rsqrt() * gamma.float()


def npu_add_rms_norm_quant(
    x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, scales1: Any, zero_points1: Any, beta: Any = None, scales2: Any = None,
    zero_points2: Any = None, *,
    axis: int = -1, epsilon: float = 1e-6, div_mode: bool = True, dst_type: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the normalized sum quantised by one or two sets of scales, and the sum."""
    total = x1 + x2
    normal = _normal(total, gamma, epsilon)
    normal = normal if beta is None else normal + beta.float()
    first = npu_quantize(normal, scales1, zero_points1, dst_type or torch.int8, axis, div_mode)
    second = first if scales2 is None else npu_quantize(normal, scales2, zero_points2, dst_type or torch.int8, axis, div_mode)
    return first, second, total


def npu_add_rms_norm_dynamic_quant(
    x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, *, smooth_scale1: Any = None, smooth_scale2: Any = None, beta: Any = None,
    epsilon: float = 1e-6,
    output_mask: Any = None, y_dtype: Any = None,
) -> tuple[Any, Any, Any, Any, Any]:  # fmt: skip
    """Return the normalized sum quantised by its rows, with one or two smoothing scales, the sum, and the scales."""
    total = x1 + x2
    normal = _normal(total, gamma, epsilon)
    normal = normal if beta is None else normal + beta.float()
    first, scale = npu_dynamic_quant(normal, smooth_scales=smooth_scale1, dst_type=y_dtype)
    if smooth_scale2 is None and not (output_mask is not None and output_mask[1]):
        empty = torch.empty(1, dtype=first.dtype, device=x1.device)
        return first, empty, total, scale, torch.empty(1, dtype=torch.float32, device=x1.device)
    second, other = npu_dynamic_quant(normal, smooth_scales=smooth_scale2, dst_type=y_dtype)
    return first, second, total, scale, other


def npu_rms_norm_quant(
    x: torch.Tensor, gamma: torch.Tensor, beta: Any, scale: Any, offset: Any, epsilon: float = 1e-6, *, dst_dtype: Any = None
) -> torch.Tensor:  # fmt: skip
    """Return ``(rms_norm(x) + beta) / scale + offset``, rounded."""
    wide = (_normal(x, gamma, epsilon) + beta.float()) / scale.float() + offset.float()
    return rounded(wide, dtype_of("npu_rms_norm_quant", dst_dtype, torch.int8))


def npu_swiglu_quant(
    x: torch.Tensor, *, smooth_scales: Any = None, offsets: Any = None, group_index: Any = None, activate_left: bool = False,
    quant_mode: int = 0,
    group_list_type: int = 0, dst_type: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return ``npu_swiglu`` quantised by given scales and offsets (``quant_mode=0``) or by its rows (1), and the scales."""
    gate, linear = x.float().chunk(2, -1)
    if not activate_left:
        gate, linear = linear, gate
    wide = torch.nn.functional.silu(gate) * linear
    kind = dtype_of("npu_swiglu_quant", dst_type, torch.int8)
    if group_index is not None and group_list_type:
        group_index = group_index.cumsum(0)
    if quant_mode == 1:
        if smooth_scales is not None and group_index is None:
            smooth_scales = smooth_scales.reshape(-1) if smooth_scales.numel() == wide.shape[-1] else smooth_scales
        small, scales = npu_dynamic_quant(wide, smooth_scales=smooth_scales, group_index=group_index, dst_type=kind)
        return small, torch.where(scales == 0, 0.0, 1.0 / scales)  # what the rows were multiplied with
    wide = wide * smooth_scales.float() if group_index is None else _groups(wide, smooth_scales.reshape(smooth_scales.shape[0], -1),
        group_index)
    if offsets is not None:
        wide = wide + offsets.float()
    return rounded(wide, kind), torch.empty(wide.shape[:-1], dtype=torch.float32, device=x.device)


def npu_dequant_swiglu_quant(
    x: torch.Tensor, *, weight_scale: Any = None, activation_scale: Any = None, bias: Any = None, quant_scale: Any = None,
    quant_offset: Any = None,
    group_index: Any = None, activate_left: bool = False, quant_mode: int = 0, dst_type: Any = None, round_mode: Any = None,
    activate_dim: Any = None, swiglu_mode: int = 0, clamp_limit: float = 7.0, glu_alpha: float = 1.702, glu_bias: float = 1.0,
) -> tuple[Any, Any]:  # fmt: skip
    """Return ``npu_swiglu`` of a dequantised product, quantised again,
    and the scales; ``group_index`` has the numbers of rows of groups."""
    refuse("npu_dequant_swiglu_quant", round_mode=round_mode or None, activate_dim=None if activate_dim in (None, -1,
    x.dim() - 1) else activate_dim)
    wide = x
    ends = None if group_index is None else group_index.cumsum(0)
    if bias is not None and bias.dtype is torch.int32:
        wide, bias = wide + bias, None
    wide = wide.float()
    if weight_scale is not None:
        wide = wide * weight_scale.float() if ends is None or weight_scale.dim() < 2 else _groups(wide, weight_scale, ends)
    if activation_scale is not None:
        wide = wide * activation_scale.float().reshape(*x.shape[:-1], 1)
    wide = wide if bias is None else wide + bias.float()
    if swiglu_mode:
        wide = layers.npu_clipped_swiglu(wide, alpha=glu_alpha, limit=clamp_limit, bias=glu_bias, interleaved=True)
    else:
        gate, linear = wide.chunk(2, -1)
        gate, linear = (gate, linear) if activate_left else (linear, gate)
        wide = torch.nn.functional.silu(gate) * linear
    kind = dtype_of("npu_dequant_swiglu_quant", dst_type, torch.int8)
    if quant_mode == 1:
        return npu_dynamic_quant(wide, smooth_scales=quant_scale, group_index=ends if quant_scale is not None else None, dst_type=kind)
    if quant_scale is not None:
        wide = wide / (quant_scale.float() if ends is None else quant_scale.float()[:1])
    wide = wide if quant_offset is None else wide + quant_offset.float()
    return rounded(wide, kind), torch.empty(wide.shape[:-1], dtype=torch.float32, device=x.device)


def npu_gelu_quant(
    input: torch.Tensor, *, input_scale: Any = None, input_offset: Any = None, approximate: str = "none", quant_mode: str = "dynamic",
    dst_type: Any = None, round_mode: str = "rint",
) -> tuple[Any, Any]:  # fmt: skip
    """Return ``gelu(input)`` quantised by its rows, or by given scales, and the scales."""
    wide = torch.nn.functional.gelu(input.float(), approximate=approximate)
    if quant_mode == "dynamic":
        return npu_dynamic_quant(wide, smooth_scales=input_scale, dst_type=dst_type)
    wide = wide * input_scale.float()
    wide = wide if input_offset is None else wide + input_offset.float()
    kind = dtype_of("npu_gelu_quant", dst_type, torch.int8)
    return rounded(wide, kind), torch.empty(wide.shape[:-1], dtype=torch.float32, device=input.device)


def npu_dynamic_block_quant(
    x: torch.Tensor, *, min_scale: float = 0.0, round_mode: str = "rint", dst_type: Any = 1, row_block_size: int = 1,
    col_block_size: int = 128,
    dst_type_max: float = 0.0,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the input quantised by the greatest absolute value of each block of rows and columns, and the float32 scales."""
    kind = dtype_of("npu_dynamic_block_quant", dst_type)
    if round_mode != "rint":
        raise NotImplementedError(f"mstorch: npu_dynamic_block_quant() with round_mode={round_mode!r}")
    rows, columns = x.shape[-2:]
    padded = torch.nn.functional.pad(x.float(), (0, -columns % col_block_size, 0, -rows % row_block_size))
    blocks = padded.unflatten(-1, (-1, col_block_size)).unflatten(-3, (-1, row_block_size))
    scale = (blocks.abs().amax((-1, -3), keepdim=True) / (dst_type_max or greatest(kind))).clamp(min=min_scale)
    small = (blocks / torch.where(scale == 0, 1.0, scale)).flatten(-2).flatten(-3, -2)
    return rounded(small[..., :rows, :columns], kind), scale.squeeze(-1).squeeze(-2)


def npu_kronecker_quant(
    x: torch.Tensor, kronecker_p1: Any, kronecker_p2: Any, clip_ratio: float | None = None, dst_dtype: Any = None,
    dst_type_max: float | None = None
) -> tuple[Any, Any]:  # fmt: skip
    """Return ``p1 @ x @ p2`` quantised to four bits by the greatest absolute value of each matrix, and the float32 scales."""
    if dst_type_max:
        raise NotImplementedError("mstorch: npu_kronecker_quant() with dst_type_max")
    wide = (kronecker_p1 @ (x @ kronecker_p2)).float()
    kind = dtype_of("npu_kronecker_quant", dst_dtype, "int4")
    scale = wide.abs().amax((-1, -2), keepdim=True) / (greatest(kind) * (1.0 if clip_ratio is None else clip_ratio))
    small = wide / torch.where(scale == 0, 1.0, scale)
    return rounded(small.half().float(), kind), scale.reshape(-1)


def npu_add_quant_matmul_(
    input: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, x2_scale: Any, *, x1_scale: Any = None, group_sizes: Any = None,
    x1_dtype: Any = None, x2_dtype: Any = None,
    x1_scale_dtype: Any = None, x2_scale_dtype: Any = None,
) -> Any:  # fmt: skip
    """Add the scaled product of quantised matrices to the input, in place."""
    product_of = npu_quant_matmul(
        x1, x2, x2_scale, pertoken_scale=x1_scale, output_dtype=torch.float32, x1_dtype=x1_dtype, x2_dtype=x2_dtype,
        scale_dtype=x2_scale_dtype
    )  # fmt: skip
    return input.add_(product_of.to(input.dtype))


def npu_add_quant_matmul(input: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, x2_scale: Any, **options: Any) -> torch.Tensor:
    """Return ``npu_add_quant_matmul_`` of a copy."""
    return npu_add_quant_matmul_(input.clone(), x1, x2, x2_scale, **options)


def npu_grouped_matmul_swiglu_quant(
    x: torch.Tensor, weight: Any, group_list: torch.Tensor, weight_scale: Any, x_scale: Any, *, bias: Any = None, offset: Any = None
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return ``npu_swiglu`` of the scaled products of groups of int8 rows, quantised by its rows, the scales, and an empty tensor."""
    refuse("npu_grouped_matmul_swiglu_quant", bias=bias, offset=offset)
    ends = [int(end) for end in group_list.tolist()]
    parts = [
        npu_quant_matmul(x[start:end], matrix, scale, pertoken_scale=x_scale[start:end], output_dtype=torch.float32)
        for start, end, matrix, scale in zip([0, *ends], ends, weight.unbind(0), weight_scale.unbind(0))
    ]
    gate, linear = torch.cat(parts).chunk(2, -1)
    small, scales = npu_dynamic_quant(torch.nn.functional.silu(gate) * linear)
    missing = x.shape[0] - small.shape[0]
    small, scales = (torch.nn.functional.pad(small, (0, 0, 0, missing)), torch.nn.functional.pad(scales, (0,
        missing))) if missing else (small, scales)
    return small, scales, torch.empty(0, dtype=torch.float32, device=x.device)


def npu_quant_grouped_matmul_dequant(
    x: torch.Tensor, quantized_weight: Any, weight_scale: Any, group_list: torch.Tensor, *, bias: Any = None, x_scale: Any = None,
    x_offset: Any = None,
    smooth_scale: Any = None, quant_mode: str | None = "pertoken",
) -> torch.Tensor:  # fmt: skip
    """Return ``x[group] @ weight[group].T`` for weights of int8, with the rows quantised for the products; the groups' ends are read."""
    refuse("npu_quant_grouped_matmul_dequant", bias=bias, x_scale=x_scale)
    ends = [int(end) for end in group_list.tolist()]
    return torch.cat([
        npu_quant_matmul_dequant(
            x[start:end], quantized_weight[place], weight_scale[place], x_offset=x_offset, smooth_scale=smooth_scale, quant_mode=quant_mode
        )
        for place, (start, end) in enumerate(zip([0, *ends], ends))
    ])  # fmt: skip


def npu_transpose_quant_batchmatmul(
    x1: torch.Tensor, x2: torch.Tensor, dtype: Any, *, bias: Any = None, x1_scale: Any = None, x2_scale: Any = None,
    group_sizes: Any = None, perm_x1: Any = None, perm_x2: Any = None, perm_y: Any = None, batch_split_factor: int | None = 1,
    x1_dtype: Any = None, x2_dtype: Any = None,
) -> torch.Tensor:  # fmt: skip
    """Return the scaled products of a batch of quantised matrices, whose dimensions are permuted before and after.

    ``x1_scale`` and ``x2_scale`` have a scale for each row and each column; those of ``float8_e8m0fnu`` are of groups of 32.
    """
    refuse("npu_transpose_quant_batchmatmul", bias=bias, x1_dtype=x1_dtype, x2_dtype=x2_dtype)
    first, second = list(perm_x1 or (1, 0, 2)), list(perm_x2 or (0, 1, 2))
    a, b = x1.permute(first).float(), x2.permute(second).float()
    if x2_scale is not None and x2_scale.dtype is torch.float8_e8m0fnu:
        a = a * _spread(x1_scale.permute(*first, 3), a.shape[-1], -1)
        b = b * _spread(x2_scale.permute(*second, 3), b.shape[-2], -2)
        result = a @ b
    else:
        result = a @ b
        result = result if x1_scale is None else result * x1_scale.float().reshape(-1, 1)
        result = result if x2_scale is None else result * x2_scale.float().reshape(1, -1)
    result = result.permute(list(perm_y or (1, 0, 2)))
    if batch_split_factor and batch_split_factor > 1:
        result = result.reshape(result.shape[0], batch_split_factor, -1).transpose(0, 1)
    return result.to(dtype_of("npu_transpose_quant_batchmatmul", dtype)).contiguous()

"""Operators of torch_npu's first years, and those of optimizers, losses, sampling and packed signs."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from .attention import refuse

_F = torch.nn.functional


def npu_bmmV2(input: torch.Tensor, mat2: torch.Tensor, output_sizes: Sequence[int]) -> torch.Tensor:
    """Return ``input @ mat2``, in another shape if one is told."""
    found = input @ mat2
    return found.reshape(list(output_sizes)) if len(output_sizes) else found


def npu_one_hot(input: torch.Tensor, num_classes: int = -1, depth: int = 1, on_value: Any = 1, off_value: Any = 0) -> torch.Tensor:
    """Return float32 rows of ``depth`` with one value at the input's number and another elsewhere; ``num_classes`` is the new dimension's
    place."""
    hits = input.unsqueeze(-1) == torch.arange(depth, dtype=input.dtype, device=input.device)
    on, off = (torch.full((), float(value), dtype=torch.float32, device=input.device) for value in (on_value, off_value))
    return torch.where(hits, on, off).movedim(-1, num_classes)


def npu_slice(input: torch.Tensor, offsets: Sequence[int], size: Sequence[int]) -> torch.Tensor:
    """Return ``size`` elements of each dimension from an offset; -1 is the rest."""
    for place, (start, count) in enumerate(zip(offsets, size)):
        input = input.narrow(place, start, input.shape[place] - start if count == -1 else count)
    return input.contiguous()


def npu_reshape(input: torch.Tensor, shape: Sequence[int], can_refresh: bool = False) -> torch.Tensor:
    """Return a copy of another shape."""
    return input.reshape(list(shape)).clone()


def npu_pad(input: torch.Tensor, paddings: Sequence[int]) -> torch.Tensor:
    """Return the input with zeros before and after each dimension, from the first."""
    pairs = [list(paddings[place : place + 2]) for place in range(0, len(paddings), 2)]
    return _F.pad(input, [count for pair in reversed(pairs) for count in pair])


def npu_stride_copy(input: torch.Tensor, shape: Sequence[int], stride: Sequence[int], storage_offset: Any) -> torch.Tensor:
    """Return a copy of a strided window."""
    return input.as_strided(list(shape), list(stride), int(storage_offset)).clone()


def npu_indexing(
    input: torch.Tensor, begin: Sequence[int], end: Sequence[int], strides: Sequence[int], begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> torch.Tensor:  # fmt: skip
    """Return a slice with steps of the first dimensions; a bit of a mask leaves a begin or an end out."""
    refuse("npu_indexing", ellipsis_mask=ellipsis_mask or None, new_axis_mask=new_axis_mask or None,
    shrink_axis_mask=shrink_axis_mask or None)
    key = tuple(
        slice(None if begin_mask >> place & 1 else start, None if end_mask >> place & 1 else stop, step)
        for place, (start, stop, step) in enumerate(zip(begin, end, strides))
    )
    return input[key].clone()


def npu_sort_v2(input: torch.Tensor, dim: int = -1, descending: bool = False) -> torch.Tensor:
    """Return the sorted values."""
    return input.sort(dim=dim, descending=descending).values


def npu_max__dim(input: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
    """Return the greatest values of a dimension and their places in int32."""
    values, places = input.max(dim, keepdim)
    return values, places.int()


def npu_min__dim(input: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
    """Return the least values of a dimension and their places in int32."""
    values, places = input.min(dim, keepdim)
    return values, places.int()


def npu_scatter(input: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, dim: int) -> torch.Tensor:
    """Return a copy with one value a row written along a dimension."""
    return input.scatter(dim, indices.long().unsqueeze(dim), updates.unsqueeze(dim).to(input.dtype))


def scatter_update(input: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, axis: int) -> torch.Tensor:
    """Return a copy in which each entry of the first dimension has its updates from its own index on along an axis."""
    return scatter_update_(input.clone(), indices, updates, axis)


def scatter_update_(input: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, axis: int) -> Any:
    """Write updates from each first entry's own index on along an axis, in place."""
    axis %= input.dim()
    count = updates.shape[axis]
    rows = indices.reshape(-1, *[1] * (updates.dim() - 1)).long() + torch.arange(count, device=input.device).reshape(
        [count if place == axis else 1 for place in range(updates.dim())]
    )
    return input.scatter_(axis, rows.expand(updates.shape), updates.to(input.dtype))


def npu_softmax_cross_entropy_with_logits(input: torch.Tensor, labels: Any) -> torch.Tensor:
    """Return the cross entropy of each row with a row of weights."""
    return -(labels * torch.log_softmax(input, -1)).sum(-1)


def npu_conv3d(input: torch.Tensor, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> torch.Tensor:
    """Return ``torch.nn.functional.conv3d`` of the arguments."""
    return _F.conv3d(input, weight, bias, list(stride), list(padding), list(dilation), groups)


def npu_convolution(input: torch.Tensor, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> torch.Tensor:
    """Return the two- or three-dimensional convolution of the arguments."""
    convolve = _F.conv3d if input.dim() == 5 else _F.conv2d
    return convolve(input, weight, bias, list(stride), list(padding), list(dilation), groups)


def npu_conv_transpose2d(
    input: torch.Tensor, weight: Any, bias: Any, padding: Any, output_padding: Any, stride: Any, dilation: Any, groups: int
) -> torch.Tensor:  # fmt: skip
    """Return ``torch.nn.functional.conv_transpose2d`` of the arguments."""
    return _F.conv_transpose2d(input, weight, bias, list(stride), list(padding), list(output_padding), groups, list(dilation))


def npu_convolution_transpose(
    input: torch.Tensor, weight: Any, bias: Any, padding: Any, output_padding: Any, stride: Any, dilation: Any, groups: int
) -> torch.Tensor:  # fmt: skip
    """Return the two- or three-dimensional transposed convolution of the arguments."""
    convolve = _F.conv_transpose3d if input.dim() == 5 else _F.conv_transpose2d
    return convolve(input, weight, bias, list(stride), list(padding), list(output_padding), groups, list(dilation))


def npu_transpose_batchmatmul(
    input: torch.Tensor, weight: Any, *, bias: Any = None, scale: Any = None, perm_x1: Any = None, perm_x2: Any = None, perm_y: Any = None,
    batch_split_factor: int | None = 1,
) -> torch.Tensor:  # fmt: skip
    """Return the product of batches of matrices whose dimensions are moved before and after it."""
    refuse("npu_transpose_batchmatmul", scale=scale)
    left = input.permute(list(perm_x1)) if perm_x1 else input
    right = weight.permute(list(perm_x2)) if perm_x2 else weight
    found = left @ right
    found = found if bias is None else found + bias
    found = found.permute(list(perm_y)).contiguous() if perm_y else found
    if batch_split_factor and batch_split_factor > 1:
        return found.reshape(found.shape[0], batch_split_factor, -1).transpose(0, 1).contiguous()
    return found


def npu_scaled_masked_fill(input: torch.Tensor, mask: Any, value: float) -> torch.Tensor:
    """Return the input with a value where a mask is True."""
    return input.masked_fill(mask.bool(), value)


def npu_masked_fill_range(input: torch.Tensor, start: Any, end: Any, value: torch.Tensor, axis: int = -1) -> torch.Tensor:
    """Return the input with values from starts to ends along an axis: a row of starts, ends and values for each of the first dimension."""
    axis %= input.dim()
    places = torch.arange(input.shape[axis], device=input.device)
    for low, high, item in zip(start.unbind(0), end.unbind(0), value.reshape(-1).unbind(0)):
        inside = (places >= low.reshape(-1, 1)) & (places < high.reshape(-1, 1))
        shape = [1] * input.dim()
        shape[axis] = input.shape[axis]
        shape[0] = inside.shape[0] if axis else shape[0]
        input = torch.where(inside.reshape(shape), item.to(input.dtype), input)
    return input


# Dropout


def dropout_with_byte_mask(input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    """Return ``torch.nn.functional.dropout``."""
    return _F.dropout(input, p, train)


def _npu_dropout(input: torch.Tensor, p: float) -> tuple[Any, Any]:
    """Return the input with a share of zeros, and the mask of what was kept, a byte each."""
    kept = (torch.rand(input.shape, dtype=torch.float32, device=input.device) >= p).to(torch.uint8)
    return (input * kept / (1 - p) if p < 1 else input * 0.0).to(input.dtype), kept


_dropout_with_byte_mask = _npu_dropout


# Losses


def npu_cross_entropy_loss(
    input: torch.Tensor, target: torch.Tensor, weight: Any = None, reduction: str = "mean", ignore_index: int = -100,
    label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0, return_zloss: bool = False,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return the cross entropy, the logarithms of the probabilities, and two empty tensors."""
    if lse_square_scale_for_zloss or return_zloss:
        raise NotImplementedError("mstorch: npu_cross_entropy_loss() with lse_square_scale_for_zloss or return_zloss")
    logs = torch.log_softmax(input.float(), -1)
    loss = _F.cross_entropy(input.float(), target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)
    empty = torch.empty(0, dtype=torch.float32, device=input.device)
    return loss.to(input.dtype), logs.to(input.dtype), empty, empty


# Sampling


def npu_top_k_top_p(logits: torch.Tensor, p: Any = None, k: Any = None) -> torch.Tensor:
    """Return the logits with minus infinity where they are not among the ``k`` greatest of the row, or not among those that hold the
    probability ``p``."""
    ordered, places = logits.sort(dim=-1, stable=True)
    if k is not None:
        least = ordered.gather(-1, (logits.shape[-1] - k.long()).unsqueeze(-1))
        ordered = ordered.masked_fill(ordered < least, float("-inf"))
    if p is not None:
        below = torch.softmax(ordered.float(), -1).cumsum(-1) <= 1 - p.float().unsqueeze(-1)
        last = torch.arange(logits.shape[-1], device=logits.device) == logits.shape[-1] - 1
        ordered = ordered.masked_fill(below & ~last, float("-inf"))
    return torch.empty_like(ordered).scatter(-1, places, ordered)


# Signs in bits


def npu_sign_bits_pack(input: torch.Tensor, size: int) -> torch.Tensor:
    """Return the signs of a vector as bits, (size, bytes): 1 for a number that is not negative, -1 fills the last byte."""
    padded = _F.pad((input >= 0).to(torch.int32), (0, -input.shape[0] % 8))
    bits = padded.reshape(-1, 8) << torch.arange(8, dtype=torch.int32, device=input.device)
    return bits.sum(-1).to(torch.uint8).reshape(size, -1)


def npu_sign_bits_unpack(input: torch.Tensor, size: int, dtype: Any) -> torch.Tensor:
    """Return 1 and -1 for the bits of bytes, (size, numbers)."""
    bits = input.reshape(-1, 1).to(torch.int32) >> torch.arange(8, dtype=torch.int32, device=input.device) & 1
    return (bits * 2 - 1).to(dtype).reshape(size, -1)


# Attention that was computed in parts


def npu_attention_update(lse: Sequence[Any], local_out: Sequence[Any], update_type: int) -> tuple[Any, Any]:
    """Return attention over all keys from attention over parts of them, and the logarithms of the sums (empty with ``update_type=0``)."""
    logs = torch.stack(list(lse))
    total = torch.logsumexp(logs, 0)
    weights = (logs - total).exp().unsqueeze(-1)
    found = (torch.stack([item.float() for item in local_out]) * weights).sum(0).to(local_out[0].dtype)
    return found, total if update_type else torch.empty(0, dtype=torch.float32, device=total.device)


def npu_ring_attention_update(
    prev_attn_out: Any, prev_softmax_max: Any, prev_softmax_sum: Any, cur_attn_out: Any, cur_softmax_max: Any, cur_softmax_sum: Any, *,
    actual_seq_qlen: Any = None, input_layout: str = "SBH", input_softmax_layout: str = "",
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return attention, maxima and sums over the keys of two parts. SBH: (S, B, H) with maxima (B, N, S, 8); TND: (T, N, D) with (T, N,
    8)."""
    if input_softmax_layout not in ("", "TND"):
        raise NotImplementedError(f"mstorch: npu_ring_attention_update() with input_softmax_layout={input_softmax_layout!r}")
    top = torch.maximum(prev_softmax_max, cur_softmax_max)
    before, now = prev_softmax_sum * (prev_softmax_max - top).exp(), cur_softmax_sum * (cur_softmax_max - top).exp()
    total = before + now

    def spread(share: Any) -> Any:
        if input_layout == "TND":
            return share[..., :1]
        heads = share.shape[1]
        rows = share[..., :1].permute(2, 0, 1, 3)
        return rows.expand(*rows.shape[:3], prev_attn_out.shape[-1] // heads).flatten(2)

    found = prev_attn_out.float() * spread(before / total) + cur_attn_out.float() * spread(now / total)
    return found.to(prev_attn_out.dtype), top, total


# Steps of optimizers


def npu_apply_adam_w__out(
    beta1_power: Any, beta2_power: Any, lr: Any, weight_decay: Any, beta1: Any, beta2: Any, epsilon: Any, grad: torch.Tensor,
    max_grad_norm: Any,
    amsgrad: Any, maximize: Any, *, out: Sequence[Any],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Write a step of AdamW into a parameter and its two states; the powers are those before the step."""
    var, first, second = out
    gradient = -grad if maximize else grad
    with torch.no_grad():
        first.mul_(beta1).add_((1 - beta1) * gradient)
        second.mul_(beta2).add_((1 - beta2) * gradient * gradient)
        most = second if not amsgrad else torch.maximum(max_grad_norm, second)
        scale = (most / (1 - beta2_power * beta2)).sqrt() + epsilon
        var.mul_(1 - lr * weight_decay).sub_(lr * first / (1 - beta1_power * beta1) / scale)
    return var, first, second


def npu_apply_adam__out(
    beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: torch.Tensor, use_locking: Any,
    use_nesterov: Any, *,
    out: Sequence[Any],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Write a step of Adam into a parameter and its two states; the powers are those of the step."""
    var, first, second = out
    with torch.no_grad():
        first.add_((grad - first) * (1 - beta1))
        second.add_((grad * grad - second) * (1 - beta2))
        one = torch.ones((), dtype=grad.dtype, device=grad.device)  # powers of 1 give NaN, as on a device, and no ZeroDivisionError
        rate = lr * (one - beta2_power).sqrt() / (one - beta1_power)
        moment = first * beta1 + (1 - beta1) * grad if use_nesterov else first
        var.sub_(rate * moment / (second.sqrt() + epsilon))
    return var, first, second


# Products that are added to what is there


def _npu_matmul_add_fp32(x: torch.Tensor, weight: Any, C: Any) -> None:
    """Add ``x.T @ weight`` to a float32 tensor in place."""
    C.add_((x.flatten(0, -2).t() @ weight.flatten(0, -2)).to(C.dtype).reshape(C.shape))


def _npu_quantize_per_tensor(x: torch.Tensor, scale: Any, zero_point: Any, y: torch.Tensor) -> None:
    """Write ``x / scale + zero_point``, rounded to int8, into ``y``."""
    most = max(tensor.dim() for tensor in (x, scale, zero_point, y))
    if most > 8:
        raise RuntimeError(f"ATB tensor supports at most 8 dimensions, but got {most}")
    y.copy_((x.float() / scale.float() + zero_point.float()).round().clamp(-128, 127))


def npu_grouped_matmul_add_(
    input: torch.Tensor, x: torch.Tensor, weight: Any, group_list: torch.Tensor, *, transpose_x: bool = True,
    transpose_weight: bool = False, group_type: int = 2,
    group_list_type: int | None = 0,
) -> Any:  # fmt: skip
    """Add the product of each group of rows, ``x[group].T @ weight[group]``, to the matrices of the input, in place."""
    if not transpose_x or transpose_weight or group_type != 2:
        raise NotImplementedError("mstorch: npu_grouped_matmul_add_() with another transpose or group_type")
    ends = [int(end) for end in (group_list if not group_list_type else group_list.cumsum(0)).tolist()]
    products = torch.stack([x[start:end].float().t() @ weight[start:end].float() for start, end in zip([0, *ends], ends)])
    return input.add_(products.reshape(input.shape).to(input.dtype))


def npu_grouped_matmul_add(input: torch.Tensor, x: torch.Tensor, weight: Any, group_list: torch.Tensor, **options: Any) -> torch.Tensor:
    """Return ``npu_grouped_matmul_add_`` of a copy."""
    return npu_grouped_matmul_add_(input.clone(), x, weight, group_list, **options)

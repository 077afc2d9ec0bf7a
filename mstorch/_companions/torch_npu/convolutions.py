"""torch_npu's convolutions: npu_conv2d, and the one that reads at offset positions, which mmcv calls on an Ascend device."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from ..torchvision import deformable

F = torch.nn.functional


def npu_conv2d(
    input: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int
) -> Any:
    """Return torch.nn.functional.conv2d."""
    return F.conv2d(input, weight, bias, tuple(stride), tuple(padding), tuple(dilation), groups)


def _numbers(
    stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int, deformable_groups: int
) -> tuple[int, ...]:
    """Return deform_conv2d's numbers for strides (1, 1, down, across), padding (top, bottom, left, right) and dilations as strides."""
    if padding[0] != padding[1] or padding[2] != padding[3]:
        raise RuntimeError(f"npu_deformable_conv2d: the padding must be as wide above as below, and left as right, got {list(padding)}")
    return (*stride[2:], padding[0], padding[2], *dilation[2:], groups, deformable_groups)


def _parted(offset: Any) -> tuple[Any, Any]:
    """Return offsets (down and across for each tap) and mask of a tensor with all distances across, all down, then the mask."""
    across, down, mask = offset.chunk(3, 1)
    return torch.stack((down, across), 2).flatten(1, 2), mask


class _Deformable(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Any, weight: Any, offset: Any, bias: Any, settings: tuple[Any, ...]) -> tuple[Any, Any]:
        numbers = _numbers(*settings[1:])
        moves, mask = _parted(offset)
        kernel = tuple(settings[0])
        sampled = deformable.sampled_images(input, kernel, moves, mask, (*numbers, True))
        ctx.save_for_backward(input, weight, offset, sampled)
        ctx.settings, ctx.with_bias = settings, bias is not None
        ctx.mark_non_differentiable(sampled)
        # Taps that lie side by side are read by a convolution whose stride is its kernel's size
        return F.conv2d(sampled, weight, bias, kernel, groups=settings[4]), sampled

    @staticmethod
    def backward(ctx: Any, grad: Any, _: Any) -> tuple[Any, ...]:
        input, weight, offset, sampled = ctx.saved_tensors
        of_input, of_weight, of_offset, of_bias = npu_deformable_conv2dbk(input, grad, sampled, weight, offset, *ctx.settings)
        return of_input, of_weight, of_offset, of_bias if ctx.with_bias else None, None


def npu_deformable_conv2d(
    input: Any, weight: Any, offset: Any, bias: Any, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int] = (1, 1, 1, 1), groups: int = 1, deformable_groups: int = 1, modulated: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the deformable convolution of images (N, C, H, W), and what its taps read, (N, C, H' * K, W' * L). ``offset`` (N,
    3 * deformable_groups * K * L, H', W') holds the distances across, those down, and the mask; strides and dilations are (1, 1, down,
    across), the padding (top, bottom, left, right)."""
    if not modulated:
        raise NotImplementedError("mstorch: npu_deformable_conv2d with modulated=False is not here; write a mask of ones")
    settings = (kernel_size, stride, padding, dilation, groups, deformable_groups)
    return _Deformable.apply(input, weight, offset, bias, settings)


def npu_deformable_conv2dbk(
    input: Any, grad_output: Any, offset_out: Any, weight: Any, offset: Any, kernel_size: Sequence[int], stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int] = (1, 1, 1, 1), groups: int = 1, deformable_groups: int = 1, modulated: bool = True,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return the gradients of images, filters, offset with mask, and bias."""
    numbers: Any = _numbers(stride, padding, dilation, groups, deformable_groups)
    moves, mask = _parted(offset)
    shift = input.new_zeros(weight.shape[0])
    found = deformable.deform_conv2d_backward(grad_output, input, weight, moves, mask, shift, *numbers, True)
    of_moves = found[2].view(moves.shape[0], -1, 2, *moves.shape[2:])
    return found[0], found[1], torch.cat((of_moves[:, :, 1], of_moves[:, :, 0], found[3]), 1), found[4]


__all__ = ["npu_conv2d", "npu_deformable_conv2d", "npu_deformable_conv2dbk"]

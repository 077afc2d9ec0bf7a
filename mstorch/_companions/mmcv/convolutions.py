"""mmcv's convolutions: at offset positions, at chosen places, by kernels of each place (CARAFE, PSANet), of two images (correlation)."""
from __future__ import annotations

import mstorch as torch

from ..torchvision import deformable
from .derived import add_gradients

Tensor = torch.Tensor
_F = torch.nn.functional


def deform_conv_forward(
    input: Tensor, weight: Tensor, offset: Tensor, output: Tensor, columns: Tensor, ones: Tensor, kW: int, kH: int, dW: int, dH: int,
    padW: int, padH: int, dilationW: int, dilationH: int, group: int, deformable_group: int, im2col_step: int,
) -> None:  # fmt: skip
    """Write a convolution each of whose taps reads at its place plus an offset."""
    none, zeros = input.new_zeros(0), input.new_zeros(weight.shape[0])
    numbers = (dH, dW, padH, padW, dilationH, dilationW, group, deformable_group, False)
    output.copy_(deformable.deform_conv2d(input, weight, offset, none, zeros, *numbers))


def _plain_slopes(
    input: Tensor, weight: Tensor, offset: Tensor, grad: Tensor, numbers: tuple[int, int, int, int, int, int, int, int]
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of images, filters and offsets without factors of the taps."""
    none, zeros = input.new_zeros(0), input.new_zeros(weight.shape[0])
    slopes = deformable.deform_conv2d_backward(grad, input, weight, offset, none, zeros, *numbers, False, edge=False)
    return slopes[0], slopes[1], slopes[2]


def deform_conv_backward_input(
    input: Tensor, offset: Tensor, gradOutput: Tensor, gradInput: Tensor, gradOffset: Tensor, weight: Tensor, columns: Tensor, kW: int,
    kH: int, dW: int, dH: int, padW: int, padH: int, dilationW: int, dilationH: int, group: int, deformable_group: int, im2col_step: int,
) -> None:  # fmt: skip
    """Write the gradients of images and offsets."""
    numbers = (dH, dW, padH, padW, dilationH, dilationW, group, deformable_group)
    of_input, _, of_offset = _plain_slopes(input, weight, offset, gradOutput, numbers)
    gradInput.copy_(of_input)
    gradOffset.copy_(of_offset)


def deform_conv_backward_parameters(
    input: Tensor, offset: Tensor, gradOutput: Tensor, gradWeight: Tensor, columns: Tensor, ones: Tensor, kW: int, kH: int, dW: int,
    dH: int, padW: int, padH: int, dilationW: int, dilationH: int, group: int, deformable_group: int, scale: float, im2col_step: int,
) -> None:  # fmt: skip
    """Add ``scale`` times the filters' gradient."""
    numbers = (dH, dW, padH, padW, dilationH, dilationW, group, deformable_group)
    gradWeight.add_(_plain_slopes(input, gradWeight, offset, gradOutput, numbers)[1] * scale)


def modulated_deform_conv_forward(
    input: Tensor, weight: Tensor, bias: Tensor, ones: Tensor, offset: Tensor, mask: Tensor, output: Tensor, columns: Tensor, kernel_h: int,
    kernel_w: int, stride_h: int, stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, group: int,
    deformable_group: int, with_bias: bool,
) -> None:  # fmt: skip
    """Write the same with a factor for each tap."""
    shift = bias if with_bias else input.new_zeros(weight.shape[0])
    numbers = (stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, group, deformable_group, True)
    output.copy_(deformable.deform_conv2d(input, weight, offset, mask, shift, *numbers).view(output.shape))


def modulated_deform_conv_backward(
    input: Tensor, weight: Tensor, bias: Tensor, ones: Tensor, offset: Tensor, mask: Tensor, columns: Tensor, grad_input: Tensor,
    grad_weight: Tensor, grad_bias: Tensor, grad_offset: Tensor, grad_mask: Tensor, grad_output: Tensor, kernel_h: int, kernel_w: int,
    stride_h: int, stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, group: int, deformable_group: int,
    with_bias: bool,
) -> None:  # fmt: skip
    """Add the gradients of all five."""
    shift = bias if with_bias else input.new_zeros(weight.shape[0])
    numbers = (stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, group, deformable_group, True)
    slopes = deformable.deform_conv2d_backward(grad_output, input, weight, offset, mask, shift, *numbers, edge=False)
    for target, slope in zip((grad_input, grad_weight, grad_offset, grad_mask), slopes):
        target.add_(slope)
    if with_bias:
        grad_bias.add_(slopes[4])


def masked_im2col_forward(
    im: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, col: Tensor, kernel_h: int, kernel_w: int, pad_h: int, pad_w: int
) -> None:
    """Write the patches (channels * kernel, places) around chosen places of an image."""
    padded = _F.pad(im, (pad_w, kernel_w, pad_h, kernel_h))[0]
    rows = mask_h_idx.long()[None] + torch.arange(kernel_h, device=im.device)[:, None]
    columns = mask_w_idx.long()[None] + torch.arange(kernel_w, device=im.device)[:, None]
    col.copy_(padded[:, rows[:, None], columns[None]].reshape(col.shape))


def masked_col2im_forward(col: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, im: Tensor, height: int, width: int, channels: int) -> None:
    """Write values (channels, places) to chosen places of an image."""
    im[0, :, mask_h_idx.long(), mask_w_idx.long()] = col


def _reassembled(features: Tensor, masks: Tensor, kernel: int, groups: int, scale: int) -> Tensor:
    """Return for each finer place the sum of its coarse place's neighbours, weighted by a kernel of its own (Wang et al. 2019)."""
    count, channels, high, broad = features.shape
    near = _F.unfold(features, kernel, padding=kernel // 2).view(count, groups, channels // groups, kernel * kernel, high, 1, broad, 1)
    weights = masks.view(count, groups, 1, kernel * kernel, high, scale, broad, scale)
    total = sum(near[:, :, :, term] * weights[:, :, :, term] for term in range(kernel * kernel))
    assert isinstance(total, Tensor)
    return total.reshape(count, channels, high * scale, broad * scale)


def carafe_naive_forward(features: Tensor, masks: Tensor, output: Tensor, kernel_size: int, group_size: int, scale_factor: int) -> None:
    """Write the features at a finer scale."""
    output.copy_(_reassembled(features, masks, kernel_size, group_size, scale_factor))


def carafe_naive_backward(
    top_grad: Tensor, features: Tensor, masks: Tensor, bottom_grad: Tensor, mask_grad: Tensor, kernel_size: int, group_size: int,
    scale_factor: int,
) -> None:  # fmt: skip
    """Add the gradients of features and kernels."""
    add_gradients(
        lambda values, weights: _reassembled(values, weights, kernel_size, group_size, scale_factor), (features, masks), top_grad,
        (bottom_grad, mask_grad),
    )  # fmt: skip


def carafe_forward(
    features: Tensor, masks: Tensor, rfeatures: Tensor, routput: Tensor, rmasks: Tensor, output: Tensor, kernel_size: int, group_size: int,
    scale_factor: int,
) -> None:  # fmt: skip
    """Write the features at a finer scale, and to ``rfeatures`` what backward gets of them."""
    rfeatures.copy_(features)
    carafe_naive_forward(features, masks, output, kernel_size, group_size, scale_factor)


def carafe_backward(
    top_grad: Tensor, rfeatures: Tensor, masks: Tensor, rtop_grad: Tensor, rbottom_grad_hs: Tensor, rbottom_grad: Tensor,
    rmask_grad: Tensor, bottom_grad: Tensor, mask_grad: Tensor, kernel_size: int, group_size: int, scale_factor: int,
) -> None:  # fmt: skip
    """Add the gradients of features and kernels."""
    carafe_naive_backward(top_grad, rfeatures, masks, bottom_grad, mask_grad, kernel_size, group_size, scale_factor)


def _pairs(high: int, broad: int, mask_high: int, mask_broad: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return each place, the element of its mask, and the place that this element lies on, for all that lie in the image."""
    place = torch.arange(high * broad, device=device)[:, None]
    element = torch.arange(mask_high * mask_broad, device=device)
    row = place // broad + element // mask_broad - (mask_high - 1) // 2
    column = place % broad + element % mask_broad - (mask_broad - 1) // 2
    own, of_mask = ((row >= 0) & (row < high) & (column >= 0) & (column < broad)).nonzero(as_tuple=True)
    return own, of_mask, row[own, of_mask] * broad + column[own, of_mask]


def psamask_forward(
    input: Tensor, output: Tensor, psa_type: int, num_: int, h_feature: int, w_feature: int, h_mask: int, w_mask: int, half_h_mask: int,
    half_w_mask: int,
) -> None:  # fmt: skip
    """Write masks around each place (batch, elements, height, width) as maps of all places: a place's map lies along the channels
    (``psa_type`` 0, collect) or is its channel (1, distribute)."""
    own, element, other = _pairs(h_feature, w_feature, h_mask, w_mask, input.device)
    values, target = input.flatten(2)[:, element, own], output.flatten(2)
    target[:, other if psa_type == 0 else own, own if psa_type == 0 else other] = values
    output.copy_(target.view(output.shape))


def psamask_backward(
    grad_output: Tensor, grad_input: Tensor, psa_type: int, num_: int, h_feature: int, w_feature: int, h_mask: int, w_mask: int,
    half_h_mask: int, half_w_mask: int,
) -> None:  # fmt: skip
    """Write the masks' gradient."""
    own, element, other = _pairs(h_feature, w_feature, h_mask, w_mask, grad_output.device)
    slopes, target = grad_output.flatten(2), grad_input.flatten(2)
    target[:, element, own] = slopes[:, other if psa_type == 0 else own, own if psa_type == 0 else other]
    grad_input.copy_(target.view(grad_input.shape))


def _correlated(
    first: Tensor, second: Tensor, kernel: tuple[int, int], patch: tuple[int, int], padding: tuple[int, int], dilation: tuple[int, int],
    apart: tuple[int, int], stride: tuple[int, int],
) -> Tensor:  # fmt: skip
    """Return sums over channels and a kernel of products of an image with the second one moved: (batch, patch, patch, rows, columns)."""
    reach = [(size - 1) // 2 * step for size, step in zip(patch, apart)]
    one = _F.pad(first, (padding[1], padding[1], padding[0], padding[0]))
    other = _F.pad(second, (padding[1] + reach[1], padding[1] + reach[1], padding[0] + reach[0], padding[0] + reach[0]))
    ones = one.new_ones(1, 1, *kernel)
    maps = []
    for row in range(patch[0]):
        for column in range(patch[1]):
            top, left = row * apart[0], column * apart[1]
            moved = other[:, :, top : top + one.shape[2], left : left + one.shape[3]]
            maps.append(_F.conv2d((one * moved).sum(1, keepdim=True), ones, stride=stride, dilation=dilation)[:, 0])
    return torch.stack(maps, 1).unflatten(1, patch)


def correlation_forward(
    input1: Tensor, input2: Tensor, output: Tensor, kH: int, kW: int, patchH: int, patchW: int, padH: int, padW: int, dilationH: int,
    dilationW: int, dilation_patchH: int, dilation_patchW: int, dH: int, dW: int,
) -> None:  # fmt: skip
    """Write the correlation of two images (FlowNet)."""
    settings = (kH, kW), (patchH, patchW), (padH, padW), (dilationH, dilationW), (dilation_patchH, dilation_patchW), (dH, dW)
    output.copy_(_correlated(input1, input2, *settings))


def correlation_backward(
    grad_output: Tensor, input1: Tensor, input2: Tensor, grad_input1: Tensor, grad_input2: Tensor, kH: int, kW: int, patchH: int,
    patchW: int, padH: int, padW: int, dilationH: int, dilationW: int, dilation_patchH: int, dilation_patchW: int, dH: int, dW: int,
) -> None:  # fmt: skip
    """Add the gradients of both images."""
    settings = (kH, kW), (patchH, patchW), (padH, padW), (dilationH, dilationW), (dilation_patchH, dilation_patchW), (dH, dW)
    add_gradients(lambda one, other: _correlated(one, other, *settings), (input1, input2), grad_output, (grad_input1, grad_input2))


def _moved_frames(values: Tensor, shift: Tensor, back: bool) -> Tensor:
    """Return frames (batch, frames, channels, places) moved by a number of each group of channels; what moves in is zero."""
    groups, frames = shift.shape[1], values.shape[1]
    steps = shift.long().repeat_interleave(values.shape[2] // groups, 1)[:, None]
    source = torch.arange(frames, device=values.device)[:, None] + (steps if back else -steps)
    inside = (source >= 0) & (source < frames)
    taken = values.gather(1, source.clamp(0, frames - 1).unsqueeze(-1).expand_as(values))
    return taken * inside.unsqueeze(-1)


def tin_shift_forward(input: Tensor, shift: Tensor, output: Tensor) -> None:
    """Write frames moved in time by whole numbers (batch, groups)."""
    output.copy_(_moved_frames(input, shift, False))


def tin_shift_backward(grad_output: Tensor, shift: Tensor, grad_input: Tensor) -> None:
    """Write the frames' gradient."""
    grad_input.copy_(_moved_frames(grad_output, shift, True))


__all__ = [
    "carafe_backward", "carafe_forward", "carafe_naive_backward", "carafe_naive_forward", "correlation_backward", "correlation_forward",
    "deform_conv_backward_input", "deform_conv_backward_parameters", "deform_conv_forward", "masked_col2im_forward",
    "masked_im2col_forward", "modulated_deform_conv_backward", "modulated_deform_conv_forward", "psamask_backward", "psamask_forward",
    "tin_shift_backward", "tin_shift_forward",
]  # fmt: skip

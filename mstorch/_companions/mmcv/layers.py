"""mmcv's fused layers: normalization over processes, a leaky rectifier with its bias, resampling by a filter."""
from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor
_F = torch.nn.functional


def sync_bn_forward_mean(input: Tensor, mean: Tensor) -> None:
    """Write the channels' means of (batch, channels, places)."""
    mean.copy_(input.float().mean((0, 2)))


def sync_bn_forward_var(input: Tensor, mean: Tensor, var: Tensor) -> None:
    """Write the channels' means of squared distances from given means."""
    var.copy_(((input.float() - mean[:, None]) ** 2).mean((0, 2)))


def sync_bn_forward_output(
    input: Tensor, mean: Tensor, var: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor, norm: Tensor,
    std: Tensor, output: Tensor, eps: float, momentum: float | Tensor, group_size: int,
) -> None:  # fmt: skip
    """Write the normalization and what backward needs, and update the running statistics."""
    std.copy_((var + eps).sqrt())
    norm.copy_((input.float() - mean[:, None]) / std[:, None])
    output.copy_(norm * weight[:, None].float() + bias[:, None].float())
    if running_mean.numel():
        number = input.shape[0] * input.shape[2] * group_size
        for running, new in ((running_mean, mean), (running_var, var * (number / max(number - 1, 1)))):
            running.copy_((1 - momentum) * running + momentum * new)


def sync_bn_backward_param(grad_output: Tensor, norm: Tensor, grad_weight: Tensor, grad_bias: Tensor) -> None:
    """Write the gradients of weights and biases."""
    grad_weight.copy_((grad_output * norm).sum((0, 2)))
    grad_bias.copy_(grad_output.sum((0, 2)))


def sync_bn_backward_data(
    grad_output: Tensor, weight: Tensor, grad_weight: Tensor, grad_bias: Tensor, norm: Tensor, std: Tensor, grad_input: Tensor
) -> None:
    """Write the inputs' gradient."""
    number = norm.shape[0] * norm.shape[2]
    shared = (norm * grad_weight[:, None] + grad_bias[:, None]) / number
    grad_input.copy_((weight / std)[:, None] * (grad_output - shared))


def fused_bias_leakyrelu(input: Tensor, bias: Tensor, refer: Tensor, act: int, grad: int, alpha: float, scale: float) -> Tensor:
    """Return ``scale`` times a leaky rectifier (``act`` 3) of the input plus the channels' biases, or (``grad`` 1) its slope where
    ``refer`` is its result."""
    if act not in (1, 3) or grad not in (0, 1, 2):
        raise RuntimeError(f"fused_bias_leakyrelu has act 1 and 3 and grad 0 to 2, got {act} and {grad}")
    values = input + bias.view(1, -1, *[1] * (input.dim() - 2)) if bias.numel() else input
    if act == 3:
        values = torch.zeros_like(values) if grad == 2 else torch.where((values if grad == 0 else refer) > 0, values, values * alpha)
    return values * scale


def upfirdn2d(
    input: Tensor, filter: Tensor, upx: int, upy: int, downx: int, downy: int, padx0: int, padx1: int, pady0: int, pady1: int,
    flip: bool, gain: float,
) -> Tensor:  # fmt: skip
    """Return images with zeros between their pixels, padded (or cut), filtered, and every few of their pixels."""
    count, channels, high, broad = input.shape
    spread = input.new_zeros(count, channels, high, upy, broad, upx)
    spread[:, :, :, 0, :, 0] = input
    spread = _F.pad(spread.view(count, channels, high * upy, broad * upx), (padx0, padx1, pady0, pady1))
    taps = filter.to(input.dtype) * gain
    taps = (taps if flip else taps.flip(0, 1))[None, None].repeat(channels, 1, 1, 1)
    return _F.conv2d(spread, taps, groups=channels)[:, :, ::downy, ::downx].contiguous()


__all__ = [
    "fused_bias_leakyrelu", "sync_bn_backward_data", "sync_bn_backward_param", "sync_bn_forward_mean", "sync_bn_forward_output",
    "sync_bn_forward_var", "upfirdn2d",
]  # fmt: skip

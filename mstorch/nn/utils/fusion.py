"""Folding of batch normalization into the preceding layer."""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ..._src.core.above import above
from ..._tensor import Tensor
from ..parameter import Parameter

if TYPE_CHECKING:
    from ..modules.module import Module

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _check_eval(layer: Module, bn: Module) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Module:
    """Return a copy of ``conv`` with ``bn`` folded in. Raise AssertionError unless both are in eval mode."""
    _check_eval(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None, bn_b: Tensor | None,
    transpose: bool = False
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a convolution with batch normalization folded in."""
    scale = above.torch.rsqrt(bn_rv + bn_eps) * (above.torch.ones_like(bn_rm) if bn_w is None else bn_w)
    bias = above.torch.zeros_like(bn_rm) if conv_b is None else conv_b
    shift = above.torch.zeros_like(bn_rm) if bn_b is None else bn_b
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    fused_w = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    fused_b = ((bias - bn_rm) * scale + shift).to(conv_w.dtype if conv_b is None else conv_b.dtype)
    return Parameter(fused_w, conv_w.requires_grad), Parameter(fused_b, bias.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Module:
    """Return a copy of ``linear`` with ``bn`` folded in. Raise AssertionError unless both are in eval mode."""
    _check_eval(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a linear layer with batch normalization folded in."""
    scale = bn_w * above.torch.rsqrt(bn_rv + bn_eps)
    bias = above.torch.zeros_like(bn_rm) if linear_b is None else linear_b
    fused_w = linear_w * scale.unsqueeze(-1).to(linear_w.dtype)
    fused_b = ((bias - bn_rm) * scale + bn_b).to(linear_w.dtype if linear_b is None else linear_b.dtype)
    return Parameter(fused_w, linear_w.requires_grad), Parameter(fused_b, bias.requires_grad)

"""mamba_ssm.ops.triton.layer_norm: normalization after a residual sum."""
from __future__ import annotations

from typing import Any

import mstorch as torch

Tensor = torch.Tensor
_F = torch.nn.functional


def _normalized(values: Tensor, weight: Tensor, bias: Tensor | None, eps: float, root_mean_square: bool, dtype: torch.dtype) -> Tensor:
    values = values if values.dtype is torch.float64 else values.float()
    weight, bias = weight.to(values.dtype), None if bias is None else bias.to(values.dtype)
    if not root_mean_square:
        return _F.layer_norm(values, weight.shape, weight, bias, eps).to(dtype)
    result = _F.rms_norm(values, weight.shape, weight, eps)
    return (result if bias is None else result + bias).to(dtype)


def layer_norm_fn(
    x: Tensor, weight: Tensor, bias: Tensor | None, residual: Tensor | None = None, x1: Tensor | None = None, weight1: Tensor | None = None,
    bias1: Tensor | None = None, eps: float = 1e-6, dropout_p: float = 0.0, rowscale: Tensor | None = None, prenorm: bool = False,
    residual_in_fp32: bool = False, is_rms_norm: bool = False, return_dropout_mask: bool = False,
) -> Any:  # fmt: skip
    """Return the normalization of the sum of x (scaled by rows, after dropout), x1 (after dropout) and the residual.

    With ``weight1`` two normalizations of it; with ``prenorm`` the sum as well, in the residual's dtype.
    """
    if return_dropout_mask:
        raise NotImplementedError("mstorch: layer_norm_fn returns no masks of dropout; use torch.nn.functional.dropout before it")
    if rowscale is not None and x1 is not None:
        raise AssertionError("rowscale is not supported with parallel LayerNorm")
    wide = torch.float64 if x.dtype is torch.float64 else torch.float32
    total = x.to(wide)
    if rowscale is not None:
        total = total * rowscale.unsqueeze(-1).to(wide)
    total = _F.dropout(total, dropout_p)
    if x1 is not None:
        total = total + _F.dropout(x1.to(wide), dropout_p)
    kind = torch.float32 if residual_in_fp32 else x.dtype
    if residual is not None:
        total, kind = total + residual.to(wide), residual.dtype
    results = [_normalized(total, weight, bias, eps, is_rms_norm, x.dtype)]
    if weight1 is not None:
        results.append(_normalized(total, weight1, bias1, eps, is_rms_norm, x.dtype))
    if prenorm:
        results.append(total.to(kind))
    return results[0] if len(results) == 1 else tuple(results)


def rms_norm_fn(
    x: Tensor, weight: Tensor, bias: Tensor | None, residual: Tensor | None = None, x1: Tensor | None = None, weight1: Tensor | None = None,
    bias1: Tensor | None = None, eps: float = 1e-6, dropout_p: float = 0.0, rowscale: Tensor | None = None, prenorm: bool = False,
    residual_in_fp32: bool = False, return_dropout_mask: bool = False,
) -> Any:  # fmt: skip
    """Return layer_norm_fn's result for the normalization by the root of the mean of squares."""
    return layer_norm_fn(
        x, weight, bias, residual, x1, weight1, bias1, eps, dropout_p, rowscale, prenorm, residual_in_fp32, True, return_dropout_mask
    )


def layer_norm_linear_fn(
    x: Tensor, norm_weight: Tensor, norm_bias: Tensor | None, linear_weight: Tensor, linear_bias: Tensor | None,
    residual: Tensor | None = None, eps: float = 1e-6, prenorm: bool = False, residual_in_fp32: bool = False, is_rms_norm: bool = False,
) -> Any:  # fmt: skip
    """Return a linear layer's result for layer_norm_fn's."""
    result = layer_norm_fn(
        x, norm_weight, norm_bias, residual, eps=eps, prenorm=prenorm, residual_in_fp32=residual_in_fp32, is_rms_norm=is_rms_norm
    )
    normalized, *total = result if prenorm else (result,)
    outputs = _F.linear(normalized.to(linear_weight.dtype), linear_weight, linear_bias)
    return (outputs, *total) if prenorm else outputs


class RMSNorm(torch.nn.Module):
    """Normalization by the root of the mean of squares, after a residual sum."""

    def __init__(self, hidden_size: int, eps: float = 1e-5, dropout_p: float = 0.0, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.eps = eps
        self.drop = torch.nn.Dropout(dropout_p) if dropout_p > 0.0 else None
        self.weight = torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weights to one."""
        torch.nn.init.ones_(self.weight)

    def forward(self, x: Tensor, residual: Tensor | None = None, prenorm: bool = False, residual_in_fp32: bool = False) -> Any:
        """Return rms_norm_fn's result."""
        dropout = self.drop.p if self.drop is not None and self.training else 0.0
        return rms_norm_fn(
            x, self.weight, None, residual, eps=self.eps, dropout_p=dropout, prenorm=prenorm, residual_in_fp32=residual_in_fp32
        )


__all__ = ["RMSNorm", "layer_norm_fn", "layer_norm_linear_fn", "rms_norm_fn"]

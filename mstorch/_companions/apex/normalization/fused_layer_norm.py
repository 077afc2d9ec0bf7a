"""apex.normalization.fused_layer_norm: layer norm and RMS norm over the last dimensions.

The "mixed" forms take weights of another dtype than the input, and return the weights' dtype; the others return the input's.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import mstorch as torch

Tensor = torch.Tensor
Shape = int | Sequence[int]
_F = torch.nn.functional


def _sizes(normalized_shape: Shape) -> tuple[int, ...]:
    return (int(normalized_shape),) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)  # type: ignore[arg-type]


def _wide(*tensors: Tensor | None) -> list[Tensor | None]:
    """Return tensors in the widest of their dtypes, at least float32 where the dtypes differ."""
    dtypes = {tensor.dtype for tensor in tensors if tensor is not None}
    if len(dtypes) == 1:
        return list(tensors)
    dtype = torch.float64 if torch.float64 in dtypes else torch.float32
    return [None if tensor is None else tensor.to(dtype) for tensor in tensors]


def _layer_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, shape: Shape, eps: float, dtype: torch.dtype
) -> Tensor:
    values, scale, shift = _wide(input, weight, bias)
    return _F.layer_norm(values, _sizes(shape), scale, shift, eps).to(dtype)  # type: ignore[arg-type]


def _rms_norm(input: Tensor, weight: Tensor | None, shape: Shape, eps: float, dtype: torch.dtype) -> Tensor:
    values, scale = _wide(input, weight)
    return _F.rms_norm(values, _sizes(shape), scale, eps).to(dtype)  # type: ignore[arg-type]


def fused_layer_norm(
    input: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> Tensor:
    """Return layer norm without weights."""
    return _layer_norm(input, None, None, normalized_shape, eps, input.dtype)


def fused_layer_norm_affine(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    normalized_shape: Shape,
    eps: float = 1e-6,
    memory_efficient: bool = False,
) -> Tensor:
    """Return layer norm with a weight and a bias, in the input's dtype."""
    return _layer_norm(input, weight, bias, normalized_shape, eps, input.dtype)


def mixed_dtype_fused_layer_norm_affine(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    normalized_shape: Shape,
    eps: float = 1e-6,
    memory_efficient: bool = False,
) -> Tensor:
    """Return layer norm with a weight and a bias, in the weight's dtype."""
    return _layer_norm(input, weight, bias, normalized_shape, eps, weight.dtype)


def fused_rms_norm(input: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False) -> Tensor:
    """Return RMS norm without a weight."""
    return _rms_norm(input, None, normalized_shape, eps, input.dtype)


def fused_rms_norm_affine(
    input: Tensor, weight: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> Tensor:
    """Return RMS norm with a weight, in the input's dtype."""
    return _rms_norm(input, weight, normalized_shape, eps, input.dtype)


def mixed_dtype_fused_rms_norm_affine(
    input: Tensor, weight: Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> Tensor:
    """Return RMS norm with a weight, in the weight's dtype."""
    return _rms_norm(input, weight, normalized_shape, eps, weight.dtype)


class _Norm(torch.nn.Module):
    """Base of the layers: the sizes of the last dimensions, and weights of these sizes."""

    _has_bias = False
    weight: Tensor
    bias: Tensor

    def __init__(
        self,
        normalized_shape: Shape,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        self.normalized_shape = torch.Size(_sizes(normalized_shape))
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.memory_efficient = memory_efficient
        self.register_parameter(
            "weight", torch.nn.Parameter(torch.empty(self.normalized_shape)) if elementwise_affine else None
        )
        if self._has_bias:
            self.register_parameter(
                "bias", torch.nn.Parameter(torch.empty(self.normalized_shape)) if elementwise_affine else None
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to one and the bias to zero."""
        if self.elementwise_affine:
            torch.nn.init.ones_(self.weight)
            if self._has_bias:
                torch.nn.init.zeros_(self.bias)

    def extra_repr(self) -> str:
        """Return the sizes and options."""
        return f"{tuple(self.normalized_shape)}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class FusedLayerNorm(_Norm):
    """Layer norm over the last dimensions, in the input's dtype."""

    _has_bias = True

    def forward(self, input: Tensor) -> Tensor:
        """Normalize the input."""
        return _layer_norm(input, self.weight, self.bias, self.normalized_shape, self.eps, input.dtype)


class FusedRMSNorm(_Norm):
    """RMS norm over the last dimensions, in the input's dtype."""

    def forward(self, input: Tensor) -> Tensor:
        """Normalize the input."""
        return _rms_norm(input, self.weight, self.normalized_shape, self.eps, input.dtype)


class MixedFusedLayerNorm(FusedLayerNorm):
    """Layer norm with weights, in the weights' dtype."""

    def __init__(self, normalized_shape: Shape, eps: float = 1e-5, *, memory_efficient: bool = False) -> None:
        super().__init__(normalized_shape, eps, True, memory_efficient)

    def forward(self, input: Tensor) -> Tensor:
        """Normalize the input."""
        return _layer_norm(input, self.weight, self.bias, self.normalized_shape, self.eps, self.weight.dtype)


class MixedFusedRMSNorm(FusedRMSNorm):
    """RMS norm with a weight, in the weight's dtype."""

    def __init__(self, normalized_shape: Shape, eps: float = 1e-5, *, memory_efficient: bool = False) -> None:
        super().__init__(normalized_shape, eps, True, memory_efficient)

    def forward(self, input: Tensor) -> Tensor:
        """Normalize the input."""
        return _rms_norm(input, self.weight, self.normalized_shape, self.eps, self.weight.dtype)


def manual_rms_norm(input: Tensor, normalized_shape: Shape, weight: Tensor | None, eps: float) -> Tensor:
    """Return RMS norm, in the weight's dtype."""
    return _rms_norm(input, weight, normalized_shape, eps, input.dtype if weight is None else weight.dtype)


__all__ = [
    "FusedLayerNorm", "FusedRMSNorm", "MixedFusedLayerNorm", "MixedFusedRMSNorm", "fused_layer_norm", "fused_layer_norm_affine",
    "fused_rms_norm", "fused_rms_norm_affine", "manual_rms_norm", "mixed_dtype_fused_layer_norm_affine",
    "mixed_dtype_fused_rms_norm_affine",
]  # fmt: skip

"""Layer, group, RMS and local response normalization."""
from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from ... import init
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._tensor import Tensor
from .. import functional as F
from ._made import parameter
from ._names import AFFINE, called
from ._own_init import own_init
from .module import Module


class _LocalResponse(Module):
    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *)."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


@own_init
class LocalResponseNorm(_LocalResponse):
    """Divides the input by ``(k + alpha * mean of squares over neighbouring channels) ** beta``."""

    __constants__ = ["size", "alpha", "beta", "k"]


class CrossMapLRN2d(_LocalResponse):
    """Applies local response normalization to (N, C, H, W); deprecated name."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)  # type: ignore[return-value]


@called(AFFINE)
class LayerNorm(Module):
    """Normalizes over the last dimensions to mean 0 and variance 1 (https://arxiv.org/abs/1607.06450)."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: int | str | device | None = None,
        dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = parameter(*self.normalized_shape, device=device, dtype=dtype)
        else:
            self.register_parameter("weight", None)
        if elementwise_affine and bias:
            self.bias = parameter(*self.normalized_shape, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (*, normalized_shape) → (*, normalized_shape)."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


@called(AFFINE)
class GroupNorm(Module):
    """Normalizes each group of channels to mean 0 and variance 1 (https://arxiv.org/abs/1803.08494)."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: int | str | device | None = None,
        dtype: dtype | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        if affine:
            self.weight = parameter(num_channels, device=device, dtype=dtype)
        else:
            self.register_parameter("weight", None)
        if affine and bias:
            self.bias = parameter(num_channels, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *)."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Divides the input by the root of its mean square over the last dimensions (https://arxiv.org/abs/1910.07467)."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True,
        device: int | str | device | None = None,
        dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = parameter(*self.normalized_shape, device=device, dtype=dtype)
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer: (*, normalized_shape) → (*, normalized_shape)."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]

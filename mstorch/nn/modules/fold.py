"""Fold and Unfold: between sliding windows and columns."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .module import Module


class Fold(Module):
    """Sums overlapping windows: (N, C * kernel elements, windows) → (N, C, *output_size)."""

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]
    dilation: int | tuple[int, ...]
    kernel_size: int | tuple[int, ...]
    output_size: int | tuple[int, ...]
    padding: int | tuple[int, ...]
    stride: int | tuple[int, ...]

    def __init__(
        self, output_size: int | tuple[int, ...], kernel_size: Any, dilation: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0, stride: int | tuple[int, ...] = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C * kernel elements, windows) → (N, C, *output_size), or unbatched."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Unfold(Module):
    """Extracts sliding windows as columns: (N, C, *) → (N, C * kernel elements, windows)."""

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]
    dilation: int | tuple[int, ...]
    kernel_size: int | tuple[int, ...]
    padding: int | tuple[int, ...]
    stride: int | tuple[int, ...]

    def __init__(
        self, kernel_size: Any, dilation: int | tuple[int, ...] = 1, padding: int | tuple[int, ...] = 0, stride: int | tuple[int, ...] = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C * kernel elements, windows), or unbatched."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


__all__ = ["Fold", "Unfold"]

"""Upsampling layers."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from ._state import complete
from .module import Module


class Upsample(Module):
    """Upsamples to ``size`` or by ``scale_factor``, as ``interpolate`` does."""

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]
    scale_factor: float | tuple[float, ...] | None
    size: int | tuple[int, ...] | None

    def __init__(
        self, size: int | tuple[int, ...] | None = None, scale_factor: float | tuple[float, ...] | None = None, mode: str = "nearest",
        align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(complete(state, recompute_scale_factor=True))  # early files lack it

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *)."""
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsamples (N, C, H, W) by nearest-neighbour interpolation."""

    scale_factor: float | tuple[float, ...] | None
    size: int | tuple[int, ...] | None

    def __init__(self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsamples (N, C, H, W) by bilinear interpolation with aligned corners."""

    scale_factor: float | tuple[float, ...] | None
    size: int | tuple[int, ...] | None

    def __init__(self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]

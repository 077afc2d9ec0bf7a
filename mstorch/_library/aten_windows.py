"""Pooling, padding and resampling under their ATen names, with their gradients."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import nn
from .._src.ops.memory import creation
from .._tensor import Tensor

F = nn.functional
Function = Callable[..., Any]


# Pooling


def _adaptive_avg_pool3d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """Return adaptive average pooling to ``output_size``."""
    return F.adaptive_avg_pool3d(self, tuple(output_size))


def adaptive_max_pool2d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return adaptive max pooling to ``output_size``, and the indices of the maxima."""
    return F.adaptive_max_pool2d(self, tuple(output_size), True)


def adaptive_max_pool3d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return adaptive max pooling to a 3-d ``output_size``, and the indices of the maxima."""
    return F.adaptive_max_pool3d(self, tuple(output_size), True)


def max_pool3d_with_indices(
    self: Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the maximum of each window, and its index."""
    return F.max_pool3d(self, kernel_size, stride or None, padding, dilation, ceil_mode, True)


def _fractional(rank: int) -> tuple[Function, Function]:
    pool = getattr(F, f"fractional_max_pool{rank}d")

    def forward(self: Tensor, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Tensor) -> tuple[Tensor, Tensor]:
        """Return the maximum of each window and its index; the windows are placed by numbers in [0, 1)."""
        found, places = pool(self, tuple(kernel_size), tuple(output_size), None, True, random_samples)
        return found, places

    def backward(
        grad_output: Tensor, self: Tensor, kernel_size: Sequence[int], output_size: Sequence[int], indices: Tensor
    ) -> Tensor:
        """Return the gradient of this pooling, added up where windows share their maximum."""
        zeros = creation.zeros_like(self).flatten(-rank)
        return zeros.scatter_add(-1, indices.flatten(-rank), grad_output.flatten(-rank)).view(self.shape)

    return forward, backward


fractional_max_pool2d, fractional_max_pool2d_backward = _fractional(2)
fractional_max_pool3d, fractional_max_pool3d_backward = _fractional(3)


# Padding


def _padding(mode: str) -> Function:
    def pad(self: Tensor, padding: Sequence[int]) -> Tensor:
        """Pad the tensor by reflection or replication."""
        return F.pad(self, list(padding), mode)

    return pad


reflection_pad1d = reflection_pad2d = reflection_pad3d = _padding("reflect")
replication_pad1d = replication_pad2d = replication_pad3d = _padding("replicate")


# Resampling


def _resampled(
    x: Tensor, mode: str, sizes: Sequence[int] | None, align_corners: bool | None, scales: Sequence[Any], antialias: bool = False
) -> Tensor:
    if len(scales) == 1 and isinstance(scales[0], (list, tuple)):  # the overload ``vec``, whose factors are one list
        scales = scales[0]
    if scales and all(scale is not None for scale in scales):
        found = F.interpolate(
            x, scale_factor=tuple(scales), mode=mode, align_corners=align_corners, recompute_scale_factor=False, antialias=antialias
        )
        if sizes is None or tuple(found.shape[2:]) == tuple(sizes):
            return found
    if sizes is None:
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    return F.interpolate(x, tuple(sizes), mode=mode, align_corners=align_corners, antialias=antialias)


def _nearest(mode: str) -> Function:
    def upsample(self: Tensor, output_size: Sequence[int] | None, *scales: Any) -> Tensor:
        """Resample the tensor to ``output_size`` by nearest neighbour."""
        return _resampled(self, mode, output_size, None, scales)

    return upsample


def _interpolating(mode: str, antialias: bool = False) -> Function:
    def upsample(self: Tensor, output_size: Sequence[int] | None, align_corners: bool, *scales: Any) -> Tensor:
        """Resample the tensor to ``output_size`` by interpolation."""
        return _resampled(self, mode, output_size, align_corners, scales, antialias)

    return upsample


upsample_nearest1d = upsample_nearest2d = upsample_nearest3d = _nearest("nearest")
_upsample_nearest_exact1d = _upsample_nearest_exact2d = _upsample_nearest_exact3d = _nearest("nearest-exact")
upsample_linear1d, upsample_bilinear2d = _interpolating("linear"), _interpolating("bilinear")
upsample_trilinear3d, upsample_bicubic2d = _interpolating("trilinear"), _interpolating("bicubic")
_upsample_bilinear2d_aa, _upsample_bicubic2d_aa = _interpolating("bilinear", True), _interpolating("bicubic", True)

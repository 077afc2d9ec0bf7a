"""Pooling, padding and resampling under their ATen names, with their gradients."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import nn
from .._ops.memory import creation
from .._tensor import Tensor
from .aten_layers import derived

F = nn.functional
Function = Callable[..., Any]


# Pooling


def _adaptive_avg_pool3d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    """Return adaptive average pooling to ``output_size``."""
    return F.adaptive_avg_pool3d(self, tuple(output_size))


def _adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of ``adaptive_avg_pool3d``."""
    return derived(lambda x: F.adaptive_avg_pool3d(x, tuple(grad_output.shape[-3:])), grad_output, self)[0]


def adaptive_max_pool2d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return adaptive max pooling to ``output_size``, and the indices of the maxima."""
    return F.adaptive_max_pool2d(self, tuple(output_size), True)


def adaptive_max_pool3d(self: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return adaptive max pooling to a 3-d ``output_size``, and the indices of the maxima."""
    return F.adaptive_max_pool3d(self, tuple(output_size), True)


def adaptive_max_pool2d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    """Return the gradient of ``adaptive_max_pool2d``."""
    return derived(lambda x: F.adaptive_max_pool2d(x, tuple(grad_output.shape[-2:])), grad_output, self)[0]


def adaptive_max_pool3d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    """Return the gradient of ``adaptive_max_pool3d``."""
    return derived(lambda x: F.adaptive_max_pool3d(x, tuple(grad_output.shape[-3:])), grad_output, self)[0]


def max_pool3d_with_indices(
    self: Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the maximum of each window, and its index."""
    return F.max_pool3d(self, kernel_size, stride or None, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices_backward(
    grad_output: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: Tensor
) -> Tensor:
    """Return the gradient of ``max_pool3d``."""
    return derived(lambda x: F.max_pool3d(x, kernel_size, stride or None, padding, dilation, ceil_mode), grad_output, self)[0]


def avg_pool3d_backward(
    grad_output: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor_override: Any,
) -> Tensor:  # fmt: skip
    """Return the gradient of ``avg_pool3d``."""
    options = (kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override)
    return derived(lambda x: F.avg_pool3d(x, *options), grad_output, self)[0]


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


def _padding(mode: str) -> tuple[Function, Function]:
    def forward(self: Tensor, padding: Sequence[int]) -> Tensor:
        """Pad the tensor by reflection or replication."""
        return F.pad(self, list(padding), mode)

    def backward(grad_output: Tensor, self: Tensor, padding: Sequence[int]) -> Tensor:
        """Return the gradient of the padding for its input."""
        return derived(lambda x: F.pad(x, list(padding), mode), grad_output, self)[0]

    return forward, backward


reflection_pad1d, reflection_pad1d_backward = _padding("reflect")
reflection_pad2d, reflection_pad2d_backward = _padding("reflect")
reflection_pad3d, reflection_pad3d_backward = _padding("reflect")
replication_pad1d, replication_pad1d_backward = _padding("replicate")
replication_pad2d, replication_pad2d_backward = _padding("replicate")
replication_pad3d, replication_pad3d_backward = _padding("replicate")


# Resampling


def _resampled(x: Tensor, mode: str, sizes: Sequence[int], align_corners: bool | None, scales: Sequence[Any]) -> Tensor:
    if scales and all(scale is not None for scale in scales):
        found = F.interpolate(x, scale_factor=tuple(scales), mode=mode, align_corners=align_corners, recompute_scale_factor=False)
        if tuple(found.shape[2:]) == tuple(sizes):
            return found
    return F.interpolate(x, tuple(sizes), mode=mode, align_corners=align_corners)


def _nearest(mode: str) -> tuple[Function, Function]:
    def forward(self: Tensor, output_size: Sequence[int], *scales: Any) -> Tensor:
        """Resample the tensor to ``output_size`` by nearest neighbour."""
        return _resampled(self, mode, output_size, None, scales)

    def backward(grad_output: Tensor, output_size: Sequence[int], input_size: Sequence[int], *scales: float) -> Tensor:
        """Return the gradient of this resampling."""
        whole = creation.zeros(tuple(input_size), dtype=grad_output.dtype, device=grad_output.device)
        return derived(lambda x: _resampled(x, mode, output_size, None, scales), grad_output, whole)[0]

    return forward, backward


def _between(mode: str) -> tuple[Function, Function]:
    def forward(self: Tensor, output_size: Sequence[int], align_corners: bool, *scales: Any) -> Tensor:
        """Resample the tensor to ``output_size`` by interpolation."""
        return _resampled(self, mode, output_size, align_corners, scales)

    def backward(
        grad_output: Tensor, output_size: Sequence[int], input_size: Sequence[int], align_corners: bool, *scales: float
    ) -> Tensor:
        """Return the gradient of this resampling."""
        whole = creation.zeros(tuple(input_size), dtype=grad_output.dtype, device=grad_output.device)
        return derived(lambda x: _resampled(x, mode, output_size, align_corners, scales), grad_output, whole)[0]

    return forward, backward


upsample_nearest1d, upsample_nearest1d_backward = _nearest("nearest")
upsample_nearest2d, upsample_nearest2d_backward = _nearest("nearest")
upsample_nearest3d, upsample_nearest3d_backward = _nearest("nearest")
_upsample_nearest_exact1d, _upsample_nearest_exact1d_backward = _nearest("nearest-exact")
_upsample_nearest_exact2d, _upsample_nearest_exact2d_backward = _nearest("nearest-exact")
_upsample_nearest_exact3d, _upsample_nearest_exact3d_backward = _nearest("nearest-exact")
upsample_linear1d, upsample_linear1d_backward = _between("linear")
upsample_bilinear2d, upsample_bilinear2d_backward = _between("bilinear")
upsample_trilinear3d, upsample_trilinear3d_backward = _between("trilinear")
upsample_bicubic2d, upsample_bicubic2d_backward = _between("bicubic")

"""torch_npu.contrib's layers that sample images between pixels: ROI align, and deformable convolutions."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch
from mstorch import nn

from ....nn.modules.utils import _pair

F = nn.functional


def _between(images: Any, y: Any, x: Any) -> Any:
    """Return bilinearly interpolated values of images (N, C, H, W) at positions (N, P) inside them, in pixels: (N, C, P)."""
    channels, height, width = images.shape[1:]
    flat, found = images.flatten(2), 0
    top, left = y.detach().floor(), x.detach().floor()
    for row, by_row in ((top, 1 - (y - top)), ((top + 1).clamp(max=height - 1), y - top)):
        for column, by_column in ((left, 1 - (x - left)), ((left + 1).clamp(max=width - 1), x - left)):
            place = (row * width + column).long().unsqueeze(1).expand(-1, channels, -1)
            found = found + flat.gather(2, place) * (by_row * by_column).unsqueeze(1)
    return found


def _with_zeros(images: Any, y: Any, x: Any) -> Any:
    """Return interpolated values at any positions, with zeros outside the image."""
    height, width = images.shape[2:]
    return _between(F.pad(images, (1, 1, 1, 1)), (y + 1).clamp(0, height + 1), (x + 1).clamp(0, width + 1))


class ROIAlign(nn.Module):
    """ROI align: each output is the mean over samples of a bin, ``sampling_ratio``² of them or, if this is 0, one per pixel.

    With ``aligned``, pixel 0 extends from 0 to 1; without, its centre is 0, and a region has size 1 at least."""

    def __init__(self, output_size: Any, spatial_scale: float, sampling_ratio: int, aligned: bool = True) -> None:
        super().__init__()
        self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned = output_size, spatial_scale, sampling_ratio, aligned

    def forward(self, input_tensor: Any, rois: Any) -> Any:
        """Return (K, C, *output_size) for images (N, C, H, W) and regions (K, 5): batch index, x1, y1, x2, y2. Raise ValueError for other
        shapes.
        """
        if rois.dim() != 2 or rois.size(1) != 5:
            raise ValueError("Expected rois.dim() == 2 and rois.size(1) == 5")
        images, rois, raster = input_tensor.float(), rois.detach().float(), _pair(self.output_size)
        low, high = (rois[:, first : first + 2].flip(1) * self.spatial_scale - (0.5 if self.aligned else 0.0) for first in (1, 3))
        sizes = high - low if self.aligned else (high - low).clamp(min=1.0)
        if self.sampling_ratio > 0:
            return self._read(images, rois[:, 0].long(), low, sizes, raster, (self.sampling_ratio, self.sampling_ratio))
        found = []
        for number, (height, width) in enumerate(sizes.tolist()):
            ratios = tuple(max(math.ceil(size / parts), 1) for size, parts in zip((height, width), raster))
            one = slice(number, number + 1)
            found.append(self._read(images, rois[one, 0].long(), low[one], sizes[one], raster, ratios))
        return torch.cat(found) if found else images.new_zeros(0, images.shape[1], *raster)

    @staticmethod
    def _read(images: Any, numbers: Any, low: Any, sizes: Any, raster: tuple[int, ...], ratios: tuple[int, ...]) -> Any:
        axes, inside = [], []
        for axis, (parts, ratio, length) in enumerate(zip(raster, ratios, images.shape[2:])):
            steps = (torch.arange(parts * ratio, device=images.device) + 0.5) / (parts * ratio)
            place = low[:, axis : axis + 1] + sizes[:, axis : axis + 1] * steps
            inside.append((place >= -1) & (place <= length))
            axes.append(place.clamp(0, length - 1))
        count, (rows, columns) = len(numbers), (axis.shape[1] for axis in axes)
        y, x = axes[0][:, :, None].expand(-1, -1, columns), axes[1][:, None, :].expand(-1, rows, -1)
        read = _between(images[numbers], y.reshape(count, -1), x.reshape(count, -1)).reshape(count, -1, rows, columns)
        read = read * (inside[0][:, :, None] & inside[1][:, None, :]).unsqueeze(1)
        return read.reshape(count, -1, raster[0], ratios[0], raster[1], ratios[1]).mean((3, 5))

    def extra_repr(self) -> str:
        """Return the settings shown in the module's repr."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in ("output_size", "spatial_scale", "sampling_ratio", "aligned"))


class ModulatedDeformConv(nn.Module):
    """Deformable convolution with offsets (y and x for each tap) and a modulation mask, float32.

    With ``pack``, a convolution of its own, initialized to zeros, computes both; without, they are inputs.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1,
        deformable_groups: int = 1, bias: bool = True, pack: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, _pair(kernel_size)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.deformable_groups, self.with_bias, self.pack = deformable_groups, bias, pack
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels // groups, *self.kernel_size))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        taps = math.prod(self.kernel_size)
        self.split_num = deformable_groups * 2 * taps
        if pack:
            told = deformable_groups * 3 * taps
            self.conv_offset = nn.Conv2d(in_channels, told, self.kernel_size, _pair(stride), _pair(padding), bias=True)
        self.init_param()

    def init_param(self) -> None:
        """Initialize the weight uniformly and everything else to zero."""
        bound = 1 / math.sqrt(self.in_channels * math.prod(self.kernel_size))
        with torch.no_grad():
            self.weight.uniform_(-bound, bound)
            for one in (self.bias, *(self.conv_offset.parameters() if self.pack else ())):
                if one is not None:
                    one.zero_()

    def forward(self, x: Any) -> Any:
        """Return (N, ``out_channels``, H', W') for (N, ``in_channels``, H, W), or without ``pack`` for a tuple of it, the offsets and the
        mask.
        """
        if self.pack:
            told = self.conv_offset(x)
            offset, mask = told[:, : self.split_num], torch.sigmoid(told[:, self.split_num :])
        else:
            x, offset, mask = x
        return modulated_deform_conv(
            x.float(), offset.float(), mask.float(), self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups,
            self.deformable_groups,
        )  # fmt: skip


def modulated_deform_conv(
    x: Any, offset: Any, mask: Any, weight: Any, bias: Any, stride: int, padding: int, dilation: int, groups: int, deformable_groups: int
) -> Any:
    """Return the deformable convolution of images (N, C, H, W) with offsets (N, 2 · D · K · L, H', W') and a mask (N, D · K · L, H', W').
    """
    count, channels = x.shape[:2]
    high, wide = weight.shape[2:]
    rows, columns = offset.shape[2:]
    taps = high * wide
    moved = offset.reshape(count * deformable_groups, taps, 2, rows, columns)
    y = torch.arange(rows, device=x.device).mul(stride).sub(padding)[:, None] + moved[:, :, 0]
    y = y + torch.arange(high, device=x.device).mul(dilation).repeat_interleave(wide)[:, None, None]
    across = torch.arange(columns, device=x.device).mul(stride).sub(padding) + moved[:, :, 1]
    across = across + torch.arange(wide, device=x.device).mul(dilation).repeat(high)[:, None, None]
    images = x.reshape(count * deformable_groups, channels // deformable_groups, *x.shape[2:])
    read = _with_zeros(images, y.flatten(1), across.flatten(1)) * mask.reshape(count * deformable_groups, 1, -1)
    read = read.reshape(count, groups, channels // groups * taps, rows * columns)
    found = (weight.reshape(groups, weight.shape[0] // groups, -1) @ read).reshape(count, -1, rows, columns)
    return found if bias is None else found + bias[:, None, None]


DCNv2 = ModulatedDeformConv

__all__ = ["DCNv2", "ModulatedDeformConv", "ROIAlign"]

"""Regions of images as rasters: torchvision::roi_align, ps_roi_align, roi_pool, ps_roi_pool and their gradients.

A region is a row of image number, x1, y1, x2, y2. Each operator but roi_pool is a weighted sum of pixels (`weighted.py`), whose places and
weights follow from the regions alone; its gradient spreads the sums back.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import mstorch as torch

from ..._src.backend.errors import TYPE_NAMES
from .weighted import Weighted

Tensor = torch.Tensor
_LOWEST = {torch.float32: torch.finfo(torch.float32).min, torch.float64: torch.finfo(torch.float64).min}


class Raster(NamedTuple):
    """Settings of an operator: scale of the regions, height and width of the raster, samples along a bin's side (0 or less: one per
    pixel), whether pixels are areas, and the four sizes of the images."""

    scale: float
    height: int
    width: int
    samples: int
    aligned: bool
    images: tuple[int, int, int, int]

    @property
    def bins(self) -> int:
        """Number of bins."""
        return self.height * self.width


def checked(name: str, values: Tensor, regions: Tensor) -> None:
    """Raise RuntimeError for regions of another shape or dtype than the images'."""
    if regions.dim() != 2 or regions.size(1) != 5:
        raise RuntimeError("rois must have shape as Tensor[K, 5]")
    if values.dtype != regions.dtype:
        raise RuntimeError(f"{name}: input should have the same type as rois")
    if values.dim() != 4:
        raise RuntimeError(f"{name}: input must have 4 dimensions, got {values.dim()}")
    if not values.is_floating_point() or values.dtype is torch.bfloat16 and values.device.type == "cpu":
        raise RuntimeError(f"\"{name}\" not implemented for '{TYPE_NAMES[str(values.dtype).removeprefix('torch.')]}'")


def wide(values: Tensor) -> Tensor:
    """Return values in the dtype in which sums are computed."""
    return values.detach() if values.dtype in _LOWEST else values.detach().float()


def numbered(regions: Tensor, images: int) -> Tensor:
    """Return the image of each region; raise IndexError if there is no such image."""
    numbers = regions[:, 0].long()
    if regions.device.type == "cpu" and numbers.numel() and not (0 <= int(numbers.min()) and int(numbers.max()) < images):
        raise IndexError(f"rois name images {int(numbers.min())} to {int(numbers.max())}, and there are {images}")
    return numbers


def _sides(start: Tensor, size: Tensor, parts: int, samples: int, length: int) -> tuple[Tensor, Tensor]:
    """Return the pixels, and their weights, of the samples along one side: (regions, parts, 2 * samples)."""
    step = size / parts
    part = torch.arange(parts, device=start.device)[:, None]
    within = (torch.arange(samples, device=start.device) + 0.5).to(start.dtype)
    place = start[:, None, None] + part * step[:, None, None] + within * step[:, None, None] / samples
    inside = (place >= -1) & (place <= length)
    place = torch.where(inside, place, 0).clamp(0, length - 1)
    low = place.floor()
    further = place - low
    pixels = torch.cat([low, (low + 1).clamp(max=length - 1)], -1).long()
    return pixels, torch.cat([(1 - further) * inside, further * inside], -1)


def _same_samples(regions: Tensor, sizes: list[Tensor], raster: Raster) -> Iterator[tuple[Tensor | None, int, int]]:
    """Yield the regions that have as many samples in a bin, and the numbers of samples along its two sides; None for all regions. The
    number is negative for a side from right to left, which has no samples."""
    if raster.samples > 0:
        yield None, raster.samples, raster.samples
        return
    down, across = ((size / parts).ceil().nan_to_num(0, 0, 0).long() for size, parts in zip(sizes, (raster.height, raster.width)))
    counts = torch.stack([down, across], 1).tolist()
    chosen: dict[tuple[int, int], list[int]] = {}
    for place, pair in enumerate(counts):
        chosen.setdefault((pair[0], pair[1]), []).append(place)
    for pair, places in chosen.items():
        yield torch.tensor(places, device=regions.device), *pair


def _align_sums(regions: Tensor, raster: Raster, by_channel: bool) -> Iterator[tuple[Tensor | None, Weighted, bool]]:
    """Yield regions, the weighted sums of their bins (the mean of bilinear samples), and whether there are samples to divide by. With
    ``by_channel``, each bin has a source of its own."""
    images, _, high, broad = raster.images
    numbers = numbered(regions, images)
    shift = 0.5 if raster.aligned else 0.0
    low, end = (regions[:, first : first + 2].flip(1) * raster.scale - shift for first in (1, 3))
    size = end - low if raster.aligned or by_channel else (end - low).clamp(min=1.0)
    for chosen, down, across in _same_samples(regions, [size[:, 0], size[:, 1]], raster):
        start, extent, number = (item if chosen is None else item[chosen] for item in (low, size, numbers))
        rows, by_row = _sides(start[:, 0], extent[:, 0], raster.height, max(down, 0), high)
        columns, by_column = _sides(start[:, 1], extent[:, 1], raster.width, max(across, 0), broad)
        places = (number[:, None, None] * high + rows)[:, :, None, :, None] * broad + columns[:, None, :, None, :]
        weights = by_row[:, :, None, :, None] * by_column[:, None, :, None, :] / max(down * across, 1)
        yield chosen, _of_bins(places, weights, raster, by_channel), down * across != 0


def _of_bins(places: Tensor, weights: Tensor, raster: Raster, by_channel: bool) -> Weighted:
    """Return weighted sums for (regions, height, width, …) places of pixels."""
    images, _, high, broad = raster.images
    count = places.shape[0] * raster.bins
    if by_channel:
        own = torch.arange(raster.bins, device=places.device).view(raster.height, raster.width, *[1] * (places.dim() - 3))
        places = places * raster.bins + own
    shape = count, (places[0, 0, 0].numel() if count else 0)
    return Weighted(places.reshape(shape), weights.reshape(shape), images * high * broad * (raster.bins if by_channel else 1))


def _pool_windows(regions: Tensor, raster: Raster, by_channel: bool, whole: bool) -> tuple[Tensor, Tensor]:
    """Return the first row and column after the last of each bin's window: two tensors (regions, parts, 2), of rows and of columns."""
    windows = []
    low, end = (torch.round(_half_away(regions[:, first : first + 2].flip(1) * raster.scale)) for first in (1, 3))
    for axis, (parts, length) in enumerate(zip((raster.height, raster.width), raster.images[2:])):
        size = (end[:, axis] - low[:, axis] + (0 if by_channel else 1)).clamp(min=1)
        step = size / parts
        part = torch.arange(parts, device=regions.device)
        first = (part * step[:, None]).floor() + low[:, axis : axis + 1]
        last = ((part + 1) * step[:, None]).ceil() + low[:, axis : axis + 1]
        most = length if whole else length - 1
        windows.append(torch.stack([first.clamp(0, most), last.clamp(0, most)], -1).nan_to_num(0).long())
    return windows[0], windows[1]


def _half_away(values: Tensor) -> Tensor:
    """Return values whose rounding to even is their rounding away from zero, as C rounds."""
    half = (values - values.trunc()).abs() == 0.5
    return torch.where(half, values + torch.sign(values) * 0.25, values)


def _pool_sums(regions: Tensor, raster: Raster, by_channel: bool, whole: bool = True) -> tuple[Weighted, Tensor]:
    """Return weighted sums that are means of the bins' windows, and (rows, terms) which terms are within a window. Unless ``whole``,
    windows end before an image's last row and column."""
    rows, columns = _pool_windows(regions, raster, by_channel, whole)
    return window_sums(regions, rows, columns, raster, by_channel)


def window_sums(regions: Tensor, rows: Tensor, columns: Tensor, raster: Raster, by_channel: bool) -> tuple[Weighted, Tensor]:
    """Return weighted sums that are means of windows, (regions, parts, 2) of rows and of columns, and which terms are within one."""
    images, _, high, broad = raster.images
    numbers = numbered(regions, images)
    tall, across = rows[..., 1] - rows[..., 0], columns[..., 1] - columns[..., 0]
    most_tall, most_across = (int(size.max()) if size.numel() else 0 for size in (tall, across))
    down = torch.arange(max(most_tall, 0), device=regions.device)
    aside = torch.arange(max(most_across, 0), device=regions.device)
    inside = (down < tall[..., None])[:, :, None, :, None] & (aside < across[..., None])[:, None, :, None, :]
    row = (rows[..., :1] + down)[:, :, None, :, None]
    column = (columns[..., :1] + aside)[:, None, :, None, :]
    places = torch.where(inside, (numbers.view(-1, 1, 1, 1, 1) * high + row) * broad + column, 0)
    areas = (tall[:, :, None] * across[:, None, :]).clamp(min=1)[..., None, None]
    sums = _of_bins(places, inside.to(regions.dtype) / areas, raster, by_channel)
    return sums, inside.reshape(sums.places.shape)


# Images as rows, and back


def _rows(values: Tensor, raster: Raster, by_channel: bool) -> Tensor:
    """Return images (N, C, H, W) as rows of a pixel each, or of a pixel and bin."""
    if not by_channel:
        return _pixel_rows(values)
    parted = wide(values).reshape(values.shape[0], -1, raster.bins, *values.shape[2:])
    return parted.permute(0, 3, 4, 2, 1).reshape(-1, parted.shape[1]).contiguous()


def _images(rows: Tensor, raster: Raster, by_channel: bool) -> Tensor:
    images, channels, high, broad = raster.images
    if not by_channel:
        return rows.view(images, high, broad, channels).permute(0, 3, 1, 2).contiguous()
    return rows.view(images, high, broad, raster.bins, -1).permute(0, 4, 3, 1, 2).reshape(images, channels, high, broad)


def _bins(rows: Tensor, raster: Raster) -> Tensor:
    """Return rows of a bin each as rasters (regions, channels, height, width)."""
    return rows.view(-1, raster.height, raster.width, rows.shape[1]).permute(0, 3, 1, 2).contiguous()


def _pixel_rows(values: Tensor) -> Tensor:
    """Return images or rasters (N, C, H, W) as rows of a pixel or bin each."""
    return wide(values).permute(0, 2, 3, 1).reshape(-1, values.shape[1]).contiguous()


def _raster(values: Tensor, scale: float, height: int, width: int, samples: int = 0, aligned: bool = True) -> Raster:
    sizes = values.shape
    return Raster(float(scale), int(height), int(width), int(samples), aligned, (sizes[0], sizes[1], sizes[2], sizes[3]))


def _channels(values: Tensor, raster: Raster) -> int:
    if raster.bins == 0 or values.shape[1] % raster.bins:
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    return values.shape[1] // raster.bins


# The operators


def roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int, aligned: bool
) -> Tensor:
    """Return the means of bilinear samples in each bin of each region."""
    checked("roi_align_forward_kernel", input, rois)
    raster = _raster(input, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)
    return _aligned(input, rois, raster, False, input.shape[1])


def _aligned(input: Tensor, rois: Tensor, raster: Raster, by_channel: bool, channels: int) -> Tensor:
    source = _rows(input, raster, by_channel)
    found = source.new_zeros(rois.shape[0], channels, raster.height, raster.width)
    for chosen, sums, divides in _align_sums(wide(rois), raster, by_channel):
        part = _bins(sums.sums(source), raster)
        if by_channel and not divides:
            part = torch.full_like(part, float("nan"))  # a mean of no samples; roi_align's is zero
        if chosen is None:
            found = part
        else:
            found[chosen] = part
    return found.to(input.dtype)


def roi_align_backward(
    grad: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int, channels: int, height: int,
    width: int, sampling_ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    """Return the gradient of roi_align's images."""
    images = (batch_size, channels, height, width)
    raster = Raster(float(spatial_scale), pooled_height, pooled_width, sampling_ratio, aligned, images)
    return _aligned_backward(grad, rois, raster, False)


def _aligned_backward(grad: Tensor, rois: Tensor, raster: Raster, by_channel: bool) -> Tensor:
    rows = raster.images[0] * raster.images[2] * raster.images[3] * (raster.bins if by_channel else 1)
    total = wide(grad).new_zeros(rows, raster.images[1] // (raster.bins if by_channel else 1))
    for chosen, sums, _ in _align_sums(wide(rois), raster, by_channel):
        total = total + sums.spread(_pixel_rows(grad if chosen is None else grad[chosen]))
    return _images(total, raster, by_channel).to(grad.dtype)


def _mapping(regions: int, channels: int, raster: Raster, device: torch.device) -> Tensor:
    """Return for each element of a position-sensitive result the channel that it reads."""
    own = torch.arange(channels * raster.bins, dtype=torch.int32, device=device).view(1, channels, raster.height, raster.width)
    return own.expand(regions, -1, -1, -1).contiguous()


def ps_roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
) -> tuple[Tensor, Tensor]:
    """Return roi_align in which each bin reads channels of its own, and the channel that each element reads."""
    checked("ps_roi_align_forward_kernel", input, rois)
    raster = _raster(input, spatial_scale, pooled_height, pooled_width, sampling_ratio)
    channels = _channels(input, raster)
    return _aligned(input, rois, raster, True, channels), _mapping(rois.shape[0], channels, raster, input.device)


def ps_roi_align_backward(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
    batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of ps_roi_align's images."""
    images = (batch_size, channels, height, width)
    raster = Raster(float(spatial_scale), pooled_height, pooled_width, sampling_ratio, True, images)
    return _aligned_backward(grad, rois, raster, True)


def ps_roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int) -> tuple[Tensor, Tensor]:
    """Return the means of the pixels of each bin, which reads channels of its own, and the channel that each element reads."""
    checked("ps_roi_pool_forward_kernel", input, rois)
    raster = _raster(input, spatial_scale, pooled_height, pooled_width)
    channels = _channels(input, raster)
    # torchvision's kernel leaves out the last row and column, its gradient does not
    sums, _ = _pool_sums(wide(rois), raster, True, whole=False)
    return _bins(sums.sums(_rows(input, raster, True)), raster).to(input.dtype), _mapping(rois.shape[0], channels, raster, input.device)


def ps_roi_pool_backward(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int,
    channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of ps_roi_pool's images."""
    raster = Raster(float(spatial_scale), pooled_height, pooled_width, 0, True, (batch_size, channels, height, width))
    sums, _ = _pool_sums(wide(rois), raster, True)
    return _images(sums.spread(_pixel_rows(grad)), raster, True).to(grad.dtype)


def roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int) -> tuple[Tensor, Tensor]:
    """Return the largest pixel of each bin, and its place in the image, -1 for an empty bin."""
    checked("roi_pool_forward_kernel", input, rois)
    raster = _raster(input, spatial_scale, pooled_height, pooled_width)
    return largest(input, *_pool_sums(wide(rois), raster, False), raster)


def largest(input: Tensor, sums: Weighted, inside: Tensor, raster: Raster) -> tuple[Tensor, Tensor]:
    """Return the largest pixel of each window, and its place in the image, -1 for an empty window."""
    source = _rows(input, raster, False)
    count = sums.places.shape[0]
    best = source.new_full((count, source.shape[1]), _LOWEST[source.dtype])
    where = torch.full((count, source.shape[1]), -1, dtype=torch.int64, device=source.device)
    for term in range(sums.places.shape[1]):
        place = sums.places[:, term]
        value = source.index_select(0, place)
        better = (value > best) & inside[:, term : term + 1]
        best, where = torch.where(better, value, best), torch.where(better, place[:, None], where)
    best = torch.where(inside.any(1, keepdim=True), best, 0)
    where = torch.where(where < 0, where, where % (raster.images[2] * raster.images[3]))
    return _bins(best, raster).to(input.dtype), _bins(where, raster).int()


def roi_pool_backward(
    grad: Tensor, rois: Tensor, argmax: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int, channels: int,
    height: int, width: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of roi_pool's images."""
    numbers = numbered(wide(rois), batch_size)
    slopes = wide(grad)
    total = slopes.new_zeros(batch_size * channels * height * width)
    plane = numbers[:, None] * channels + torch.arange(channels, device=grad.device)
    chosen = argmax.long()
    places = plane[:, :, None, None] * (height * width) + chosen.clamp(min=0)
    total.index_add_(0, places.reshape(-1), torch.where(chosen >= 0, slopes, 0).reshape(-1))
    return total.view(batch_size, channels, height, width).to(grad.dtype)


__all__ = [
    "Raster", "checked", "largest", "numbered", "ps_roi_align", "ps_roi_align_backward", "ps_roi_pool", "ps_roi_pool_backward", "roi_align",
    "roi_align_backward", "roi_pool", "roi_pool_backward", "wide", "window_sums",
]  # fmt: skip

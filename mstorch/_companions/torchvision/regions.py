"""Regions of images as rasters: torchvision::roi_align, ps_roi_align, roi_pool, ps_roi_pool and their gradients.

A region is a row of image number, x1, y1, x2, y2. Each operator but roi_pool is a weighted sum of pixels (`weighted.py`), whose places and
weights follow from the regions alone; its gradient spreads the sums back.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

import mstorch as torch

from ..._src.backend.arrays import Array
from ..._src.backend.errors import TYPE_NAMES
from ..._src.quiet import quiet
from .values import Values, bare, chosen_from, converted, count_of, filled, library, steps, tensor, turned, whole
from .weighted import Weighted

Tensor = torch.Tensor
_Call = TypeVar("_Call", bound=Callable[..., object])
_BLOCK = 1 << 15
"""So many elements of windows are compared at a time: they and their places stay in a core's cache."""


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


def numbered(regions: Values, images: int) -> Values:
    """Return the image of each region; raise IndexError if there is no such image."""
    numbers = whole(regions[:, 0])
    if isinstance(numbers, np.ndarray) and numbers.size and not (0 <= numbers.min() and numbers.max() < images):
        raise IndexError(f"rois name images {numbers.min()} to {numbers.max()}, and there are {images}")
    return numbers


def without_warnings(function: _Call) -> _Call:
    """Return a function in which NumPy does not warn of regions that are infinite or NaN."""

    @functools.wraps(function)
    def call(*given: object, **named: object) -> object:
        with quiet():
            return function(*given, **named)

    return call  # type: ignore[return-value]


def _sides(start: Values, size: Values, parts: int, samples: int, length: int) -> tuple[Values, Values]:
    """Return the pixels, and their weights, of the samples along one side: (regions, parts, 2 * samples)."""
    xp = library(start)
    step = (size / parts)[:, None, None]
    part, within = steps(parts, start)[:, None], steps(samples, start) + 0.5
    place = start[:, None, None] + part * step + within * step / samples
    inside = (place >= -1) & (place <= length)
    place = xp.clip(xp.where(inside, place, 0), 0, length - 1)
    low = xp.floor(place)
    further = place - low
    pixels = xp.concatenate([low, xp.clip(low + 1, None, length - 1)], -1)
    return whole(pixels), xp.concatenate([(1 - further) * inside, further * inside], -1)


def _same_samples(regions: Values, sizes: list[Values], raster: Raster) -> Iterator[tuple[Values | None, int, int]]:
    """Yield the regions that have as many samples in a bin, and the numbers of samples along its two sides; None for all regions. The
    number is negative for a side from right to left, which has no samples."""
    if raster.samples > 0:
        yield None, raster.samples, raster.samples
        return
    xp = library(regions)
    down, across = (
        whole(xp.nan_to_num(xp.ceil(size / parts), nan=0, posinf=0, neginf=0)) for size, parts in zip(sizes, (raster.height, raster.width))
    )
    counts = xp.stack([down, across], 1).tolist()
    places_of: dict[tuple[int, int], list[int]] = {}
    for place, pair in enumerate(counts):
        places_of.setdefault((pair[0], pair[1]), []).append(place)
    for pair, places in places_of.items():
        alone = len(places_of) == 1
        yield None if alone else np.array(places) if xp is np else torch.tensor(places, device=regions.device), *pair


def _align_sums(regions: Values, raster: Raster, by_channel: bool) -> Iterator[tuple[Values | None, Weighted, bool]]:
    """Yield regions, the weighted sums of their bins (the mean of bilinear samples), and whether there are samples to divide by. With
    ``by_channel``, each bin has a source of its own."""
    images, _, high, broad = raster.images
    numbers = numbered(regions, images)
    shift = 0.5 if raster.aligned else 0.0
    low, end = ([regions[:, axis] * raster.scale - shift for axis in axes] for axes in ((2, 1), (4, 3)))
    size = [last - first for first, last in zip(low, end)]
    if not raster.aligned and not by_channel:
        size = [library(regions).clip(length, 1, None) for length in size]
    for chosen, down, across in _same_samples(regions, size, raster):
        sides = []
        for axis, (parts, samples, length) in enumerate(((raster.height, down, high), (raster.width, across, broad))):
            start, extent = chosen_from(low[axis], chosen), chosen_from(size[axis], chosen)
            sides.append(_sides(start, extent, parts, max(samples, 0), length))
        (rows, by_row), (columns, by_column) = sides
        number = chosen_from(numbers, chosen)
        places = (number[:, None, None] * high + rows)[:, :, None, :, None] * broad + columns[:, None, :, None, :]
        weights = by_row[:, :, None, :, None] * by_column[:, None, :, None, :] / max(down * across, 1)
        yield chosen, _of_bins(places, weights, raster, by_channel), down * across != 0


def _of_bins(places: Values, weights: Values, raster: Raster, by_channel: bool) -> Weighted:
    """Return weighted sums for (regions, height, width, down, across) places of pixels."""
    images, _, high, broad = raster.images
    if by_channel:
        places = places * raster.bins + steps(raster.bins, places).reshape(raster.height, raster.width, 1, 1)
    shape = places.shape[0] * raster.bins, places.shape[3] * places.shape[4]
    return Weighted(places.reshape(shape), weights.reshape(shape), images * high * broad * (raster.bins if by_channel else 1))


def _pool_windows(regions: Values, raster: Raster, by_channel: bool, whole_images: bool) -> tuple[Values, Values]:
    """Return the first row and column after the last of each bin's window: two tensors (regions, parts, 2), of rows and of columns."""
    xp, windows = library(regions), []
    for axis, (parts, length) in enumerate(zip((raster.height, raster.width), raster.images[2:])):
        low, end = (xp.round(_half_away(regions[:, place - axis] * raster.scale)) for place in (2, 4))
        size = xp.clip(end - low + (0 if by_channel else 1), 1, None)
        step, part = (size / parts)[:, None], steps(parts, regions)
        most = length if whole_images else length - 1
        ends = (xp.clip(side + low[:, None], 0, most) for side in (xp.floor(part * step), xp.ceil((part + 1) * step)))
        windows.append(whole(xp.nan_to_num(xp.stack(list(ends), -1))))
    return windows[0], windows[1]


def _half_away(values: Values) -> Values:
    """Return values whose rounding to even is their rounding away from zero, as C rounds."""
    xp = library(values)
    half = xp.abs(values - xp.trunc(values)) == 0.5
    return xp.where(half, values + xp.sign(values) * 0.25, values)


def _pool_sums(regions: Values, raster: Raster, by_channel: bool, whole_images: bool = True) -> tuple[Weighted, Values]:
    """Return weighted sums that are means of the bins' windows, and (rows, terms) which terms are within a window. Unless
    ``whole_images``, windows end before an image's last row and column."""
    rows, columns = _pool_windows(regions, raster, by_channel, whole_images)
    return window_sums(regions, rows, columns, raster, by_channel)


def window_sums(regions: Values, rows: Values, columns: Values, raster: Raster, by_channel: bool) -> tuple[Weighted, Values]:
    """Return weighted sums that are means of windows, (regions, parts, 2) of rows and of columns, and which terms are within one."""
    images, _, high, broad = raster.images
    xp, numbers = library(regions), numbered(regions, images)
    tall, across = rows[..., 1] - rows[..., 0], columns[..., 1] - columns[..., 0]
    most_tall, most_across = (max(int(size.max()), 0) if count_of(size) else 0 for size in (tall, across))
    down, aside = steps(most_tall, numbers), steps(most_across, numbers)
    inside = (down < tall[..., None])[:, :, None, :, None] & (aside < across[..., None])[:, None, :, None, :]
    row = (rows[..., :1] + down)[:, :, None, :, None]
    column = (columns[..., :1] + aside)[:, None, :, None, :]
    places = xp.where(inside, (numbers.reshape(-1, 1, 1, 1, 1) * high + row) * broad + column, 0)
    areas = xp.clip(tall[:, :, None] * across[:, None, :], 1, None)[..., None, None]
    sums = _of_bins(places, converted(inside, regions) / converted(areas, regions), raster, by_channel)
    return sums, inside.reshape(sums.places.shape)


# Images as rows, and back


def _rows(values: Values, raster: Raster, by_channel: bool) -> Values:
    """Return images (N, C, H, W) as rows of a pixel each, or of a pixel and bin."""
    if not by_channel:
        return _pixel_rows(values)
    count, channels, high, broad = values.shape
    parted = values.reshape(count, channels // raster.bins, raster.bins, high, broad)
    return turned(parted, 0, 3, 4, 2, 1).reshape(count * high * broad * raster.bins, channels // raster.bins)


def _images(rows: Values, raster: Raster, by_channel: bool) -> Values:
    images, channels, high, broad = raster.images
    if not by_channel:
        return turned(rows.reshape(images, high, broad, channels), 0, 3, 1, 2)
    parted = rows.reshape(images, high, broad, raster.bins, channels // raster.bins)
    return turned(parted, 0, 4, 3, 1, 2).reshape(images, channels, high, broad)


def _bins(rows: Values, raster: Raster) -> Values:
    """Return rows of a bin each as rasters (regions, channels, height, width)."""
    return turned(rows.reshape(rows.shape[0] // max(raster.bins, 1), raster.height, raster.width, rows.shape[1]), 0, 3, 1, 2)


def _pixel_rows(values: Values) -> Values:
    """Return images or rasters (N, C, H, W) as rows of a pixel or bin each."""
    count, channels, high, broad = values.shape
    return turned(values, 0, 2, 3, 1).reshape(count * high * broad, channels)


def _raster(values: Tensor, scale: float, height: int, width: int, samples: int = 0, aligned: bool = True) -> Raster:
    sizes = values.shape
    return Raster(float(scale), int(height), int(width), int(samples), aligned, (sizes[0], sizes[1], sizes[2], sizes[3]))


def _channels(values: Tensor, raster: Raster) -> int:
    if raster.bins == 0 or values.shape[1] % raster.bins:
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    return values.shape[1] // raster.bins


# The operators


@without_warnings
def roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int, aligned: bool
) -> Tensor:
    """Return the means of bilinear samples in each bin of each region."""
    checked("roi_align_forward_kernel", input, rois)
    raster = _raster(input, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)
    return _aligned(input, rois, raster, False, input.shape[1])


def _aligned(input: Tensor, rois: Tensor, raster: Raster, by_channel: bool, channels: int) -> Tensor:
    source = _rows(bare(input), raster, by_channel)
    result = filled((rois.shape[0], channels, raster.height, raster.width), source)
    for chosen, sums, divides in _align_sums(bare(rois), raster, by_channel):
        part = _bins(sums.sums(source), raster)
        if by_channel and not divides:
            part = filled(part.shape, part, float("nan"))  # a mean of no samples; roi_align's is zero
        if chosen is None:
            result = part
        else:
            result[chosen] = part
    return tensor(result, input)


@without_warnings
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
    slopes = bare(grad)
    total = filled((rows, raster.images[1] // (raster.bins if by_channel else 1)), slopes)
    for chosen, sums, _ in _align_sums(bare(rois), raster, by_channel):
        total = total + sums.spread(_pixel_rows(chosen_from(slopes, chosen)))
    return tensor(_images(total, raster, by_channel), grad)


def _mapping(regions: int, channels: int, raster: Raster, device: torch.device) -> Tensor:
    """Return for each element of a position-sensitive result the channel that it reads."""
    own = torch.arange(channels * raster.bins, dtype=torch.int32, device=device).view(1, channels, raster.height, raster.width)
    return own.expand(regions, -1, -1, -1).contiguous()


@without_warnings
def ps_roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
) -> tuple[Tensor, Tensor]:
    """Return roi_align in which each bin reads channels of its own, and the channel that each element reads."""
    checked("ps_roi_align_forward_kernel", input, rois)
    raster = _raster(input, spatial_scale, pooled_height, pooled_width, sampling_ratio)
    channels = _channels(input, raster)
    return _aligned(input, rois, raster, True, channels), _mapping(rois.shape[0], channels, raster, input.device)


@without_warnings
def ps_roi_align_backward(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
    batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of ps_roi_align's images."""
    images = (batch_size, channels, height, width)
    raster = Raster(float(spatial_scale), pooled_height, pooled_width, sampling_ratio, True, images)
    return _aligned_backward(grad, rois, raster, True)


@without_warnings
def ps_roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int) -> tuple[Tensor, Tensor]:
    """Return the means of the pixels of each bin, which reads channels of its own, and the channel that each element reads."""
    checked("ps_roi_pool_forward_kernel", input, rois)
    raster = _raster(input, spatial_scale, pooled_height, pooled_width)
    channels = _channels(input, raster)
    # torchvision's kernel leaves out the last row and column, its gradient does not
    sums, _ = _pool_sums(bare(rois), raster, True, whole_images=False)
    means = _bins(sums.sums(_rows(bare(input), raster, True)), raster)
    return tensor(means, input), _mapping(rois.shape[0], channels, raster, input.device)


@without_warnings
def ps_roi_pool_backward(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int,
    channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of ps_roi_pool's images."""
    raster = Raster(float(spatial_scale), pooled_height, pooled_width, 0, True, (batch_size, channels, height, width))
    sums, _ = _pool_sums(bare(rois), raster, True)
    return tensor(_images(sums.spread(_pixel_rows(bare(grad))), raster, True), grad)


@without_warnings
def roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int) -> tuple[Tensor, Tensor]:
    """Return the largest pixel of each bin, and its place in the image, -1 for an empty bin."""
    checked("roi_pool_forward_kernel", input, rois)
    raster = _raster(input, spatial_scale, pooled_height, pooled_width)
    return largest(input, *_pool_sums(bare(rois), raster, False), raster)


def largest(input: Tensor, sums: Weighted, inside: Values, raster: Raster) -> tuple[Tensor, Tensor]:
    """Return the largest pixel of each window, and its place in the image, -1 for an empty window."""
    source = _pixel_rows(bare(input))
    by_library = _largest_of_arrays if isinstance(source, np.ndarray) else _largest_of_tensors
    best, where = by_library(source, sums.places, inside)
    where = library(where).where(where < 0, where, where % (raster.images[2] * raster.images[3]))
    return tensor(_bins(best, raster), input), tensor(_bins(where, raster)).int()


def _largest_of_tensors(source: Tensor, places: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest row of the source among those that are inside, in each column, and its place."""
    best = source.new_full((places.shape[0], source.shape[1]), torch.finfo(source.dtype).min)
    where = torch.full(best.shape, -1, dtype=torch.int64, device=source.device)
    for term in range(places.shape[1]):
        place = places[:, term]
        value = source.index_select(0, place)
        better = (value > best) & inside[:, term : term + 1]
        best, where = torch.where(better, value, best), torch.where(better, place[:, None], where)
    return torch.where(inside.any(1, keepdim=True), best, 0), where


def _largest_of_arrays(source: Array, places: Array, inside: Array) -> tuple[Array, Array]:
    """Return the same of arrays: windows in the order of their sizes, so many at a time that they stay in the cache."""
    counts = inside.sum(1)
    ends = counts.cumsum()
    flat, starts = places[inside], ends - counts
    order = np.argsort(-counts, kind="stable")
    shape = places.shape[0], source.shape[1]
    best, where = np.full(shape, np.finfo(source.dtype).min, source.dtype), np.full(shape, -1, np.int64)
    block = max(_BLOCK // max(source.shape[1], 1), 1)
    for first in range(0, shape[0], block):
        rows = order[first : first + block]
        top, at, sizes = best[rows], where[rows], counts[rows]
        for term in range(int(sizes[0])):
            left = np.searchsorted(-sizes, -term)
            place = flat[starts[rows[:left]] + term]
            value = source[place]
            better = value > top[:left]
            np.copyto(top[:left], value, where=better)
            np.copyto(at[:left], place[:, None], where=better)
        top[sizes == 0] = 0
        best[rows], where[rows] = top, at
    return best, where


@without_warnings
def roi_pool_backward(
    grad: Tensor, rois: Tensor, argmax: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int, channels: int,
    height: int, width: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of roi_pool's images."""
    numbers = numbered(bare(rois), batch_size)
    slopes, chosen = bare(grad), whole(argmax.numpy() if isinstance(numbers, np.ndarray) else argmax)
    xp, size = library(slopes), batch_size * channels * height * width
    plane = numbers[:, None] * channels + steps(channels, numbers)
    places = (plane[:, :, None, None] * (height * width) + xp.clip(chosen, 0, None)).reshape(-1)
    terms = xp.where(chosen >= 0, slopes, 0).reshape(-1)
    if xp is np:
        total = np.bincount(places, terms, size).astype(slopes.dtype)
    else:
        total = slopes.new_zeros(size).index_add_(0, places, terms)
    return tensor(total.reshape(batch_size, channels, height, width), grad)


__all__ = [
    "Raster", "checked", "largest", "numbered", "ps_roi_align", "ps_roi_align_backward", "ps_roi_pool", "ps_roi_pool_backward", "roi_align",
    "roi_align_backward", "roi_pool", "roi_pool_backward", "window_sums", "without_warnings",
]  # fmt: skip

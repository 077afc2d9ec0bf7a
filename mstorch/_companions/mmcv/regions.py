"""mmcv's regions of images as rasters: roi_align with means or maxima, rotated and deformable ones, roi_pool."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import mstorch as torch

from ..torchvision import regions as plain
from ..torchvision.values import bare
from ..torchvision.weighted import Weighted
from .derived import add_gradients

Tensor = torch.Tensor


class Points(NamedTuple):
    """Positions between pixels: the image of each, and its coordinates, all of one shape."""

    image: Tensor
    y: Tensor
    x: Tensor


def _corners(at: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the pixels before and after positions, the way to the second, and which positions count: up to one pixel outside."""
    inside = (at >= -1) & (at <= length)
    place = torch.where(inside, at, 0).clamp(0, length - 1)
    low = place.detach().floor()
    return low.long(), (low.long() + 1).clamp(max=length - 1), place - low, inside


def weighted(points: Points, images: tuple[int, int, int, int], terms: int) -> Weighted:
    """Return weighted sums of pixels for rows of ``terms`` positions each."""
    count, _, high, broad = images
    top, bottom, down, in_y = _corners(points.y, high)
    left, right, across, in_x = _corners(points.x, broad)
    counts, places, weights = in_y & in_x, [], []
    for row, by_row in ((top, 1 - down), (bottom, down)):
        for column, by_column in ((left, 1 - across), (right, across)):
            places.append((points.image * high + row) * broad + column)
            weights.append(by_row * by_column * counts)
    return Weighted(torch.stack(places, -1).reshape(-1, 4 * terms), torch.stack(weights, -1).reshape(-1, 4 * terms), count * high * broad)


def between_pixels(images: Tensor, points: Points) -> Tensor:
    """Return images' values at positions: their shape, then channels. The images' and the positions' gradients are tracked."""
    sums = weighted(points, tuple(images.shape), 1)  # type: ignore[arg-type]
    rows = images.permute(0, 2, 3, 1).reshape(-1, images.shape[1])
    values = sum(rows[sums.places[:, term]] * sums.weights[:, term : term + 1] for term in range(4))
    assert isinstance(values, Tensor)
    return values.view(*points.y.shape, images.shape[1])


def _wide(values: Tensor) -> Tensor:
    return values if values.dtype is torch.float64 else values.float()


def _by_samples(sizes: Tensor, bins: tuple[int, int], samples: int) -> Iterator[tuple[Tensor, int, int]]:
    """Yield the regions that have as many samples in a bin, and their numbers down and across; ``sizes`` is (regions, 2)."""
    if samples > 0:
        yield torch.arange(sizes.shape[0], device=sizes.device), samples, samples
        return
    counts = (sizes / torch.tensor(bins, dtype=sizes.dtype, device=sizes.device)).ceil().clamp(min=0).long().tolist()
    chosen: dict[tuple[int, int], list[int]] = {}
    for place, (down, across) in enumerate(counts):
        chosen.setdefault((down, across), []).append(place)
    for (down, across), places in chosen.items():
        yield torch.tensor(places, device=sizes.device), down, across


def _along(size: Tensor, parts: int, samples: int) -> Tensor:
    """Return the distances (regions, parts, samples) of samples from a side's beginning."""
    step = (size / parts)[:, None, None]
    part = torch.arange(parts, device=size.device)[:, None]
    within = (torch.arange(samples, device=size.device) + 0.5).to(size.dtype)
    return part * step + within * step / max(samples, 1)


def _grid(rois: Tensor, y: Tensor, x: Tensor) -> Points:
    """Return the positions (regions, parts down, parts across, samples down, samples across) of rows and columns."""
    shape = (y.shape[0], y.shape[1], x.shape[1], y.shape[2], x.shape[2])
    image = rois[:, 0].long().view(-1, 1, 1, 1, 1).expand(shape)
    return Points(image, y[:, :, None, :, None].expand(shape), x[:, None, :, None, :].expand(shape))


def _rotated(
    rois: Tensor, raster: Any, images: tuple[int, int, int, int]
) -> Iterator[tuple[Tensor, Weighted]]:
    """Yield regions, and the means of their bins as weighted sums. ``raster`` is height, width, scale, samples, aligned, clockwise."""
    height, width, scale, samples, aligned, clockwise = raster
    centre = rois[:, 1:3] * scale - (0.5 if aligned else 0.0)
    size = rois[:, 3:5] * scale
    if not aligned:
        size = size.clamp(min=1)
    angle = -rois[:, 5] if clockwise else rois[:, 5]
    for chosen, down, across in _by_samples(size.flip(1), (height, width), samples):
        y = _along(size[chosen, 1], height, down) - size[chosen, 1, None, None] / 2
        x = _along(size[chosen, 0], width, across) - size[chosen, 0, None, None] / 2
        straight = _grid(rois[chosen], y, x)
        cos, sin = (item[chosen].view(-1, 1, 1, 1, 1) for item in (angle.cos(), angle.sin()))
        middle_x, middle_y = (centre[chosen, axis].view(-1, 1, 1, 1, 1) for axis in (0, 1))
        turned = Points(
            straight.image, straight.y * cos - straight.x * sin + middle_y, straight.y * sin + straight.x * cos + middle_x
        )
        sums = weighted(turned, images, down * across)
        yield chosen, Weighted(sums.places, sums.weights / max(down * across, 1), sums.rows)


def _bins(rows: Tensor, height: int, width: int) -> Tensor:
    return rows.view(-1, height, width, rows.shape[-1]).permute(0, 3, 1, 2)


def _rows(values: Tensor) -> Tensor:
    return values.permute(0, 2, 3, 1).reshape(-1, values.shape[1]).contiguous()


def roi_align_rotated_forward(
    input: Tensor, rois: Tensor, output: Tensor, pooled_height: int, pooled_width: int, spatial_scale: float, sampling_ratio: int,
    aligned: bool, clockwise: bool,
) -> None:  # fmt: skip
    """Write the means of bilinear samples in the bins of rotated regions (image, centre x, y, width, height, radians)."""
    raster = (pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned, clockwise)
    source = _rows(_wide(input))
    for chosen, sums in _rotated(_wide(rois), raster, tuple(input.shape)):  # type: ignore[arg-type]
        output[chosen] = _bins(sums.sums(source), pooled_height, pooled_width).to(output.dtype)


def roi_align_rotated_backward(
    top_grad: Tensor, rois: Tensor, bottom_grad: Tensor, pooled_height: int, pooled_width: int, spatial_scale: float, sampling_ratio: int,
    aligned: bool, clockwise: bool,
) -> None:  # fmt: skip
    """Add the images' gradient."""
    raster = (pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned, clockwise)
    count, channels, high, broad = bottom_grad.shape
    for chosen, sums in _rotated(_wide(rois), raster, (count, channels, high, broad)):
        spread = sums.spread(_rows(_wide(top_grad[chosen])))
        bottom_grad.add_(spread.view(count, high, broad, channels).permute(0, 3, 1, 2).to(bottom_grad.dtype))


def _samples(rois: Tensor, scale: float, height: int, width: int, ratio: int, aligned: bool) -> Iterator[tuple[Tensor, Points]]:
    """Yield regions along the axes and the positions of their samples."""
    low, end = (rois[:, first : first + 2].flip(1) * scale - (0.5 if aligned else 0.0) for first in (1, 3))
    size = end - low if aligned else (end - low).clamp(min=1)
    for chosen, down, across in _by_samples(size, (height, width), ratio):
        y = _along(size[chosen, 0], height, down) + low[chosen, 0, None, None]
        x = _along(size[chosen, 1], width, across) + low[chosen, 1, None, None]
        yield chosen, _grid(rois[chosen], y, x)


def roi_align_forward(
    input: Tensor, rois: Tensor, output: Tensor, argmax_y: Tensor, argmax_x: Tensor, aligned_height: int, aligned_width: int,
    spatial_scale: float, sampling_ratio: int, pool_mode: int, aligned: bool,
) -> None:  # fmt: skip
    """Write the means (``pool_mode`` 1) or maxima (0, with their positions) of bilinear samples in the bins of regions."""
    if pool_mode == 1:
        output.copy_(plain.roi_align(input, rois, spatial_scale, aligned_height, aligned_width, sampling_ratio, aligned))
        return
    values = _wide(input)
    for chosen, points in _samples(_wide(rois), spatial_scale, aligned_height, aligned_width, sampling_ratio, aligned):
        if not points.y.numel():
            continue
        best = between_pixels(values, points).flatten(3, 4).max(3)
        output[chosen] = best.values.permute(0, 3, 1, 2).to(output.dtype)
        for target, place in ((argmax_y, points.y), (argmax_x, points.x)):
            own = place.flatten(3, 4).unsqueeze(-1).expand(*best.indices.shape[:3], -1, best.indices.shape[3])
            target[chosen] = own.gather(3, best.indices.unsqueeze(3)).squeeze(3).permute(0, 3, 1, 2).to(target.dtype)


def roi_align_backward(
    grad_output: Tensor, rois: Tensor, argmax_y: Tensor, argmax_x: Tensor, grad_input: Tensor, aligned_height: int, aligned_width: int,
    spatial_scale: float, sampling_ratio: int, pool_mode: int, aligned: bool,
) -> None:  # fmt: skip
    """Add the images' gradient."""
    count, channels, high, broad = grad_input.shape
    if pool_mode == 1:
        grad_input.add_(
            plain.roi_align_backward(
                grad_output, rois, spatial_scale, aligned_height, aligned_width, count, channels, high, broad, sampling_ratio, aligned
            )
        )
        return
    plane = rois[:, 0].long()[:, None] * channels + torch.arange(channels, device=rois.device)
    points = Points(plane[:, :, None, None].expand(argmax_y.shape), _wide(argmax_y), _wide(argmax_x))
    sums = weighted(points, (count * channels, 1, high, broad), 1)
    grad_input.add_(sums.spread(_wide(grad_output).reshape(-1, 1)).view(grad_input.shape).to(grad_input.dtype))


def roi_pool_forward(
    input: Tensor, rois: Tensor, output: Tensor, argmax: Tensor, pooled_height: int, pooled_width: int, spatial_scale: float
) -> None:
    """Write the largest pixel of each bin, and its place in the image, -1 for an empty bin. A region ends after its last pixel; its sides
    are not rounded, those of its bins are."""
    regions, windows = _wide(rois), []
    for axis, (parts, length) in enumerate(zip((pooled_height, pooled_width), input.shape[2:])):
        start = regions[:, 2 - axis, None] * spatial_scale
        size = (regions[:, 4 - axis, None] + 1) * spatial_scale - start
        part = torch.arange(parts + 1, device=rois.device)
        sides = part * (size / parts) + start
        ends = torch.stack((sides[:, :-1].floor(), sides[:, 1:].ceil()), -1).clamp(0, length)
        windows.append(torch.where(size[..., None] > 0, ends, 0).long())
    sizes = input.shape
    raster = plain.Raster(spatial_scale, pooled_height, pooled_width, 0, False, (sizes[0], sizes[1], sizes[2], sizes[3]))
    down, across = ((window.numpy() if window.device.type == "cpu" else window) for window in windows)
    best, place = plain.largest(input, *plain.window_sums(bare(regions), down, across, raster, False), raster)
    output.copy_(best)
    argmax.copy_(place)


def roi_pool_backward(
    grad_output: Tensor, rois: Tensor, argmax: Tensor, grad_input: Tensor, pooled_height: int, pooled_width: int, spatial_scale: float
) -> None:
    """Add the images' gradient."""
    sizes = tuple(grad_input.shape)
    grad_input.add_(plain.roi_pool_backward(grad_output, rois, argmax, spatial_scale, pooled_height, pooled_width, *sizes))


class _Moved(NamedTuple):
    """Settings of deform_roi_pool: regions, height, width, scale, samples, and the part of a region that an offset of 1 is."""

    rois: Tensor
    height: int
    width: int
    scale: float
    samples: int
    gamma: float

    def means(self, images: Tensor, offset: Tensor) -> Tensor:
        """Return the means of bilinear samples in bins that are moved by offsets (regions, 2 of x and y, height, width)."""
        rois = _wide(self.rois)
        low, end = (rois[:, first : first + 2].flip(1) * self.scale - 0.5 for first in (1, 3))
        size = end - low
        result = images.new_zeros(rois.shape[0], images.shape[1], self.height, self.width)
        for chosen, down, across in _by_samples(size, (self.height, self.width), self.samples):
            if not down * across:
                continue
            y = _along(size[chosen, 0], self.height, down) + low[chosen, 0, None, None]
            x = _along(size[chosen, 1], self.width, across) + low[chosen, 1, None, None]
            points = _grid(rois[chosen], y, x)
            if offset.numel():
                moved = offset[chosen] * size[chosen].flip(1)[:, :, None, None] * self.gamma
                points = Points(points.image, points.y + moved[:, 1, :, :, None, None], points.x + moved[:, 0, :, :, None, None])
            means = between_pixels(images, points).mean((3, 4)).permute(0, 3, 1, 2)
            result = result.index_add(0, chosen, means)
        return result


def deform_roi_pool_forward(
    input: Tensor, rois: Tensor, offset: Tensor, output: Tensor, pooled_height: int, pooled_width: int, spatial_scale: float,
    sampling_ratio: int, gamma: float,
) -> None:  # fmt: skip
    """Write roi_align's means for bins that are moved; no offsets move none."""
    moved = _Moved(rois, pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma)
    output.copy_(moved.means(_wide(input), _wide(offset)))


def deform_roi_pool_backward(
    grad_output: Tensor, input: Tensor, rois: Tensor, offset: Tensor, grad_input: Tensor, grad_offset: Tensor, pooled_height: int,
    pooled_width: int, spatial_scale: float, sampling_ratio: int, gamma: float,
) -> None:  # fmt: skip
    """Add the gradients of images and offsets."""
    moved = _Moved(rois, pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma)
    add_gradients(moved.means, (_wide(input), _wide(offset)), _wide(grad_output), (grad_input, grad_offset))


__all__ = [
    "deform_roi_pool_backward", "deform_roi_pool_forward", "roi_align_backward", "roi_align_forward", "roi_align_rotated_backward",
    "roi_align_rotated_forward", "roi_pool_backward", "roi_pool_forward",
]  # fmt: skip

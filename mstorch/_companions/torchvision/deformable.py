"""Convolution of pixels at offset positions: torchvision::deform_conv2d and its gradient."""
from __future__ import annotations

from typing import NamedTuple

import mstorch as torch

from .regions import without_warnings
from .values import Values, bare, library, steps, tensor, turned, whole, wide
from .weighted import Weighted

Tensor = torch.Tensor


class _Taps(NamedTuple):
    """Corners of each tap's position and what their weights follow from, all with (N * offset groups * taps * places) rows."""

    corners: Weighted
    near: Values  # (rows, 4): whether a corner is a pixel
    counts: Values  # (rows,): whether a position is less than a pixel outside
    down: Values  # (rows,): distance to the upper pixel
    across: Values


class _Settings(NamedTuple):
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    offset_groups: int
    use_mask: bool


def _settings(numbers: tuple[int, ...]) -> _Settings:
    sh, sw, ph, pw, dh, dw, groups, offset_groups, use_mask = numbers
    return _Settings((sh, sw), (ph, pw), (dh, dw), groups, offset_groups, bool(use_mask))


def _length(size: int, kernel: int, padding: int, dilation: int, stride: int) -> int:
    return (size + 2 * padding - (dilation * (kernel - 1) + 1)) // stride + 1


def _check(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, s: _Settings) -> tuple[int, int]:
    """Return the height and width of the result. Raise RuntimeError for shapes that do not fit."""
    if input.dim() != 4 or offset.dim() != 4 or weight.dim() != 4 or s.use_mask and mask.dim() != 4:
        raise RuntimeError("deform_conv2d: input, offset, mask and weight must have 4 dimensions")
    kernel = weight.shape[2:]
    for name, pair in (("stride", s.stride), ("dilation", s.dilation)):
        if min(pair) <= 0:
            raise RuntimeError(f"{name}_h: {pair[0]} {name}_w: {pair[1]}")
    if min(s.padding) < 0:
        raise RuntimeError(f"pad_h: {s.padding[0]} pad_w: {s.padding[1]}")
    if weight.shape[1] * s.groups != input.shape[1]:
        raise RuntimeError(f"input.shape[1] {input.shape[1]} is not weight.shape[1] * groups {weight.shape[1] * s.groups}")
    if weight.shape[0] % s.groups:
        raise RuntimeError("weight.shape[0] is no multiple of groups")
    if input.shape[1] % s.offset_groups:
        raise RuntimeError("input.shape[1] is no multiple of offset_groups")
    taps = kernel[0] * kernel[1]
    if offset.shape[1] != s.offset_groups * 2 * taps:
        raise RuntimeError(f"offset.shape[1] is not valid: got: {offset.shape[1]} expected: {s.offset_groups * 2 * taps}")
    if s.use_mask and mask.shape[1] != s.offset_groups * taps:
        raise RuntimeError(f"mask.shape[1] is not valid: got: {mask.shape[1]} expected: {s.offset_groups * taps}")
    if offset.shape[0] != input.shape[0]:
        raise RuntimeError("invalid batch size of offset")
    high, broad = (_length(*numbers) for numbers in zip(input.shape[2:], kernel, s.padding, s.dilation, s.stride))
    if tuple(offset.shape[2:]) != (high, broad):
        raise RuntimeError(f"offset output dims: ({offset.shape[2]}, {offset.shape[3]}) - computed output dims: ({high}, {broad})")
    if s.use_mask and (mask.shape[0] != input.shape[0] or tuple(mask.shape[2:]) != (high, broad)):
        raise RuntimeError(f"mask output dims: ({mask.shape[2]}, {mask.shape[3]}) - computed output dims: ({high}, {broad})")
    if high <= 0 or broad <= 0:
        raise RuntimeError(f"Calculated output size too small - out_h: {high} out_w: {broad}")
    return high, broad


def _along(moves: Values, axis: int, s: _Settings) -> Values:
    """Return the positions of taps along rows (0) or columns (1) of the images: moves are (N, offset groups, kernel's height and width,
    rows, columns)."""
    kernel, places = (moves.shape[first + axis] for first in (2, 4))
    tap = steps(kernel, moves) * s.dilation[axis] - s.padding[axis]
    place = steps(places, moves) * s.stride[axis]
    still = tap[:, None] + place
    # Half precision's positions are rounded, as torchvision's are
    moved = moves + (still[:, None, :, None] if axis == 0 else still[:, None, :])
    return moved if library(moved) is not torch else bare(moved)


def _taps(input: Tensor, kernel: tuple[int, int], offset: Tensor, s: _Settings) -> _Taps:
    """Return the corners of each tap's position; rows are images, offset groups, taps and places of the result."""
    count, _, high, broad = input.shape
    moves = bare(offset) if wide(offset).dtype is offset.dtype else offset.detach()
    moves = moves.reshape(count, s.offset_groups, *kernel, 2, *offset.shape[2:])
    y, x = (_along(moves[:, :, :, :, axis], axis, s) for axis in (0, 1))
    xp = library(y)
    counts = (y > -1) & (y < high) & (x > -1) & (x < broad)
    # A position far outside (or NaN) has no pixel: its place is of no matter
    y, x = (xp.where((place >= -2) & (place <= length + 1), place, -2) for place, length in ((y, high), (x, broad)))
    top, left = xp.floor(y), xp.floor(x)
    down, across = y - top, x - left
    number = whole(steps(count * s.offset_groups, y)).reshape(count, s.offset_groups, 1, 1, 1, 1)
    places, weights, near = [], [], []
    for row, by_row in ((top, 1 - down), (top + 1, down)):
        for column, by_column in ((left, 1 - across), (left + 1, across)):
            pixel = (row >= 0) & (row < high) & (column >= 0) & (column < broad)
            place = (number * high + whole(xp.clip(row, 0, high - 1))) * broad + whole(xp.clip(column, 0, broad - 1))
            places.append(place.reshape(-1))
            near.append(pixel.reshape(-1))
            weights.append((by_row * by_column * (pixel & counts)).reshape(-1))
    corners = Weighted(xp.stack(places, 1), xp.stack(weights, 1), count * s.offset_groups * high * broad)
    return _Taps(corners, xp.stack(near, 1), counts.reshape(-1), down.reshape(-1), across.reshape(-1))


def _pixels(images: Values, offset_groups: int) -> Values:
    """Return images (N, C, H, W), which may be none, as rows (N * offset groups * H * W, C / offset groups)."""
    count, channels, high, broad = images.shape
    parted = images.reshape(count, offset_groups, channels // offset_groups, high * broad)
    return turned(parted, 0, 1, 3, 2).reshape(count * offset_groups * high * broad, channels // offset_groups)


def _columns(sampled: Values, input: Tensor, taps: int, places: int, s: _Settings) -> Tensor:
    """Return rows of sampled values as the convolution's columns (N, groups, C / groups * taps, places)."""
    count, channels = input.shape[:2]
    parted = turned(sampled.reshape(count, s.offset_groups, taps, places, channels // s.offset_groups), 0, 1, 4, 2, 3)
    return tensor(parted.reshape(count, s.groups, channels // s.groups * taps, places))


def _sampled_columns(input: Tensor, kernel: tuple[int, int], offset: Tensor, mask: Tensor, s: _Settings) -> Tensor:
    """Return what the taps read, times the mask, as the convolution's columns."""
    sampled = _taps(input, kernel, offset, s).corners.sums(_pixels(bare(input), s.offset_groups))
    if s.use_mask:
        sampled = sampled * bare(mask).reshape(-1, 1)
    return _columns(sampled, input, kernel[0] * kernel[1], offset.shape[2] * offset.shape[3], s)


@without_warnings
def sampled_images(input: Tensor, kernel: tuple[int, int], offset: Tensor, mask: Tensor, numbers: tuple[int, ...]) -> Tensor:
    """Return what the taps read, times the mask, side by side: (N, C, high * kernel's height, broad * kernel's width). ``numbers`` are
    those of deform_conv2d from the stride on."""
    s = _settings(numbers)
    count, channels = input.shape[:2]
    columns = _sampled_columns(input, kernel, offset, mask, s._replace(groups=1))
    apart = columns.view(count, channels, *kernel, *offset.shape[2:]).permute(0, 1, 4, 2, 5, 3)
    return apart.reshape(count, channels, offset.shape[2] * kernel[0], offset.shape[3] * kernel[1]).to(input.dtype)


@without_warnings
def deform_conv2d(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int, pad_h: int, pad_w: int,
    dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Tensor:  # fmt: skip
    """Return a convolution each of whose taps reads at its place plus an offset, between pixels, times a mask."""
    s = _settings((stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask))
    high, broad = _check(input, weight, offset, mask, s)
    filters = wide(weight)
    columns = _sampled_columns(input, (filters.shape[2], filters.shape[3]), offset, mask, s)
    sums = torch.matmul(filters.reshape(s.groups, filters.shape[0] // s.groups, -1), columns)
    sums = sums.reshape(input.shape[0], filters.shape[0], high, broad) + wide(bias).view(-1, 1, 1)
    return sums.to(input.dtype)


@without_warnings
def deform_conv2d_backward(
    grad: Tensor, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int, pad_h: int,
    pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool, *, edge: bool = True,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients of deform_conv2d's images, filters, offsets, mask and bias. The offset of a position that is a whole pixel
    outside has a gradient, towards the inside, unless ``edge`` is False."""
    s = _settings((stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask))
    high, broad = _check(input, weight, offset, mask, s)
    slopes, filters, factors = wide(grad), wide(weight), bare(mask)
    kernel = (filters.shape[2], filters.shape[3])
    count, channels, *sizes = input.shape
    taps = _taps(input, kernel, offset, s)
    pixels = _pixels(bare(input), s.offset_groups)
    sampled = taps.corners.sums(pixels)
    masked = sampled * factors.reshape(-1, 1) if s.use_mask else sampled
    number = kernel[0] * kernel[1]
    columns = _columns(masked, input, number, high * broad, s)
    by_group = slopes.reshape(count, s.groups, filters.shape[0] // s.groups, high * broad)
    of_filters = torch.matmul(by_group, columns.transpose(-1, -2)).sum(0).reshape(filters.shape)
    flat = filters.reshape(s.groups, filters.shape[0] // s.groups, -1)
    of_columns = bare(torch.matmul(flat.transpose(-1, -2), by_group))
    parted = of_columns.reshape(count, s.offset_groups, channels // s.offset_groups, number, high * broad)
    rows = turned(parted, 0, 1, 3, 4, 2).reshape(sampled.shape)
    of_mask = (rows * sampled).sum(1).reshape(factors.shape) if s.use_mask else factors * 0
    if s.use_mask:
        rows = rows * factors.reshape(-1, 1)
    of_pixels = taps.corners.spread(rows).reshape(count, s.offset_groups, sizes[0] * sizes[1], channels // s.offset_groups)
    of_images = turned(of_pixels, 0, 1, 3, 2).reshape(input.shape)
    by_corner = taps.corners.products(pixels, rows) * (taps.near if edge else taps.near & taps.counts[:, None])
    upper_left, upper_right, lower_left, lower_right = (by_corner[:, corner] for corner in range(4))
    of_y = taps.across * (lower_right - upper_right) + (1 - taps.across) * (lower_left - upper_left)
    of_x = taps.down * (lower_right - lower_left) + (1 - taps.down) * (upper_right - upper_left)
    shape = (count, s.offset_groups, number, high, broad)
    of_moves = library(of_y).stack([of_y.reshape(shape), of_x.reshape(shape)], 3).reshape(offset.shape)
    return (
        tensor(of_images, input), of_filters.to(weight.dtype), tensor(of_moves, offset), tensor(of_mask, mask),
        slopes.sum((0, 2, 3)).to(bias.dtype),
    )  # fmt: skip


__all__ = ["deform_conv2d", "deform_conv2d_backward", "sampled_images"]

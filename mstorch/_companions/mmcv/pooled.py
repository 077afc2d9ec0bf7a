"""mmcv's pools of points within boxes in space: a raster of each box (Part-A2), or so many points of each (PointRCNN)."""
from __future__ import annotations

import mstorch as torch

from .points import first_places, within_boxes

Tensor = torch.Tensor


def _cells(rois: Tensor, points: Tensor, raster: tuple[int, int, int]) -> Tensor:
    """Return the cell of each box's raster (boxes, points) that a point is in, by its row-major number."""
    apart = points - rois[:, None, :3]
    cos, sin = rois[:, 6, None].cos(), rois[:, 6, None].sin()
    x = apart[..., 0] * cos + apart[..., 1] * sin + rois[:, 3, None] / 2
    y = apart[..., 1] * cos - apart[..., 0] * sin + rois[:, 4, None] / 2
    cell = torch.zeros_like(x, dtype=torch.long)
    for axis, (place, parts) in enumerate(zip((x, y, apart[..., 2]), raster)):
        # Whole numbers by rounding to zero, as a conversion does
        cell = cell * parts + (place / (rois[:, 3 + axis, None] / parts)).long().clamp(0, parts - 1)
    return cell


def _ranks(cell: Tensor) -> Tensor:
    """Return how many points before each one are in its cell, (boxes, points)."""
    order = cell.argsort(dim=1, stable=True)
    own = cell.gather(1, order)
    place = torch.arange(cell.shape[1], device=cell.device).expand(cell.shape)
    begins = torch.nn.functional.pad(own[:, 1:] != own[:, :-1], (1, 0), value=True)
    start = torch.where(begins, place, 0).cummax(1).values
    return torch.empty_like(place).scatter(1, order, place - start)


def roiaware_pool3d_forward(
    rois: Tensor, pts: Tensor, pts_feature: Tensor, argmax: Tensor, pts_idx_of_voxels: Tensor, pooled_features: Tensor, pool_method: int
) -> None:
    """Write the maxima (method 0) or means (1) of features in each cell of boxes, and which points are in it: their count, then their
    places, as many as fit."""
    boxes, *sides, size = pts_idx_of_voxels.shape
    raster = (sides[0], sides[1], sides[2])
    number, points, channels = raster[0] * raster[1] * raster[2], pts.shape[0], pts_feature.shape[1]
    within = within_boxes(rois, pts).transpose(0, 1)
    cell = torch.where(within, _cells(rois, pts, raster), number)  # the last one is for points outside, or too many
    rank = _ranks(cell)
    cell = torch.where(rank < size - 1, cell, number)
    slot = (torch.arange(boxes, device=cell.device)[:, None] * (number + 1) + cell).flatten()
    place = torch.arange(points, device=cell.device).repeat(boxes)
    counts = torch.bincount(slot, minlength=boxes * (number + 1)).view(boxes, -1)[:, :number]
    listed = torch.zeros(boxes * (number + 1) * size, dtype=torch.int32, device=cell.device)
    # The last cell's entries overlap: nothing reads them
    listed = listed.scatter(0, slot * size + 1 + rank.flatten().clamp(max=size - 2), place.int()).view(boxes, number + 1, size)
    listed = torch.cat((counts[..., None].int(), listed[:, :number, 1:]), -1)
    pts_idx_of_voxels.copy_(listed.view(pts_idx_of_voxels.shape))
    rows = pts_feature.repeat(boxes, 1)
    some = (counts > 0)[..., None]
    if pool_method == 0:
        largest = torch.full((boxes * (number + 1), channels), -torch.inf, dtype=rows.dtype, device=rows.device)
        largest = largest.index_reduce(0, slot, rows, "amax")
        where = torch.where(rows == largest[slot], place[:, None], points)
        first = torch.full_like(largest, points, dtype=torch.long).index_reduce(0, slot, where, "amin")
        pooled = torch.where(some, largest.view(boxes, -1, channels)[:, :number], 0)
        argmax.copy_(torch.where(some, first.view(boxes, -1, channels)[:, :number], -1).view(argmax.shape))
    else:
        sums = rows.new_zeros(boxes * (number + 1), channels).index_add(0, slot, rows)
        pooled = sums.view(boxes, -1, channels)[:, :number] / counts.clamp(min=1)[..., None]
    pooled_features.copy_(pooled.view(pooled_features.shape))


def roiaware_pool3d_backward(pts_idx_of_voxels: Tensor, argmax: Tensor, grad_out: Tensor, grad_in: Tensor, pool_method: int) -> None:
    """Add the features' gradients."""
    channels = grad_out.shape[-1]
    slopes = grad_out.reshape(-1, channels)
    if pool_method == 0:
        place = argmax.reshape(-1, channels).long()
        grad_in.scatter_add_(0, place.clamp(min=0), torch.where(place >= 0, slopes, 0))
        return
    listed = pts_idx_of_voxels.reshape(-1, pts_idx_of_voxels.shape[-1]).long()
    counts, places = listed[:, :1], listed[:, 1:]
    taken = torch.arange(places.shape[1], device=places.device) < counts
    each = torch.where(taken[..., None], (slopes / counts.clamp(min=1))[:, None], 0)
    grad_in.index_add_(0, places.flatten(), each.flatten(0, 1))


def roipoint_pool3d_forward(xyz: Tensor, boxes3d: Tensor, pts_feature: Tensor, pooled_features: Tensor, pooled_empty_flag: Tensor) -> None:
    """Write positions and features (batch, boxes, samples, 3 + channels) of the first points in each box, again from the first where
    there are fewer, and 1 for a box without points."""
    samples = pooled_features.shape[2]
    within = within_boxes(boxes3d, xyz).transpose(1, 2)
    places, some = first_places(within, samples)
    counts = within.sum(-1, keepdim=True).clamp(1, samples)
    again = places.gather(2, (torch.arange(samples, device=xyz.device) % counts).expand(places.shape))
    rows = torch.cat((xyz, pts_feature), -1)
    chosen = torch.stack([cloud[place] for cloud, place in zip(rows, torch.where(some, again, 0))])
    pooled_features.copy_(torch.where(some[..., None], chosen, 0))
    pooled_empty_flag.copy_(~some[..., 0])


__all__ = ["roiaware_pool3d_backward", "roiaware_pool3d_forward", "roipoint_pool3d_forward"]

"""mmcv's voxels: the cell of a grid that each point lies in, and points of a cell together."""
from __future__ import annotations

import numpy as np

import mstorch as torch

from .boxes import host

Tensor = torch.Tensor


def _cells(points: Tensor, voxel_size: Tensor, coors_range: Tensor) -> Tensor:
    """Return the cell (z, y, x) of each point, -1 for those outside."""
    size, bounds = (item.to(points.device, torch.float32) for item in (voxel_size, coors_range))
    cells = ((points[:, :3].float() - bounds[:3]) / size).floor()
    counts = ((bounds[3:] - bounds[:3]) / size).round()
    inside = ((cells >= 0) & (cells < counts)).all(1, keepdim=True)
    return torch.where(inside, cells, -1).int().flip(1)


def dynamic_voxelize_forward(points: Tensor, voxel_size: Tensor, coors_range: Tensor, coors: Tensor, NDim: int) -> None:
    """Write the cell (z, y, x) of each point, -1 for those outside."""
    coors.copy_(_cells(points, voxel_size, coors_range))


def hard_voxelize_forward(
    points: Tensor, voxel_size: Tensor, coors_range: Tensor, voxels: Tensor, coors: Tensor, num_points_per_voxel: Tensor, voxel_num: Tensor,
    max_points: int, max_voxels: int, NDim: int, deterministic: bool,
) -> None:  # fmt: skip
    """Write the first points of each cell, cells in the order of their first points, and their numbers, cells and number."""
    cells = host("hard_voxelize_forward", _cells(points, voxel_size, coors_range)).astype(np.int64)
    inside = np.flatnonzero(cells[:, 0] >= 0)
    if not len(inside):
        voxel_num.fill_(0)
        return
    _, first, cell = np.unique(cells[inside], axis=0, return_index=True, return_inverse=True)
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    voxel = rank[cell.reshape(-1)]
    order = np.argsort(voxel, kind="stable")
    starts = np.searchsorted(voxel[order], np.arange(len(first)))
    place = np.arange(len(order)) - starts[voxel[order]]
    chosen = (place < max_points) & (voxel[order] < max_voxels)
    voxel, place, point = voxel[order][chosen], place[chosen], inside[order][chosen]
    count = min(len(first), max_voxels)
    device = points.device
    voxels[torch.from_numpy(voxel).to(device), torch.from_numpy(place).to(device)] = points[torch.from_numpy(point).to(device)]
    coors[:count] = torch.from_numpy(cells[inside[np.sort(first)[:count]]]).to(coors)
    num_points_per_voxel[:count] = torch.from_numpy(np.bincount(voxel, minlength=count)).to(num_points_per_voxel)
    voxel_num.fill_(count)


_WAYS = {"sum": "sum", "mean": "mean", "max": "amax"}


def dynamic_point_to_voxel_forward(feats: Tensor, coors: Tensor, reduce_type: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the sum, mean or largest of the features of each cell's points, the cells in order, the cell of each point (-1 for those
    with a negative coordinate), and the numbers of points."""
    if reduce_type not in _WAYS:
        raise RuntimeError(f"do not support reduce type {reduce_type}")
    inside = (coors >= 0).all(1)
    cells, own, counts = torch.unique(coors[inside], dim=0, return_inverse=True, return_counts=True)
    places = torch.full((coors.shape[0],), -1, dtype=torch.int32, device=coors.device)
    places[inside] = own.int()
    result = feats.new_zeros(cells.shape[0], feats.shape[1])
    if cells.shape[0]:
        index = own.unsqueeze(1).expand(-1, feats.shape[1])
        result = result.scatter_reduce(0, index, feats[inside], _WAYS[reduce_type], include_self=False)
    return result, cells, places, counts.int()


def dynamic_point_to_voxel_backward(
    grad_feats: Tensor, grad_reduced_feats: Tensor, feats: Tensor, reduced_feats: Tensor, coors_idx: Tensor, reduce_count: Tensor,
    reduce_type: str,
) -> None:  # fmt: skip
    """Write the features' gradient; that of a largest feature goes to the first point that has it."""
    inside, places = coors_idx >= 0, coors_idx.clamp(min=0).long()
    if not grad_reduced_feats.shape[0]:
        return
    slopes = grad_reduced_feats[places]
    if reduce_type == "mean":
        slopes = slopes / reduce_count[places].unsqueeze(1).to(slopes.dtype)
    if reduce_type == "max":
        count = feats.shape[0]
        numbers = torch.arange(count, device=feats.device).unsqueeze(1)
        has = (feats == reduced_feats[places]) & inside.unsqueeze(1)
        index = places.unsqueeze(1).expand_as(feats)
        first = torch.full_like(reduced_feats, count, dtype=torch.int64)
        first = first.scatter_reduce(0, index, torch.where(has, numbers, count), "amin")
        slopes = slopes * (first[places] == numbers)
    grad_feats.copy_(slopes * inside.unsqueeze(1))


__all__ = [
    "dynamic_point_to_voxel_backward", "dynamic_point_to_voxel_forward", "dynamic_voxelize_forward", "hard_voxelize_forward",
]  # fmt: skip

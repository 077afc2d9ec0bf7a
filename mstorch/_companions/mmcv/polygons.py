"""Convex quadrilaterals: their common area, in torch's operations, and what mmcv computes by it for rotated boxes.

The corners of what two have in common are the crossings of their sides and the corners of each within the other. Sorted by their angle
around the mean they give the area.
"""
from __future__ import annotations

import numpy as np

import mstorch as torch

from ..._src.backend.arrays import Array
from ..drawing import array
from .boxes import host
from .versions import prepares_for_npu

Tensor = torch.Tensor
_BLOCK = 1 << 15


def corners(boxes: Tensor) -> Tensor:
    """Return the corners (boxes, 4, 2) of boxes of centre, size and angle (x, y, w, h, radians), or of eight coordinates."""
    if boxes.shape[-1] == 8:
        return boxes.reshape(-1, 4, 2)
    centre, size, angle = boxes[:, :2], boxes[:, 2:4], boxes[:, 4]
    signs = torch.tensor([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]], dtype=boxes.dtype, device=boxes.device)
    x, y = (size[:, None] * signs).unbind(-1)
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    return torch.stack((x * cos - y * sin, x * sin + y * cos), -1) + centre[:, None]


def area(polygons: Tensor) -> Tensor:
    """Return the areas of polygons (…, corners, 2)."""
    x, y = polygons.unbind(-1)
    return (x * y.roll(-1, -1) - x.roll(-1, -1) * y).sum(-1).abs() / 2


def _cross(one: Tensor, other: Tensor) -> Tensor:
    return one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]


def _within(points: Tensor, polygon: Tensor, slack: Tensor) -> Tensor:
    """Return which points (pairs, n, 2) are within polygons (pairs, 4, 2), whichever way round these go."""
    sides = polygon.roll(-1, 1) - polygon
    turns = _cross(sides[:, None], points[:, :, None] - polygon[:, None])
    return (turns >= -slack).all(-1) | (turns <= slack).all(-1)


def common(first: Tensor, second: Tensor) -> Tensor:
    """Return the common areas of pairs of convex quadrilaterals (pairs, 4, 2)."""
    middle = second.mean(1, keepdim=True)  # coordinates far from the origin would lose digits
    first, second = first - middle, second - middle
    size = torch.maximum(area(first), area(second))
    slack = (size * torch.finfo(first.dtype).eps * 8)[:, None, None]
    along, other = first.roll(-1, 1) - first, second.roll(-1, 1) - second
    between = second[:, None] - first[:, :, None]
    turn = _cross(along[:, :, None], other[:, None])
    crossing = turn.abs() > slack
    safe = torch.where(crossing, turn, 1)
    at, there = _cross(between, other[:, None]) / safe, _cross(between, along[:, :, None]) / safe
    meets = crossing & (at >= 0) & (at <= 1) & (there >= 0) & (there <= 1)
    points = torch.cat(((first[:, :, None] + at[..., None] * along[:, :, None]).flatten(1, 2), first, second), 1)
    valid = torch.cat((meets.flatten(1), _within(first, second, slack), _within(second, first, slack)), 1)
    count = valid.sum(1, keepdim=True)
    centre = (points * valid[..., None]).sum(1) / count.clamp(min=1)
    around = torch.where(valid[..., None], points - centre[:, None], 0)
    angle = torch.where(valid, torch.atan2(around[..., 1], around[..., 0]), torch.inf)
    order = angle.argsort(1)
    sorted_points = around.gather(1, order[..., None].expand(-1, -1, 2))
    last = valid.gather(1, order)
    sorted_points = torch.where(last[..., None], sorted_points, sorted_points[:, :1])  # the others close the polygon
    return torch.where(count[:, 0] > 2, area(sorted_points), 0)


def _near(first: Array, second: Array) -> tuple[Array, Array]:
    """Return pairs of polygons whose surrounding boxes meet."""
    (low, high), (other_low, other_high) = ((item.min(1), item.max(1)) for item in (first, second))
    ones, others = [], []
    for start in range(0, len(first), 256):
        part = slice(start, start + 256)
        meet = (low[part, None] <= other_high).all(-1) & (other_low <= high[part, None]).all(-1)
        one, other = meet.nonzero()
        ones.append(one + start)
        others.append(other)
    return (np.concatenate(ones), np.concatenate(others)) if ones else (np.empty(0, np.int64), np.empty(0, np.int64))


def _blocks(first: Tensor, second: Tensor) -> Tensor:
    parts = [common(first[i : i + _BLOCK], second[i : i + _BLOCK]) for i in range(0, first.shape[0], _BLOCK)]
    return torch.cat(parts) if parts else first.new_zeros(0)


def shared(first: Tensor, second: Tensor) -> Tensor:
    """Return the common areas of all pairs of two lists of quadrilaterals: (first, second)."""
    if first.device.type != "cpu":
        ones = torch.arange(first.shape[0], device=first.device).repeat_interleave(second.shape[0])
        others = torch.arange(second.shape[0], device=first.device).repeat(first.shape[0])
        return _blocks(first[ones], second[others]).view(first.shape[0], second.shape[0])
    first, second = first.double(), second.double()
    near = _near(array(first), array(second))
    result = first.new_zeros(first.shape[0], second.shape[0])
    ones, others = map(torch.from_numpy, near)
    result[ones, others] = _blocks(first[ones], second[others])
    return result


def _write_ious(bboxes1: Tensor, bboxes2: Tensor, ious: Tensor, mode: int, aligned: bool) -> None:
    on_host = bboxes1.device.type == "cpu"
    first, second = (corners(item.double() if on_host else item.float()) for item in (bboxes1, bboxes2))
    own, other = area(first), area(second)
    if aligned:
        inner = common(first, second)
    else:
        inner, own, other = shared(first, second), own[:, None], other[None]
    whole = own if mode == 1 else own + other - inner
    ious.copy_(torch.where(whole > 0, inner / whole.clamp(min=torch.finfo(whole.dtype).tiny), 0).reshape(ious.shape))


def _radians(boxes: Tensor, module: str, function: str) -> Tensor:
    """Return rotated boxes as CPUs get them: for an NPU some versions of mmcv give angles in degrees."""
    if boxes.device.type != "npu" or not prepares_for_npu(module, function):
        return boxes[:, :5]
    return torch.cat((boxes[:, :4], torch.deg2rad(boxes[:, 4:5])), 1)


def box_iou_rotated(bboxes1: Tensor, bboxes2: Tensor, ious: Tensor, mode_flag: int, aligned: bool) -> None:
    """Write the intersections over unions (mode 0) or over the first boxes (1) of rotated boxes, of pairs if ``aligned``."""
    first, second = (_radians(item, "box_iou_rotated", "box_iou_rotated") for item in (bboxes1, bboxes2))
    _write_ious(first, second, ious, mode_flag, aligned)


def box_iou_quadri(bboxes1: Tensor, bboxes2: Tensor, ious: Tensor, mode_flag: int, aligned: bool) -> None:
    """Write the same for boxes of four corners."""
    _write_ious(bboxes1, bboxes2, ious, mode_flag, aligned)


def _keep(polygons: Tensor, threshold: float) -> Array:
    """Return the places of polygons, best first, that no better kept one overlaps by more than the threshold."""
    alone = polygons.double()
    own = array(area(alone))
    better, worse = _near(array(alone), array(alone))
    pairs = better < worse
    better, worse = better[pairs], worse[pairs]
    inner = array(_blocks(alone[torch.from_numpy(better)], alone[torch.from_numpy(worse)]))
    whole = np.maximum(own[better] + own[worse] - inner, np.finfo(np.float64).tiny)
    exceeds = inner / whole > threshold
    beaten: dict[int, list[int]] = {}
    for one, other in zip(better[exceeds].tolist(), worse[exceeds].tolist()):
        beaten.setdefault(one, []).append(other)
    alive = np.ones(len(own), bool)
    for one in sorted(beaten):
        if alive[one]:
            alive[beaten[one]] = False
    return np.flatnonzero(alive)


def _nms(name: str, dets: Tensor, scores: Tensor, threshold: float) -> Tensor:
    boxes = torch.from_numpy(host(name, dets))
    order = torch.argsort(torch.from_numpy(host(name, scores)), descending=True, stable=True)
    places = torch.from_numpy(_keep(corners(boxes[order]), threshold))
    return order[places].to(dets.device)


def nms_rotated(
    dets: Tensor, scores: Tensor, order: Tensor, dets_sorted: Tensor, labels: Tensor, iou_threshold: float, multi_label: bool
) -> Tensor:
    """Return the indices of rotated boxes to keep, by decreasing score. Labels are not looked at: neither do mmcv's functions for CPUs and
    GPUs, and its tests expect it."""
    return _nms("nms_rotated", _radians(dets, "nms", "nms_rotated"), scores, iou_threshold)


def nms_quadri(dets: Tensor, scores: Tensor, order: Tensor, dets_sorted: Tensor, iou_threshold: float, multi_label: bool) -> Tensor:
    """Return the indices of boxes of four corners to keep, by decreasing score. With ``multi_label`` the last column is a label, which is
    not looked at, as mmcv's own tests expect."""
    return _nms("nms_quadri", dets[:, :8], scores, iou_threshold)


# Boxes in space: x, y, z, sizes along them, angle around z


def _seen_from_above(boxes: Tensor) -> Tensor:
    return torch.cat((boxes[:, :2], boxes[:, 3:5], boxes[:, 6:7]), 1)


def iou3d_boxes_overlap_bev_forward(boxes_a: Tensor, boxes_b: Tensor, ans_overlap: Tensor) -> None:
    """Write the areas that boxes in space have in common, seen from above."""
    ans_overlap.copy_(shared(*(corners(_seen_from_above(item.float())) for item in (boxes_a, boxes_b))))


def _write_kept(places: Array, keep: Tensor, num_out: Tensor) -> None:
    keep[: len(places)] = torch.from_numpy(places).to(keep)
    num_out.fill_(len(places))


def iou3d_nms3d_forward(boxes: Tensor, keep: Tensor, num_out: Tensor, nms_overlap_thresh: float) -> None:
    """Write the places of boxes to keep and their number; boxes come best first, and compete as seen from above."""
    seen = torch.from_numpy(host("iou3d_nms3d_forward", _seen_from_above(boxes)))
    _write_kept(_keep(corners(seen), nms_overlap_thresh), keep, num_out)


def iou3d_nms3d_normal_forward(boxes: Tensor, keep: Tensor, num_out: Tensor, nms_overlap_thresh: float) -> None:
    """Write the same for boxes whose angles are left out."""
    seen = torch.from_numpy(host("iou3d_nms3d_normal_forward", _seen_from_above(boxes)))
    seen[:, 4] = 0
    _write_kept(_keep(corners(seen), nms_overlap_thresh), keep, num_out)


def diff_iou_rotated_sort_vertices_forward(vertices: Tensor, mask: Tensor, num_valid: Tensor) -> Tensor:
    """Return for (batch, pairs, 24, 2) vertices around their mean the order (batch, pairs, 9) of the valid ones by angle, the first one
    again after the last; the rest is the number of a crossing that is not valid: the corners come first, and only crossings are zero."""
    count, places = num_valid.long().unsqueeze(-1), torch.arange(9, device=vertices.device)
    angle = torch.where(mask, torch.atan2(vertices[..., 1], vertices[..., 0]), torch.inf)
    order = angle.argsort(-1)[..., :9]
    spare = 8 + (~mask[..., 8:]).float().argmax(-1, keepdim=True)
    order = torch.where(places < count, order, torch.where(places == count, order[..., :1], spare))
    return torch.where(count < 3, spare, order).int()


def points_in_polygons_forward(points: Tensor, polygons: Tensor, output: Tensor) -> None:
    """Write 1 where a point (rows) is within a polygon of four corners (columns), else 0. Sides are gone through from the first corner on,
    and those after one that the point lies on do not count, as in mmcv: a point on a side is within or not by where that side stands."""
    ends = polygons.view(1, -1, 4, 2)
    starts, place = ends.roll(1, 2), points[:, None, None]
    spans = (ends[..., 1] < place[..., 1]) != (starts[..., 1] < place[..., 1])
    rise = starts[..., 1] - ends[..., 1]
    at = (starts[..., 0] - ends[..., 0]) * (place[..., 1] - ends[..., 1]) / torch.where(rise == 0, 1, rise) + ends[..., 0]
    touches = (ends == place).all(-1) | (starts == place).all(-1) | spans & (at == place[..., 0])
    before = touches.cumsum(-1) == 0
    output.copy_((before & spans & (place[..., 0] < at)).sum(-1) % 2)


__all__ = [
    "box_iou_quadri", "box_iou_rotated", "diff_iou_rotated_sort_vertices_forward", "iou3d_boxes_overlap_bev_forward", "iou3d_nms3d_forward",
    "iou3d_nms3d_normal_forward", "nms_quadri", "nms_rotated", "points_in_polygons_forward",
]  # fmt: skip

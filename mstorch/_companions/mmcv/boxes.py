"""mmcv's boxes along the axes (x1, y1, x2, y2): overlaps, and three ways to suppress those that overlap better ones."""
from __future__ import annotations

import numpy as np

import mstorch as torch

from ..._src.backend.arrays import Array
from ..._src.core.fallback import warn_of_cpu
from ..drawing import array
from ..torchvision.boxes import kept

Tensor = torch.Tensor


def host(name: str, values: Tensor) -> Array:
    """Return a copy of values in host memory, in single precision or double; a device's are read with a warning."""
    if values.device.type != "cpu":
        warn_of_cpu(f"mmcv._ext.{name}", str(values.dtype).removeprefix("torch."))
    return array(values if values.dtype is torch.float64 else values.float()).copy()


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int) -> Tensor:
    """Return the indices of boxes to keep, by decreasing score. With ``offset`` 1 a box ends after its last pixel."""
    sides = host("nms", boxes)
    sides[:, 2:] += offset
    return torch.from_numpy(kept(sides, host("nms", scores), iou_threshold)).to(boxes.device)


def _overlap(box: Array, others: Array, offset: int) -> Array:
    """Return the intersection over union of a box and others."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:4], others[:, 2:4])
    shared = np.prod(np.maximum(high - low + offset, 0), axis=1)
    areas = np.prod(others[:, 2:4] - others[:, :2] + offset, axis=1)
    return shared / (np.prod(box[2:4] - box[:2] + offset) + areas - shared)


def softnms(
    boxes: Tensor, scores: Tensor, dets: Tensor, iou_threshold: float, sigma: float, min_score: float, method: int, offset: int
) -> Tensor:
    """Return the indices of boxes to keep, and write them with their scores to ``dets``. A box that overlaps a better one gets a lower
    score: none (method 0), one less by the overlap (1) or by a bell curve of it (2); below ``min_score`` it is dropped."""
    left = np.concatenate([host("softnms", boxes), host("softnms", scores)[:, None]], 1)
    places, chosen, rows = np.arange(len(left)), [], []
    while len(left):
        best = int(left[:, 4].argmax())
        row = left[best].copy()
        chosen.append(places[best])
        rows.append(row)
        left[best], places[best] = left[0], places[0]
        left, places = left[1:], places[1:]
        overlaps = _overlap(row, left, offset)
        if method == 2:
            left[:, 4] *= np.exp(-(overlaps**2) / sigma)
        else:
            left[:, 4] *= np.where(overlaps >= iou_threshold, 1 - overlaps if method == 1 else 0, 1)
        stays = left[:, 4] >= min_score
        left, places = left[stays], places[stays]
    if rows:
        dets[: len(rows)] = torch.from_numpy(np.stack(rows)).to(dets)
    return torch.tensor(chosen, dtype=torch.int64)


def nms_match(dets: Tensor, iou_threshold: float) -> list[list[int]]:
    """Return groups of indices: a box that is kept, and those that it suppresses, by decreasing score (the last column)."""
    boxes = host("nms_match", dets)
    left, groups = np.argsort(-boxes[:, 4], kind="stable"), []
    while len(left):
        beaten = _overlap(boxes[left[0]], boxes[left[1:]], 0) >= iou_threshold
        groups.append([int(left[0]), *left[1:][beaten].tolist()])
        left = left[1:][~beaten]
    return groups


def bbox_overlaps(bboxes1: Tensor, bboxes2: Tensor, ious: Tensor, mode: int, aligned: bool, offset: int) -> None:
    """Write the intersections over unions (mode 0) or over the first boxes (1), of pairs if ``aligned``, else of all."""
    first, second = (bboxes1, bboxes2) if aligned else (bboxes1[:, None], bboxes2[None])
    low, high = torch.maximum(first[..., :2], second[..., :2]), torch.minimum(first[..., 2:], second[..., 2:])
    shared = (high - low + offset).clamp(min=0).prod(-1)
    own, other = ((item[..., 2:] - item[..., :2] + offset).prod(-1) for item in (first, second))
    whole = own if mode == 1 else own + other - shared
    ious.copy_(shared / whole.clamp(min=offset))


__all__ = ["bbox_overlaps", "host", "nms", "nms_match", "softnms"]

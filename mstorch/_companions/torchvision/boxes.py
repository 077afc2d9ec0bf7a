"""Suppression of overlapping boxes (torchvision::nms), in NumPy.

A box is kept unless a better box that is itself kept overlaps it. The loop over boxes is inherent; here it runs over blocks of the best
boxes left, so that overlaps are computed for a block at a time.
"""
from __future__ import annotations

from typing import Any

import numpy as np

import mstorch as torch

from ..._src.backend.errors import TYPE_NAMES
from ..._src.core.fallback import warn_of_cpu

Array = np.ndarray[Any, Any]
_BLOCK = 64


def nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """Return the indices of the boxes (x1, y1, x2, y2) to keep, by decreasing score; a box that overlaps a kept one by more than the
    threshold (intersection over union) is dropped. Raise RuntimeError for other shapes and dtypes."""
    if dets.dim() != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {dets.dim()}D")
    if dets.size(1) != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {dets.size(1)}")
    if scores.dim() != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.dim()}D")
    if dets.size(0) != scores.size(0):
        raise RuntimeError(
            f"boxes and scores should have same number of elements in dimension 0, got {dets.size(0)} and {scores.size(0)}"
        )
    if dets.dtype != scores.dtype:
        raise RuntimeError("dets should have the same type as scores")
    if dets.dtype not in (torch.float32, torch.float64) and dets.device.type == "cpu" or not dets.is_floating_point():
        raise RuntimeError(f"\"nms_kernel\" not implemented for '{TYPE_NAMES[str(dets.dtype).removeprefix('torch.')]}'")
    if dets.device.type != "cpu":
        warn_of_cpu("ops.torchvision.nms", str(dets.dtype).removeprefix("torch."))
    wide = dets.dtype if dets.dtype in (torch.float32, torch.float64) else torch.float32
    if dets.device.type == "cpu":
        boxes, marks = (item.detach().to(wide).numpy() for item in (dets, scores))
    else:  # one read for both
        both = torch.cat([dets.detach(), scores.detach()[:, None]], 1).to("cpu", wide).numpy()
        boxes, marks = both[:, :4], both[:, 4]
    return torch.from_numpy(kept(boxes, marks, iou_threshold)).to(dets.device)


def kept(boxes: Array, scores: Array, threshold: float) -> Array:
    """Return the indices of the boxes to keep, by decreasing score."""
    # The largest number of the boxes' precision that is not above the threshold: an overlap exceeds both or neither.
    limit = boxes.dtype.type(threshold)
    if float(limit) > threshold:
        limit = np.nextafter(limit, boxes.dtype.type(-np.inf))
    order = np.argsort(-scores, kind="stable")
    if len(order) and np.isnan(scores[order[-1]]):  # torch sorts NaN first
        unknown = np.isnan(scores[order])
        order = np.concatenate([order[unknown], order[~unknown]])
    sides = np.ascontiguousarray(boxes[order].T)
    with np.errstate(all="ignore"):
        sides = np.concatenate([sides, ((sides[2] - sides[0]) * (sides[3] - sides[1]))[None]])
        pairs = _neighbours(sides) if threshold >= 0 and len(order) > _BLOCK else None
        return order[_by_blocks(sides, limit) if pairs is None else _by_pairs(sides, *pairs, limit)]


def _by_blocks(left: Array, limit: np.floating[Any]) -> Array:
    """Return the places of the boxes to keep; ``left`` has rows of x1, y1, x2, y2 and areas, the best boxes first."""
    places = np.arange(left.shape[1])
    chosen: list[Array] = [places[:0]]
    while len(places):
        count = min(_BLOCK, len(places))
        block = left[:, :count]
        own = _overlaps(block[:, :, None], block[:, None]) > limit
        alive = np.ones(count, bool)
        for place in range(count - 1):
            if alive[place]:
                alive[place + 1 :] &= ~own[place, place + 1 :]
        chosen.append(places[:count][alive])
        places, left = places[count:], left[:, count:]
        if len(places):
            stays = ~_exceeding(block[:, alive], left, limit)
            places, left = places[stays], left[:, stays]
    return np.concatenate(chosen)


def _neighbours(sides: Array) -> tuple[Array, Array] | None:
    """Return pairs of places with all boxes that overlap, and others near to each other; None if they are too many to be a gain.

    The plane is cut into strips as high as boxes are; those of a strip are sorted by x1, and a box's partners are the next ones up to its
    x2.
    """
    if not np.isfinite(sides).all():
        return None
    low, high = sides[1].astype(np.float64), sides[3].astype(np.float64)
    strip = max(float(np.mean(np.abs(high - low))), float(high.max() - low.min()) / 256, 1e-30)
    first, last = (np.floor((edge - low.min()) / strip).astype(np.int64) for edge in (low, np.maximum(low, high)))
    several = last - first + 1
    if several.sum() > 8 * len(low):
        return None
    box = np.repeat(np.arange(len(low)), several)
    number = first[box] + _counted(several)
    start, stop = sides[0].astype(np.float64), sides[2].astype(np.float64)
    apart = 2 * (max(start.max(), stop.max()) - min(start.min(), stop.min())) + 1  # strips lie beside each other
    start, stop = (edge[box] + number * apart for edge in (start, stop))
    by_start = np.argsort(start, kind="stable")
    box, start, stop = box[by_start], start[by_start], stop[by_start]
    partners = np.maximum(np.searchsorted(start, stop, "right") - np.arange(1, len(start) + 1), 0)
    if partners.sum() > len(low) ** 2 // 32:
        return None
    one = np.repeat(np.arange(len(box)), partners)
    other = box[one + 1 + _counted(partners)]
    one = box[one]
    return np.minimum(one, other), np.maximum(one, other)


def _counted(lengths: Array) -> Array:
    """Return 0, 1, … for each of the lengths, one after the other."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _by_pairs(sides: Array, better: Array, worse: Array, limit: np.floating[Any]) -> Array:
    """Return the places of the boxes to keep, of which only these pairs can overlap."""
    exceeds = _overlaps(sides[:, better], sides[:, worse]) > limit
    better, worse = better[exceeds], worse[exceeds]
    by_better = np.argsort(better, kind="stable")
    better, worse = better[by_better], worse[by_better]
    alive = np.ones(sides.shape[1], bool)
    heads, starts = np.unique(better, return_index=True)
    for head, start, stop in zip(heads.tolist(), starts.tolist(), [*starts[1:].tolist(), len(worse)]):
        if alive[head]:
            alive[worse[start:stop]] = False
    return np.flatnonzero(alive)


def _overlaps(first: Array, second: Array) -> Array:
    """Return the intersection over union of boxes, given as rows of x1, y1, x2, y2 and areas, which are broadcast."""
    wide = np.minimum(first[2], second[2])
    wide -= np.maximum(first[0], second[0])
    np.maximum(wide, 0, out=wide)
    high = np.minimum(first[3], second[3])
    high -= np.maximum(first[1], second[1])
    np.maximum(high, 0, out=high)
    wide *= high
    np.add(first[4], second[4], out=high)
    high -= wide
    return np.divide(wide, high, out=wide)


def _exceeding(first: Array, second: Array, limit: np.floating[Any]) -> Array:
    """Return for each box of ``second`` whether one of ``first`` overlaps it by more than the limit."""
    found = np.zeros(second.shape[1], bool)
    step = 2048  # so that what is computed stays in the processor's cache
    for start in range(0, len(found), step):
        part = second[:, None, start : start + step]
        found[start : start + step] = (_overlaps(first[:, :, None], part) > limit).any(0)
    return found


__all__ = ["kept", "nms"]

"""torch_npu.contrib's bounding box functions: overlaps, encoding and decoding of deltas, responsible grid cells."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch

from ...._src.core.warned import warn

_SMALL = 1e-10


def deprecated(name: str, instead: str) -> None:
    """Warn that a name is deprecated, and name its replacement."""
    warn(f"torch_npu.contrib.{name} is deprecated. Please use {instead} as a replacement.", FutureWarning)


def _floating(boxes: Any) -> Any:
    return boxes if boxes.dtype in (torch.float32, torch.float16) else boxes.float()


def _only(what: str, trans: bool, is_cross: bool, mode: int) -> None:
    if not trans or is_cross or mode:
        raise NotImplementedError(f"mstorch: torch_npu.contrib.{what} has trans=True, is_cross=False and mode=0 alone")


# Overlaps


def npu_iou(boxes1: Any, boxes2: Any, mode: str = "ptiou", is_normalized: bool = False, normalized_scale: float = 100.0) -> Any:
    """Return the (N, M) intersection over union of boxes (N, 4) and (M, 4) as (xmin, ymin, xmax, ymax); deprecated.

    "iou" adds 0.001 to both areas, "ptiou" to the second. Raise ValueError for another mode.
    """
    deprecated("npu_iou", "torch_npu.npu_iou or torch_npu.npu_ptiou")
    if mode not in ("iou", "ptiou"):
        raise ValueError("Expected mode in [iou, ptiou]")
    first, second = _floating(boxes1).detach(), _floating(boxes2).detach()
    if is_normalized:
        first, second = first * normalized_scale, second * normalized_scale
    sizes = torch.minimum(first[:, None, 2:], second[None, :, 2:]) - torch.maximum(first[:, None, :2], second[None, :, :2])
    common = sizes.clamp(min=0).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (first, second)]
    both = areas[0][:, None] + areas[1][None, :] - common
    return (common + 0.001 if mode == "iou" else common) / (both + 0.001)


npu_ptiou = npu_iou


class _Pairs:
    """Pairs of boxes as rows of (x, y, w, h) with the centre x, y: their overlap, and the enclosing box."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second
        low = [boxes[:2] - boxes[2:] / 2 for boxes in (first, second)]
        high = [boxes[:2] + boxes[2:] / 2 for boxes in (first, second)]
        common = (torch.minimum(*high) - torch.maximum(*low)).clamp(min=0).prod(0)
        self.both = first[2:].prod(0) + second[2:].prod(0) - common + _SMALL
        self.overlap = common / self.both
        self.around = torch.maximum(*high) - torch.minimum(*low)

    def distance(self) -> Any:
        """Return the squared distance of the centres divided by the squared diagonal of the enclosing box."""
        return (self.first[:2] - self.second[:2]).square().sum(0) / (self.around.square().sum(0) + _SMALL)


def npu_giou(boxes1: Any, boxes2: Any, is_permuted: bool = True) -> Any:
    """Return the (N, 1) generalized IoU of boxes (N, 4) as (x, y, w, h); deprecated.

    Without ``is_permuted`` boxes are (4, N). Raise ValueError if the shapes differ.
    """
    deprecated("npu_giou", "torch_npu.npu_giou")
    if boxes1.shape != boxes2.shape:
        raise ValueError("Expected boxes1.shape == boxes2.shape")
    first, second = (_floating(boxes).t() if is_permuted else _floating(boxes) for boxes in (boxes1, boxes2))
    pairs = _Pairs(first, second)
    around = pairs.around.prod(0) + _SMALL
    return (pairs.overlap - (around - pairs.both) / around).unsqueeze(1)


def npu_diou(boxes1: Any, boxes2: Any, trans: bool = True, is_cross: bool = False, mode: int = 0) -> Any:
    """Return the (1, N) distance IoU of boxes (4, N) as (x, y, w, h); deprecated."""
    deprecated("function.npu_diou", "torch_npu.npu_diou")
    _only("npu_diou", trans, is_cross, mode)
    pairs = _Pairs(boxes1, boxes2)
    return (pairs.overlap - pairs.distance()).unsqueeze(0)


def npu_ciou(boxes1: Any, boxes2: Any, trans: bool = True, is_cross: bool = False, mode: int = 0) -> Any:
    """Return the (1, N) complete IoU of boxes (4, N) as (x, y, w, h); deprecated."""
    deprecated("function.npu_ciou", "torch_npu.npu_ciou")
    _only("npu_ciou", trans, is_cross, mode)
    pairs = _Pairs(boxes1, boxes2)
    shapes = 4 / math.pi**2 * (torch.atan(boxes2[2] / boxes2[3]) - torch.atan(boxes1[2] / boxes1[3])).square()
    weight = shapes / (1 + _SMALL - pairs.overlap + shapes)
    return (pairs.overlap - pairs.distance() - weight * shapes).unsqueeze(0)


# From one box to another


def _check(first: Any, second: Any) -> tuple[Any, Any]:
    if first.size(0) != second.size(0):
        raise ValueError("Expected bboxes.size(0) == gt_bboxes.size(0)")
    if not first.size(-1) == second.size(-1) == 4:
        raise ValueError("Expected bboxes.size(-1) == gt_bboxes.size(-1) == 4")
    return _floating(first), _floating(second)


def _middles(boxes: Any) -> tuple[Any, Any]:
    """Return the centres and sizes of integer pixel boxes: one from 3 to 3 has size 1."""
    return (boxes[:, :2] + boxes[:, 2:]) * 0.5, boxes[:, 2:] - boxes[:, :2] + 1.0


def npu_bbox_coder_encode_xyxy2xywh(
    bboxes: Any, gt_bboxes: Any, means: Any = None, stds: Any = None, is_normalized: bool = False, normalized_scale: float = 10000.0
) -> Any:
    """Return the (N, 4) deltas from the first boxes to the second: centre offsets in units of the size, and logarithms of the size ratios.

    ``means`` are subtracted and ``stds`` divided by. Raise ValueError for shapes that do not fit.
    """
    first, second = _check(bboxes, gt_bboxes)
    if is_normalized:
        first, second = first * normalized_scale, second * normalized_scale
    (here, size), (there, grown) = _middles(first), _middles(second)
    size = size + 1e-7
    found = torch.cat([(there - here) / size, torch.log(grown.abs() / size.abs())], 1)
    return (found - found.new_tensor(means or [0.0] * 4)) / found.new_tensor(stds or [1.0] * 4)


def npu_bbox_coder_decode_xywh2xyxy(
    bboxes: Any, pred_bboxes: Any, means: Any = None, stds: Any = None, max_shape: Any = None, wh_ratio_clip: float = 16 / 1000
) -> Any:
    """Return the (N, 4) boxes decoded from deltas of ``npu_bbox_coder_encode_xyxy2xywh``, clipped to (0, 0) and ``max_shape`` (H, W).

    Size ratios are clipped to 1 / ``wh_ratio_clip``. Raise ValueError for shapes that do not fit.
    """
    boxes, told = _check(bboxes, pred_bboxes)
    told = told * told.new_tensor(stds or [1.0] * 4) + told.new_tensor(means or [0.0] * 4)
    most, (here, size) = abs(math.log(wh_ratio_clip)), _middles(boxes)
    middle, half = here + size * told[:, :2], size * told[:, 2:].clamp(-most, most).exp() * 0.5
    height, width = max_shape or (9999, 9999)
    ends = boxes.new_tensor([width - 1, height - 1])
    return torch.cat([torch.minimum(corner.clamp(min=0), ends) for corner in (middle - half + 0.5, middle + half - 0.5)], 1)


def npu_single_level_responsible_flags(featmap_size: Any, gt_bboxes: Any, stride: Any, num_base_anchors: int) -> Any:
    """Return a (H · W · ``num_base_anchors``,) uint8 tensor: 1 for anchors of grid cells (H, W) that contain the centre of a box."""
    boxes = _floating(gt_bboxes).float()
    height, width = featmap_size
    columns, rows = ((boxes[:, side] + boxes[:, side + 2]).mul(0.5).div(stride[side]).floor().long() for side in (0, 1))
    flags = torch.zeros(height * width, dtype=torch.uint8, device=boxes.device)
    flags[rows * width + columns] = 1
    return flags[:, None].expand(-1, num_base_anchors).reshape(-1)


__all__ = [
    "deprecated", "npu_bbox_coder_decode_xywh2xyxy", "npu_bbox_coder_encode_xyxy2xywh", "npu_ciou", "npu_diou", "npu_giou",
    "npu_iou", "npu_ptiou", "npu_single_level_responsible_flags",
]  # fmt: skip

"""Boxes: their overlaps, their suppression, what lies in them, and changes between forms."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch

from ..torchvision import boxes as _boxes
from ..torchvision import regions as _regions

_SMALL = 1e-9


def _common(first: Any, second: Any) -> tuple[Any, Any, Any]:
    """Return overlaps of boxes (N, 4) and (M, 4) as (x1, y1, x2, y2), and both areas, spread to (N, M)."""
    sizes = (torch.minimum(first[:, None, 2:], second[None, :, 2:]) - torch.maximum(first[:, None, :2], second[None, :, :2])).clamp(min=0)
    areas = [(boxes[:, 2:] - boxes[:, :2]).clamp(min=0).prod(-1) for boxes in (first, second)]
    return sizes.prod(-1), areas[0][:, None], areas[1][None, :]


def npu_iou(bboxes: torch.Tensor, gtboxes: torch.Tensor, mode: int = 0) -> torch.Tensor:
    """Return (M, N) overlaps of ground truth (M, 4) and boxes (N, 4): of the union (``mode=0``) or of the ground truth's area (1)."""
    common, own, other = _common(gtboxes.float(), bboxes.float())
    return (common / ((own + other - common) if mode == 0 else own + torch.zeros_like(other)).clamp(min=_SMALL)).to(bboxes.dtype)


npu_ptiou = npu_iou


def _sides(boxes: torch.Tensor, trans: bool) -> tuple[Any, Any]:
    """Return the lower and upper corners (2, N) of boxes (4, N), which are centre and size with ``trans``."""
    if trans:
        half = boxes[2:] / 2
        return boxes[:2] - half, boxes[:2] + half
    return boxes[:2], boxes[2:]


def _paired(input: torch.Tensor, gtboxes: torch.Tensor, trans: bool, is_cross: bool, mode: int) -> dict[str, Any]:
    """Return what overlaps of boxes (4, N) with ground truth (4, M) consist of: (N, M) for all pairs, else (1, N)."""
    low, high = _sides(input, trans)
    base, top = _sides(gtboxes, trans)
    if is_cross:
        low, high, base, top = low[:, :, None], high[:, :, None], base[:, None, :], top[:, None, :]
    else:
        low, high, base, top = low[:, None], high[:, None], base[:, None], top[:, None]
    common = (torch.minimum(high, top) - torch.maximum(low, base)).clamp(min=0).prod(0)
    sizes, wanted = high - low, top - base
    union = sizes.prod(0) + wanted.prod(0) - common if mode == 0 else wanted.prod(0) + torch.zeros_like(common)
    around = torch.maximum(high, top) - torch.minimum(low, base)
    apart = ((low + high - base - top) / 2).square().sum(0)
    return {"overlap": common / (union + _SMALL), "union": union, "around": around, "apart": apart, "sizes": sizes, "wanted": wanted}


def npu_giou(input: torch.Tensor, gtboxes: torch.Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0) -> torch.Tensor:
    """Return the generalized overlap of boxes (4, N) with ground truth: (N, M) for all pairs, else (N, 1)."""
    parts = _paired(input, gtboxes, trans, is_cross, mode)
    whole = parts["around"].prod(0) + _SMALL
    found = parts["overlap"] - (whole - parts["union"]) / whole
    return found if is_cross else found.t()


def npu_diou(input: torch.Tensor, gtboxes: torch.Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0) -> torch.Tensor:
    """Return the overlap of boxes (4, N) with ground truth less the squared distance of their centres: (N, M) for all pairs, else (1,
    N)."""
    parts = _paired(input, gtboxes, trans, is_cross, mode)
    return parts["overlap"] - parts["apart"] / (parts["around"].square().sum(0) + _SMALL)


def npu_ciou(
    input: torch.Tensor, gtboxes: torch.Tensor, trans: bool = False, is_cross: bool = True, mode: int = 0, atan_sub_flag: bool = False
) -> torch.Tensor:  # fmt: skip
    """Return ``npu_diou`` less a measure of how the shapes differ, whose weight has no gradient."""
    parts = _paired(input, gtboxes, trans, is_cross, mode)
    angles = [torch.atan(parts[name][0] / (parts[name][1] + _SMALL)) for name in ("sizes", "wanted")]
    shapes = 4 / math.pi**2 * (angles[1] - angles[0]).square()
    weight = (shapes / (1 + _SMALL - parts["overlap"] + shapes)).detach()
    return parts["overlap"] - parts["apart"] / (parts["around"].square().sum(0) + _SMALL) - weight * shapes


def npu_nms_v4(
    input: torch.Tensor, scores: torch.Tensor, max_output_size: Any, iou_threshold: Any, scores_threshold: Any,
    pad_to_max_output_size: bool = False
) -> tuple[Any, Any]:  # fmt: skip
    """Return the places of the boxes that remain, at most so many, and their number. They are chosen on the CPU."""
    order = _boxes.nms(input, scores, float(iou_threshold))
    order = order[scores[order] > float(scores_threshold)][: int(max_output_size)].int()
    count = torch.tensor(order.shape[0], dtype=torch.int32, device=input.device)
    if pad_to_max_output_size:
        order = torch.nn.functional.pad(order, (0, int(max_output_size) - order.shape[0]))
    return order, count


def npu_nms_with_mask(input: torch.Tensor, iou_threshold: Any) -> tuple[Any, Any, Any]:
    """Return boxes (N, 5) with scores, their places, and which remain. They are chosen on the CPU."""
    kept = _boxes.nms(input[:, :4].float(), input[:, 4].float(), float(iou_threshold))
    mask = torch.zeros(input.shape[0], dtype=torch.uint8, device=input.device).index_fill(0, kept, 1)
    return input.clone(), torch.arange(input.shape[0], dtype=torch.int32, device=input.device), mask


def npu_batch_nms(
    input: torch.Tensor, scores: torch.Tensor, score_threshold: float, iou_threshold: float, max_size_per_class: int, max_total_size: int,
    change_coordinate_frame: bool = False, transpose_box: bool = False,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return the best boxes of each image after suppression by class, their scores and classes, and their number.

    input: (batch, boxes, 1 or classes, 4), scores: (batch, boxes, classes). They are chosen on the CPU.
    """
    if change_coordinate_frame or transpose_box:
        raise NotImplementedError("mstorch: npu_batch_nms() with change_coordinate_frame or transpose_box")
    batch, _, classes = scores.shape
    boxes = input.new_zeros((batch, max_total_size, 4))
    best, kinds = scores.new_zeros((batch, max_total_size)), scores.new_zeros((batch, max_total_size))
    counts = torch.zeros(batch, dtype=torch.int32, device=input.device)
    for image in range(batch):
        parts = []
        for kind in range(classes):
            own, values = input[image, :, min(kind, input.shape[2] - 1)], scores[image, :, kind]
            kept = _boxes.nms(own.float(), values.float(), iou_threshold)
            kept = kept[values[kept] > score_threshold][:max_size_per_class]
            parts.append((own[kept], values[kept], torch.full_like(values[kept], kind)))
        rows, values, names = (torch.cat(items) for items in zip(*parts))
        order = values.sort(descending=True, stable=True).indices[:max_total_size]
        size = order.shape[0]
        boxes[image, :size], best[image, :size], kinds[image, :size] = rows[order], values[order], names[order]
        counts[image] = size
    return boxes, best, kinds, counts


def npu_roi_align(
    input: torch.Tensor, rois: torch.Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sample_num: int, roi_end_mode: int
) -> torch.Tensor:  # fmt: skip
    """Return ``roi_align`` of boxes (K, 5) with the image's number first; ``roi_end_mode``: 1 adds one to the ends, 2 and 3 are aligned."""
    if roi_end_mode == 1:
        rois = torch.cat([rois[:, :3], rois[:, 3:] + 1.0], 1)
    return _Aligned.apply(input, rois, spatial_scale, pooled_height, pooled_width, sample_num, roi_end_mode >= 2)


class _Aligned(torch.autograd.Function):
    """``roi_align`` with its gradient for the images."""

    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, rois: torch.Tensor, *numbers: Any) -> Any:
        ctx.save_for_backward(rois)
        ctx.numbers, ctx.images = numbers, input.shape
        if input.device.type == "meta":
            return input.new_empty((rois.shape[0], input.shape[1], *numbers[1:3]))
        return _regions.roi_align(input, rois, *numbers)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        scale, height, width, samples, aligned = ctx.numbers
        images, channels, rows, columns = ctx.images
        found = _regions.roi_align_backward(
            grad, ctx.saved_tensors[0], scale, height, width, images, channels, rows, columns, samples, aligned
        )
        return found, *[None] * 6


def npu_roi_alignbk(
    input: torch.Tensor, rois: torch.Tensor, xdiff_shape: Any, pooled_width: int, pooled_height: int, spatial_scale: float, sample_num: int,
    roi_end_mode: int | None = None,
) -> torch.Tensor:  # fmt: skip
    """Return the gradient of ``npu_roi_align`` for images of a shape."""
    mode = 1 if roi_end_mode is None else roi_end_mode
    if mode == 1:
        rois = torch.cat([rois[:, :3], rois[:, 3:] + 1.0], 1)
    images, channels, rows, columns = xdiff_shape
    return _regions.roi_align_backward(
        input, rois, spatial_scale, pooled_height, pooled_width, images, channels, rows, columns, sample_num, mode >= 2
    )


def _middles(boxes: torch.Tensor) -> tuple[Any, Any]:
    return (boxes[:, :2] + boxes[:, 2:]) * 0.5, boxes[:, 2:] - boxes[:, :2] + 1.0


def npu_bounding_box_encode(
    anchor_box: Any, ground_truth_box: Any, means0: float, means1: float, means2: float, means3: float, stds0: float, stds1: float,
    stds2: float, stds3: float,
) -> torch.Tensor:  # fmt: skip
    """Return the deltas from anchors to ground truth, (N, 4): centres in units of the size, and logarithms of the ratios of sizes."""
    (here, size), (there, wanted) = _middles(anchor_box.float()), _middles(ground_truth_box.float())
    found = torch.cat([(there - here) / size, torch.log(wanted / size)], 1)
    found = (found - found.new_tensor([means0, means1, means2, means3])) / found.new_tensor([stds0, stds1, stds2, stds3])
    return found.to(anchor_box.dtype)


def npu_bounding_box_decode(
    rois: torch.Tensor, deltas: torch.Tensor, means0: float, means1: float, means2: float, means3: float, stds0: float, stds1: float,
    stds2: float,
    stds3: float, max_shape: Any, wh_ratio_clip: float,
) -> torch.Tensor:  # fmt: skip
    """Return the boxes that deltas lead to, held to images of a shape and ratios of sizes to a bound."""
    told = deltas * deltas.new_tensor([stds0, stds1, stds2, stds3]) + deltas.new_tensor([means0, means1, means2, means3])
    most, (here, size) = abs(math.log(wh_ratio_clip)), _middles(rois)
    middle, half = here + size * told[:, :2], size * told[:, 2:].clamp(-most, most).exp() * 0.5
    height, width = (max_shape[0], max_shape[1]) if len(max_shape) > 1 else (max_shape[0], max_shape[0])
    ends = rois.new_tensor([width - 1, height - 1])
    return torch.cat([torch.minimum(corner.clamp(min=0), ends) for corner in (middle - half + 0.5, middle + half - 0.5)], 1)

"""torchvision::qnms and qroi_align: of the integers of quantized tensors."""
from __future__ import annotations

import mstorch as torch

from . import boxes, regions

Tensor = torch.Tensor


def qnms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Return the indices of boxes to keep. Overlaps of integers of one scale are those of the numbers that they stand for."""
    return boxes.nms(dets.float(), scores.float(), iou_threshold)


def qroi_align(
    input: Tensor, rois: Tensor, input_scale: float, input_zero_point: int, rois_scale: float, rois_zero_point: int, spatial_scale: float,
    pooled_height: int, pooled_width: int, sampling_ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    """Return the integers, of the images' scale and zero point, of roi_align of one image. Raise RuntimeError for several."""
    if input.dim() == 4 and input.shape[0] != 1:
        raise RuntimeError("Only one image per batch is allowed in roi_align when quantized tensors are passed.")
    places = (rois.float() - rois_zero_point) * rois_scale
    means = regions.roi_align(input.float() - input_zero_point, places, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)
    bounds = torch.iinfo(input.dtype)
    return (means.round() + input_zero_point).clamp(bounds.min, bounds.max).to(input.dtype)


__all__ = ["qnms", "qroi_align"]

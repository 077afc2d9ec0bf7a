"""The functions of mmcv's compiled library (2.0 to 2.2), which ``mmcv.ops`` of mmcv-lite looks for as ``mmcv._ext``.

mmcv's own Python calls them: it has the signatures, checks and layers. What is left out is there by name, and raises.
"""
from __future__ import annotations

from .. import absent_names
from .attention import *  # noqa: F403
from .boxes import bbox_overlaps, nms, nms_match, softnms
from .convolutions import *  # noqa: F403
from .layers import *  # noqa: F403
from .losses import *  # noqa: F403
from .points import *  # noqa: F403
from .polygons import *  # noqa: F403
from .regions import *  # noqa: F403
from .voxels import *  # noqa: F403

_SPARSE = "torch.nn.Conv3d of a dense grid"
_INSTEAD = {
    "active_rotated_filter_backward": "torch.gather of the filters", "active_rotated_filter_forward": "torch.gather of the filters",
    "assign_score_withk_backward": "torch.gather and torch.einsum", "assign_score_withk_forward": "torch.gather and torch.einsum",
    "bezier_align_backward": "torch.nn.functional.grid_sample", "bezier_align_forward": "torch.nn.functional.grid_sample",
    "bias_act": "mmcv.ops.bias_act(…, impl='ref')", "border_align_backward": "torch.nn.functional.grid_sample",
    "border_align_forward": "torch.nn.functional.grid_sample", "contour_expand": "scipy.ndimage.label", "convex_giou": "mmcv.ops.box_iou_rotated",
    "convex_iou": "mmcv.ops.box_iou_rotated", "filtered_lrelu": "mmcv.ops.filtered_lrelu(…, impl='ref')",
    "filtered_lrelu_act_": "mmcv.ops.filtered_lrelu(…, impl='ref')", "min_area_polygons": "cv2.minAreaRect",
    "pixel_group": "scipy.ndimage.label", "prroi_pool_backward": "mmcv.ops.roi_align", "prroi_pool_coor_backward": "mmcv.ops.roi_align",
    "prroi_pool_forward": "mmcv.ops.roi_align", "riroi_align_rotated_backward": "mmcv.ops.roi_align_rotated",
    "riroi_align_rotated_forward": "mmcv.ops.roi_align_rotated", "roiaware_pool3d_backward": "mmcv.ops.points_in_boxes_all",
    "roiaware_pool3d_forward": "mmcv.ops.points_in_boxes_all", "roipoint_pool3d_forward": "mmcv.ops.points_in_boxes_all",
    "rotated_feature_align_backward": "torch.nn.functional.grid_sample", "rotated_feature_align_forward": "torch.nn.functional.grid_sample",
    **{name: _SPARSE for name in (
        "fused_indice_conv_forward", "get_indice_pairs_2d_backward", "get_indice_pairs_2d_forward", "get_indice_pairs_3d_backward",
        "get_indice_pairs_3d_forward", "get_indice_pairs_4d_forward", "indice_conv_backward", "indice_conv_forward",
        "indice_maxpool_backward", "indice_maxpool_forward",
    )},
}  # fmt: skip


def get_compiler_version() -> str:
    """Return what mmcv prints for the compiler."""
    return "mstorch's operators, without a compiler"


def get_compiling_cuda_version() -> str:
    """Return what mmcv prints for the version of CUDA."""
    return "not available"


__getattr__ = absent_names("mmcv._ext", _INSTEAD)
__all__ = ["bbox_overlaps", "get_compiler_version", "get_compiling_cuda_version", "nms", "nms_match", "softnms"]

"""The functions of mmcv's compiled library (2.0 to 2.2), which ``mmcv.ops`` of mmcv-lite looks for as ``mmcv._ext``.

mmcv's own Python calls them: it has the signatures, checks and layers. What is left out is there by name, and raises.
"""
from __future__ import annotations

from .. import absent_names
from .aligned import (
    active_rotated_filter_backward,
    active_rotated_filter_forward,
    assign_score_withk_backward,
    assign_score_withk_forward,
    border_align_backward,
    border_align_forward,
    rotated_feature_align_backward,
    rotated_feature_align_forward,
)
from .attention import ms_deform_attn_backward, ms_deform_attn_forward
from .boxes import bbox_overlaps, nms, nms_match, softnms
from .convolutions import (
    carafe_backward,
    carafe_forward,
    carafe_naive_backward,
    carafe_naive_forward,
    correlation_backward,
    correlation_forward,
    deform_conv_backward_input,
    deform_conv_backward_parameters,
    deform_conv_forward,
    masked_col2im_forward,
    masked_im2col_forward,
    modulated_deform_conv_backward,
    modulated_deform_conv_forward,
    psamask_backward,
    psamask_forward,
    tin_shift_backward,
    tin_shift_forward,
)
from .layers import (
    fused_bias_leakyrelu,
    sync_bn_backward_data,
    sync_bn_backward_param,
    sync_bn_forward_mean,
    sync_bn_forward_output,
    sync_bn_forward_var,
    upfirdn2d,
)
from .losses import (
    sigmoid_focal_loss_backward,
    sigmoid_focal_loss_forward,
    softmax_focal_loss_backward,
    softmax_focal_loss_forward,
)
from .points import (
    ball_query_forward,
    chamfer_distance_backward,
    chamfer_distance_forward,
    furthest_point_sampling_forward,
    furthest_point_sampling_with_dist_forward,
    gather_points_backward,
    gather_points_forward,
    group_points_backward,
    group_points_forward,
    knn_forward,
    points_in_boxes_all_forward,
    points_in_boxes_cpu_forward,
    points_in_boxes_part_forward,
    stack_ball_query_forward,
    stack_group_points_backward,
    stack_group_points_forward,
    three_interpolate_backward,
    three_interpolate_forward,
    three_nn_forward,
)
from .polygons import (
    box_iou_quadri,
    box_iou_rotated,
    diff_iou_rotated_sort_vertices_forward,
    iou3d_boxes_overlap_bev_forward,
    iou3d_nms3d_forward,
    iou3d_nms3d_normal_forward,
    nms_quadri,
    nms_rotated,
    points_in_polygons_forward,
)
from .pooled import roiaware_pool3d_backward, roiaware_pool3d_forward, roipoint_pool3d_forward
from .regions import (
    deform_roi_pool_backward,
    deform_roi_pool_forward,
    roi_align_backward,
    roi_align_forward,
    roi_align_rotated_backward,
    roi_align_rotated_forward,
    roi_pool_backward,
    roi_pool_forward,
)
from .sparse import (
    fused_indice_conv_forward,
    get_indice_pairs_2d_backward,
    get_indice_pairs_2d_forward,
    get_indice_pairs_3d_backward,
    get_indice_pairs_3d_forward,
    get_indice_pairs_4d_forward,
    indice_conv_backward,
    indice_conv_forward,
    indice_maxpool_backward,
    indice_maxpool_forward,
)
from .voxels import (
    dynamic_point_to_voxel_backward,
    dynamic_point_to_voxel_forward,
    dynamic_voxelize_forward,
    hard_voxelize_forward,
)

_INSTEAD = {
    "bezier_align_backward": "torch.nn.functional.grid_sample", "bezier_align_forward": "torch.nn.functional.grid_sample",
    "bias_act": "mmcv.ops.bias_act(…, impl='ref')", "contour_expand": "scipy.ndimage.label", "convex_giou": "mmcv.ops.box_iou_rotated",
    "convex_iou": "mmcv.ops.box_iou_rotated", "filtered_lrelu": "mmcv.ops.filtered_lrelu(…, impl='ref')",
    "filtered_lrelu_act_": "mmcv.ops.filtered_lrelu(…, impl='ref')", "min_area_polygons": "cv2.minAreaRect",
    "pixel_group": "scipy.ndimage.label", "prroi_pool_backward": "mmcv.ops.roi_align", "prroi_pool_coor_backward": "mmcv.ops.roi_align",
    "prroi_pool_forward": "mmcv.ops.roi_align", "riroi_align_rotated_backward": "mmcv.ops.roi_align_rotated",
    "riroi_align_rotated_forward": "mmcv.ops.roi_align_rotated",
}  # fmt: skip


def get_compiler_version() -> str:
    """Return what mmcv prints for the compiler."""
    return "mstorch's operators, without a compiler"


def get_compiling_cuda_version() -> str:
    """Return what mmcv prints for the version of CUDA."""
    return "not available"


__getattr__ = absent_names("mmcv._ext", _INSTEAD)
__all__ = [
    "active_rotated_filter_backward", "active_rotated_filter_forward", "assign_score_withk_backward", "assign_score_withk_forward",
    "ball_query_forward", "bbox_overlaps", "border_align_backward", "border_align_forward", "box_iou_quadri", "box_iou_rotated",
    "carafe_backward", "carafe_forward", "carafe_naive_backward", "carafe_naive_forward", "chamfer_distance_backward",
    "chamfer_distance_forward", "correlation_backward", "correlation_forward", "deform_conv_backward_input",
    "deform_conv_backward_parameters", "deform_conv_forward", "deform_roi_pool_backward", "deform_roi_pool_forward",
    "diff_iou_rotated_sort_vertices_forward", "dynamic_point_to_voxel_backward", "dynamic_point_to_voxel_forward",
    "dynamic_voxelize_forward", "furthest_point_sampling_forward", "furthest_point_sampling_with_dist_forward", "fused_bias_leakyrelu",
    "fused_indice_conv_forward", "gather_points_backward", "gather_points_forward", "get_compiler_version", "get_compiling_cuda_version",
    "get_indice_pairs_2d_backward", "get_indice_pairs_2d_forward", "get_indice_pairs_3d_backward", "get_indice_pairs_3d_forward",
    "get_indice_pairs_4d_forward", "group_points_backward", "group_points_forward", "hard_voxelize_forward", "indice_conv_backward",
    "indice_conv_forward", "indice_maxpool_backward", "indice_maxpool_forward", "iou3d_boxes_overlap_bev_forward", "iou3d_nms3d_forward",
    "iou3d_nms3d_normal_forward", "knn_forward", "masked_col2im_forward", "masked_im2col_forward", "modulated_deform_conv_backward",
    "modulated_deform_conv_forward", "ms_deform_attn_backward", "ms_deform_attn_forward", "nms", "nms_match", "nms_quadri", "nms_rotated",
    "points_in_boxes_all_forward", "points_in_boxes_cpu_forward", "points_in_boxes_part_forward", "points_in_polygons_forward",
    "psamask_backward", "psamask_forward", "roi_align_backward", "roi_align_forward", "roi_align_rotated_backward",
    "roi_align_rotated_forward", "roi_pool_backward", "roi_pool_forward", "roiaware_pool3d_backward", "roiaware_pool3d_forward",
    "roipoint_pool3d_forward", "rotated_feature_align_backward", "rotated_feature_align_forward", "sigmoid_focal_loss_backward",
    "sigmoid_focal_loss_forward", "softmax_focal_loss_backward", "softmax_focal_loss_forward", "softnms", "stack_ball_query_forward",
    "stack_group_points_backward", "stack_group_points_forward", "sync_bn_backward_data", "sync_bn_backward_param", "sync_bn_forward_mean",
    "sync_bn_forward_output", "sync_bn_forward_var", "three_interpolate_backward", "three_interpolate_forward", "three_nn_forward",
    "tin_shift_backward", "tin_shift_forward", "upfirdn2d",
]  # fmt: skip

"""torch.nn.functional: the layers' computations as functions."""

from typing import TYPE_CHECKING

from .._jit_internal import BroadcastingList1, BroadcastingList2, BroadcastingList3, boolean_dispatch
from .._src.hook import missing as _missing
from .._src.namespace.entries import enter_functional as _enter
from .._src.namespace.in_place import rrelu_ as rrelu_
from .._src.ops.elementwise.activation import gelu as gelu
from .._src.ops.elementwise.activation import hardshrink as hardshrink
from .._src.ops.elementwise.activation import prelu as prelu
from .._src.ops.elementwise.activation import relu_ as relu_
from .._src.ops.elementwise.activation import softplus as softplus
from .._src.ops.elementwise.activation import softshrink as softshrink
from .._src.ops.layers.bilinear import bilinear as bilinear
from .._src.ops.layers.conv import conv1d as conv1d
from .._src.ops.layers.conv import conv2d as conv2d
from .._src.ops.layers.conv import conv3d as conv3d
from .._src.ops.layers.conv import conv_tbc as conv_tbc
from .._src.ops.layers.conv import conv_transpose1d as conv_transpose1d
from .._src.ops.layers.conv import conv_transpose2d as conv_transpose2d
from .._src.ops.layers.conv import conv_transpose3d as conv_transpose3d
from .._src.ops.layers.distance import cosine_similarity as cosine_similarity
from .._src.ops.layers.distance import normalize as normalize
from .._src.ops.layers.distance import pairwise_distance as pairwise_distance
from .._src.ops.layers.distance import pdist as pdist
from .._src.ops.layers.embedding import one_hot as one_hot
from .._src.ops.layers.fold import fold as fold
from .._src.ops.layers.fold import unfold as unfold
from .._src.ops.layers.grid import affine_grid as affine_grid
from .._src.ops.layers.grid import grid_sample as grid_sample
from .._src.ops.layers.padding import pad as pad
from .._src.ops.layers.pixel import channel_shuffle as channel_shuffle
from .._src.ops.layers.pixel import channel_shuffle as native_channel_shuffle
from .._src.ops.layers.pixel import pixel_shuffle as pixel_shuffle
from .._src.ops.layers.pixel import pixel_unshuffle as pixel_unshuffle
from .._src.ops.layers.pool import adaptive_avg_pool1d as adaptive_avg_pool1d
from .._src.ops.layers.pool import avg_pool1d as avg_pool1d
from .._src.ops.layers.pool import avg_pool2d as avg_pool2d
from .._src.ops.layers.pool import avg_pool3d as avg_pool3d
from .._src.ops.layers.unpool import max_unpool1d as max_unpool1d
from .._src.ops.layers.unpool import max_unpool2d as max_unpool2d
from .._src.ops.layers.unpool import max_unpool3d as max_unpool3d
from .._src.ops.layers.upsample import interpolate as interpolate
from .._src.ops.layers.upsample import upsample as upsample
from .._src.ops.layers.upsample import upsample_bilinear as upsample_bilinear
from .._src.ops.layers.upsample import upsample_nearest as upsample_nearest
from .._src.ops.linalg.grouped import grouped_mm as grouped_mm
from .._src.ops.linalg.matmul import linear as linear
from .._src.ops.linalg.scaled_mm import ScalingType as ScalingType
from .._src.ops.linalg.scaled_mm import SwizzleType as SwizzleType
from .._src.ops.linalg.scaled_mm import scaled_mm as scaled_mm
from .._src.ops.losses.ctc import ctc_loss as ctc_loss
from .._src.ops.losses.loss import binary_cross_entropy as binary_cross_entropy
from .._src.ops.losses.loss import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from .._src.ops.losses.loss import gaussian_nll_loss as gaussian_nll_loss
from .._src.ops.losses.loss import huber_loss as huber_loss
from .._src.ops.losses.loss import kl_div as kl_div
from .._src.ops.losses.loss import l1_loss as l1_loss
from .._src.ops.losses.loss import mse_loss as mse_loss
from .._src.ops.losses.loss import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from .._src.ops.losses.loss import poisson_nll_loss as poisson_nll_loss
from .._src.ops.losses.loss import smooth_l1_loss as smooth_l1_loss
from .._src.ops.losses.loss import soft_margin_loss as soft_margin_loss
from .._src.ops.losses.loss_class import cross_entropy as cross_entropy
from .._src.ops.losses.loss_class import nll_loss as nll_loss
from .._src.ops.losses.loss_margin import cosine_embedding_loss as cosine_embedding_loss
from .._src.ops.losses.loss_margin import hinge_embedding_loss as hinge_embedding_loss
from .._src.ops.losses.loss_margin import margin_ranking_loss as margin_ranking_loss
from .._src.ops.losses.loss_margin import multi_margin_loss as multi_margin_loss
from .._src.ops.losses.loss_margin import multilabel_margin_loss as multilabel_margin_loss
from .._src.ops.losses.loss_margin import triplet_margin_loss as triplet_margin_loss
from .._src.ops.losses.loss_margin import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from .._tensor import Tensor as Tensor
from ..overrides import (
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)  # fmt: skip
from . import _reduction as _Reduction
from . import grad
from ._functional.activation import (
    _get_softmax_dim,
    celu,
    celu_,
    elu,
    elu_,
    glu,
    gumbel_softmax,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    logsigmoid,
    mish,
    relu,
    relu6,
    rrelu,
    selu,
    selu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)  # fmt: skip
from ._functional.attention import _canonical_mask, multi_head_attention_forward, scaled_dot_product_attention
from ._functional.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from ._functional.linear_cross_entropy import linear_cross_entropy
from ._functional.names import (
    GRID_SAMPLE_INTERPOLATION_MODES,
    GRID_SAMPLE_PADDING_MODES,
    assert_int_or_pair,
    reproducibility_notes,
    sparse_support_notes,
    tf32_notes,
)  # fmt: skip
from ._functional.norm import batch_norm, group_norm, instance_norm, layer_norm, local_response_norm, rms_norm
from ._functional.pooling import (
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)  # fmt: skip
from ._functional.sparse import embedding, embedding_bag

_enter(globals())
__getattr__ = _missing(__name__)

"""torch.nn.functional: what layers compute, as functions."""

from .._ops.activation import gelu as gelu
from .._ops.activation import hardshrink as hardshrink
from .._ops.activation import prelu as prelu
from .._ops.activation import relu_ as relu_
from .._ops.activation import softplus as softplus
from .._ops.activation import softshrink as softshrink
from .._ops.conv import conv1d as conv1d
from .._ops.conv import conv2d as conv2d
from .._ops.conv import conv3d as conv3d
from .._ops.conv import conv_tbc as conv_tbc
from .._ops.conv import conv_transpose1d as conv_transpose1d
from .._ops.conv import conv_transpose2d as conv_transpose2d
from .._ops.conv import conv_transpose3d as conv_transpose3d
from .._ops.loss import l1_loss as l1_loss
from .._ops.loss import mse_loss as mse_loss
from .._ops.loss_class import cross_entropy as cross_entropy
from .._ops.loss_class import nll_loss as nll_loss
from .._ops.matmul import linear as linear
from .._ops.pool import adaptive_avg_pool1d as adaptive_avg_pool1d
from .._ops.pool import avg_pool1d as avg_pool1d
from .._ops.pool import avg_pool2d as avg_pool2d
from .._ops.pool import avg_pool3d as avg_pool3d
from . import _reduction as _Reduction
from ._functional.activation import (
    _get_softmax_dim, celu, celu_, elu, elu_, glu, gumbel_softmax, hardsigmoid, hardswish, hardtanh, hardtanh_, leaky_relu,
    leaky_relu_, log_softmax, logsigmoid, mish, relu, relu6, rrelu, rrelu_, selu, selu_, sigmoid, silu, softmax, softmin,
    softsign, tanh, tanhshrink, threshold, threshold_,
)  # fmt: skip
from ._functional.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from ._functional.norm import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from ._functional.pooling import (
    adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool1d_with_indices, adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices, adaptive_max_pool3d, adaptive_max_pool3d_with_indices, lp_pool1d, lp_pool2d, lp_pool3d,
    max_pool1d, max_pool1d_with_indices, max_pool2d, max_pool2d_with_indices, max_pool3d, max_pool3d_with_indices,
)  # fmt: skip

"""Kernels for devices only: strided views, and gradients and interpolation that are one kernel there.

The host uses NumPy's strided views, and gradient rules of its own. On the CPU these kernels run the host's."""
from __future__ import annotations

from typing import Any

from ..raw import from_arrays, to_arrays
from ..table import HOST, Function, define

OPS = ("window", "window_placed", "index_placed", "embedding_grad", "max_pool_grad")
COMPOSED = (
    "relu_grad", "gelu_grad", "silu_grad", "sigmoid_grad", "tanh_grad", "layer_norm_parts", "layer_norm_grad", "batch_norm_parts",
    "batch_norm_parts_grad", "conv_grad", "group_norm_parts", "group_norm_grad",
    "leaky_relu_grad", "elu_grad", "softplus_grad", "mish_grad", "hardsigmoid_grad", "softshrink_grad", "hardshrink_grad", "threshold_grad",
    "nll_parts", "nll_grad", "cross_entropy_parts", "cross_entropy_grad", "upsample", "upsample_grad",
    "mse_loss", "mse_loss_grad", "smooth_l1_loss", "smooth_l1_loss_grad", "huber_loss", "huber_loss_grad", "bce_loss", "bce_loss_grad",
    "bce_logits_loss", "bce_logits_loss_grad", "soft_margin_loss", "soft_margin_loss_grad", "grid_sample", "grid_sample_grad",
    "logsigmoid_grad", "prelu_grad", "glu", "glu_grad", "var_mean", "log_sum_exp", "cross", "pad_like_grad", "drop",
)  # fmt: skip
"""Operations that gradient rules and layers compute with several other kernels on a device without the kernel (``serves``, ``fused``)."""


def _by_host(op: str) -> Function:
    def numpy_row(*args: Any) -> Any:
        return from_arrays(HOST[op].function(*map(to_arrays, args)))

    return numpy_row


for _op in (*OPS, *COMPOSED):
    define(_op, cpu=_by_host(_op), numpy_reason="only a device uses it")

"""Kernels for devices only: strided views, and gradients and interpolation that are one kernel there.

The host uses NumPy's strided views, and gradient rules of its own. On the CPU these kernels run the host's."""
from __future__ import annotations

from typing import Any

from ..raw import from_arrays, to_arrays
from ..table import HOST, Function, define

OPS = (
    "window", "window_placed", "index_placed", "embedding_grad", "relu_grad", "gelu_grad", "silu_grad", "sigmoid_grad", "tanh_grad",
    "layer_norm_parts", "layer_norm_grad", "batch_norm_parts", "batch_norm_parts_grad", "max_pool_grad", "conv2d_both",
    "group_norm_parts", "group_norm_grad",
    "leaky_relu_grad", "elu_grad", "softplus_grad", "mish_grad", "hardsigmoid_grad", "softshrink_grad", "hardshrink_grad", "threshold_grad",
    "nll_parts", "nll_grad", "cross_entropy_parts", "cross_entropy_grad", "upsample", "upsample_grad",
)  # fmt: skip


def _by_host(op: str) -> Function:
    def numpy_row(*args: Any) -> Any:
        return from_arrays(HOST[op].function(*map(to_arrays, args)))

    return numpy_row


for _op in OPS:
    define(_op, cpu=_by_host(_op), numpy_reason="only a device uses it")

"""Normalization with torch.nn.functional's signatures."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._src.core.tensor_base import TensorBase
from ..._src.ops._dispatch import refuse_dtype
from ..._src.ops.elementwise.elementwise import add, div, mul, square
from ..._src.ops.elementwise.elementwise import pow as power
from ..._src.ops.layers import norm as norms
from ..._src.ops.layers.norm import rms_norm as _rms_norm
from ..._src.ops.layers.padding import constant_pad_nd
from ..._src.ops.layers.pool import avg_pool2d
from ..._src.ops.shape import views
from ..._tensor import Tensor


def _verify_batch_size(size: tuple[int, ...]) -> None:
    if math.prod((size[0], *size[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size torch.Size({list(size)})")


def _verify_spatial_size(size: tuple[int, ...]) -> None:
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size torch.Size({list(size)})")


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Normalize each channel of (N, C, *) to mean 0 and variance 1 over the batch (https://arxiv.org/abs/1502.03167)."""
    size = input._ms_shape
    if training and size and size[0] * math.prod(size[2:]) == 1:
        _verify_batch_size(size)
    if eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive, but got {eps}")
    return norms.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> TensorBase:  # fmt: skip
    """Normalize each channel of each sample of (N, C, *) to mean 0 and variance 1."""
    if use_input_stats:
        _verify_spatial_size(input._ms_shape)
    return norms.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalize over the last dimensions to mean 0 and variance 1."""
    return norms.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Return the input divided by the root of its mean square over the last dimensions."""
    return _rms_norm(input, normalized_shape, weight, eps)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalize each group of channels of (N, C, *) to mean 0 and variance 1."""
    shape = input._ms_shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    _verify_batch_size((shape[0] * shape[1] // num_groups, num_groups, *shape[2:]))
    return norms.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> TensorBase:
    """Return the input divided by ``(k + alpha * mean of squares over neighbouring channels) ** beta``."""
    shape = input._ms_shape
    rank = len(shape)
    if rank < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {rank} dimensions)")
    if not math.prod(shape):
        return input
    refuse_dtype("avg_pool2d", input._ms_dtype)
    squares = views.reshape(square(input), (shape[0], 1, shape[1], math.prod(shape[2:])))
    padded = constant_pad_nd(squares, (0, 0, size // 2, (size - 1) // 2))
    means = views.reshape(avg_pool2d(padded, (size, 1), stride=1), shape)
    return div(input, power(add(mul(means, alpha), k), beta))

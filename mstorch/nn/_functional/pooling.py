"""Pooling with torch.nn.functional's signatures."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..._src.core.one_device import OneDevice
from ..._src.ops._autocast import FLOAT32_ON_CPU, Casts
from ..._src.ops._operation import operation
from ..._src.ops.elementwise.activation import relu
from ..._src.ops.elementwise.elementwise import abs as abs_of
from ..._src.ops.elementwise.elementwise import mul, sign
from ..._src.ops.elementwise.elementwise import pow as power
from ..._src.ops.layers import pool as pools
from ..._src.ops.layers.fractional_pool import fractional_max_pool
from ..._src.ops.layers.pool import adaptive_avg_pool1d, avg_pool1d, avg_pool2d, avg_pool3d
from ..._tensor import Tensor


def _maximum(rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def pool_with_indices(
        input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Any, Any]:  # fmt: skip
        return pools.max_pool(rank, input, kernel_size, stride, padding, dilation, ceil_mode, True)

    def pool(
        input: Tensor, kernel_size: Any, stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        return pools.max_pool(rank, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)

    pool.__name__ = pool.__qualname__ = f"max_pool{rank}d"
    pool.__doc__ = "Return the maximum of each window; with ``return_indices`` also its index."
    pool_with_indices.__name__ = pool_with_indices.__qualname__ = f"max_pool{rank}d_with_indices"
    pool_with_indices.__doc__ = "Return the maximum of each window, and its index in the flattened spatial dimensions."
    return operation(autocast=FLOAT32_ON_CPU if rank == 3 else Casts())(pool), operation(pool_with_indices)


max_pool1d, max_pool1d_with_indices = _maximum(1)
max_pool2d, max_pool2d_with_indices = _maximum(2)
max_pool3d, max_pool3d_with_indices = _maximum(3)


def _adaptive_maximum(rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def pool_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> tuple[Any, Any]:
        return pools.adaptive_max_pool(rank, input, output_size)

    def pool(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Any:
        values, indices = pools.adaptive_max_pool(rank, input, output_size)
        return (values, indices) if return_indices else values

    pool.__name__ = pool.__qualname__ = f"adaptive_max_pool{rank}d"
    pool.__doc__ = "Return the maxima of windows that divide the input into ``output_size`` parts."
    pool_with_indices.__name__ = pool_with_indices.__qualname__ = f"adaptive_max_pool{rank}d_with_indices"
    pool_with_indices.__doc__ = "Return the maxima of windows that divide the input, and their indices."
    declare = operation(autocast=FLOAT32_ON_CPU if rank == 3 else Casts())
    return declare(pool), declare(pool_with_indices)


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_maximum(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_maximum(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_maximum(3)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """Average-pool (N, C, H, W) or (C, H, W) to ``output_size``; None keeps a size."""
    return pools.adaptive_avg_pool(2, input, output_size)


@operation(autocast=FLOAT32_ON_CPU)
def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """Average-pool (N, C, D, H, W) or (C, D, H, W) to ``output_size``; None keeps a size."""
    return pools.adaptive_avg_pool(3, input, output_size)


def _power_average(
    rank: int, input: Tensor, norm_type: float, kernel_size: Any, stride: int | Sequence[int] | None, ceil_mode: bool
) -> Tensor:
    count = kernel_size**rank if isinstance(kernel_size, int) else math.prod(kernel_size)
    out = pools.avg_pool(rank, power(input, norm_type), kernel_size, stride, 0, ceil_mode, True, None)
    return power(mul(mul(sign(out), relu(abs_of(out))), count), 1.0 / norm_type)  # relu has gradient 0 for a sum of 0


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False
) -> Tensor:
    """Return the p-norm of each window of (N, C, L) or (C, L): ``sum(x ** norm_type) ** (1 / norm_type)``."""
    return _power_average(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False
) -> Tensor:
    """Return the p-norm of each window of (N, C, H, W) or (C, H, W): ``sum(x ** norm_type) ** (1 / norm_type)``."""
    return _power_average(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False
) -> Tensor:
    """Return the p-norm of each window of (N, C, D, H, W) or (C, D, H, W): ``sum(x ** norm_type) ** (1 / norm_type)``."""
    return _power_average(3, input, norm_type, kernel_size, stride, ceil_mode)


def _fractional(rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def pool_with_indices(
        input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        return fractional_max_pool(rank, input, kernel_size, output_size, output_ratio, _random_samples)

    def pool(
        input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None,
        output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:  # fmt: skip
        found = fractional_max_pool(rank, input, kernel_size, output_size, output_ratio, _random_samples)
        return found if return_indices else found[0]

    pool.__name__ = pool.__qualname__ = f"fractional_max_pool{rank}d"
    pool.__doc__ = "Return the maximum of each of ``output_size`` windows at random positions."
    pool_with_indices.__name__ = pool_with_indices.__qualname__ = f"fractional_max_pool{rank}d_with_indices"
    pool_with_indices.__doc__ = "Return the maximum of each window at random positions, and its index."
    declare = operation(autocast=FLOAT32_ON_CPU, one_device=OneDevice())
    return declare(pool), declare(pool_with_indices)


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional(3)



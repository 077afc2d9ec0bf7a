"""Pooling, padding and resampling, decomposed as torch does."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from .calling import NotInTerms
from .composites import aten, composite
from .composites_layers import numbers


def _one(value: int | Sequence[int]) -> int:
    return int(numbers(value, 1)[0])


# 1-d pooling, computed as 2-d pooling of images of height 1


@composite("avg_pool1d")
def _avg_pool1d(
    input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | tuple[int, ...] = 0,
    ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:
    kernel = _one(kernel_size)
    step = kernel if stride is None or stride == () else _one(stride)
    options = [1, kernel], [1, step], [0, _one(padding)], ceil_mode, count_include_pad
    return aten("squeeze.dim", aten("avg_pool2d", aten("unsqueeze", input, -2), *options), -2)


@composite("max_pool1d")
def _max_pool1d(
    input: Tensor, kernel_size: int, stride: int | None = None, padding: int = 0, dilation: int = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    kernel = _one(kernel_size)
    step = kernel if stride is None or stride == () else _one(stride)
    options = [1, kernel], [1, step], [0, _one(padding)], [1, _one(dilation)], ceil_mode
    found = [aten("squeeze.dim", part, -2) for part in aten("max_pool2d_with_indices", aten("unsqueeze", input, -2), *options)]
    return tuple(found) if return_indices else found[0]


@composite("adaptive_avg_pool1d")
def _adaptive_avg_pool1d(input: Tensor, output_size: int | tuple[int, ...]) -> Tensor:
    lines, wanted = aten("unsqueeze", input, -2), _one(output_size)
    means = aten("mean.dim", lines, [-1, -2], True) if wanted == 1 else aten("_adaptive_avg_pool2d", lines, [1, wanted])
    return aten("squeeze.dim", means, -2)


@composite("adaptive_max_pool1d")
def _adaptive_max_pool1d(input: Tensor, output_size: int, return_indices: bool = False) -> Any:
    found = [aten("squeeze.dim", part, -2) for part in aten("adaptive_max_pool2d", aten("unsqueeze", input, -2), [1, _one(output_size)])]
    return tuple(found) if return_indices else found[0]


# Pooling


def _sizes(input: Tensor, output_size: int | tuple[int | None, ...], rank: int) -> list[int]:
    wanted = [None] * rank if output_size is None else numbers(output_size, rank)
    return [int(input.shape[place - rank]) if n is None else n for place, n in enumerate(wanted)]


def _fractional(rank: int) -> None:
    @composite(f"fractional_max_pool{rank}d")
    def pool(
        input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None,
        output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None,
    ) -> Any:  # fmt: skip
        if output_size is None and output_ratio is None:
            return NotImplemented
        sizes = numbers(output_size, rank) if output_size is not None else [
            int(input.shape[place - rank] * ratio) for place, ratio in enumerate(numbers(output_ratio, rank))
        ]  # fmt: skip
        samples = _random_samples
        if samples is None:
            count = 1 if input.dim() == rank + 1 else input.shape[0]
            samples = aten("rand", [count, input.shape[-rank - 1], rank], dtype=input.dtype, device=input.device)
        found = aten(f"fractional_max_pool{rank}d", input, numbers(kernel_size, rank), sizes, samples)
        return tuple(found) if return_indices else found[0]


_fractional(2)
_fractional(3)


def _adaptive_max_pool(rank: int) -> None:
    @composite(f"adaptive_max_pool{rank}d")
    def pool(input: Tensor, output_size: int | tuple[int | None, ...], return_indices: bool = False) -> Any:
        found = aten(f"adaptive_max_pool{rank}d", input, _sizes(input, output_size, rank))
        return tuple(found) if return_indices else found[0]


_adaptive_max_pool(2)
_adaptive_max_pool(3)


@composite("adaptive_avg_pool3d")
def _adaptive_avg_pool3d(input: Tensor, output_size: int | tuple[int | None, int, int]) -> Tensor:
    sizes = _sizes(input, output_size, 3)
    return aten("mean.dim", input, [-1, -2, -3], True) if sizes == [1, 1, 1] else aten("_adaptive_avg_pool3d", input, sizes)


@composite("max_pool3d")
def _max_pool3d(
    input: Tensor, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None = None, padding: int | tuple[int, ...] = 0,
    dilation: int = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    steps = [] if stride is None or stride == () else numbers(stride, 3)
    options = numbers(kernel_size, 3), steps, numbers(padding, 3), numbers(dilation, 3), ceil_mode
    found = aten("max_pool3d_with_indices", input, *options)
    return tuple(found) if return_indices else found[0]


def _norms(count: int) -> None:
    @composite(f"lp_pool{count}d")
    def pooled(input: Tensor, norm_type: float, kernel_size: int, stride: int | None = None, ceil_mode: bool = False) -> Tensor:
        kernel = numbers(kernel_size, count)
        step = kernel if stride is None else numbers(stride, count)
        powers = aten("pow.Tensor_Scalar", input, norm_type)
        if count == 1:
            means = _avg_pool1d(powers, kernel, step, 0, ceil_mode)
        else:
            means = aten(f"avg_pool{count}d", powers, kernel, step, [0] * count, ceil_mode)
        means = aten("mul.Tensor", aten("sign", means), aten("relu", aten("abs", means)))
        return aten("pow.Tensor_Scalar", aten("mul.Tensor", means, math.prod(kernel)), 1.0 / norm_type)


for _count in (1, 2, 3):
    _norms(_count)


# Padding


@composite("pad_like")
def _pad_like(input: Tensor, pad: Sequence[int], mode: str) -> Tensor:
    """Pad the tensor with its own elements, by ``mode``."""
    rank = len(pad) // 2
    if mode == "circular":
        for number in range(rank):
            dim, (before, after) = input.dim() - 1 - number, pad[2 * number : 2 * number + 2]
            if before < 0 or after < 0:
                raise NotInTerms("mstorch: circular padding that cuts off is not known in the terms of torch.ops.aten")
            length = input.shape[dim]
            parts = [aten("slice.Tensor", input, dim, length - before, length)] if before else []
            parts += [input, *([aten("slice.Tensor", input, dim, 0, after)] if after else [])]
            input = aten("cat", parts, dim) if len(parts) > 1 else input
        return input
    return aten(f"{'reflection' if mode == 'reflect' else 'replication'}_pad{rank}d", input, list(pad))


# Resampling


_NAMES = {
    "nearest": "upsample_nearest{}d", "nearest-exact": "_upsample_nearest_exact{}d", "linear": "upsample_linear{}d",
    "bilinear": "upsample_bilinear{}d", "trilinear": "upsample_trilinear{}d", "bicubic": "upsample_bicubic{}d",
}  # fmt: skip


@composite("interpolate", "upsample")
def _interpolate(
    input: Tensor, size: tuple[int, ...] | None = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    rank = input.dim() - 2
    if antialias or mode not in _NAMES or (size is None) is (scale_factor is None):
        return NotImplemented
    scales: list[float | None] = [None] * rank
    if size is not None:
        sizes = list(numbers(size, rank))
    else:
        factors = [float(scale_factor)] * rank if isinstance(scale_factor, (int, float)) else [float(factor) for factor in scale_factor]
        sizes = [math.floor(float(length) * factor) for length, factor in zip(input.shape[2:], factors)]
        scales = scales if recompute_scale_factor else [*factors]
    corners = [] if mode.startswith("nearest") else [bool(align_corners)]
    return aten(_NAMES[mode].format(rank), input, sizes, *corners, *scales)

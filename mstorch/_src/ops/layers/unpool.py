"""Max unpooling: values at the indices of the maxima."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.arrays import within
from ...core import determinism
from ...core.call_forms import refusal_below
from ...core.dtype import int64
from ...core.formats import channels_last
from ...core.one_device import OneDevice
from ...core.strides import suggests_channels_last
from ...core.tensor_base import TensorBase
from ...tape.windows import no_view
from .._autocast import FLOAT32_ON_CPU
from .._dispatch import INTS, readable
from .._named import node_called
from .._numbers import numbers
from .._operation import operation
from ..indexing.scatter import scatter
from ..memory.copying import contiguous
from ..memory.creation import zeros
from ..shape import views


def _sizes(
    shape: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], output_size: tuple[int, ...] | None
) -> tuple[int, ...]:
    rank = len(kernel)
    lengths = shape[len(shape) - rank :]
    default = tuple((lengths[d] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(rank))
    if output_size is None:
        return default
    size = list(output_size)
    if len(size) == rank + 2:
        size = size[2:]
    if len(size) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it has a length of '{len(size)}'"
        )
    for d, (n, s) in enumerate(zip(default, stride)):
        if not n - s < size[d] < n + s:
            raise ValueError(
                f"invalid output_size {list(output_size)} (dim {d} must be between {n - s} and {n + s})"
            )
    return tuple(size)


def max_unpool(
    rank: int, input: TensorBase, indices: TensorBase, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> TensorBase:
    """Return zeros with the input's values at the indices from max pooling."""
    determinism.refuse(f"max_unpooling{max(rank, 2)}d_forward_out")
    kernel = numbers(kernel_size, rank)
    stride = kernel if stride is None else numbers(stride, rank)
    padding = numbers(padding, rank)
    shape = input._ms_shape
    sizes = _sizes(shape, kernel, stride, padding, output_size)
    if not INTS.issuperset(map(type, sizes)):
        given = {"input": (input, None), "indices": (indices, None), "output_size": (sizes, 1)}
        told = refusal_below(f"max_unpool{max(rank, 2)}d", False, given)
        if told is not None:
            raise TypeError(told)
        sizes = tuple(map(int, sizes))
    if indices._ms_dtype is not int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices._ms_dtype.name}")
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Input to max_unpooling{rank}d should be a {rank + 1}d or {rank + 2}d Tensor, but got a tensor with {len(shape)} dimensions"
        )
    if indices._ms_shape != shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(shape)}) but got indices tensor with shape: "
            f"{list(indices._ms_shape)}"
        )
    lead = shape[: len(shape) - rank]
    count = int(np.prod(sizes))
    places = readable(indices)
    if places is not None and not within(places, 0, count - 1):
        raise RuntimeError(
            f"Found an invalid max index: {places.max() if places.max() >= count else places.min()} (output volumes are of size "
            f"{'x'.join(map(str, sizes))})"
        )
    flat = scatter(
        zeros((*lead, count), dtype=input._ms_dtype, device=input.device), len(lead),
        *(views.reshape(part, (*lead, math.prod(shape[len(lead) :]))) for part in (indices, input))
    )
    result = no_view(views.reshape(flat, (*lead, *sizes)))
    if rank == 2 and input._ms_stride is not None and suggests_channels_last(shape, input._ms_stride):
        return contiguous(result, memory_format=channels_last)
    return result


@operation(autocast=FLOAT32_ON_CPU, one_device=OneDevice("_max_unpool2d"))
@node_called("SqueezeBackward1")
def max_unpool1d(
    input: TensorBase, indices: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, output_size: int | Sequence[int] | None = None
) -> TensorBase:
    """Put the values of (N, C, L) or (C, L) back at the indices from ``max_pool1d``, zeros elsewhere."""
    return max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


@operation(autocast=FLOAT32_ON_CPU, one_device=OneDevice("_max_unpool2d"))
@node_called("MaxUnpool2DBackward0")
def max_unpool2d(
    input: TensorBase, indices: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, output_size: int | Sequence[int] | None = None
) -> TensorBase:
    """Put the values of (N, C, H, W) or (C, H, W) back at the indices from ``max_pool2d``, zeros elsewhere."""
    return max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


@operation(autocast=FLOAT32_ON_CPU, one_device=OneDevice("_max_unpool3d"))
@node_called("MaxUnpool3DBackward0")
def max_unpool3d(
    input: TensorBase, indices: TensorBase, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, output_size: int | Sequence[int] | None = None
) -> TensorBase:
    """Put the values of (N, C, D, H, W) or (C, D, H, W) back at the indices from ``max_pool3d``, zeros elsewhere."""
    return max_unpool(3, input, indices, kernel_size, stride, padding, output_size)

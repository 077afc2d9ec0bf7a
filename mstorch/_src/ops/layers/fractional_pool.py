"""Fractional max pooling: randomly placed windows (Graham, "Fractional max-pooling", arXiv:1412.6071)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...core.tensor_base import TensorBase, array_of
from ...tape.moving import beside
from ...tape.windows import no_view
from .._named import node_called
from .._numbers import not_differentiable
from ..elementwise.compare import isnan, where
from ..indexing.index import gather
from ..memory.from_data import made
from ..random.random import rand
from ..reduce.reduce import argmax
from ..shape import views
from ..shape.join import flip

_AXES = ("time", "height", "width")


def _sizes(name: str, value: Any, rank: int, function: str) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)):
        value = (value,) * rank
    if len(value) != rank:
        raise RuntimeError(
            f"{function}: {name} must either be a single Int or tuple of {'' if rank == 2 else 'three '}Ints"
        )
    return tuple(int(n) for n in value)


def _starts(samples: Array, size: int, out: int, window: int) -> Array:
    """Return the window starts in one dimension, a row of ``out`` per sample, computed in the samples' precision."""
    steps = np.empty((*samples.shape, out), np.int64)
    if out > 1:
        kind = samples.dtype.type
        ratio = kind(size - window) / kind(out - 1)
        counts = np.arange(out - 1).astype(samples.dtype)
        moved = ((counts + samples[..., None]) * ratio).astype(np.int64)
        steps[..., :-1] = moved - (samples * ratio).astype(np.int64)[..., None]
    if out:
        steps[..., -1] = size - window
    return steps


def _check_samples(samples: TensorBase, input: TensorBase, batch: int, channels: int, rank: int) -> None:
    shape = samples._ms_shape
    not_differentiable(f"fractional_max_pool{rank}d", random_samples=samples)
    if samples._ms_dtype is not input._ms_dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if len(shape) != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {len(shape)}")
    if shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if shape[1] != channels:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if shape[2] != rank:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {rank}; got {shape[2]}.")


@node_called(lambda rank, *args: f"FractionalMaxPool{rank}DBackward0")
def fractional_max_pool(
    rank: int, input: TensorBase, kernel_size: int | Sequence[int], output_size: Any, output_ratio: Any, samples: TensorBase | None
) -> tuple[Any, Any]:
    """Return the maximum of each window and its flat spatial index.

    ``samples`` are (N, C, rank) numbers in [0, 1) that place the windows, drawn here if not given.
    """
    name = f"fractional_max_pool{rank}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    shape = input._ms_shape
    if output_size is None:
        if rank == 2 and len(output_ratio) > 2:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * rank
        output_size = [int(shape[len(shape) - rank + d] * ratios[d]) for d in range(rank)]
    if samples is None:
        samples = rand(1 if len(shape) == rank + 1 else shape[0], input.size(-rank - 1), rank, dtype=input._ms_dtype)
    function = name if rank == 2 else f"{name}_out"
    kernel = _sizes("kernel_size", kernel_size, rank, name)
    outs = _sizes("output_size", output_size, rank, name)
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(f"{function}(): Expected {rank + 1}D or {rank + 2}D tensor, but got: {list(shape)}")
    single = len(shape) == rank + 1
    for d in range(0 if single else 1, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(
                f"{function}(): Expected input to have non-zero size for non-batch dimensions, but got{list(shape)} with "
                f"dimension {d} being empty."
            )
    sizes = shape[len(shape) - rank :]
    for axis, n, k, o in zip(_AXES[3 - rank :], sizes, kernel, outs):
        if o + k - 1 > n - (rank == 3):  # torch's check is stricter in three dimensions
            raise RuntimeError(f"{function}(): pool {axis} {k} too large relative to input {axis} {n}")
    for o in outs:
        if o < 0:
            full = [*shape[: len(shape) - rank], *outs]
            raise RuntimeError(f"Trying to create tensor with negative dimension {o}: {full}")
    batch, channels = (1 if single else shape[0]), shape[len(shape) - rank - 1]
    _check_samples(samples, input, batch, channels, rank)
    values, places = _pooled(input, array_of(samples)[:batch], (batch, channels), sizes, kernel, outs)
    lead = shape[: len(shape) - rank]
    return no_view(views.reshape(values, (*lead, *outs))), no_view(views.reshape(places, (*lead, *outs)))


def _pooled(
    input: TensorBase, samples: Array, lead: tuple[int, int], sizes: tuple[int, ...], kernel: tuple[int, ...], outs: tuple[int, ...]
) -> tuple[Any, Any]:  # fmt: skip
    rank = len(sizes)
    # torch uses the first of two samples for the width, and the first of three for the depth.
    order = (1, 0) if rank == 2 else (0, 1, 2)
    windows = np.zeros((*lead, *(1,) * (2 * rank)), np.int64)
    for d in range(rank):
        starts = _starts(samples[..., order[d]], sizes[d], outs[d], kernel[d])
        places = starts[..., None] + np.arange(kernel[d])
        stretch = [1] * (2 * rank)
        stretch[d], stretch[rank + d] = outs[d], kernel[d]
        windows = windows + places.reshape(*lead, *stretch) * int(np.prod(sizes[d + 1 :]))
    count = int(np.prod(outs))
    windows = windows.reshape(*lead, count, int(np.prod(kernel)))
    flat = views.reshape(input, (*lead, int(np.prod(sizes))))
    if not lead[0] or not count:
        nothing = beside(made(np.zeros((*lead, count), np.int64)), input)
        return gather(flat, -1, nothing), nothing.clone()
    if windows.size == 0:  # windows without elements: their maximum is -inf
        return (flat.detach().new_full((*lead, count), float("-inf"))), beside(made(np.zeros((*lead, count), np.int64)), input)
    index = beside(made(np.ascontiguousarray(windows)), input)
    seen = gather(flat.detach(), -1, views.reshape(index, (*lead, -1)))
    seen = views.reshape(seen, index._ms_shape)
    best = argmax(seen, -1, keepdim=True)
    broken = isnan(gather(seen, -1, best))
    if bool(broken.any()):  # of several NaNs torch returns the last
        best = where(broken, seen._ms_shape[-1] - 1 - argmax(flip(isnan(seen).to(input._ms_dtype), (-1,)), -1, keepdim=True), best)
    chosen = views.squeeze(gather(index, -1, best), -1)
    return gather(flat, -1, chosen), chosen

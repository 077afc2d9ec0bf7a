"""Communication hooks with 8-bit gradients: each rank sends its quantized gradients and their scales, and adds up those that it receives.
"""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ....futures import Future
from ..._group import ProcessGroup
from ..._reducer import GradBucket
from ..._world import chosen

_STEPS = 255  # between the smallest and the largest number
_SMALLEST = torch.finfo(torch.float32).eps


def _scales(rows: torch.Tensor) -> tuple[Any, Any]:
    """Return the scale and zero point of each row; the range includes 0."""
    least, greatest = rows.amin(1).clamp(max=0.0), rows.amax(1).clamp(min=0.0)
    scale = ((greatest - least) / float(_STEPS)).clamp(min=_SMALLEST)
    return scale, (0 - torch.round(least / scale).to(torch.int32)).clamp(0, _STEPS)


def _all(group: ProcessGroup, tensor: torch.Tensor) -> list[Any]:
    into = [torch.empty_like(tensor) for _ in range(group.size())]
    group.allgather([into], [tensor]).wait()
    return into


def _mean_of_rows(group: ProcessGroup, rows: torch.Tensor) -> torch.Tensor:
    """Return the mean of the rows over the ranks, communicated in 8 bits."""
    scale, zero = _scales(rows)
    narrow = (torch.round(rows / scale[:, None]) + zero[:, None]).clamp(0, _STEPS).to(torch.uint8)
    total = torch.zeros_like(rows)
    for pair, numbers in zip(_all(group, torch.stack([scale, zero.to(scale.dtype)])), _all(group, narrow)):
        total += pair[0][:, None] * (numbers.to(torch.float32) - pair[1][:, None])
    return total / group.size()


def _done(value: torch.Tensor) -> Any:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def quantization_pertensor_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Any:
    """Return a future of the bucket's mean, communicated in 8 bits with one scale for the bucket."""
    return _done(_mean_of_rows(chosen(process_group), bucket.buffer()[None])[0])


def quantization_perchannel_hook(process_group: ProcessGroup | None, bucket: GradBucket, bucket_size: int = 512) -> Any:
    """Return a future of the bucket's mean, communicated in 8 bits with one scale for each ``bucket_size`` elements."""
    buffer = bucket.buffer()
    rows = torch.nn.functional.pad(buffer, (0, bucket_size - len(buffer) % bucket_size)).view(-1, bucket_size)
    return _done(_mean_of_rows(chosen(process_group), rows).flatten()[: len(buffer)])


__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]

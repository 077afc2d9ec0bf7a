"""Points of several examples, and the distances between those of two sets, a block at a time."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mstorch as torch

from ..._src.backend.arrays import Array
from ..._src.tape.derived import derived_from

Tensor = torch.Tensor
Batch = Tensor | list[int] | None
"""The example of each point, or where each example starts and the last one ends."""
_BLOCK = 1 << 22  # distances computed at a time


def rows(points: Tensor) -> Tensor:
    """Return points as (points, coordinates)."""
    return points.view(-1, 1) if points.dim() == 1 else points


def bounds_of(ptr: Tensor) -> list[int]:
    """Return the bounds of examples, which are read from a device once for all calls with the same tensor."""
    return list(derived_from(ptr, ("bounds",), ptr.tolist))


def _numbers(batch: Tensor) -> Array:
    """Return the example of each point, which is read from a device once for all calls with the same tensor."""
    return derived_from(batch, ("numbers",), lambda: batch.detach().cpu().numpy())


def examples(points: Tensor, batch: Batch, batch_size: int | None) -> list[tuple[int, int]]:
    """Return the first place and the one after the last of each example's points. Raise ValueError unless they are sorted by example."""
    if isinstance(batch, list):
        return list(zip(batch[:-1], batch[1:]))
    if batch is None:
        count = points.shape[0]
        return [(0, count), *[(count, count)] * (max(batch_size or 1, 1) - 1)]
    if batch.shape != points.shape[:1]:
        raise ValueError(f"batch has the shape {list(batch.shape)}, and there are {points.shape[0]} points")
    numbers = _numbers(batch)
    if (numbers[1:] < numbers[:-1]).any():
        raise ValueError("batch must be sorted")
    count = batch_size if batch_size is not None else int(numbers[-1]) + 1 if len(numbers) else 0
    bounds = np.searchsorted(numbers, np.arange(count + 1)).tolist()
    return list(zip(bounds[:-1], bounds[1:]))


def _count(batch: Batch) -> int:
    """Return the number of examples."""
    if isinstance(batch, list):
        return len(batch) - 1
    return 1 if batch is None or not batch.numel() else int(_numbers(batch).max()) + 1


def check_flow(flow: str) -> None:
    """Raise ValueError for another direction of a graph's edges than the two."""
    if flow not in ("source_to_target", "target_to_source"):
        raise ValueError(f"flow must be source_to_target or target_to_source, got {flow!r}")


def pairs(
    x: Tensor, y: Tensor, batch_x: Batch, batch_y: Batch, batch_size: int | None, cosine: bool = False
) -> Iterator[tuple[int, int, Tensor]]:
    """Yield a first point of ``y``, a first point of ``x``, and the squared distances (or cosine distances) of those that follow."""
    if x.dim() != 2 or y.dim() != 2 or x.shape[1] != y.shape[1]:
        raise ValueError(f"points of {list(x.shape)} and {list(y.shape)} have no distances")
    if batch_size is None and (batch_x is not None or batch_y is not None):
        batch_size = max(_count(batch_x), _count(batch_y))
    own, other = examples(x, batch_x, batch_size), examples(y, batch_y, batch_size)
    for (x_from, x_to), (y_from, y_to) in zip(own, other):
        step = max(1, _BLOCK // max(x_to - x_from, 1))
        for start in range(y_from, y_to, step):
            yield start, x_from, distances(y[start : min(start + step, y_to)], x[x_from:x_to], cosine)


def distances(y: Tensor, x: Tensor, cosine: bool = False) -> Tensor:
    """Return the distance of each point of ``y`` to each of ``x``, squared."""
    if cosine:
        lengths = y.norm(dim=1)[:, None] * x.norm(dim=1)
        return 1 - (y @ x.t()) / lengths
    total = y.new_zeros(y.shape[0], x.shape[0])
    for axis in range(x.shape[1]):  # differences rather than products: near points keep their digits
        total += (y[:, axis, None] - x[:, axis]) ** 2
    return total


__all__ = ["Batch", "bounds_of", "check_flow", "distances", "examples", "pairs", "rows"]

"""torch_cluster.fps: samples of points that are far from each other."""
from __future__ import annotations

import math

import mstorch as torch

from .points import bounds_of, distances, examples, rows

Tensor = torch.Tensor


def fps(
    src: Tensor, batch: Tensor | None = None, ratio: float | Tensor | None = None, random_start: bool = True,
    batch_size: int | None = None, ptr: Tensor | list[int] | None = None,
) -> Tensor:  # fmt: skip
    """Return places of a share of each example's points (half, unless given): a first one, then always the one that is farthest from
    those chosen."""
    points = rows(src).detach()
    points = points.reshape(points.shape[0], -1)
    if ptr is not None:
        ends = bounds_of(ptr) if isinstance(ptr, Tensor) else list(ptr)
        bounds = list(zip(ends[:-1], ends[1:]))
    else:
        bounds = examples(points, batch, batch_size)
    shares = ratio.reshape(-1).tolist() if isinstance(ratio, Tensor) else [0.5 if ratio is None else float(ratio)]
    chosen: list[Tensor] = [torch.empty(0, dtype=torch.int64, device=points.device)]
    for number, (start, stop) in enumerate(bounds):
        own, count = points[start:stop], stop - start
        if not count:
            continue
        wanted = math.ceil(count * shares[number if len(shares) > 1 else 0])
        place = torch.zeros(1, dtype=torch.int64, device=points.device)
        if random_start:
            place = torch.randint(count, (1,), device=points.device)
        far = distances(own[place], own)[0]
        places = [place]
        for _ in range(wanted - 1):
            place = far.argmax().view(1)
            places.append(place)
            far = torch.minimum(far, distances(own[place], own)[0])
        chosen.append(torch.cat(places[:wanted]) + start)
    return torch.cat(chosen)


__all__ = ["fps"]

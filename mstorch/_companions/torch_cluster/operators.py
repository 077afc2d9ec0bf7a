"""``torch.ops.torch_cluster``: functions, without schemas, of bounds of examples and graphs in compressed rows."""
from __future__ import annotations

import mstorch as torch

from ..drawing import array, tensor
from .fps import fps as _fps
from .graclus import matched
from .grid import grid_cluster
from .knn import knn as _knn
from .nearest import nearest as _nearest
from .points import bounds_of
from .radius import radius as _radius
from .rw import walked
from .sampler import neighbor_sampler as _neighbor_sampler

Tensor = torch.Tensor


def _bounds(ptr: Tensor | None) -> list[int] | None:
    return None if ptr is None else bounds_of(ptr)


def _examples(*bounds: Tensor | None) -> int | None:
    return max((ptr.numel() - 1 for ptr in bounds if ptr is not None), default=None)


def fps(src: Tensor, ptr: Tensor, ratio: float | Tensor = 0.5, random_start: bool = True) -> Tensor:
    """Return places of a share of each example's points, far from each other."""
    return _fps(src, None, ratio, random_start, None, ptr)


def knn(
    x: Tensor, y: Tensor, ptr_x: Tensor | None = None, ptr_y: Tensor | None = None, k: int = 1, cosine: bool = False, num_workers: int = 1
) -> Tensor:
    """Return for each point of ``y`` the ``k`` nearest of ``x`` in its example: (2, pairs) of places in ``y`` and ``x``."""
    return _knn(x, y, k, _bounds(ptr_x), _bounds(ptr_y), cosine, num_workers, _examples(ptr_x, ptr_y))


def radius(
    x: Tensor, y: Tensor, ptr_x: Tensor | None = None, ptr_y: Tensor | None = None, r: float = 1.0, max_num_neighbors: int = 32,
    num_workers: int = 1, ignore_same_index: bool = False,
) -> Tensor:  # fmt: skip
    """Return for each point of ``y`` those of ``x`` in its example within ``r``: (2, pairs) of places in ``y`` and ``x``."""
    batches, count = (_bounds(ptr_x), _bounds(ptr_y)), _examples(ptr_x, ptr_y)
    return _radius(x, y, r, *batches, max_num_neighbors, num_workers, count, ignore_same_index)


def nearest(x: Tensor, y: Tensor, ptr_x: Tensor | None = None, ptr_y: Tensor | None = None) -> Tensor:
    """Return for each point of ``x`` the place of the nearest of ``y`` in its example."""
    return _nearest(x, y, _bounds(ptr_x), _bounds(ptr_y))


def graclus(rowptr: Tensor, col: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return a cluster for each node of a graph in compressed rows, of at most two neighbours: the smaller of them."""
    weights = None if weight is None else array(weight.double() if weight.is_floating_point() else weight)
    return tensor(matched(array(rowptr), array(col), weights), rowptr)


def neighbor_sampler(start: Tensor, rowptr: Tensor, count: int = 0, factor: float = 1.0) -> Tensor:
    """Return places of ``count`` edges of each node of ``start``, or of that share of them."""
    return _neighbor_sampler(start, rowptr, count if count >= 1 else factor) if count != 1 else _single(start, rowptr)


def _single(start: Tensor, rowptr: Tensor) -> Tensor:
    # torch_cluster.neighbor_sampler takes 1 for the share of all edges
    rows = [_neighbor_sampler(start[place : place + 1], rowptr, 1.0)[:1] for place in range(start.numel())]
    return torch.cat(rows) if rows else start.new_empty(0)


def register() -> None:
    """Show the functions in ``torch.ops.torch_cluster``."""
    vars(torch.ops.torch_cluster).update(
        fps=fps, graclus=graclus, grid=grid_cluster, knn=knn, nearest=nearest, neighbor_sampler=neighbor_sampler, radius=radius,
        random_walk=walked, cuda_version=lambda: -1,
    )  # fmt: skip


__all__ = ["fps", "graclus", "knn", "nearest", "neighbor_sampler", "radius", "register"]

"""torch_scatter.segment_coo: reductions along a sorted index, whose last dimension is the one reduced."""
from __future__ import annotations

import mstorch as torch

from .scatter import scatter, scatter_max, scatter_min

Tensor = torch.Tensor


def _expanded(src: Tensor, index: Tensor) -> tuple[Tensor, int]:
    """Return the index expanded to the shape of ``src``, and the dimension that it counts along."""
    dim = index.dim() - 1
    index = index.expand(src.shape[: dim + 1])
    return index.view(*index.shape, *[1] * (src.dim() - index.dim())).expand(src.shape), dim


def check_reduce(reduce: str) -> None:
    """Raise ValueError for another word than a reduction of segments."""
    if reduce not in ("sum", "add", "mean", "min", "max"):
        raise ValueError(f"reduce must be sum, add, mean, min or max, got {reduce!r}")


def segment_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None, reduce: str = "sum") -> Tensor:
    """Reduce neighbours of the same index by "sum" ("add"), "mean", "min" or "max". Raise ValueError for another word."""
    check_reduce(reduce)
    places, dim = _expanded(src, index)
    return scatter(src, places, dim, out, dim_size, reduce)


def segment_sum_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Tensor:
    """Return the sums of neighbours of the same index."""
    return segment_coo(src, index, out, dim_size, "sum")


segment_add_coo = segment_sum_coo


def segment_mean_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> Tensor:
    """Return the means of neighbours of the same index."""
    return segment_coo(src, index, out, dim_size, "mean")


def segment_min_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the smallest of neighbours of the same index, and their places."""
    places, dim = _expanded(src, index)
    return scatter_min(src, places, dim, out, dim_size)


def segment_max_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the largest of neighbours of the same index, and their places."""
    places, dim = _expanded(src, index)
    return scatter_max(src, places, dim, out, dim_size)


def gather_coo(src: Tensor, index: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the element of each index."""
    dim = index.dim() - 1
    places = index.expand(*src.shape[:dim], -1)
    places = places.view(*places.shape, *[1] * (src.dim() - places.dim())).expand(*places.shape, *src.shape[dim + 1 :])
    found = src.gather(dim, places)
    return found if out is None else out.copy_(found)


__all__ = [
    "gather_coo", "segment_add_coo", "segment_coo", "segment_max_coo", "segment_mean_coo", "segment_min_coo", "segment_sum_coo",
]  # fmt: skip

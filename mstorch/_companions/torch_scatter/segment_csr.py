"""torch_scatter.segment_csr: reductions of the segments between neighbours of a list of bounds."""
from __future__ import annotations

import mstorch as torch

from .scatter import scatter, scatter_max, scatter_min
from .segment_coo import check_reduce, gather_coo

Tensor = torch.Tensor


def _segments(bounds: Tensor, count: int) -> Tensor:
    """Return the number of the segment of each of so many places; the number of segments for a place in none."""
    places = torch.arange(count, device=bounds.device).expand(*bounds.shape[:-1], -1).contiguous()
    found = torch.searchsorted(bounds[..., 1:].contiguous(), places, right=True)
    return torch.where(places < bounds[..., :1], bounds.shape[-1] - 1, found)


def _index(src: Tensor, indptr: Tensor) -> tuple[Tensor, int, int]:
    """Return the index of each element of ``src``, the dimension, and the number of segments."""
    dim = indptr.dim() - 1
    found = _segments(indptr.expand(*src.shape[:dim], -1), src.shape[dim])
    return found.view(*found.shape, *[1] * (src.dim() - dim - 1)).expand(src.shape), dim, max(indptr.shape[-1] - 1, 0)


def segment_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None, reduce: str = "sum") -> Tensor:
    """Reduce each segment by "sum" ("add"), "mean", "min" or "max", 0 for an empty one. Raise ValueError for another word."""
    check_reduce(reduce)
    index, dim, count = _index(src, indptr)
    found = scatter(src, index, dim, None, count + 1, reduce).narrow(dim, 0, count)
    return found if out is None else out.copy_(found)


def segment_sum_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the sum of each segment."""
    return segment_csr(src, indptr, out, "sum")


segment_add_csr = segment_sum_csr


def segment_mean_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the mean of each segment."""
    return segment_csr(src, indptr, out, "mean")


def _of_two(found: tuple[Tensor, Tensor], dim: int, count: int, out: Tensor | None) -> tuple[Tensor, Tensor]:
    value, place = (item.narrow(dim, 0, count) for item in found)
    return (value if out is None else out.copy_(value)), place


def segment_min_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the smallest element of each segment, and its place."""
    index, dim, count = _index(src, indptr)
    return _of_two(scatter_min(src, index, dim, None, count + 1), dim, count, out)


def segment_max_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the largest element of each segment, and its place."""
    index, dim, count = _index(src, indptr)
    return _of_two(scatter_max(src, index, dim, None, count + 1), dim, count, out)


def gather_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the element of each place's segment."""
    dim = indptr.dim() - 1
    count = out.shape[dim] if out is not None else int(indptr.reshape(-1)[-1]) if indptr.numel() else 0
    return gather_coo(src, _segments(indptr.expand(*src.shape[:dim], -1), count), out)


__all__ = [
    "gather_csr", "segment_add_csr", "segment_csr", "segment_max_csr", "segment_mean_csr", "segment_min_csr", "segment_sum_csr",
]  # fmt: skip

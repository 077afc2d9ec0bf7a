"""torch_scatter.scatter: reductions of the elements that have the same index along a dimension."""
from __future__ import annotations

import mstorch as torch

from .utils import broadcast

Tensor = torch.Tensor


def _size(src: Tensor, index: Tensor, dim: int, dim_size: int | None) -> list[int]:
    """Return the shape of the result: the largest index and one along ``dim``, unless given."""
    size = list(src.shape)
    size[dim] = dim_size if dim_size is not None else int(index.max()) + 1 if index.numel() else 0
    return size


def scatter_sum(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:  # fmt: skip
    """Return the sums of elements of the same index; with ``out``, add them to it."""
    index = broadcast(index, src, dim)
    if out is None:
        out = src.new_zeros(_size(src, index, dim, dim_size))
    return out.scatter_add_(dim, index, src)


scatter_add = scatter_sum


def scatter_mul(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:  # fmt: skip
    """Return the products of elements of the same index, 1 where there are none; with ``out``, multiply it by them. An element that is zero
    has no gradient: the package divides the product by the element."""
    index = broadcast(index, src, dim)
    if src.requires_grad:
        src = torch.where(src == 0, src.detach(), src)
    if out is None:
        return src.new_ones(_size(src, index, dim, dim_size)).scatter_reduce(dim, index, src, "prod")
    return out.scatter_reduce_(dim, index, src, "prod")


def scatter_mean(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> Tensor:  # fmt: skip
    """Return the means of elements of the same index, 0 where there are none; ``out`` is added to the sums. Means of integers are rounded
    down."""
    total = scatter_sum(src, index, dim, out, dim_size)
    dim = dim + src.dim() if dim < 0 else dim
    along = min(dim, index.dim() - 1) if index.dim() > 1 else 0
    ones = torch.ones(index.shape, dtype=src.dtype, device=src.device)
    count = scatter_sum(ones, index, along, None, total.shape[dim]).clamp(min=1)
    count = broadcast(count, total, dim)
    if total.is_floating_point():
        return total.div_(count) if out is not None else total / count
    return total.div_(count, rounding_mode="floor")


def _extreme(src: Tensor, index: Tensor, dim: int, out: Tensor | None, dim_size: int | None, largest: bool) -> tuple[Tensor, Tensor]:
    """Return the extreme of the elements of each index and its place, the number of elements where there are none (or ``out`` is more
    extreme). The gradient goes to the element of that place."""
    index = broadcast(index, src, dim)
    dim = dim + src.dim() if dim < 0 else dim
    count, way = src.shape[dim], "amax" if largest else "amin"
    with torch.no_grad():
        if out is None:
            limits = torch.finfo(src.dtype) if src.is_floating_point() else torch.iinfo(src.dtype)
            start = src.new_full(_size(src, index, dim, dim_size), limits.min if largest else limits.max)
        else:
            start = out.detach()
        best = start.scatter_reduce(dim, index, src.detach(), way)
        place = torch.arange(count, device=src.device).view(-1, *[1] * (src.dim() - dim - 1)).expand(src.shape)
        wins = src.detach() == best.gather(dim, index)
        if out is not None:  # an element must be more extreme than what is there
            wins = wins & (best != start).gather(dim, index)
        place = torch.where(wins, place, count)
        arg = torch.full(best.shape, count, dtype=torch.int64, device=src.device).scatter_reduce(dim, index, place, "amin")
        empty = arg == count
    if count == 0:
        # sums of no elements: zeros that autograd knows, as of the other reductions
        return (src.sum(dim, keepdim=True).expand(best.shape).clone() if out is None else out), arg
    chosen = src.gather(dim, arg.clamp(max=count - 1))
    if out is None:
        return chosen.masked_fill(empty, 0), arg
    return out.copy_(torch.where(empty, out, chosen)), arg


def scatter_min(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the smallest elements of each index, 0 where there are none, and their places."""
    return _extreme(src, index, dim, out, dim_size, False)


def scatter_max(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the largest elements of each index, 0 where there are none, and their places."""
    return _extreme(src, index, dim, out, dim_size, True)


def scatter(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None, reduce: str = "sum"
) -> Tensor:
    """Reduce the elements of each index by "sum" ("add"), "mul", "mean", "min" or "max". Raise ValueError for another word."""
    if reduce in ("min", "max"):
        return _extreme(src, index, dim, out, dim_size, reduce == "max")[0]
    ways = {"sum": scatter_sum, "add": scatter_sum, "mul": scatter_mul, "mean": scatter_mean}
    if reduce not in ways:
        raise ValueError(f"reduce must be sum, add, mul, mean, min or max, got {reduce!r}")
    return ways[reduce](src, index, dim, out, dim_size)


__all__ = ["scatter", "scatter_add", "scatter_max", "scatter_mean", "scatter_min", "scatter_mul", "scatter_sum"]

"""torch_scatter.composite: softmax, logsumexp and standard deviation of the elements of each index."""
from __future__ import annotations

import mstorch as torch

from .scatter import scatter_max, scatter_sum
from .utils import broadcast

Tensor = torch.Tensor


def _floating(src: Tensor, name: str) -> None:
    if not src.is_floating_point():
        raise ValueError(f"{name} can be computed only over tensors with floating point data types.")


def _shifted(src: Tensor, index: Tensor, dim: int, dim_size: int | None) -> Tensor:
    """Return the elements less the largest of their index."""
    with torch.no_grad():
        top = scatter_max(src, index, dim, None, dim_size)[0].gather(dim, index)
    return src - top


def scatter_softmax(src: Tensor, index: Tensor, dim: int = -1, dim_size: int | None = None) -> Tensor:
    """Return the softmax of the elements of each index, in their places."""
    _floating(src, "softmax")
    index = broadcast(index, src, dim)
    weights = _shifted(src, index, dim, dim_size).exp()
    return weights / scatter_sum(weights, index, dim, None, dim_size).gather(dim, index)


def scatter_log_softmax(src: Tensor, index: Tensor, dim: int = -1, eps: float = 1e-12, dim_size: int | None = None) -> Tensor:
    """Return the logarithm of the softmax of the elements of each index, in their places; ``eps`` is added to sums."""
    _floating(src, "log_softmax")
    index = broadcast(index, src, dim)
    shifted = _shifted(src, index, dim, dim_size)
    total = scatter_sum(shifted.exp(), index, dim, None, dim_size)
    return shifted - (total + eps).log().gather(dim, index)


def scatter_logsumexp(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None, eps: float = 1e-12
) -> Tensor:
    """Return the logarithm of the sum of exponentials of the elements of each index, 0 where there are none; ``out`` is another summand,
    and is kept where there are none."""
    _floating(src, "`scatter_logsumexp`")
    index = broadcast(index, src, dim)
    if dim_size is None:
        dim_size = out.size(dim) if out is not None else int(index.max()) + 1 if index.numel() else 0
    size = list(src.shape)
    size[dim] = dim_size
    with torch.no_grad():
        top = src.new_full(size, float("-inf")).scatter_reduce(dim, index, src, "amax")
        shift = top.masked_fill(top.isinf(), 0)
    total = scatter_sum((src - shift.gather(dim, index)).exp(), index, dim, None, dim_size)
    empty = top == float("-inf")
    if out is None:
        return ((total + eps).log() + shift).masked_fill(empty, 0)
    whole = (total + (out - shift).exp() + eps).log() + shift
    return out.copy_(torch.where(empty, out, whole))


def scatter_std(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None, unbiased: bool = True
) -> Tensor:
    """Return the standard deviation of the elements of each index; ``out`` is added to the sums of squares."""
    if out is not None:
        dim_size = out.size(dim)
    index = broadcast(index, src, dim)
    total = scatter_sum(src, index, dim, None, dim_size)
    count = scatter_sum(torch.ones_like(src), index, dim, None, dim_size).clamp(min=1)
    squares = (src - (total / count).gather(dim, index)) ** 2
    summed = scatter_sum(squares, index, dim, None, dim_size)
    if out is not None:
        summed = summed + out
    found = (summed / ((count - 1).clamp(min=1) if unbiased else count)).sqrt()
    return found if out is None else out.copy_(found)


__all__ = ["scatter_log_softmax", "scatter_logsumexp", "scatter_softmax", "scatter_std"]

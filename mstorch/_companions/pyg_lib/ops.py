"""pyg_lib.ops: products by segment, reductions, splines, and neighbours and clusters of points."""
from __future__ import annotations

from collections.abc import Callable

import mstorch as torch

from ..drawing import array, tensor
from ..torch_cluster.fps import fps as _fps
from ..torch_cluster.graclus import matched
from ..torch_cluster.grid import grid_cluster
from ..torch_cluster.knn import knn as _knn
from ..torch_cluster.nearest import nearest as _nearest
from ..torch_cluster.points import bounds_of
from ..torch_cluster.radius import radius as _radius
from ..torch_cluster.sampler import neighbor_sampler
from ..torch_scatter import (
    gather_coo,
    gather_csr,
    scatter,
    scatter_add,
    scatter_logsumexp,
    scatter_max,
    scatter_mean,
    scatter_min,
    scatter_mul,
    scatter_softmax,
    scatter_sum,
    segment_add_coo,
    segment_add_csr,
    segment_coo,
    segment_csr,
    segment_max_coo,
    segment_max_csr,
    segment_mean_coo,
    segment_mean_csr,
    segment_min_coo,
    segment_min_csr,
    segment_sum_coo,
    segment_sum_csr,
)
from ..torch_scatter import scatter_log_softmax as _log_softmax
from ..torch_scatter import scatter_std as _std
from ..torch_spline_conv import spline_basis, spline_weighting

Tensor = torch.Tensor


def grouped_matmul(inputs: list[Tensor], others: list[Tensor], biases: list[Tensor] | None = None) -> list[Tensor]:
    """Return the product of each pair, with a bias added to each if given."""
    if len(inputs) != len(others) or biases is not None and len(biases) != len(inputs):
        raise ValueError(f"{len(inputs)} matrices cannot be multiplied by {len(others)}")
    products = [one @ other for one, other in zip(inputs, others)]
    return products if biases is None else [product + bias for product, bias in zip(products, biases)]


def segment_matmul(inputs: Tensor, ptr: Tensor, other: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return the product of each segment of rows and its matrix of ``other`` (segments, inputs, outputs), with its bias added if given."""
    bounds = ptr.tolist()
    if len(bounds) != other.shape[0] + 1:
        raise ValueError(f"{len(bounds) - 1} segments cannot be multiplied by {other.shape[0]} matrices")
    rows = inputs.split([stop - start for start, stop in zip(bounds[:-1], bounds[1:])])
    parts = [own @ other[number] for number, own in enumerate(rows)]
    if bias is not None:
        parts = [part + bias[number] for number, part in enumerate(parts)]
    return torch.cat(parts) if parts else inputs.new_zeros(0, other.shape[2])


def _sampled(name: str, combine: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    def call(left: Tensor, right: Tensor, left_index: Tensor | None = None, right_index: Tensor | None = None) -> Tensor:
        first = left if left_index is None else left.index_select(0, left_index)
        return combine(first, right if right_index is None else right.index_select(0, right_index))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Return torch.{name[8:]} of the rows of two indices."
    return call


sampled_add = _sampled("sampled_add", torch.add)
sampled_sub = _sampled("sampled_sub", torch.sub)
sampled_mul = _sampled("sampled_mul", torch.mul)
sampled_div = _sampled("sampled_div", torch.div)


def index_sort(inputs: Tensor, max_value: int | None = None) -> tuple[Tensor, Tensor]:
    """Return an index sorted, and the places of its elements, equal ones in their order."""
    if inputs.dim() != 1:
        raise RuntimeError(f"'index_sort' needs a tensor of one dimension, got {inputs.dim()}")
    values, places = inputs.sort(stable=True)
    return values, places


def softmax_csr(src: Tensor, ptr: Tensor, dim: int = 0) -> Tensor:
    """Return the softmax of the elements of each segment along ``dim``."""
    dim = dim + src.dim() if dim < 0 else dim
    index = torch.arange(ptr.numel() - 1, device=src.device).repeat_interleave(ptr[1:] - ptr[:-1])
    return scatter_softmax(src, index, dim, ptr.numel() - 1)


def scatter_log_softmax(src: Tensor, index: Tensor, dim: int = -1, dim_size: int | None = None, eps: float = 1e-12) -> Tensor:
    """Return the logarithm of the softmax of the elements of each index, in their places; ``eps`` is added to sums."""
    return _log_softmax(src, index, dim, eps, dim_size)


def scatter_std(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None, unbiased: bool = True
) -> Tensor:
    """Return the standard deviation of the elements of each index. Raise ValueError for integers."""
    if not src.is_floating_point():
        raise ValueError("scatter_std can be computed only over tensors with floating point data types.")
    return _std(src, index, dim, out, dim_size, unbiased)


def _bounds(ptr: Tensor | None) -> list[int] | None:
    return None if ptr is None else bounds_of(ptr)


def _examples(*bounds: Tensor | None) -> int | None:
    return max((ptr.numel() - 1 for ptr in bounds if ptr is not None), default=None)


def fps(src: Tensor, ptr: Tensor, ratio: float = 0.5, random_start: bool = True) -> Tensor:
    """Return places of a share of each example's points, far from each other."""
    return _fps(src, None, ratio, random_start, None, ptr)


def knn(
    x: Tensor, y: Tensor, k: int = 1, ptr_x: Tensor | None = None, ptr_y: Tensor | None = None, cosine: bool = False, num_workers: int = 1
) -> Tensor:
    """Return for each point of ``y`` the ``k`` nearest of ``x`` in its example: (2, pairs) of places in ``y`` and ``x``."""
    return _knn(x, y, k, _bounds(ptr_x), _bounds(ptr_y), cosine, num_workers, _examples(ptr_x, ptr_y))


def radius(
    x: Tensor, y: Tensor, r: float = 1.0, ptr_x: Tensor | None = None, ptr_y: Tensor | None = None, max_num_neighbors: int = 32,
    num_workers: int = 1, ignore_same_index: bool = False,
) -> Tensor:  # fmt: skip
    """Return for each point of ``y`` those of ``x`` in its example within ``r``: (2, pairs) of places in ``y`` and ``x``."""
    batches, count = (_bounds(ptr_x), _bounds(ptr_y)), _examples(ptr_x, ptr_y)
    return _radius(x, y, r, *batches, max_num_neighbors, num_workers, count, ignore_same_index)


def nearest(x: Tensor, y: Tensor, ptr_x: Tensor | None = None, ptr_y: Tensor | None = None) -> Tensor:
    """Return for each point of ``x`` the place of the nearest of ``y`` in its example."""
    return _nearest(x, y, _bounds(ptr_x), _bounds(ptr_y))


def graclus_cluster(rowptr: Tensor, col: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return a cluster for each node of a graph in compressed rows, of at most two neighbours: the smaller of them."""
    weights = None if weight is None else array(weight.double() if weight.is_floating_point() else weight)
    return tensor(matched(array(rowptr), array(col), weights), rowptr)


def edge_sample(start: Tensor, rowptr: Tensor, count: int = 0, factor: float = 1.0) -> Tensor:
    """Return places of ``count`` edges of each node of ``start``, or of that share of them."""
    return neighbor_sampler(start, rowptr, count if count >= 1 else factor) if count != 1 else _single(start, rowptr)


def _single(start: Tensor, rowptr: Tensor) -> Tensor:
    # neighbor_sampler takes 1 for the share of all edges
    rows = [neighbor_sampler(start[place : place + 1], rowptr, 1.0)[:1] for place in range(start.numel())]
    return torch.cat(rows) if rows else start.new_empty(0)


__all__ = [
    "edge_sample", "fps", "gather_coo", "gather_csr", "graclus_cluster", "grid_cluster", "grouped_matmul", "index_sort", "knn",
    "nearest", "radius", "sampled_add", "sampled_div", "sampled_mul", "sampled_sub", "scatter", "scatter_add", "scatter_log_softmax",
    "scatter_logsumexp", "scatter_max", "scatter_mean", "scatter_min", "scatter_mul", "scatter_softmax", "scatter_std", "scatter_sum",
    "segment_add_coo", "segment_add_csr", "segment_coo", "segment_csr", "segment_matmul", "segment_max_coo", "segment_max_csr",
    "segment_mean_coo", "segment_mean_csr", "segment_min_coo", "segment_min_csr", "segment_sum_coo", "segment_sum_csr", "softmax_csr",
    "spline_basis", "spline_weighting",
]  # fmt: skip

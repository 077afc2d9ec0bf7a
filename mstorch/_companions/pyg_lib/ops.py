"""pyg_lib.ops: products by segment, reductions, splines, and neighbours and clusters of points."""
from __future__ import annotations

from collections.abc import Callable

import mstorch as torch

from ..torch_cluster import operators
from ..torch_cluster.grid import grid_cluster
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
fps, nearest, graclus_cluster, edge_sample = operators.fps, operators.nearest, operators.graclus, operators.neighbor_sampler


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


def sampled_op(left: Tensor, right: Tensor, left_index: Tensor | None, right_index: Tensor | None, fn: str) -> Tensor:
    """Return ``fn`` ("add", "sub", "mul" or "div") of the rows of two indices: ``torch.ops.pyg.sampled_op``."""
    return _sampled(f"sampled_{fn}", getattr(torch, fn))(left, right, left_index, right_index)


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


def knn(
    x: Tensor, y: Tensor, k: int = 1, ptr_x: Tensor | None = None, ptr_y: Tensor | None = None, cosine: bool = False, num_workers: int = 1
) -> Tensor:
    """Return for each point of ``y`` the ``k`` nearest of ``x`` in its example: (2, pairs) of places in ``y`` and ``x``."""
    return operators.knn(x, y, ptr_x, ptr_y, k, cosine, num_workers)


def radius(
    x: Tensor, y: Tensor, r: float = 1.0, ptr_x: Tensor | None = None, ptr_y: Tensor | None = None, max_num_neighbors: int = 32,
    num_workers: int = 1, ignore_same_index: bool = False,
) -> Tensor:  # fmt: skip
    """Return for each point of ``y`` those of ``x`` in its example within ``r``: (2, pairs) of places in ``y`` and ``x``."""
    return operators.radius(x, y, ptr_x, ptr_y, r, max_num_neighbors, num_workers, ignore_same_index)


__all__ = [
    "edge_sample", "fps", "gather_coo", "gather_csr", "graclus_cluster", "grid_cluster", "grouped_matmul", "index_sort", "knn",
    "nearest", "radius", "sampled_add", "sampled_div", "sampled_mul", "sampled_sub", "scatter", "scatter_add", "scatter_log_softmax",
    "scatter_logsumexp", "scatter_max", "scatter_mean", "scatter_min", "scatter_mul", "scatter_softmax", "scatter_std", "scatter_sum",
    "segment_add_coo", "segment_add_csr", "segment_coo", "segment_csr", "segment_matmul", "segment_max_coo", "segment_max_csr",
    "segment_mean_coo", "segment_mean_csr", "segment_min_coo", "segment_min_csr", "segment_sum_coo", "segment_sum_csr", "softmax_csr",
    "spline_basis", "spline_weighting",
]  # fmt: skip

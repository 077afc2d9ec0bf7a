"""torch_scatter (2.1): reductions of elements that share an index, or that are neighbours in segments; also
``torch.ops.torch_scatter``: functions, without schemas."""
from __future__ import annotations

import mstorch as torch

from . import composite as composite
from . import utils as utils
from .composite import scatter_log_softmax, scatter_logsumexp, scatter_softmax, scatter_std
from .scatter import scatter, scatter_add, scatter_max, scatter_mean, scatter_min, scatter_mul, scatter_sum
from .segment_coo import (
    gather_coo,
    segment_add_coo,
    segment_coo,
    segment_max_coo,
    segment_mean_coo,
    segment_min_coo,
    segment_sum_coo,
)
from .segment_csr import (
    gather_csr,
    segment_add_csr,
    segment_csr,
    segment_max_csr,
    segment_mean_csr,
    segment_min_csr,
    segment_sum_csr,
)

__version__ = "2.1.2"

vars(torch.ops.torch_scatter).update(
    scatter_sum=scatter_sum, scatter_mul=scatter_mul, scatter_mean=scatter_mean, scatter_min=scatter_min, scatter_max=scatter_max,
    segment_sum_coo=segment_sum_coo, segment_mean_coo=segment_mean_coo, segment_min_coo=segment_min_coo, segment_max_coo=segment_max_coo,
    segment_sum_csr=segment_sum_csr, segment_mean_csr=segment_mean_csr, segment_min_csr=segment_min_csr, segment_max_csr=segment_max_csr,
    gather_coo=gather_coo, gather_csr=gather_csr, cuda_version=lambda: -1,
)  # fmt: skip

__all__ = [
    "gather_coo", "gather_csr", "scatter", "scatter_add", "scatter_log_softmax", "scatter_logsumexp", "scatter_max", "scatter_mean",
    "scatter_min", "scatter_mul", "scatter_softmax", "scatter_std", "scatter_sum", "segment_add_coo", "segment_add_csr", "segment_coo",
    "segment_csr", "segment_max_coo", "segment_max_csr", "segment_mean_coo", "segment_mean_csr", "segment_min_coo", "segment_min_csr",
    "segment_sum_coo", "segment_sum_csr",
]  # fmt: skip

"""The LKJ distribution of correlation matrices (Lewandowski, Kurowicka and Joe, 2009), by Cholesky factors."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all


class LKJCholesky(Distribution):
    """Distribution of Cholesky factors of ``dim`` × ``dim`` correlation matrices; ``concentration`` 1 is uniform over these."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _mstorch_expands = {"concentration": 0, "_beta": 1}
    _mstorch_keeps = ("dim",)
    dim: int

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The onion method: row i has a beta distributed distance from the diagonal.
        rows = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        rows = torch.cat([rows.new_zeros((1,)), rows])
        weight = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1)
        self._beta = Beta(rows + 0.5, weight - 0.5 * rows)
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Any = torch.Size()) -> Tensor:
        distance = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        direction = torch.randn(shape, dtype=distance.dtype, device=distance.device).tril(-1)
        direction = direction / direction.norm(dim=-1, keepdim=True)
        direction[..., 0, :] = 0.0  # 0/0: the first row has no direction
        rows = torch.sqrt(distance) * direction
        left = torch.clamp(1 - torch.sum(rows**2, dim=-1), min=torch.finfo(rows.dtype).tiny)
        return rows + torch.diag_embed(left.sqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        diagonal = self._mstorch_checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        below = self.dim - 1
        alpha = self.concentration + 0.5 * below
        scale = 0.5 * below * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, below) - torch.lgamma(alpha) * below
        return torch.sum(order * diagonal.log(), dim=-1) - scale


__all__ = ["LKJCholesky"]

"""The Dirichlet distribution."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .._tensor import Tensor
from ..autograd.function import FunctionCtx
from . import constraints
from .exp_family import ExponentialFamily


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    total = concentration.sum(-1, True).expand_as(concentration)
    slope = torch._dirichlet_grad(x, concentration, total)
    return slope * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(torch.autograd.Function):
    """Dirichlet samples with implicit reparameterization gradients."""

    @staticmethod
    def forward(ctx: FunctionCtx, concentration: Tensor) -> Tensor:
        sample = torch._sample_dirichlet(concentration)
        ctx.save_for_backward(sample, concentration)
        return sample

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: FunctionCtx, grad_output: Tensor) -> Tensor:
        sample, concentration = ctx.saved_tensors
        return _Dirichlet_backward(sample, concentration, grad_output)


class Dirichlet(ExponentialFamily):
    """Distribution over nonnegative vectors that sum to 1, with the concentrations along the last dimension."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _mstorch_expands = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        return torch.xlogy(a - 1.0, self._mstorch_checked(value)).sum(-1) + torch.lgamma(a.sum(-1)) - torch.lgamma(a).sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)
        mode[corner] = torch.nn.functional.one_hot(mode[corner].argmax(dim=-1), above.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1)
        inner = ((a - 1.0) * torch.digamma(a)).sum(-1)
        return torch.lgamma(a).sum(-1) - torch.lgamma(total) - (a.size(-1) - total) * torch.digamma(total) - inner

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))


__all__ = ["Dirichlet"]

"""KL divergences between two distributions of one family."""
from __future__ import annotations

from typing import Any

import mstorch as torch
from mstorch.nn.functional import softplus

from .._tensor import Tensor
from ._kl_registry import kl_divergence, register_kl
from ._triangular import batch_mahalanobis, batch_trace_of_square, log_diagonal
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost
from .utils import euler_constant as _euler_gamma


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    def side(weight: Tensor, sign: int, impossible: Tensor) -> Tensor:
        term = weight * (softplus(sign * q.logits) - softplus(sign * p.logits))
        term = torch.where(impossible, torch.inf, term)
        return torch.where(weight == 0, 0.0, term)

    return side(p.probs, -1, q.probs == 0) + side(1 - p.probs, 1, q.probs == 1)


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    p_sum, q_sum = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    scale = q.concentration1.lgamma() + q.concentration0.lgamma() + p_sum.lgamma()
    scale = scale - (p.concentration1.lgamma() + p.concentration0.lgamma() + q_sum.lgamma())
    one = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    zero = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    return scale + one + zero + (q_sum - p_sum) * torch.digamma(p_sum)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    once = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return torch.where(p.total_count > q.total_count, torch.inf, p.total_count * once)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = torch.where(q.probs == 0, torch.inf, terms)
    return torch.where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    own = p._cont_bern_log_norm() + torch.log1p(-p.probs)
    other = -q._cont_bern_log_norm() - torch.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + own + other


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    p_sum, q_sum = p.concentration.sum(-1), q.concentration.sum(-1)
    scale = p_sum.lgamma() - q_sum.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    means = p.concentration.digamma() - p_sum.digamma().unsqueeze(-1)
    return scale + ((p.concentration - q.concentration) * means).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Any:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot                             "
            "be computed using Bregman divergences"
        )
    params = [param.detach().requires_grad_() for param in p._natural_params]
    normalizer = p._log_normalizer(*params)
    slopes = torch.autograd.grad(normalizer.sum(), params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for own, other, slope in zip(params, q._natural_params, slopes):
        result = result - _sum_rightmost((other - own) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Any, q: Gamma) -> Tensor:
    scale = q.concentration * (p.rate / q.rate).log() + (torch.lgamma(q.concentration) - torch.lgamma(p.concentration))
    shape = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    return scale + shape + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, other, own = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    tail = torch.exp(other + (1 + ratio).lgamma() - own)
    return -ratio.log() - other + own + ratio * _euler_gamma + tail - (1 + _euler_gamma)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * torch.exp(-apart / p.scale) - 1


def _same_events(p: LowRankMultivariateNormal | MultivariateNormal, q: LowRankMultivariateNormal | MultivariateNormal, kind: str) -> int:
    if p.event_shape != q.event_shape:
        gap = " " * 26
        raise ValueError(
            f"KL-divergence between two {kind} with{gap}different event shapes cannot be computed"
        )
    return p.event_shape[0]


def _off_low_rank(p: LowRankMultivariateNormal | MultivariateNormal, q: LowRankMultivariateNormal) -> tuple[Any, Any, Any]:
    """Return three parts of the divergence from ``q``: its log-determinant, the squared Mahalanobis distance between the means under ``q``,
    and the square root of the low-rank correction of ``q``'s inverse covariance."""
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    volume = _batch_lowrank_logdet(factor, diagonal, q._capacitance_tril)
    distance = _batch_lowrank_mahalanobis(factor, diagonal, q.loc - p.loc, q._capacitance_tril)
    root = torch.linalg.solve_triangular(q._capacitance_tril, factor.mT / diagonal.unsqueeze(-2), upper=False)
    return volume, distance, root


def _own_log_determinant(p: LowRankMultivariateNormal) -> Tensor:
    return _batch_lowrank_logdet(p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag, p._capacitance_tril)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    n = _same_events(p, q, "Low Rank Multivariate Normals")
    volume, distance, root = _off_low_rank(p, q)
    factor, diagonal, other = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag, q._unbroadcasted_cov_diag
    trace = (diagonal / other).sum(-1) + batch_trace_of_square(factor * other.rsqrt().unsqueeze(-1))
    trace = trace - batch_trace_of_square(root * diagonal.sqrt().unsqueeze(-2)) - batch_trace_of_square(root.matmul(factor))
    return 0.5 * (volume - _own_log_determinant(p) + trace + distance - n)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    n = _same_events(p, q, "(Low Rank) Multivariate Normals")
    volume, distance, root = _off_low_rank(p, q)
    factor = p._unbroadcasted_scale_tril
    trace = batch_trace_of_square(factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
    trace = trace - batch_trace_of_square(root.matmul(factor))
    return 0.5 * (volume - 2 * log_diagonal(factor) + trace + distance - n)


def _solved_trace(q: MultivariateNormal, matrix: Tensor) -> Tensor:
    """Return the trace of ``q``'s inverse covariance times ``X Xᵀ`` for the matrices X, whose batch dimensions broadcast with ``q``."""
    other = q._unbroadcasted_scale_tril
    batch = torch.broadcast_shapes(other.shape[:-2], matrix.shape[:-2])
    solved = torch.linalg.solve_triangular(
        other.expand(batch + other.shape[-2:]), matrix.expand(batch + matrix.shape[-2:]), upper=False
    )
    return batch_trace_of_square(solved)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    n = _same_events(p, q, "(Low Rank) Multivariate Normals")
    volume = 2 * log_diagonal(q._unbroadcasted_scale_tril) - _own_log_determinant(p)
    distance = batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    diagonal = torch.diag_embed(p._unbroadcasted_cov_diag.sqrt())
    trace = _solved_trace(q, p._unbroadcasted_cov_factor) + _solved_trace(q, diagonal)
    return 0.5 * (volume + trace + distance - n)


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    n = _same_events(p, q, "Multivariate Normals")
    volume = log_diagonal(q._unbroadcasted_scale_tril) - log_diagonal(p._unbroadcasted_scale_tril)
    distance = batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return volume + 0.5 * (_solved_trace(q, p._unbroadcasted_scale_tril) + distance - n)


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return torch.where(p.scale < q.scale, torch.inf, result)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), torch.inf, result)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    # https://arxiv.org/abs/1905.10965
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()

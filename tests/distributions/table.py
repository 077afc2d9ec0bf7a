"""Distributions with parameters, as functions of the library, which the tests run under torch and under mstorch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

A, B, C = [0.5, 1.5, 3.0], [2.0, 0.7, 9.5], [[0.3, 0.7], [4.0, 12.0]]
P = [0.2, 0.5, 0.8]
PROBS = [[0.1, 0.6, 0.3], [0.25, 0.25, 0.5]]
LOGITS = [[0.3, -1.0, 2.0], [0.0, 0.5, -0.5]]
COVARIANCE = [[2.0, 0.3], [0.3, 0.8]]
TRIANGLE = [[[1.2, 0.0], [0.4, 0.7]], [[0.5, 0.0], [-0.2, 2.0]]]
FACTOR = [[1.0, 0.2], [0.5, -0.3], [0.1, 0.9]]

# Class and arguments; lists are tensors (leaves that require grad), keywords start with "=".
ROWS: list[tuple[Any, ...]] = [
    ("Bernoulli", P), ("Bernoulli", 0.3), ("Bernoulli", {"logits": [-1.0, 0.5]}),
    ("Beta", A, B), ("Beta", 2.0, 3.5), ("Beta", A, 1.0),
    ("Binomial", 5, P), ("Binomial", 5, {"logits": [-1.0, 0.5]}),
    ("Categorical", PROBS), ("Categorical", {"logits": LOGITS}), ("Categorical", P),
    ("Cauchy", A, B), ("Cauchy", 0.0, 1.0),
    ("Chi2", A), ("Chi2", 1.5),
    ("ContinuousBernoulli", P), ("ContinuousBernoulli", {"logits": [-1.0, 0.5]}),
    ("Dirichlet", A), ("Dirichlet", C), ("Dirichlet", [0.1, 0.2, 0.3]),
    ("Exponential", A), ("Exponential", 2.0),
    ("FisherSnedecor", A, B), ("FisherSnedecor", 5.0, 7.0),
    ("Gamma", A, B), ("Gamma", 0.4, 2.0), ("Gamma", [20.0, 8.5, 100.0], B),
    ("GeneralizedPareto", 0.5, 1.5, 0.25), ("GeneralizedPareto", A, B, [0.0, -0.5, 0.3]),
    ("Geometric", P), ("Geometric", {"logits": [-1.0, 0.5]}), ("Geometric", 0.4),
    ("Gumbel", A, B), ("Gumbel", 0.5, 2.0),
    ("HalfCauchy", B), ("HalfCauchy", 1.5), ("HalfNormal", B), ("HalfNormal", 1.5),
    ("InverseGamma", A, B), ("InverseGamma", 2.5, 1.0),
    ("Kumaraswamy", A, B), ("Kumaraswamy", 2.0, 3.0),
    ("LKJCholesky", 3, 1.5), ("LKJCholesky", 4, [0.5, 2.0]),
    ("Laplace", A, B), ("Laplace", 0.0, 1.0),
    ("LogNormal", A, [0.3, 0.7, 1.0]), ("LogNormal", 0.0, 0.5),
    ("LogisticNormal", A, [0.3, 0.7, 1.0]), ("LogisticNormal", C, C),
    ("LowRankMultivariateNormal", A, FACTOR, B), ("LowRankMultivariateNormal", [A, B], FACTOR, B),
    ("Multinomial", 7, PROBS), ("Multinomial", 4, {"logits": LOGITS}),
    ("MultivariateNormal", [0.5, -1.0], COVARIANCE), ("MultivariateNormal", C, {"precision_matrix": COVARIANCE}),
    ("MultivariateNormal", [0.5, -1.0], {"scale_tril": TRIANGLE}),
    ("NegativeBinomial", 5.0, P), ("NegativeBinomial", A, {"logits": [-1.0, 0.5, 0.0]}),
    ("Normal", A, B), ("Normal", 0.0, 1.0), ("Normal", C, 2.0),
    ("OneHotCategorical", PROBS), ("OneHotCategorical", {"logits": LOGITS}),
    ("OneHotCategoricalStraightThrough", PROBS),
    ("Pareto", A, B), ("Pareto", 1.0, 3.0),
    ("Poisson", A), ("Poisson", 2.5), ("Poisson", [30.0, 0.0, 120.0]),
    ("RelaxedBernoulli", [0.7], P), ("RelaxedBernoulli", [0.7], {"logits": [-1.0, 0.5]}),
    ("RelaxedOneHotCategorical", [0.7], PROBS), ("RelaxedOneHotCategorical", [0.7], {"logits": LOGITS}),
    ("StudentT", B, A, 2.0), ("StudentT", 3.5),
    ("Uniform", A, [2.0, 2.5, 3.5]), ("Uniform", -1.0, 1.0),
    ("VonMises", A, B), ("VonMises", 0.5, 3.0),
    ("Weibull", A, B), ("Weibull", 1.5, 2.0),
    ("Wishart", 4.0, COVARIANCE), ("Wishart", [3.0, 5.5], {"scale_tril": TRIANGLE}), ("Wishart", 5.0, {"precision_matrix": COVARIANCE}),
]  # fmt: skip


def build(torch: Any, row: tuple[Any, ...], dtype: str = "float32", **more: Any) -> tuple[Any, list[Any]]:
    """Return a row's distribution and its tensor parameters."""
    leaves = []

    def argument(value: Any) -> Any:
        if isinstance(value, list):
            leaves.append(torch.tensor(value, dtype=getattr(torch, dtype), requires_grad=True))
            return leaves[-1]
        return value

    name, *values = row
    keywords: dict[str, Any] = {}
    args = []
    for value in values:
        if isinstance(value, dict):
            keywords.update({key: argument(item) for key, item in value.items()})
        else:
            args.append(argument(value))
    return getattr(torch.distributions, name)(*args, **keywords, **more), leaves


def composed(torch: Any) -> dict[str, Callable[[], Any]]:
    """Return distributions composed of others."""
    d = torch.distributions
    tensor = torch.tensor
    return {
        "independent": lambda: d.Independent(d.Normal(tensor(C), 1.5), 1),
        "independent_discrete": lambda: d.Independent(d.Bernoulli(tensor(PROBS)), 1),
        "independent_none": lambda: d.Independent(d.Bernoulli(tensor(P)), 0),
        "mixture": lambda: d.MixtureSameFamily(d.Categorical(tensor(P)), d.Normal(tensor(A), tensor(B))),
        "mixture_vectors": lambda: d.MixtureSameFamily(
            d.Categorical(tensor([0.4, 0.6])), d.Independent(d.Normal(tensor(C), tensor(C)), 1)
        ),
        "transformed": lambda: d.TransformedDistribution(
            d.Normal(tensor(A), tensor(B)), [d.AffineTransform(1.0, tensor(-2.0)), d.TanhTransform()]
        ),
        "transformed_grown": lambda: d.TransformedDistribution(
            d.Normal(0.0, 1.0), [d.AffineTransform(tensor(A), 2.0), d.ExpTransform()]
        ),
        "logistic": lambda: d.TransformedDistribution(
            d.Uniform(tensor([0.0, 0.0]), 1.0), [d.SigmoidTransform().inv, d.AffineTransform(0.5, 3.0)]
        ),
        "stick": lambda: d.TransformedDistribution(d.Normal(tensor(C), 1.0), d.StickBreakingTransform()),
    }

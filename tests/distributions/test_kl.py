"""KL divergences of all pairs that torch has, values and gradients, and the function that is selected for a pair."""
from __future__ import annotations

from typing import Any

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import run
from tests.distributions.table import ROWS, build
from tests.distributions.test_distributions import compare

# One row with tensors for each class, with shapes that broadcast.
CHOSEN: dict[str, tuple[Any, ...]] = {
    "Bernoulli": ("Bernoulli", [0.2, 0.5, 1.0]), "Beta": ("Beta", [0.5, 1.5, 3.0], [2.0, 0.7, 9.5]),
    "Binomial": ("Binomial", 5, [0.2, 0.5, 0.8]), "Categorical": ("Categorical", [[0.1, 0.6, 0.3], [0.0, 0.5, 0.5], [0.2, 0.2, 0.6]]),
    "Cauchy": ("Cauchy", [0.5, 1.5, 3.0], [2.0, 0.7, 9.5]), "ContinuousBernoulli": ("ContinuousBernoulli", [0.2, 0.5, 0.8]),
    "Dirichlet": ("Dirichlet", [[0.5, 1.5, 3.0], [1.0, 2.0, 3.0], [0.3, 0.3, 0.3]]), "Exponential": ("Exponential", [0.5, 1.5, 3.0]),
    "Gamma": ("Gamma", [0.5, 1.5, 3.0], [2.0, 0.7, 9.5]), "Geometric": ("Geometric", [0.2, 0.5, 0.8]),
    "Gumbel": ("Gumbel", [0.5, 1.5, 3.0], [2.0, 0.7, 9.5]), "HalfNormal": ("HalfNormal", [2.0, 0.7, 9.5]),
    "Laplace": ("Laplace", [0.5, 1.5, 3.0], [2.0, 0.7, 9.5]), "Chi2": ("Chi2", [0.5, 1.5, 3.0]),
    "LowRankMultivariateNormal": ("LowRankMultivariateNormal", [0.5, 1.0], [[1.0], [0.4]], [0.3, 2.0]),
    "MultivariateNormal": ("MultivariateNormal", [[0.5, -1.0], [0.1, 0.2], [0.0, 0.0]], [[2.0, 0.3], [0.3, 0.8]]),
    "Normal": ("Normal", [0.5, 1.5, 3.0], [2.0, 0.7, 9.5]), "OneHotCategorical": ("OneHotCategorical", [[0.1, 0.6, 0.3], [0.0, 0.5, 0.5], [0.2, 0.2, 0.6]]),
    "Pareto": ("Pareto", [0.5, 1.5, 3.0], [2.0, 0.7, 9.5]), "Poisson": ("Poisson", [0.5, 1.5, 3.0]),
    "LogNormal": ("LogNormal", [0.5, 1.5, 3.0], [2.0, 0.7, 0.5]), "Uniform": ("Uniform", [0.5, 0.1, 3.0], [0.9, 2.5, 3.5]),
}  # fmt: skip
PAIRS = sorted(
    (p.__name__, q.__name__)
    for p, q in real_torch.distributions.kl._KL_REGISTRY
    if p.__name__ in CHOSEN and q.__name__ in CHOSEN
)


def test_the_same_pairs_are_entered() -> None:
    def names(torch: Any) -> list[tuple[str, str]]:
        registry, known = torch.distributions.kl._KL_REGISTRY, set(dir(torch.distributions))
        return sorted((p.__name__, q.__name__) for p, q in registry if {p.__name__, q.__name__} <= known)

    assert names(mstorch) == names(real_torch)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("other", [False, True], ids=["same", "other"])
def test_divergence(pair: tuple[str, str], other: bool) -> None:
    def body(torch: Any) -> Any:
        p, leaves = build(torch, CHOSEN[pair[0]], "float64")
        name, *arguments = CHOSEN[pair[1]]
        moved = [_moved(name, number, a) if other else a for number, a in enumerate(arguments)]
        q, more = build(torch, (name, *moved), "float64")
        result = torch.distributions.kl_divergence(p, q)
        if result.requires_grad:
            result.masked_fill(torch.isinf(result), 0.0).sum().backward()
        return [result.detach(), *(leaf.grad for leaf in leaves + more)]

    # torch's derivative of digamma is accurate to eight digits.
    compare(body, "-".join(pair), rtol=2e-8, atol=1e-10)


def _moved(name: str, number: int, value: Any) -> Any:
    """Return other parameters of the same kind: positive ones stay positive, matrices stay positive definite."""
    if not isinstance(value, list):
        return value
    if isinstance(value[0], list):
        return value[1:] + value[:1] if name in ("Categorical", "OneHotCategorical", "Dirichlet") else value
    return [v * 0.9 for v in value] if name not in ("Uniform",) else [v - 0.05 + 0.1 * number for v in value]


def test_subclasses_and_combinations(both: Any) -> None:
    def body(torch: Any) -> Any:
        d = torch.distributions
        halves = d.kl_divergence(d.HalfNormal(torch.tensor([1.0, 2.0])), d.HalfNormal(1.5))
        p, q = (d.Independent(d.Normal(torch.zeros(3, 2), s), 1) for s in (1.0, 2.0))
        logs = d.kl_divergence(d.LogNormal(0.0, 1.0), d.LogNormal(torch.ones(2), 2.0))
        chi = d.kl_divergence(d.Chi2(torch.tensor([1.0, 2.0])), d.Gamma(1.0, 1.0))
        return halves, d.kl_divergence(p, q), logs, chi

    both(body, strides=False)


def test_own_pairs_and_ambiguity(both: Any) -> None:
    def body(torch: Any) -> Any:
        import warnings

        d = torch.distributions
        one = type("One", (d.Normal,), {})
        two = type("Two", (one,), {})
        d.register_kl(one, d.Normal)(lambda p, q: "left")
        d.register_kl(d.Normal, one)(lambda p, q: "right")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = d.kl_divergence(two(0.0, 1.0), two(0.0, 1.0))
        return found, [str(w.message) for w in seen], d.kl_divergence(one(0.0, 1.0), d.Normal(0.0, 1.0))

    both(body)


def test_register_kl_takes_classes(both: Any) -> None:
    def body(torch: Any) -> Any:
        other = type("Other", (), {})  # a class that is not a distribution, like pyro's base class
        torch.distributions.register_kl(other, torch.distributions.Normal)(lambda p, q: "found")
        return torch.distributions.kl_divergence(other(), torch.distributions.Normal(0.0, 1.0))

    both(body)
    both(lambda torch: torch.distributions.register_kl("Normal", "Normal"), message="")


def test_different_events(both: Any) -> None:
    def body(torch: Any) -> Any:
        d = torch.distributions
        return d.kl_divergence(*(d.MultivariateNormal(torch.zeros(n), torch.eye(n)) for n in (2, 3)))

    both(body)


def test_rows_cover_every_distribution() -> None:
    bases = {"Distribution", "ExponentialFamily", "Independent", "MixtureSameFamily", "TransformedDistribution"}
    d = real_torch.distributions
    all_classes = {n for n in d.__all__ if isinstance(getattr(d, n), type) and issubclass(getattr(d, n), d.Distribution)}
    assert all_classes - bases == {row[0] for row in ROWS}
    assert run(lambda torch: sorted(torch.distributions.__all__), mstorch)[0] == sorted(d.__all__)

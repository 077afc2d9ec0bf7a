"""Random numbers for tensors of every memory order. torch draws in the order of the result, or of a row-major copy of the operand."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import mstorch

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: x[:12].view(3, 4),
    "columns": lambda x: x[:12].view(4, 3).t(),
    "expanded rows": lambda x: x[:4].expand(3, 4),
    "expanded columns": lambda x: x[:3].view(3, 1).expand(3, 4),
    "one number": lambda x: x[0].expand(2, 3),
    "with gaps": lambda x: x[:48].view(8, 6)[::2, ::2],
    "columns with gaps": lambda x: x[:48].view(8, 6).t()[::2, ::2],
    "overlapping": lambda x: x[:6].unfold(0, 3, 1),
    "permuted": lambda x: x[:24].view(2, 3, 4).permute(2, 0, 1),
    "permuted, expanded": lambda x: x[:8].view(2, 1, 4).permute(2, 0, 1).expand(4, 2, 3),
    "channels last": lambda x: x.view(2, 2, 2, 6).permute(0, 3, 1, 2),
}
PARAMETERS: dict[str, Callable[[Any, Any], Any]] = {
    "multinomial of one": lambda t, x: t.multinomial(x.reshape(-1, x.shape[-1]) if x.ndim > 2 else x, 1),
    "multinomial": lambda t, x: t.multinomial(x if x.ndim < 3 else x[0] if x.ndim == 3 else x[0, 0], 2),
    "multinomial with replacement": lambda t, x: t.multinomial(x if x.ndim < 3 else x.flatten(1), 3, True),
    "bernoulli": lambda t, x: t.bernoulli(x),
    "bernoulli of p": lambda t, x: t.bernoulli(x, 0.5),
    "bernoulli_ of a tensor": lambda t, x: t.empty_like(x).bernoulli_(x),
    "bernoulli_ into rows": lambda t, x: t.empty(x.shape, dtype=x.dtype).bernoulli_(x),
    "bernoulli_ broadcast": lambda t, x: t.empty_like(x).bernoulli_(t.linspace(0, 1, x.shape[-1])),
    "poisson": lambda t, x: t.poisson(x * 3),
    "normal of means": lambda t, x: t.normal(x, 1.0),
    "normal of deviations": lambda t, x: t.normal(0.0, x),
    "normal of both": lambda t, x: t.normal(x, x),
    "rand_like": lambda t, x: t.rand_like(x),
    "randn_like": lambda t, x: t.randn_like(x),
    "randint_like": lambda t, x: t.randint_like(x, 100),
    "uniform_": lambda t, x: t.empty_like(x).uniform_(),
    "exponential_": lambda t, x: t.empty_like(x).exponential_(),
    "random_": lambda t, x: t.empty_like(x).random_(50),
    "gumbel_softmax": lambda t, x: t.nn.functional.gumbel_softmax(x),
    "hard gumbel_softmax": lambda t, x: t.nn.functional.gumbel_softmax(x, hard=True),
    "trunc_normal_": lambda t, x: t.nn.init.trunc_normal_(t.empty_like(x)),
    "trunc_normal_ far out": lambda t, x: t.nn.init.trunc_normal_(t.empty_like(x), 0.0, 1.0, 1.0, 3.0),
    "kaiming_uniform_": lambda t, x: t.nn.init.kaiming_uniform_(t.empty_like(x)),
    "xavier_normal_": lambda t, x: t.nn.init.xavier_normal_(t.empty_like(x)),
    "dropout": lambda t, x: t.nn.functional.dropout(x),
    "alpha_dropout": lambda t, x: t.nn.functional.alpha_dropout(x),
    "feature_alpha_dropout": lambda t, x: t.nn.functional.feature_alpha_dropout(x, 0.3, True),
    "dropout1d": lambda t, x: t.nn.functional.dropout1d(x) if x.ndim < 4 else x,
    "binomial": lambda t, x: t.binomial(t.full_like(x, 20), x),
    "binomial of a count": lambda t, x: t.binomial(t.tensor(20.0, dtype=x.dtype), x),
    "binomial of a probability": lambda t, x: t.binomial((x * 20).round(), t.tensor(0.4, dtype=x.dtype)),
    "binomial of a row": lambda t, x: t.binomial((x * 20).round()[:1], x),
    "gamma": lambda t, x: t._standard_gamma(x),
    "dirichlet": lambda t, x: t._sample_dirichlet(x),
    "Categorical": lambda t, x: t.distributions.Categorical(x).sample(),
    "OneHotCategorical": lambda t, x: t.distributions.OneHotCategorical(x).sample(),
    "MixtureSameFamily": lambda t, x: _mixture(t, x).sample(),
    "expanded mixture": lambda t, x: _mixture(t, x).expand((2, *x.shape[:-1])).sample(),
}  # fmt: skip


def _mixture(t: Any, x: Any) -> Any:
    weights = t.distributions.Categorical(x)
    return t.distributions.MixtureSameFamily(weights, t.distributions.Normal(x, x))


ONE = {"Bernoulli", "Exponential", "Poisson", "Geometric", "HalfNormal", "HalfCauchy", "Chi2", "StudentT", "Dirichlet"}
TWO = {"Normal", "Beta", "Gamma", "Cauchy", "Laplace", "Gumbel", "LogNormal", "VonMises", "Weibull", "Pareto", "FisherSnedecor", "Kumaraswamy",
       "InverseGamma", "NegativeBinomial", "RelaxedBernoulli"}  # fmt: skip


def _of_distribution(name: str) -> Callable[[Any, Any], Any]:
    def sampled(t: Any, x: Any) -> Any:
        return getattr(t.distributions, name)(*([x] if name in ONE else [x, x])).sample()

    return sampled


PARAMETERS.update({name: _of_distribution(name) for name in sorted(ONE | TWO)})


@pytest.fixture(autouse=True)
def _unchecked_arguments() -> Iterator[None]:
    """Turn validation off: probabilities in bfloat16 do not sum to 1 closely enough, and a distribution validates its parts."""
    before = [library.distributions.Distribution._validate_args for library in (torch, mstorch)]
    for library in (torch, mstorch):
        library.distributions.Distribution.set_default_validate_args(False)
    yield
    for library, checked in zip((torch, mstorch), before):
        library.distributions.Distribution.set_default_validate_args(checked)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_orders(both: Any, name: str, dtype: str) -> None:
    for layout in LAYOUTS:

        def body(torch: Any, layout: str = layout) -> Any:
            numbers = torch.linspace(0.1, 0.9, 48).roll(7).to(getattr(torch, dtype))
            return PARAMETERS[name](torch, LAYOUTS[layout](numbers)), torch.rand(2)

        both(body)


@pytest.mark.parametrize("name", ["bernoulli_ of a tensor", "uniform_", "exponential_", "random_", "rand_like", "dropout"
])
def test_no_numbers(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.empty(4, 3, device="meta").t()
        found = PARAMETERS[name](torch, x)
        return found.device.type, tuple(found.shape), found.stride(), str(found.dtype)

    both(body)


def test_slopes_of_rrelu(both: Any) -> None:
    for layout in LAYOUTS:
        both(lambda torch, layout=layout: torch.nn.functional.rrelu(LAYOUTS[layout](torch.linspace(-1, 1, 48).roll(7)), training=True))

    def noise(torch: Any) -> Any:
        x = -torch.ones(50, dtype=torch.bfloat16)
        found = torch.zeros_like(x)
        torch.ops.aten.rrelu_with_noise(x, found, 0.125, 1 / 3, True)
        return found

    both(noise)


@pytest.mark.parametrize("body", [
    lambda t: t.binomial(t.tensor([[3.0], [4.0]]), t.tensor([0.5, 0.5, 0.1])),
    lambda t: t.binomial(t.ones(3), t.full((2,), 0.5)),
    lambda t: t.binomial(t.ones(3), t.full((3,), 0.5).double()),
    lambda t: t.binomial(t.ones(3).long(), t.full((3,), 0.5)),
    lambda t: t._standard_gamma(t.ones(3).bfloat16()),
    lambda t: t._sample_dirichlet(t.ones(3).half()),
])  # fmt: skip
def test_shapes_and_dtypes(both: Any, body: Callable[[Any], Any]) -> None:
    both(body)

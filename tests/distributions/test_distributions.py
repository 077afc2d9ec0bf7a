"""Every distribution compared with torch: samples bit for bit, densities, moments, gradients, expansion, text."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.against_torch import run, same, values
from tests.distributions.table import ROWS, build, composed

PROPERTIES = ("mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "has_rsample", "has_enumerate_support")
NAMES = [f"{number}-{row[0]}" for number, row in enumerate(ROWS)]
COMPOSED = list(composed(mstorch))


def told(error: BaseException) -> str:
    return str(error).replace("mstorch.", "torch.")


def compare(body: Any, what: str, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Run one body under both libraries and compare; where torch raises, mstorch must raise the same error."""
    want, error = run(body, real_torch)
    got, mine = run(body, mstorch)
    if error is None:
        assert mine is None, f"{what}: torch gives {want}; mstorch raises {mine!r}"
        same(want, got, rtol=rtol, atol=atol, strides=False, what=what)
    else:
        assert type(mine).__name__ == type(error).__name__, f"{what}: {error!r} expected, {mine!r} or {got!r}"
        assert told(mine).split("\n")[0] == told(error).split("\n")[0], what


def bits(torch_body: Any, what: str) -> None:
    """Compare like ``compare``, but bit for bit."""
    want, error = run(torch_body, real_torch)
    got, mine = run(torch_body, mstorch)
    assert type(mine).__name__ == type(error).__name__, f"{what}: {error!r} expected, {mine!r}"
    if error is None:
        assert tuple(want.shape) == tuple(got.shape) and str(want.dtype) == str(got.dtype), what
        np.testing.assert_array_equal(values(got), values(want), err_msg=what)


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samples_have_the_same_bits(row: tuple[Any, ...], dtype: str) -> None:
    for shape in ((), (3,), (5, 2)):
        want, error = run(lambda torch: build(torch, row, dtype)[0].sample(shape), real_torch)
        got, mine = run(lambda torch: build(torch, row, dtype)[0].sample(shape), mstorch)
        assert error is None and mine is None, (error, mine)
        assert tuple(want.shape) == tuple(got.shape) and str(want.dtype) == str(got.dtype)
        # Operations after the draw differ in the last bits of the libraries' logarithms and products.
        tolerance = 1e-12 if want.dtype == real_torch.float64 else 2e-5
        np.testing.assert_allclose(values(got), values(want), rtol=tolerance, atol=tolerance)
        after = [torch_.get_rng_state().tolist() for torch_ in (real_torch, mstorch)]
        assert after[0] == after[1], "another number of draws"


DRAWN_ONLY = {"Bernoulli", "Binomial", "Categorical", "Dirichlet", "Beta", "Normal", "Poisson", "Exponential", "Uniform",
              "Cauchy", "Gamma", "Multinomial", "OneHotCategorical"}  # fmt: skip


@pytest.mark.parametrize("row", [row for row in ROWS if row[0] in DRAWN_ONLY], ids=lambda row: row[0])
def test_what_is_only_drawn_is_bit_equal(row: tuple[Any, ...]) -> None:
    bits(lambda torch: build(torch, row)[0].sample((40,)), row[0])


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_properties_and_text(row: tuple[Any, ...]) -> None:
    for name in PROPERTIES:
        compare(lambda torch: getattr(build(torch, row)[0], name), name, rtol=2e-5)
    compare(lambda torch: repr(build(torch, row)[0]), "repr")
    compare(lambda torch: repr(build(torch, row)[0].support), "support")
    compare(lambda torch: sorted(build(torch, row)[0].arg_constraints), "arg_constraints")
    compare(lambda torch: build(torch, row)[0].entropy(), "entropy", rtol=5e-5, atol=2e-5)
    compare(lambda torch: build(torch, row)[0].perplexity(), "perplexity", rtol=1e-4, atol=2e-5)
    for expand in (True, False):
        compare(lambda torch: build(torch, row)[0].enumerate_support(expand), "enumerate_support")


def inside(row: tuple[Any, ...]) -> np.ndarray:
    """Return values in the support, from torch."""
    def body(torch: Any) -> Any:
        return build(torch, row)[0].sample((4,)).numpy()

    value, error = run(body, real_torch, seed=3)
    assert error is None
    return value


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_densities_and_their_gradients(row: tuple[Any, ...]) -> None:
    value = inside(row)

    def density(torch: Any) -> Any:
        distribution, leaves = build(torch, row)
        log_prob = distribution.log_prob(torch.tensor(value))
        if leaves and log_prob.requires_grad:
            log_prob.sum().backward()
        return [log_prob.detach(), *(leaf.grad for leaf in leaves)]

    # Sums in single precision differ in the last digits where the density falls steeply.
    compare(density, "log_prob", rtol=2e-4, atol=5e-5)
    compare(lambda torch: build(torch, row)[0].cdf(torch.tensor(value)).detach(), "cdf", rtol=2e-5)
    quantiles = np.linspace(0.05, 0.9, value.size).reshape(value.shape).astype(np.float32)
    compare(lambda torch: build(torch, row)[0].icdf(torch.tensor(quantiles)).detach(), "icdf", rtol=5e-5)


# torch writes to the mask that selected the matrices to be drawn again, and then raises for the gradient.
@pytest.mark.parametrize("row", [row for row in ROWS if row[0] != "Wishart"], ids=lambda row: row[0])
def test_gradients_through_samples(row: tuple[Any, ...]) -> None:
    def sampled(torch: Any) -> Any:
        distribution, leaves = build(torch, row, "float64")
        value = distribution.rsample((6,))
        if value.requires_grad:
            (value * torch.linspace(0.5, 1.5, value.numel(), dtype=value.dtype).reshape(value.shape)).sum().backward()
        return [value.detach(), *(leaf.grad for leaf in leaves)]

    compare(sampled, "rsample", rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_expansion(row: tuple[Any, ...]) -> None:
    value = inside(row)

    def expanded(torch: Any) -> Any:
        distribution, _ = build(torch, row)
        wide = distribution.expand((4, *distribution.batch_shape))
        torch.manual_seed(5)
        return [
            wide.batch_shape, wide.event_shape, repr(wide), type(wide).__name__, wide.sample((2,)).shape,
            wide.log_prob(torch.tensor(value)).detach(),
        ]  # fmt: skip

    compare(expanded, "expand", rtol=2e-4, atol=5e-5)


def test_wishart_samples_have_a_gradient(both: Any) -> None:
    def body(torch: Any) -> Any:
        factor = torch.tensor([[1.2, 0.0], [0.4, 0.7]], dtype=torch.float64, requires_grad=True)
        # The first draws only, computed here by Bartlett's decomposition.
        value = torch.distributions.Wishart(torch.tensor(5.0, dtype=torch.float64), scale_tril=factor)._bartlett_sampling((3,))
        value.sum().backward()
        return value.detach(), factor.grad

    both(body, strides=False)


@pytest.mark.parametrize("name", COMPOSED)
def test_composed(name: str) -> None:
    compare(lambda torch: composed(torch)[name]().sample((5,)), "sample", rtol=2e-5)
    for asked in (*PROPERTIES, "support"):
        compare(lambda torch: repr(getattr(composed(torch)[name](), asked)) if asked == "support"
                else getattr(composed(torch)[name](), asked), asked)  # fmt: skip
    compare(lambda torch: repr(composed(torch)[name]()), "repr")
    compare(lambda torch: composed(torch)[name]().entropy(), "entropy")
    value = composed(real_torch)[name]().sample((5,)).numpy()
    compare(lambda torch: composed(torch)[name]().log_prob(torch.tensor(value)), "log_prob", rtol=5e-5)
    compare(lambda torch: composed(torch)[name]().cdf(torch.tensor(value)), "cdf", rtol=2e-5)
    compare(lambda torch: composed(torch)[name]().enumerate_support(), "enumerate_support")

    def expanded(torch: Any) -> Any:
        distribution = composed(torch)[name]()
        wide = distribution.expand((5, *distribution.batch_shape))
        return wide.batch_shape, wide.event_shape, wide.log_prob(torch.tensor(value)), wide.sample().shape

    compare(expanded, "expand", rtol=5e-5)


WRONG = {
    "negative_scale": lambda torch: torch.distributions.Normal(0.0, -1.0),
    "nan": lambda torch: torch.distributions.Normal(torch.tensor([0.0, float("nan")]), 1.0),
    "probs": lambda torch: torch.distributions.Bernoulli(torch.tensor([0.5, 1.5])),
    "both": lambda torch: torch.distributions.Bernoulli(0.5, 0.5),
    "neither": lambda torch: torch.distributions.Categorical(),
    "scalar_probs": lambda torch: torch.distributions.Categorical(torch.tensor(0.5)),
    "not_normalized": lambda torch: torch.distributions.Categorical(torch.tensor([-0.5, 1.5])),
    "outside": lambda torch: torch.distributions.Exponential(1.0).log_prob(torch.tensor(-1.0)),
    "event": lambda torch: torch.distributions.Dirichlet(torch.ones(3)).log_prob(torch.ones(2) / 2),
    "batch": lambda torch: torch.distributions.Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(2)),
    "no_tensor": lambda torch: torch.distributions.Normal(0.0, 1.0).log_prob(0.5),
    "no_number": lambda torch: torch.distributions.Normal("a", 1.0),
    "covariance": lambda torch: torch.distributions.MultivariateNormal(torch.zeros(2), -torch.eye(2)),
    "two_matrices": lambda torch: torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2)),
    "low_rank": lambda torch: torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), torch.ones(2)),
    "uniform": lambda torch: torch.distributions.Uniform(1.0, 0.0),
    "zero_geometric": lambda torch: torch.distributions.Geometric(torch.tensor([0.0, 0.5])),
    "ndims": lambda torch: torch.distributions.Independent(torch.distributions.Normal(0.0, 1.0), 1),
    "mixture": lambda torch: torch.distributions.MixtureSameFamily(
        torch.distributions.Categorical(torch.ones(3)), torch.distributions.Normal(torch.zeros(2), 1.0)
    ),
    "counts": lambda torch: torch.distributions.Binomial(torch.tensor([1, 2]), torch.tensor([0.5, 0.5])).enumerate_support(),
    "lkj": lambda torch: torch.distributions.LKJCholesky(1),
    "wishart": lambda torch: torch.distributions.Wishart(0.5, torch.eye(3)),
    "not_a_simplex": lambda torch: torch.distributions.Dirichlet(torch.ones(3)).log_prob(torch.ones(3)),
    "custom_init": lambda torch: type("Own", (torch.distributions.Normal,), {"__init__": lambda self: None})().expand((2,)),
    "base_expand": lambda torch: torch.distributions.Distribution(validate_args=False).expand((2,)),
    "no_kl": lambda torch: torch.distributions.kl_divergence(
        torch.distributions.Cauchy(0.0, 1.0), torch.distributions.Normal(0.0, 1.0)
    ),
    "transforms": lambda torch: torch.distributions.TransformedDistribution(torch.distributions.Normal(0.0, 1.0), "exp"),
    "sample_n": lambda torch: torch.distributions.Normal(0.0, 1.0).sample_n(3),
}


@pytest.mark.parametrize("name", WRONG)
def test_refusals(name: str) -> None:
    compare(WRONG[name], name)


def test_validation_can_be_turned_off(both: Any) -> None:
    def body(torch: Any) -> Any:
        d = torch.distributions
        off = d.Normal(0.0, -1.0, validate_args=False)
        try:
            d.Distribution.set_default_validate_args(False)
            unchecked = d.Bernoulli(torch.tensor(3.0)).probs
        finally:
            d.Distribution.set_default_validate_args(True)
        return off.scale, unchecked

    both(body)


def test_lazy_properties(both: Any) -> None:
    def body(torch: Any) -> Any:
        d = torch.distributions
        bernoulli = d.Bernoulli(logits=torch.tensor(0.3))
        before = "probs" in vars(bernoulli)
        with torch.no_grad():
            probs = bernoulli.probs
        return before, "probs" in vars(bernoulli), probs, isinstance(d.Bernoulli.probs, property)

    both(body)


def test_exponential_family_entropy(both: Any) -> None:
    def body(torch: Any) -> Any:
        d = torch.distributions
        scale = torch.tensor([0.5, 2.0], requires_grad=True)
        entropy = d.ExponentialFamily.entropy(d.Normal(torch.zeros(2), scale))
        bernoulli = d.ExponentialFamily.entropy(d.Bernoulli(torch.tensor([0.3, 0.6])))
        return entropy.detach(), bernoulli.detach()

    both(body, strides=False)


REGIONS = {
    "simplex": lambda t, c: (c.simplex, t.tensor([[0.2, 0.8], [0.5, 0.5]]), t.tensor([[0.2, 0.8], [0.5, 0.6]])),
    "one simplex": lambda t, c: (c.simplex, t.tensor([0.25, 0.75]), t.tensor([0.25, float("nan")])),
    "real": lambda t, c: (c.real, t.tensor(1.0), t.tensor(float("nan"))),
    "real vector": lambda t, c: (c.real_vector, t.ones(2, 2), t.tensor([1.0, float("nan")])),
    "between": lambda t, c: (c.interval(t.tensor([0.0, 1.0]), t.tensor(3.0)), t.tensor([0.5, 2.0]), t.tensor([0.5, 0.5])),
    "integers": lambda t, c: (c.integer_interval(0, t.tensor([2, 4])), t.tensor([2, 3]), t.tensor([3, 3])),
    "whole numbers": lambda t, c: (c.nonnegative_integer, t.tensor([0.0, 3.0]), t.tensor([0.5])),
    "one hot": lambda t, c: (c.one_hot, t.eye(3), t.ones(3)),
    "counts": lambda t, c: (c.multinomial(3), t.tensor([1.0, 2.0]), t.tensor([2.0, 2.0])),
    "half": lambda t, c: (c.positive, t.ones(2, dtype=t.bfloat16), t.zeros(2, dtype=t.bfloat16)),
    "vectors of a scalar": lambda t, c: (c.real_vector, t.ones(1), t.tensor(1.0)),
}


@pytest.mark.parametrize("name", REGIONS)
def test_regions_are_checked_as_a_whole(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        constraint, inside, outside = REGIONS[name](torch, torch.distributions.constraints)

        class Held(torch.distributions.Distribution):
            arg_constraints = {"value": constraint}

            def __init__(self, value: Any) -> None:
                self.value = value
                super().__init__()

        Held(inside)
        return Held(outside)

    want, error = run(body, real_torch)
    got, mine = run(body, mstorch)
    assert error is not None and type(mine) is type(error) and told(mine).split(" to satisfy")[0] == told(error).split(" to satisfy")[0]

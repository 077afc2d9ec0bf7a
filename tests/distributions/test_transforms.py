"""Transforms, constraints and their registries, compared with torch."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch as real_torch

import mstorch
from tests.distributions.test_distributions import compare

VECTOR = [[0.3, -1.0, 2.0], [0.0, 0.5, -0.5]]
SQUARE = [[[0.5, 0.2], [-0.3, 1.0]], [[-1.0, 3.0], [0.4, 0.1]]]


def transforms(torch: Any) -> dict[str, tuple[Any, Any]]:
    """Return transforms, and inputs for them."""
    d, tensor = torch.distributions, torch.tensor
    normal = d.Normal(tensor(0.5), tensor(2.0))
    return {
        "abs": (d.AbsTransform(), VECTOR), "affine": (d.AffineTransform(1.0, -2.0), VECTOR),
        "affine_tensors": (d.AffineTransform(tensor([1.0, 2.0, 3.0]), tensor([0.5, -1.0, 2.0])), VECTOR),
        "affine_events": (d.AffineTransform(tensor([1.0, 2.0, 3.0]), tensor([0.5, -1.0, 2.0]), event_dim=1), VECTOR),
        "cat": (d.CatTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0), d.TanhTransform()], dim=-1), VECTOR),
        "cat_lengths": (d.CatTransform([d.ExpTransform(), d.TanhTransform()], dim=1, lengths=[2, 1]), VECTOR),
        "compose": (d.ComposeTransform([d.AffineTransform(0.1, 0.5), d.ExpTransform()]), VECTOR),
        "compose_events": (d.ComposeTransform([d.ExpTransform(), d.AffineTransform(0.0, 0.2), d.StickBreakingTransform()]), VECTOR),
        "nothing": (d.identity_transform, VECTOR), "correlation": (d.CorrCholeskyTransform(), VECTOR),
        "cumulative": (d.CumulativeDistributionTransform(normal), VECTOR), "exp": (d.ExpTransform(), VECTOR),
        "independent": (d.IndependentTransform(d.ExpTransform(), 1), VECTOR), "lower": (d.LowerCholeskyTransform(), SQUARE),
        "definite": (d.PositiveDefiniteTransform(), SQUARE), "power": (d.PowerTransform(tensor(2.5)), [[0.3, 1.0, 4.0]]),
        "reshape": (d.ReshapeTransform((3,), (3, 1)), VECTOR), "sigmoid": (d.SigmoidTransform(), VECTOR),
        "softmax": (d.SoftmaxTransform(), VECTOR), "softplus": (d.SoftplusTransform(), VECTOR),
        "stack": (d.StackTransform([d.ExpTransform(), d.TanhTransform()], dim=0), VECTOR),
        "stick": (d.StickBreakingTransform(), VECTOR), "tanh": (d.TanhTransform(), VECTOR),
        "inverse": (d.ExpTransform().inv, [[0.3, 1.0, 4.0]]),
    }  # fmt: skip


NAMES = list(transforms(mstorch))


@pytest.mark.parametrize("name", NAMES)
def test_there_and_back(name: str) -> None:
    def body(torch: Any) -> Any:
        transform, data = transforms(torch)[name]
        x = torch.tensor(data, dtype=torch.float64, requires_grad=True)
        y = transform(x)
        y.sum().backward()
        back = transform.inv(y.detach())
        return y.detach(), x.grad, back

    compare(body, name, rtol=1e-9, atol=1e-9)

    def stretch(torch: Any) -> Any:
        transform, data = transforms(torch)[name]
        x = torch.tensor(data, dtype=torch.float64)
        return transform.log_abs_det_jacobian(x, transform(x))

    compare(stretch, name, rtol=1e-9, atol=1e-9)
    for asked in ("bijective", "sign", "event_dim"):
        compare(lambda torch: getattr(transforms(torch)[name][0], asked), asked)
    for asked in ("domain", "codomain"):
        compare(lambda torch: repr(getattr(transforms(torch)[name][0], asked)), asked)
    compare(lambda torch: repr(transforms(torch)[name][0]), "repr")
    for shape in ((), (3,), (2, 2), (4, 3), (5, 2, 2)):
        compare(lambda torch: transforms(torch)[name][0].forward_shape(torch.Size(shape)), "forward_shape")
        compare(lambda torch: transforms(torch)[name][0].inverse_shape(torch.Size(shape)), "inverse_shape")


def test_equality(both: Any) -> None:
    def body(torch: Any) -> Any:
        d = torch.distributions
        made = [d.ExpTransform(), d.ExpTransform(), d.AffineTransform(0, 1), d.AffineTransform(0, 1.0), d.AffineTransform(0, 2),
                d.PowerTransform(torch.tensor(2.0)), d.PowerTransform(torch.tensor(3.0)), d.ExpTransform().inv,
                d.ComposeTransform([d.ExpTransform(), d.TanhTransform()]), d.ComposeTransform([d.ExpTransform()])]  # fmt: skip
        return [[a == b for b in made] for a in made], [[a != b for b in made] for a in made]

    both(body)


def test_cache(both: Any) -> None:
    def body(torch: Any) -> Any:
        d = torch.distributions
        x = torch.tensor([0.3, 20.0])
        cached = d.SigmoidTransform(cache_size=1)
        y = cached(x)
        composed = d.ComposeTransform([d.ExpTransform(), d.TanhTransform()], cache_size=1)
        z = composed(x)
        return cached.inv(y) is x, cached(x) is y, composed.inv(z) is x, d.ExpTransform().with_cache() is None, cached.inv.inv is cached

    both(body)


def test_wrong_cache_size() -> None:
    compare(lambda torch: torch.distributions.ExpTransform(cache_size=2), "cache_size")


@pytest.mark.parametrize("name", NAMES)
def test_copies_and_pickles(name: str) -> None:
    transform, data = transforms(mstorch)[name]
    x = mstorch.tensor(data)
    for other in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform))):
        assert mstorch.equal(other(x), transform(x))
        assert other.inv(transform(x)).shape == x.shape


def constraints(torch: Any) -> dict[str, Any]:
    c = torch.distributions.constraints
    return {
        "boolean": c.boolean, "one_hot": c.one_hot, "nonnegative_integer": c.nonnegative_integer, "real": c.real,
        "positive_integer": c.positive_integer, "integer_interval": c.integer_interval(0, 3), "real_vector": c.real_vector,
        "positive": c.positive, "nonnegative": c.nonnegative, "greater_than": c.greater_than(0.5),
        "greater_than_eq": c.greater_than_eq(0.5), "less_than": c.less_than(0.5), "multinomial": c.multinomial(3),
        "unit_interval": c.unit_interval, "interval": c.interval(-1.0, 2.0), "half_open": c.half_open_interval(0.0, 1.0),
        "simplex": c.simplex, "lower_triangular": c.lower_triangular, "lower_cholesky": c.lower_cholesky,
        "corr_cholesky": c.corr_cholesky, "square": c.square, "symmetric": c.symmetric, "definite": c.positive_definite,
        "semidefinite": c.positive_semidefinite, "cat": c.cat([c.positive, c.real], -1), "stack": c.stack([c.positive, c.real], -1),
        "independent": c.independent(c.positive, 1), "mixture": c.MixtureSameFamilyConstraint(c.positive), "dependent": c.dependent,
    }  # fmt: skip


VALUES = [
    [0.0, 1.0], [0.5, 0.5], [[1.0, 0.0], [0.6, 0.8]], [[2.0, 0.3], [0.3, 0.8]], [[-1.0, 2.0], [2.0, -3.0]],
    [float("nan"), 1.0], [[0.0, 3.0]], [2.0, 1.0],
]  # fmt: skip


@pytest.mark.parametrize("name", list(constraints(mstorch)))
def test_constraints(name: str) -> None:
    for value in VALUES:
        compare(lambda torch: constraints(torch)[name].check(torch.tensor(value)), f"{name} {value}")
    for asked in ("is_discrete", "event_dim"):
        compare(lambda torch: getattr(constraints(torch)[name], asked), asked)
    if name not in ("cat", "stack"):  # these have no repr of their own in torch
        compare(lambda torch: repr(constraints(torch)[name]), "repr")
    for registry in ("biject_to", "transform_to"):
        compare(lambda torch: repr(getattr(torch.distributions, registry)(constraints(torch)[name])), registry)

        def moved(torch: Any) -> Any:
            transform = getattr(torch.distributions, registry)(constraints(torch)[name])
            return transform(torch.tensor([[0.3, -1.0], [0.2, 0.5]], dtype=torch.float64))

        compare(moved, registry, rtol=1e-9)


def test_own_constraints(both: Any) -> None:
    def body(torch: Any) -> Any:
        d = torch.distributions
        own = type("_Own", (d.constraints.Constraint,), {"check": lambda self, value: value > 3})
        registry = d.constraint_registry.ConstraintRegistry()
        registry.register(own)(lambda constraint: d.ExpTransform())
        return repr(registry(own())), registry.register(own(), None) is None

    both(body)
    compare(lambda torch: torch.distributions.biject_to.register("real", None)(lambda c: None), "register")


def test_names() -> None:
    for module in ("constraints", "transforms", "utils", "kl", "constraint_registry", "distribution", "exp_family"):
        want = getattr(real_torch.distributions, module).__all__
        assert sorted(want) == sorted(getattr(mstorch.distributions, module).__all__), module

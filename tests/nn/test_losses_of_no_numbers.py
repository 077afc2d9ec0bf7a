"""Losses with NaN or infinite inputs, targets or weights, and their gradients."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

NAN, INF = float("nan"), float("inf")
PLACES = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0]
REDUCTIONS = ["none", "mean", "sum"]
OF_PAIRS = {
    "smooth_l1_loss": {"beta": 0.5}, "huber_loss": {"delta": 3.0}, "mse_loss": {}, "l1_loss": {}, "hinge_embedding_loss": {},
    "soft_margin_loss": {}, "poisson_nll_loss": {"log_input": False, "full": True}, "kl_div": {},
}  # fmt: skip


def gradients(torch, loss, leaves):
    factor = torch.linspace(0.5, 1.5, loss.numel(), dtype=loss.dtype).reshape(loss.shape)
    return loss.detach(), torch.autograd.grad(loss, leaves, factor)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", OF_PAIRS)
def test_losses_of_pairs(both, name, kind, reduction):
    def body(torch):
        first, second = (list(column) for column in zip(*itertools.product(PLACES, PLACES)))
        x = torch.tensor(first, dtype=getattr(torch, kind), requires_grad=True)
        target = torch.tensor(second, dtype=getattr(torch, kind), requires_grad=name != "soft_margin_loss")
        loss = getattr(torch.nn.functional, name)(x, target, reduction=reduction, **OF_PAIRS[name])
        return gradients(torch, loss, [leaf for leaf in (x, target) if leaf.requires_grad])

    both(body)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_soft_margin_loss_is_infinite_where_the_exponential_is(both, kind):
    def body(torch):
        x = torch.tensor([-1000.0, -80.0, 3.0, 100.0], dtype=getattr(torch, kind), requires_grad=True)
        return gradients(torch, torch.nn.functional.soft_margin_loss(x, torch.ones_like(x), reduction="none"), [x])

    both(body)


@pytest.mark.parametrize("target", [NAN, INF, -INF, -1.0, 1.5, 1.0])
@pytest.mark.parametrize("x", [0.0, 0.5, 1.0, NAN])
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_binary_cross_entropy_takes_shares_alone(both, kind, x, target):
    def body(torch):
        given, wanted = (torch.tensor([0.5, value], dtype=getattr(torch, kind)) for value in (x, target))
        return torch.nn.functional.binary_cross_entropy(given, wanted)

    both(body, rtol=1e-2 if kind == "bfloat16" else 1e-5)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32"])
def test_binary_cross_entropy_at_its_ends(both, kind):
    def body(torch):
        x = torch.tensor([0.0, 1.0, 0.0, 1.0], dtype=getattr(torch, kind), requires_grad=True)
        target = torch.tensor([0.0, 1.0, 1.0, 0.0], dtype=getattr(torch, kind))
        return gradients(torch, torch.nn.functional.binary_cross_entropy(x, target, reduction="none"), [x])

    both(body, rtol=1e-2)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("full", [False, True])
def test_gaussian_loss(both, full, reduction):
    def body(torch):
        columns = zip(*itertools.product(PLACES, [NAN, INF, 1.0], [NAN, INF, 0.0, 1e-8, 2.0]))
        x, target, variance = (torch.tensor(list(column), requires_grad=True) for column in columns)
        loss = torch.nn.functional.gaussian_nll_loss(x, target, variance, full=full, reduction=reduction)
        return gradients(torch, loss, [x, target, variance])

    both(body)


def poisoned(seed, shape, share=0.2):
    generator = np.random.RandomState(seed)
    values = generator.standard_normal(shape).astype(np.float32)
    chosen = generator.uniform(size=shape) < share
    values[chosen] = generator.choice(np.float32(PLACES), chosen.sum())
    return values


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("p", [1, 2])
def test_multi_margin_loss(both, p, weighted, reduction):
    def body(torch):
        found = []
        for seed in range(10):
            x = torch.tensor(poisoned(seed, (6, 6)), requires_grad=True)
            weight = torch.tensor(poisoned(seed, 6, 0.4)) if weighted else None
            loss = torch.nn.functional.multi_margin_loss(x, torch.arange(6), p=p, weight=weight, reduction=reduction)
            found.append(gradients(torch, loss, [x]))
        return found

    both(body)


def test_multi_margin_loss_of_classes_that_just_come_near(both):
    def body(torch):
        x = torch.tensor([[1.0, 0.0, 0.5]], requires_grad=True)
        return gradients(torch, torch.nn.functional.multi_margin_loss(x, torch.tensor([0])), [x])

    both(body)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_multilabel_margin_loss(both, reduction):
    def body(torch):
        target = torch.tensor([[0, -1, 2, 3], [2, 0, -1, 1], [3, 2, 1, 0], [-1, 1, 2, 3]])
        found = []
        for seed in range(10):
            x = torch.tensor(poisoned(seed, (4, 4)), requires_grad=True)
            found.append(gradients(torch, torch.nn.functional.multilabel_margin_loss(x, target, reduction=reduction), [x]))
        return found

    both(body)


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_loss_of_impossible_labels(both, zero_infinity):
    def body(torch):
        found = []
        for seed in range(6):
            values = np.random.RandomState(seed).standard_normal((5, 2, 3)).astype(np.float32)
            values[np.random.RandomState(seed).uniform(size=values.shape) < 0.3] = -INF
            x = torch.tensor(values, requires_grad=True)
            targets = torch.tensor([[1, 2], [2, 2]])
            loss = torch.nn.functional.ctc_loss(x, targets, (5, 4), (2, 2), zero_infinity=zero_infinity, reduction="none")
            found.append(gradients(torch, loss, [x]))
        return found

    both(body)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weights", ["", "weight", "pos_weight", "both"])
def test_small_slopes_of_logits(both, weights, reduction, dtype):
    """Far from the target the gradient is that of the sigmoid, however small; first and second derivatives."""

    def body(torch):
        kind = getattr(torch, dtype)
        x = torch.tensor([[-20.0, -3, 0, 0.5], [20, 90, -90, 1]], dtype=kind).requires_grad_()
        y = torch.tensor([[0.0, 1, 0.3, 1], [1, 0, 1, 0]], dtype=kind).requires_grad_()
        given = {}
        if weights in ("weight", "both"):
            given["weight"] = torch.tensor([1.0, 2, 3, 0.5], dtype=kind)
        if weights in ("pos_weight", "both"):
            given["pos_weight"] = torch.tensor([2.0, 1, 3, 0.125], dtype=kind)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(x, y, reduction=reduction, **given)
        first = torch.autograd.grad(loss.sum(), [x, y], create_graph=True)
        second = torch.autograd.grad((first[0] * first[0]).sum() + first[1].sum(), [x, y], allow_unused=True)
        return loss, type(loss.grad_fn).__name__, first, second

    both(body, rtol=3e-7 if dtype == "float32" else 1e-12, atol=0)


@pytest.mark.parametrize("kinds", [("float32", "bfloat16"), ("float32", "float64"), ("float64", "float32"), ("float16", "float32"), ("float32", "int64")])
def test_the_loss_of_logits_has_the_dtype_of_the_target(both, kinds):
    def body(torch):
        x, y = (torch.ones(3, dtype=getattr(torch, kind)) for kind in kinds)
        x.requires_grad_()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(x, y)
        loss.backward()
        return loss, x.grad

    both(body)


@pytest.mark.parametrize("name", ["weight", "pos_weight"])
def test_weights_of_logits_have_no_gradient(both, name):
    def body(torch):
        weights = {name: torch.ones(3, requires_grad=True)}
        return torch.nn.functional.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(3), **weights)

    both(body)


KINDS = ["float32", "float64", "bfloat16", "int64", "bool"]
OF_TWO = ["mse_loss", "smooth_l1_loss", "l1_loss", "huber_loss", "soft_margin_loss", "kl_div"]
REFUSED_TWICE = ("huber_loss", "bool", "int64")  # two errors; torch raises the other one first


@pytest.mark.parametrize("name, first, second", sorted({*itertools.product(OF_TWO, KINDS, KINDS)} - {REFUSED_TWICE}))
def test_losses_between_two_dtypes(both, name, first, second):
    def body(torch):
        x = torch.tensor([[0.5, -2, 3], [1, 0.25, 1.5]]).to(getattr(torch, first))
        y = torch.tensor([[1.0, -1, 1], [1, 0.5, 1]]).to(getattr(torch, second))
        return getattr(torch.nn.functional, name)(x, y)

    both(body, message="")

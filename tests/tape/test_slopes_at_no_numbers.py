"""Gradients of activations and of functions of one number at NaN, infinity and zeros."""
from __future__ import annotations

import itertools

import pytest

# A torch kernel processes 64 elements at a time, and the remaining ones singly, where NaN may be treated differently.
BLOCK = 64
PLACES = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 3.0, -3.0, 100.0]
ACTIVATIONS = {
    name: lambda torch, x, name=name: getattr(torch.nn.functional, name)(x)
    for name in ("hardswish", "softshrink", "hardshrink", "softplus", "leaky_relu", "relu", "silu", "mish", "softsign", "logsigmoid")
}
FLAT = {
    "sinc": lambda torch, x: torch.sinc(x),
    "atan2": lambda torch, x: torch.atan2(x, x),
    "copysign": lambda torch, x: torch.copysign(x, torch.ones_like(x)),
}


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(both, name, kind):
    def body(torch):
        found = []
        for place in PLACES:
            x = torch.full((BLOCK,), place, dtype=getattr(torch, kind), requires_grad=True)
            factor = torch.full_like(x, 1.5, requires_grad=True)
            result = ACTIVATIONS[name](torch, x)
            (bare,) = torch.autograd.grad(result, x, factor, retain_graph=True)
            (slope,) = torch.autograd.grad(result, x, factor, create_graph=True)
            found.append((bare, slope.detach(), *torch.autograd.grad(slope.sum(), factor)))
        return found

    both(body, rtol={"float16": 2e-3, "bfloat16": 2e-2}.get(kind, 1e-5))


@pytest.mark.parametrize("place", [0.0, -0.0])
@pytest.mark.parametrize("name", FLAT)
def test_second_slopes_at_zero(both, name, place):
    def body(torch):
        x = torch.full((2,), place, requires_grad=True)
        factor = torch.full_like(x, 1.5, requires_grad=True)
        (slope,) = torch.autograd.grad(FLAT[name](torch, x), x, factor, create_graph=True)
        return slope.detach(), torch.autograd.grad(slope.sum(), [x, factor])

    both(body)


def test_softplus_of_half_precision_below_its_bound(both):
    def body(torch):
        x = torch.tensor([12.0, 16.0, 20.0], dtype=torch.float16, requires_grad=True)
        return torch.autograd.grad(torch.nn.functional.softplus(x).sum(), x, create_graph=True)[0].detach()

    both(body, rtol=2e-3)


OF_TWO = {
    "maximum": lambda torch, x, y: torch.maximum(x, y), "minimum": lambda torch, x, y: torch.minimum(x, y),
    "xlogy": lambda torch, x, y: torch.xlogy(x, y), "xlog1py": lambda torch, x, y: torch.special.xlog1py(x, y),
    "pow": lambda torch, x, y: torch.pow(x, y), "where": lambda torch, x, y: torch.where(x > y, x, y),
    "fmax": lambda torch, x, y: torch.fmax(x, y), "clamp": lambda torch, x, y: torch.clamp(x, y, y + 1),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", OF_TWO)
def test_gradients_that_are_no_numbers_reach_who_depends_on_them(both, name, kind):
    def body(torch):
        places = [*PLACES, 0.5, -1.0, 2.0]
        first, second, gradient = zip(*itertools.product(places, places, [1.0, 0.0, float("nan"), float("inf")]))
        x, y = (torch.tensor(column, dtype=getattr(torch, kind), requires_grad=True) for column in (first, second))
        result = OF_TWO[name](torch, x, y)
        return result.detach(), torch.autograd.grad(result, [x, y], torch.tensor(gradient, dtype=result.dtype))

    both(body, rtol=2e-2 if kind == "bfloat16" else 1e-5)

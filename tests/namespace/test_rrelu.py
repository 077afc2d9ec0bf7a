"""torch.rrelu with a generator draws torch's slopes."""
from __future__ import annotations

import pytest

from tests.against_torch import both


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("place", [False, True])
def test_rrelu_with_a_generator(kind, place):
    def body(torch):
        x = torch.linspace(-2, 2, 12).reshape(3, 4).to(getattr(torch, kind)).t().requires_grad_()
        generator = torch.Generator().manual_seed(11)
        y = torch.rrelu_(x.clone(), 0.1, 0.4, True, generator) if place else torch.rrelu(x, 0.1, 0.4, training=True, generator=generator)
        (gradient,) = torch.autograd.grad(y.sum(), x)
        return y, gradient, torch.rand(2, generator=generator), torch.rand(2)

    both(body, rtol=0, atol=0)


def test_without_training_nothing_is_drawn():
    def body(torch):
        generator = torch.Generator().manual_seed(11)
        return torch.rrelu(torch.tensor([-1.0, 2.0]), 0.1, 0.4, False, generator), torch.rand(2, generator=generator)

    both(body)
    both(lambda torch: torch.rrelu(torch.ones(2), 0.4, 0.1, True, torch.Generator()))

"""Half precision and numbers that it rounds."""
from __future__ import annotations

import pytest

KINDS = ("float16", "bfloat16")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bound", [0.5, 0.1, 0.3, 1 / 3])
def test_edges_of_shrinking(both, kind, bound):
    def body(torch):
        found = []
        for name in ("hardshrink", "softshrink"):
            x = torch.tensor([bound, -bound, bound * 1.001, -bound * 1.01, 0.5, 0.0], dtype=getattr(torch, kind), requires_grad=True)
            y = getattr(torch.nn.functional, name)(x, bound)
            y.sum().backward()
            found += [y, x.grad]
        return found

    both(body, rtol=0, atol=0)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 0.5, -1.0])
def test_the_gradient_of_a_power_at_zero(both, exponent):
    def body(torch):
        x = torch.zeros(3, dtype=torch.bfloat16, requires_grad=True)
        z = torch.tensor(exponent, dtype=torch.bfloat16, requires_grad=True)
        torch.pow(x, z).sum().backward()
        return x.grad, z.grad

    both(body)

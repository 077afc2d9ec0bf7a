"""vmap over torch.autograd and over ATen's backward operators: Jacobians row by row, and the same batching rules under each name."""
from __future__ import annotations

import subprocess
import sys

import pytest

ROWS = {
    "outside": lambda torch, x: (lambda y: lambda v: torch.autograd.grad(y, x, v)[0])(x.exp() * x),
    "inside": lambda torch, x: lambda v: torch.autograd.grad([(x * x).sin()], [x], grad_outputs=[v])[0],
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_a_jacobian_by_rows(both, rows):
    def body(torch):
        x = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
        return torch.func.vmap(rows(torch, x))(torch.eye(3))

    both(body)


NAMES = """
import types, mstorch
from mstorch._src import hook as _hook
from mstorch._src.core.overriding import spoken
from mstorch.func._batched import RULES

found, seen = [], set()

def look(space):
    seen.add(id(space))
    for name in dir(space):
        value = getattr(space, name, None)
        if isinstance(value, types.ModuleType):
            if value.__name__.startswith("mstorch") and value.__name__.count(".") < 3 and id(value) not in seen:
                look(value)
        elif callable(value) and not isinstance(value, type) and hasattr(value, "__qualname__"):
            found.append(value)

look(mstorch)
ruled = [value for value in found if spoken(value).removeprefix("torch.") in RULES]
_hook.install()
assert len(ruled) > 300, len(ruled)
print([spoken(value) for value in ruled if spoken(value).removeprefix("torch.") not in RULES])
"""


@pytest.mark.slow
def test_rules_are_found_where_mstorch_is_torch():
    """``import torch`` gives mstorch, whose functions then name torch's modules as theirs."""
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", NAMES], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stdout + ran.stderr


SLOPES = {
    "silu": lambda aten, g, x: aten.silu_backward(g, x), "gelu": lambda aten, g, x: aten.gelu_backward(g, x),
    "mish": lambda aten, g, x: aten.mish_backward(g, x), "softplus": lambda aten, g, x: aten.softplus_backward(g, x, 1, 20),
    "elu": lambda aten, g, x: aten.elu_backward(g, 1, 1, 1, False, x), "hardswish": lambda aten, g, x: aten.hardswish_backward(g, x),
    "hardsigmoid": lambda aten, g, x: aten.hardsigmoid_backward(g, x), "hardtanh": lambda aten, g, x: aten.hardtanh_backward(g, x, -1, 1),
    "leaky_relu": lambda aten, g, x: aten.leaky_relu_backward(g, x, 0.1, False), "logit": lambda aten, g, x: aten.logit_backward(g, x),
    "mse_loss": lambda aten, g, x: aten.mse_loss_backward(g, x, x * 2, 0), "glu": lambda aten, g, x: aten.glu_backward(g[:1], x[:2], 0),
    "huber_loss": lambda aten, g, x: aten.huber_loss_backward(g, x, x * 2, 0, 1.0),
    "smooth_l1_loss": lambda aten, g, x: aten.smooth_l1_loss_backward(g, x, x * 2, 0, 1.0),
    "hardshrink": lambda aten, g, x: aten.hardshrink_backward(g, x, 0.1),
    "softshrink": lambda aten, g, x: aten.softshrink_backward(g, x, 0.1),
}  # fmt: skip
NOT_TWICE = {"silu", "mish", "hardsigmoid", "logit"}  # torch has no second derivative of these operators, mstorch has


@pytest.mark.parametrize("name", SLOPES)
def test_backward_operators_in_transforms(both, name):
    def values(torch):
        return torch.tensor([[0.3, 0.7, 0.2], [0.1, 0.6, 0.4]]), torch.tensor([[0.2, 0.9, 0.4], [0.6, 0.3, 0.8]])

    def mapped(torch):
        return torch.func.vmap(lambda g, x: SLOPES[name](torch.ops.aten, g, x))(*values(torch))

    def slope(torch):
        g, x = values(torch)
        return torch.func.grad(lambda g, x: (SLOPES[name](torch.ops.aten, g, x) ** 2).sum(), (0, 1))(g[0], x[0])

    both(mapped, strides=False)
    if name not in NOT_TWICE:
        both(slope)


DRAWS = {
    "randn": lambda torch, x: torch.randn(3, out=torch.empty(3)), "rand": lambda torch, x: torch.rand(3, out=torch.empty(3)),
    "randint": lambda torch, x: torch.randint(3, (3,), out=torch.empty(3, dtype=torch.int64)),
    "randperm": lambda torch, x: torch.randperm(3, out=torch.empty(3, dtype=torch.int64)),
    "normal": lambda torch, x: torch.normal(0.0, torch.ones(3), out=torch.empty(3)),
    "bernoulli": lambda torch, x: torch.bernoulli(torch.ones(3), out=torch.empty(3)),
    "bernoulli of a slice": lambda torch, x: torch.bernoulli(x, out=torch.empty(3)),
    "multinomial": lambda torch, x: torch.multinomial(torch.ones(3), 2, out=torch.empty(2, dtype=torch.int64)),
}  # fmt: skip


@pytest.mark.parametrize("randomness", ["same", "different", "error"])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_random_numbers_for_an_output(both, draw, randomness):
    both(lambda torch: torch.func.vmap(lambda x: draw(torch, x), randomness=randomness)(torch.full((2, 3), 0.5)))

"""Tensors that require grad in place of numbers: refused where their gradient would be lost; Python's conversions warn."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

CALLS = """
F.leaky_relu(x, t)
F.elu(x, t)
F.celu(x, t)
torch.celu(x, t)
F.hardtanh(x, t, 2.0)
F.hardtanh(x, -1.0, t)
F.softplus(x, t)
F.softplus(x, 1.0, t)
F.softshrink(x, t)
F.hardshrink(x, t)
F.threshold(x, t, 1.0)
F.threshold(x, 1.0, t)
F.rrelu(x, 0.1, t)
F.dropout(x, t)
torch.alpha_dropout(x, t, True)
torch.feature_dropout(x[None, None], t, True)
F.huber_loss(x, x, delta=t)
F.smooth_l1_loss(x, x, beta=t)
F.pdist(torch.stack([x, x]), t)
F.pairwise_distance(x[None], x[None], t)
F.triplet_margin_loss(x[None], x[None], x[None], p=t)
torch.cdist(x[None], x[None], t)
torch.norm(x, t)
torch.linalg.vector_norm(x, t)
x.norm(t)
torch.renorm(x[None], t, 0, 1.0)
torch.dist(x, x, t)
F.scaled_dot_product_attention(x[None], x[None], x[None], scale=t)
torch.full((2,), t)
torch.full_like(x, t)
x.new_full((2,), t)
torch.arange(t)
torch.arange(0, t, 1)
torch.normal(t, 1.0, (2,))
torch.zeros(2).uniform_(0, t)
torch.zeros(2).normal_(0, t)
""".strip().splitlines()


@pytest.mark.parametrize("call", CALLS)
def test_refused(both: Any, call: str) -> None:
    """The class of the error is torch's."""

    def body(torch: Any) -> Any:
        x, t = torch.full((3,), 0.5), torch.tensor(0.5, requires_grad=True)
        return eval(call, {"torch": torch, "F": torch.nn.functional, "x": x, "t": t})

    both(body, message="")


READ = {
    "float": float, "int": int, "complex": complex, "bool": bool, "item": lambda t: t.item(), "list": lambda t: t.tolist(), "math": math.sqrt,
    "format": lambda t: f"{t:.1f}", "NumPy": np.float64,
}  # fmt: skip


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", READ)
def test_said(both: Any, name: str, grad: bool) -> None:
    """float and complex warn that the tensor requires grad, unless gradients are disabled."""

    def body(torch: Any) -> Any:
        torch.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as said, torch.set_grad_enabled(grad):
                warnings.simplefilter("always")
                READ[name](torch.tensor(2.0, requires_grad=True))
        finally:
            torch.set_warn_always(False)
        return [str(each.message).split(" (Triggered")[0] for each in said]

    both(body)

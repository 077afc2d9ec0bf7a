"""Hooks of saved tensors in gradients that are computed with ``create_graph``, compared with torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

FUNCTIONS = {
    "cube": lambda torch, a: a**3, "square": lambda torch, a: a.square(), "sqrt": lambda torch, a: a.sqrt(),
    "erf": lambda torch, a: a.erf(), "mse": lambda torch, a: torch.nn.functional.mse_loss(a, a.detach() + 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_not_saved(both: Callable[..., Any], name: str) -> None:
    def body(torch: Any) -> Any:
        a = torch.tensor([0.7, 1.2], requires_grad=True)
        start = FUNCTIONS[name](torch, a).sum()
        with torch.autograd.graph.saved_tensors_hooks(lambda x: 2 * x, lambda x: x):
            (first,) = torch.autograd.grad(start, a, create_graph=True)
        first.sum().backward()
        return first.detach(), a.grad

    both(body)

"""Gradients of sparse tensors from autograd.grad, for sparse results."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]
LAYOUTS = ("coo", "csr", "csc")


@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("target", [*LAYOUTS, "dense"])
@pytest.mark.parametrize("source", LAYOUTS)
def test_conversions(both: Both, source: str, target: str, leaf: bool) -> None:
    def body(torch: Any) -> Any:
        def converted(x: Any, layout: str) -> Any:
            return x.to_dense() if layout == "dense" else getattr(x, f"to_sparse_{layout}")()

        dense = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
        if leaf:
            x = converted(dense, source).requires_grad_()
        else:
            x = converted(dense.requires_grad_(), source)
        weights = dense.detach() * 5
        y = converted(x, target)
        (gradient,) = torch.autograd.grad(y, x, weights if target == "dense" else converted(weights, target))
        return str(gradient.layout), gradient.to_dense()

    both(body)


@pytest.mark.parametrize("coalesced", [True, False])
def test_gradcheck_of_a_product(both: Both, coalesced: bool) -> None:
    def body(torch: Any) -> Any:
        indices = torch.tensor([[0, 1, 1, 0], [1, 0, 0, 1]])
        x = torch.sparse_coo_tensor(indices, torch.linspace(1, 2, 4, dtype=torch.float64), (2, 3))
        x = (x.coalesce() if coalesced else x).requires_grad_()
        start = torch.linspace(-1, 1, 8, dtype=torch.float64).reshape(4, 2).t().requires_grad_()
        other = torch.linspace(-2, 1, 12, dtype=torch.float64).reshape(3, 4).requires_grad_()
        return torch.autograd.gradcheck(
            lambda x, start, other: torch.sparse.addmm(start, x, other, beta=0.3, alpha=0.7), (x, start, other), masked=True
        )

    both(body)

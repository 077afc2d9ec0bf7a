"""Sparse gradients of embedding tables that a Function of the user's returns."""
from __future__ import annotations

import pytest


@pytest.mark.parametrize("bag", [False, True])
def test_a_function_gets_the_sparse_gradient(both, bag):
    def body(torch):
        layouts = []

        class Sum(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                return x + y

            @staticmethod
            def backward(ctx, gradient):
                layouts.append(str(gradient.layout))
                return gradient, gradient

        first, second = (torch.ones(4, 3, requires_grad=True) for _ in range(2))
        indices, table = torch.tensor([0, 1, 0, 3]), Sum.apply(first, second)
        functional = torch.nn.functional
        y = functional.embedding_bag(indices, table, torch.tensor([0, 2]), sparse=True) if bag else functional.embedding(indices, table, sparse=True)
        (y * torch.arange(3.0)).sum().backward()
        first.grad.mul_(3)  # the other one's memory is its own
        return layouts, [str(leaf.grad.layout) for leaf in (first, second)], first.grad.to_dense(), second.grad.to_dense()

    both(body)

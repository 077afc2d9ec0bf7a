"""Views of leaves made under no_grad: they require grad and have no node, so that no gradient goes anywhere from them."""
from __future__ import annotations

import pytest

OPERATIONS = {
    "mul by a number": lambda torch, x: x * 2, "mul by itself": lambda torch, x: x * x, "mul": lambda torch, x: x * torch.ones(2, 3),
    "div": lambda torch, x: x / 2, "reciprocal": lambda torch, x: 1 / x, "exp": lambda torch, x: x.exp(), "pow": lambda torch, x: x**2,
    "relu": lambda torch, x: x.relu(), "mm": lambda torch, x: x @ torch.ones(3, 2), "linear": lambda torch, x: torch.nn.functional.linear(x, torch.ones(4, 3)),
    "softmax": lambda torch, x: x.softmax(-1), "sum": lambda torch, x: x.sum(0), "max": lambda torch, x: x.max(0)[0], "index": lambda torch, x: x[[0, 1]],
    "mask": lambda torch, x: x[x > -9], "gather": lambda torch, x: x.gather(0, torch.zeros(1, 3, dtype=torch.int64)), "cat": lambda torch, x: torch.cat([x, x]),
    "layer_norm": lambda torch, x: torch.nn.functional.layer_norm(x, (3,)), "where": lambda torch, x: torch.where(x > 0, x, x * 2), "norm": lambda torch, x: x.norm(),
    "addcmul": lambda torch, x: torch.addcmul(x, x, x), "lerp": lambda torch, x: torch.lerp(x, x * 2, 0.5), "in place": lambda torch, x: (x * 1).mul_(2),
    "cross_entropy": lambda torch, x: torch.nn.functional.cross_entropy(x, torch.tensor([0, 1])), "prod": lambda torch, x: x.prod(), "var": lambda torch, x: x.var(),
    "einsum": lambda torch, x: torch.einsum("ij,kj->ik", x, x), "max_pool1d": lambda torch, x: torch.nn.functional.max_pool1d(x[None], 2),
    "dropout": lambda torch, x: torch.nn.functional.dropout(x, 0.5), "double": lambda torch, x: x.double(), "sort": lambda torch, x: x.sort(0)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_backward(both, name):
    def body(torch):
        torch.manual_seed(0)
        leaf = torch.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]]).requires_grad_()
        with torch.no_grad():
            view = leaf.view(2, 3)
        other = torch.ones(2, 3, requires_grad=True)
        OPERATIONS[name](torch, view).sum().backward()
        (OPERATIONS[name](torch, view) * (other.sum() + 1)).sum().backward()
        return view.requires_grad, view.grad_fn, leaf.grad, view.grad, other.grad

    both(body, strides=False)

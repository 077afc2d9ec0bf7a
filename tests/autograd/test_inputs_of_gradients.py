"""What ``backward(inputs=…)`` and ``grad`` take as inputs: iterables that can be read once, dicts, and what they refuse."""
from __future__ import annotations

from collections import OrderedDict

import pytest


def test_inputs_of_backward_that_can_be_read_once(both):
    def body(torch):
        net = torch.nn.Linear(2, 2)
        loss = net(torch.ones(1, 2)).sum()
        loss.backward(inputs=net.parameters(), retain_graph=True)
        first = [p.grad.clone() for p in net.parameters()]
        loss.backward(inputs=(p for p in [net.bias]))
        return first, [p.grad for p in net.parameters()]

    both(body)


@pytest.mark.parametrize("how", ["method", "function", "grad"])
@pytest.mark.parametrize("kind", ["generator", "empty generator", "list", "empty list", "map", "dict", "dict of numbers", "empty dict",
                                  "ordered dict", "set", "none inside", "one", "number", "text", "list inside"])  # fmt: skip
def test_inputs_of_backward(both, how, kind):
    def body(torch):
        x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        inputs = {
            "generator": (t for t in (x, y)), "empty generator": (t for t in ()), "list": [x], "empty list": [], "map": map(torch.Tensor.view_as, [x], [x]) if kind == "map" else None,
            "dict": {"x": x}, "dict of numbers": {x: 1}, "empty dict": {}, "ordered dict": OrderedDict(x=x), "list inside": [[x]], "set": {y}, "none inside": [x, None], "one": x, "number": 3, "text": "ab",
        }[kind]  # fmt: skip
        loss = (x * y).sum()
        if how == "method":
            loss.backward(inputs=inputs)
        elif how == "grad":
            return torch.autograd.grad(loss, inputs)
        else:
            torch.autograd.backward(loss, inputs=inputs)
        return x.grad, y.grad

    both(body)

"""Optimizer steps with NaN or infinite gradients: only the same parameters as in torch are affected."""
from __future__ import annotations

import pytest

NAN, INF = float("nan"), float("inf")
OPTIMIZERS = {
    "SGD": {"momentum": 0.9, "nesterov": True}, "Adam": {}, "AdamW": {"amsgrad": True}, "RMSprop": {"momentum": 0.9}, "Adagrad": {},
    "Adadelta": {}, "Adamax": {}, "NAdam": {}, "RAdam": {}, "Rprop": {}, "ASGD": {},
}  # fmt: skip


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps(both, name, foreach):
    def body(torch):
        first = torch.tensor([1.0, 2.0, -1.0, 0.5, 3.0, NAN], requires_grad=True)
        second = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        optimizer = getattr(torch.optim, name)([first, second], lr=0.1, foreach=foreach, **OPTIMIZERS[name])
        found = []
        for gradients in ([0.3, NAN, INF, -INF, 0.0, 1.0], [0.3, 1.0, 2.0, INF, 0.0, 1.0]):
            first.grad, second.grad = torch.tensor(gradients), torch.tensor([[1.0, -2.0], [gradients[1], 0.5]])
            optimizer.step()
            found.append((first.detach().clone(), second.detach().clone()))
        return found

    both(body)

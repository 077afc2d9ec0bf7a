"""What MindSpore's guides write in a network, written in a Module."""
from __future__ import annotations

from typing import Any

import mindspore
import numpy as np
import pytest
from mindspore import nn as msnn

import mstorch as torch

nn = torch.nn
X = np.random.RandomState(0).uniform(-1, 1, (4, 3)).astype(np.float32)


class Five(nn.Module):
    """A backward that is not the true one."""

    def forward(self, x: Any, y: Any = 1) -> Any:
        return x * x * y

    def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
        return 5 * x * dout, out * dout


class FiveCell(msnn.Cell):
    """The same in MindSpore."""

    construct = Five.forward
    bprop = Five.bprop


class Lost(nn.Module):
    """Too few gradients."""

    def forward(self, x: Any, y: Any) -> Any:
        return x * y

    def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
        return dout


def test_bprop_of_a_module_is_its_backward() -> None:
    raw, other = mindspore.Tensor(X), mindspore.Tensor(X * 2)
    expected = [item.asnumpy() for item in mindspore.grad(FiveCell(), (0, 1))(raw, other)]
    x, y = (torch.tensor(X * times, requires_grad=True) for times in (1, 2))
    Five()(x, y=y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected[0], rtol=1e-6)
    np.testing.assert_allclose(y.grad.numpy(), expected[1], rtol=1e-6)
    with torch.no_grad():
        assert not Five()(x).requires_grad
    with pytest.raises(RuntimeError, match="MindSpore's own training cannot use Five.bprop"):
        mindspore.grad(Five(), (0, 1))(raw, other)
    with pytest.raises(ValueError, match="Lost.bprop returned 1 values for 2 inputs"):
        Lost()(x, y).sum().backward()


class OfTorch(nn.Module):
    """A method of a torch program that happens to be called so."""

    def forward(self, x: Any) -> Any:
        return x * 2

    def bprop(self, x: Any) -> Any:
        return x


def test_another_method_called_bprop_is_left_alone() -> None:
    x = torch.tensor(X, requires_grad=True)
    OfTorch()(x).sum().backward()
    assert (x.grad == 2).all() and OfTorch().bprop(3) == 3


class Constructed(nn.Module):
    """A Cell's text in a Module."""

    def __init__(self) -> None:
        super().__init__(auto_prefix=False)
        self.linear = nn.Linear(3, 2)

    def construct(self, x: Any) -> Any:
        return self.linear(x)


def test_construct_is_the_forward() -> None:
    net = Constructed()
    seen = []
    net.register_forward_hook(lambda module, args, output: seen.append(output))
    output = net(torch.from_numpy(X))
    assert (output == net.linear(torch.from_numpy(X))).all() and len(seen) == 1
    np.testing.assert_allclose(net(mindspore.Tensor(X)).asnumpy(), output.detach().numpy(), rtol=1e-6)
    output.sum().backward()
    assert net.linear.weight.grad is not None
    with pytest.raises(NotImplementedError, match="missing the required"):
        nn.Module()(1)


def test_a_tensor_of_mindspores_is_told_the_way() -> None:
    raw, ours = mindspore.Tensor(X), torch.from_numpy(X)
    calls = [
        lambda: torch.relu(raw), lambda: torch.matmul(raw, raw), lambda: torch.cat([raw, raw]), lambda: ours.mul(raw),
        lambda: ours.copy_(raw), lambda: nn.functional.linear(raw, ours), lambda: nn.functional.gelu(raw),
        lambda: torch.where(ours > 0, raw, ours), lambda: nn.functional.cross_entropy(raw, ours),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError, match="mstorch.from_mindspore"):
            call()

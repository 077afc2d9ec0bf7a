"""Code of MindSpore's guides for networks, used in a Module."""
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
    """A Module whose bprop returns a wrong gradient."""

    def forward(self, x: Any, y: Any = 1) -> Any:
        return x * x * y

    def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
        return 5 * x * dout, out * dout


class FiveCell(msnn.Cell):
    """The same in MindSpore."""

    construct = vars(Five)["forward"].__wrapped__
    bprop = Five.bprop


class Lost(nn.Module):
    """A Module whose bprop returns too few gradients."""

    def forward(self, x: Any, y: Any) -> Any:
        return x * y

    def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
        return dout


def test_bprop_of_a_module_is_its_backward() -> None:
    raw, other = mindspore.Tensor(X), mindspore.Tensor(X * 2)
    expected = [item.asnumpy() for item in mindspore.grad(FiveCell(), (0, 1))(raw, other)]
    x, y = (torch.tensor(X * times, requires_grad=True) for times in (1, 2))
    Five()(x, y=y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(force=True), expected[0], rtol=1e-6)
    np.testing.assert_allclose(y.grad.numpy(force=True), expected[1], rtol=1e-6)
    with torch.no_grad():
        assert not Five()(x).requires_grad
    with pytest.raises(RuntimeError, match="MindSpore's own training cannot use Five.bprop"):
        mindspore.grad(Five(), (0, 1))(raw, other)
    with pytest.raises(ValueError, match="Lost.bprop returned 1 values for 2 inputs"):
        Lost()(x, y).sum().backward()


class Below(Five):
    """A subclass with another forward, and the inherited bprop."""

    def forward(self, x: Any, y: Any = 1) -> Any:
        return x + y


class Another(Five):
    """A subclass with another bprop, and the inherited forward."""

    def bprop(self, x: Any, y: Any, result: Any, gradient: Any) -> Any:
        return 7 * gradient, 8 * gradient


class Shared(nn.Module):
    """A Module with two outputs, one of them without a gradient in the test."""

    def forward(self, x: Any, y: Any) -> Any:
        return x * y, x + y

    def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
        return out[0] + dout[0] + dout[1], out[1] * dout[1]


class SharedCell(msnn.Cell):
    """The same in MindSpore."""

    construct = vars(Shared)["forward"].__wrapped__
    bprop = Shared.bprop


def test_bprop_in_subclasses() -> None:
    for kind, expected in ((Below, (5 * X, 3 * X)), (Another, (7, 8)), (Five, (5 * X, X * X * X * 2))):
        x, y = (torch.tensor(X * times, requires_grad=True) for times in (1, 2))
        kind()(x, y).sum().backward()
        for found, wanted in zip((x.grad, y.grad), expected):
            np.testing.assert_allclose(found.numpy(force=True), np.broadcast_to(wanted, X.shape), rtol=1e-6)
    x = torch.tensor(X, requires_grad=True)
    Five()(x).sum().backward()  # y is 1, the default of forward
    np.testing.assert_allclose(x.grad.numpy(force=True), 5 * X, rtol=1e-6)


def test_bprop_of_two_outputs() -> None:
    x, y = (torch.tensor(X * times, requires_grad=True) for times in (1, 2))
    expected = mindspore.grad(lambda a, b: SharedCell()(a, b)[1].sum(), (0, 1))(mindspore.Tensor(X), mindspore.Tensor(X * 2))
    Shared()(x, y)[1].sum().backward()
    np.testing.assert_allclose(x.grad.numpy(force=True), expected[0].asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(y.grad.numpy(force=True), expected[1].asnumpy(), rtol=1e-6)


class InAList(nn.Module):
    """A Module with tensors inside an argument."""

    def forward(self, items: Any) -> Any:
        return items[0] * 2

    def bprop(self, items: Any, out: Any, dout: Any) -> Any:
        return dout


def test_what_bprop_cannot_see_is_refused() -> None:
    x = torch.tensor(X, requires_grad=True)
    with pytest.raises(TypeError, match="InAList.bprop: tensors that require gradients"):
        InAList()([x])
    assert (InAList()([x.detach()]) == x * 2).all()
    output = Five()(x, x)
    with torch.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


class OfTorch(nn.Module):
    """A torch program's own method with this name."""

    def forward(self, x: Any) -> Any:
        return x * 2

    def bprop(self, x: Any) -> Any:
        return x


def test_another_method_called_bprop_is_left_alone() -> None:
    x = torch.tensor(X, requires_grad=True)
    OfTorch()(x).sum().backward()
    assert (x.grad == 2).all() and OfTorch().bprop(3) == 3


class Constructed(nn.Module):
    """A Module with a Cell's ``construct``."""

    def __init__(self) -> None:
        super().__init__(auto_prefix=False)
        self.linear = nn.Linear(3, 2)

    def construct(self, x: Any) -> Any:
        return self.linear(x)


class Longer(Constructed):
    """A subclass whose construct calls super()."""

    def construct(self, x: Any) -> Any:
        return torch.tanh(super().construct(x)) + self.constant

    constant = 1


def test_construct_below_a_construct() -> None:
    torch.manual_seed(0)
    net = Longer()
    expected = torch.tanh(net.linear(torch.tensor(X))) + 1
    assert (net(torch.tensor(X)) == expected).all() and (net.construct(torch.tensor(X)) == expected).all()
    found = net(mindspore.Tensor(X))
    assert type(found) is mindspore.Tensor
    np.testing.assert_allclose(found.asnumpy(), expected.numpy(force=True), rtol=1e-6)
    around = msnn.SequentialCell(net, msnn.Dense(2, 1))
    step = mindspore.value_and_grad(lambda x: around(x).sum(), None, around.trainable_params())
    _, gradients = step(mindspore.Tensor(X))
    assert len(gradients) == 4 and all((g.asnumpy() != 0).any() for g in gradients)


def test_construct_is_the_forward() -> None:
    net = Constructed()
    seen = []
    net.register_forward_hook(lambda module, args, output: seen.append(output))
    output = net(torch.tensor(X))
    assert (output == net.linear(torch.tensor(X))).all() and len(seen) == 1
    np.testing.assert_allclose(net(mindspore.Tensor(X)).asnumpy(), output.numpy(force=True), rtol=1e-6)
    output.sum().backward()
    assert net.linear.weight.grad is not None
    with pytest.raises(NotImplementedError, match="missing the required"):
        nn.Module()(1)


def test_a_tensor_of_mindspores_is_told_the_way() -> None:
    raw, ours = mindspore.Tensor(X), torch.tensor(X)
    calls = [
        lambda: torch.relu(raw), lambda: torch.matmul(raw, raw), lambda: torch.cat([raw, raw]), lambda: ours.mul(raw),
        lambda: ours.copy_(raw), lambda: nn.functional.linear(raw, ours), lambda: nn.functional.gelu(raw),
        lambda: torch.where(ours > 0, raw, ours), lambda: nn.functional.cross_entropy(raw, ours),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError, match="mstorch.from_mindspore"):
            call()
    with pytest.raises(TypeError, match=r"must be Tensor, not mindspore\.Tensor\. A mindspore"):
        torch.relu(raw)


def test_a_dtype_of_mindspores_is_told_its_name() -> None:
    x = torch.ones(2)
    for call in (
        lambda: x.to(mindspore.float16), lambda: torch.zeros(2, dtype=mindspore.float16), lambda: x.sum(dtype=mindspore.float16),
        lambda: torch.tensor([1.0], dtype=mindspore.float16), lambda: nn.Linear(2, 2, dtype=mindspore.float16), lambda: x.type(mindspore.float16),
        lambda: nn.Linear(2, 2).to(mindspore.float16), lambda: torch.arange(3, dtype=mindspore.float16),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"mindspore\.float16 was given: it is torch\.float16 here"):
            call()
    with pytest.raises(TypeError, match=r"one of the params is mindspore\.Parameter: "):
        torch.optim.SGD([mindspore.Parameter(mindspore.Tensor(X))], 0.1)


def test_operators_between_the_two_kinds() -> None:
    raw, ours = mindspore.Tensor(X), torch.tensor(X)
    np.testing.assert_array_equal((ours * raw).numpy(force=True), X * X)
    for call in (lambda: raw + ours, lambda: raw @ ours, lambda: mindspore.ops.add(raw, ours), lambda: mindspore.ops.relu(ours)):
        with pytest.raises(TypeError, match="torch.Tensor"):  # MindSpore's own message
            call()


def test_operators_keep_the_history_of_a_mindspore_tensor() -> None:
    leaf, ours = torch.ones(2, 3, requires_grad=True), torch.full((2, 3), 2.0)
    raw = mindspore.ops.exp(leaf.to_mindspore())
    (ours * raw).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(force=True), np.full((2, 3), 2 * np.e), rtol=1e-6)


def test_a_method_named_construct_beside_an_inherited_forward_is_the_programs_own() -> None:
    class Base(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1

    class Below(Base):
        def construct(self, number: int) -> int:
            return number * 2

    class Cell(torch.nn.Module):
        def construct(self, x: Any) -> Any:
            return x + 1

    class Other(Cell):
        def construct(self, x: Any) -> Any:
            return x + 2

    x = torch.ones(2)
    assert Below()(x).tolist() == [2, 2] and Below().construct(3) == 6
    assert Cell()(x).tolist() == [2, 2] and Other()(x).tolist() == [3, 3]


def test_transformations_of_mindspores() -> None:
    """Of a Module ``vjp`` is MindSpore's; those that read the source of a Cell name the way, and torch.func has them."""
    net, x, seed = nn.Linear(3, 2), torch.tensor(X[:, :3]), torch.ones(len(X), 2)
    raw = x.to_mindspore()
    output, slopes = mindspore.vjp(net, raw)
    np.testing.assert_allclose(slopes(seed.to_mindspore())[0].asnumpy(), torch.func.vjp(net, x)[1](seed)[0].numpy(force=True), rtol=1e-6)
    np.testing.assert_allclose(output.asnumpy(), net(x).numpy(force=True), rtol=1e-6)
    for call in (
        lambda: mindspore.jvp(net, raw, raw), lambda: mindspore.jacrev(net)(raw), lambda: mindspore.jacfwd(net)(raw), lambda: mindspore.vmap(net)(raw),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="graph compiler cannot read a torch module"):
            call()
    assert torch.func.jacrev(net)(x).shape == torch.func.jacfwd(net)(x).shape == (len(X), 2, len(X), 3)
    assert torch.equal(torch.vmap(net)(x), net(x)) and torch.func.jvp(net, (x,), (x,))[1].shape == (len(X), 2)

"""Native Cells as children of a Module, and Modules as children of a Cell."""
from __future__ import annotations

import copy
from typing import Any

import mindspore
import numpy as np
import pytest
import torch as real_torch
from mindspore import nn as msnn

import mstorch as torch

nn = torch.nn
X = np.random.RandomState(0).uniform(-1, 1, (4, 3)).astype(np.float32)


class Mixed(nn.Module):
    """A native Dense and a native BatchNorm between torch's layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 5)
        self.native = msnn.SequentialCell(msnn.Dense(5, 4), msnn.BatchNorm1d(4))
        self.last = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return self.last(self.native(self.first(x).relu()).tanh())


class Plain(nn.Module):
    """The same with torch's layers only."""

    def __init__(self, torch: Any = torch) -> None:
        super().__init__()
        nn = torch.nn
        self.first, self.native, self.last = nn.Linear(3, 5), nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4, momentum=0.1)), nn.Linear(4, 2)

    forward = Mixed.forward


NAMES = [
    "first.weight", "first.bias", "native.0.weight", "native.0.bias", "native.1.gamma", "native.1.beta", "last.weight", "last.bias",
]  # fmt: skip


def test_parameters_and_state_of_native_children() -> None:
    net = Mixed()
    assert sorted(name for name, _ in net.named_parameters()) == sorted(NAMES)
    assert sorted(net.state_dict()) == sorted([*NAMES, "native.1.moving_mean", "native.1.moving_variance"])
    assert [name for name, _ in net.named_buffers()] == ["native.1.moving_mean", "native.1.moving_variance"]
    assert all(isinstance(p, nn.Parameter) for p in net.parameters())
    assert dict(net.named_parameters())["native.0.weight"] is dict(net.named_parameters())["native.0.weight"]
    assert {p.name for p in net.trainable_params()} == set(NAMES)


def test_training_with_native_children_equals_training_without() -> None:
    torch.manual_seed(0)
    net, plain = Mixed(), Plain()
    names = {"native.1.weight": "native.1.gamma", "native.1.bias": "native.1.beta"}
    state = {name: net.state_dict()[names.get(name, name)].clone() for name, _ in plain.named_parameters()}
    plain.load_state_dict(state, strict=False)
    losses = []
    for model in (net, plain):
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        losses.append([])
        for _ in range(5):
            optimizer.zero_grad()
            loss = ((model(torch.tensor(X)) - 1) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4, atol=1e-5)
    assert losses[0][-1] < losses[0][0] * 0.9
    np.testing.assert_allclose(
        net.state_dict()["native.1.moving_mean"].numpy(force=True), plain.native[1].running_mean.numpy(force=True), rtol=1e-4, atol=1e-5
    )
    net.eval()
    plain.eval()
    assert not net.native[1].training
    np.testing.assert_allclose(net(torch.tensor(X)).numpy(force=True), plain(torch.tensor(X)).numpy(force=True), rtol=1e-4, atol=1e-4)


def test_state_dict_and_optimiser_state_round_trip(tmp_path: Any) -> None:
    first, second = Mixed(), Mixed()
    torch.save(first.state_dict(), tmp_path / "a.pt")
    second.load_state_dict(torch.load(tmp_path / "a.pt"))
    first.eval(), second.eval()
    x = torch.tensor(X)
    assert torch.equal(first(x), second(x))
    for name, value in real_torch.load(tmp_path / "a.pt", map_location=lambda storage, place: storage).items():
        np.testing.assert_array_equal(value.numpy(force=True), first.state_dict()[name].numpy(force=True))
    with pytest.raises(RuntimeError, match="native.0.weight"):
        second.load_state_dict({name: value for name, value in first.state_dict().items() if name != "native.0.weight"})


def test_native_children_are_frozen_cast_and_zeroed() -> None:
    net = Mixed()
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters()) and net.trainable_params() == []
    net.requires_grad_(True)
    net(torch.tensor(X)).sum().backward()
    assert net.native[0].weight is not None and all(p.grad is not None for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    half = Mixed().half()
    assert half.native[0].weight.dtype == mindspore.float16
    assert all(p.dtype is torch.float16 for p in half.parameters())


def test_native_parameters_shared_with_mindspore() -> None:
    net = Mixed()
    weight = dict(net.named_parameters())["native.0.weight"]
    with torch.no_grad():
        weight.fill_(2.0)
    assert (net.native[0].weight.asnumpy() == 2).all()
    net.native[0].weight.set_data(mindspore.Tensor(np.full((4, 5), 3.0, np.float32)))
    assert (dict(net.named_parameters())["native.0.weight"] == 3).all()


class Outer(msnn.Cell):
    """Modules below a native Cell."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.BatchNorm1d(5))
        self.head = msnn.Dense(5, 2)

    def construct(self, x: Any) -> Any:
        return self.head(self.body(x))


def test_a_module_as_the_child_of_a_cell() -> None:
    net = Outer()
    names = [parameter.name for parameter in net.trainable_params()]
    assert sorted(names) == ["body.0.bias", "body.0.weight", "body.2.bias", "body.2.weight", "head.bias", "head.weight"]
    assert {p.name for p in net.get_parameters()} > set(names)
    net.set_train()
    assert net.body.training and net.body[2].training
    out = net(mindspore.Tensor(X))
    assert type(out) is mindspore.Tensor and out.shape == (4, 2)
    optimizer = msnn.SGD(net.trainable_params(), 0.1)
    step = mindspore.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)
    losses = []
    for _ in range(5):
        loss, grads = step(mindspore.Tensor(X))
        optimizer(grads)
        losses.append(float(loss.asnumpy()))
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0] * 0.8
    assert int(net.body[2].num_batches_tracked) >= 5
    net.set_train(False)
    assert not net.body[2].training


def test_checkpoints_of_a_cell_around_a_module(tmp_path: Any) -> None:
    first, second = Outer(), Outer()
    for parameter in first.get_parameters():
        if parameter.dtype == mindspore.float32:
            parameter.set_data(mindspore.Tensor(np.random.RandomState(1).rand(*parameter.shape).astype(np.float32)))
    assert (first.body[2].running_mean != 0).all(), "torch's buffers are those that are set"
    mindspore.save_checkpoint(first, str(tmp_path / "a.ckpt"))
    assert mindspore.load_param_into_net(second, mindspore.load_checkpoint(str(tmp_path / "a.ckpt")))[0] == []
    first.set_train(False), second.set_train(False)
    assert torch.equal(first.body[2].running_var, second.body[2].running_var)
    np.testing.assert_array_equal(first(mindspore.Tensor(X)).asnumpy(), second(mindspore.Tensor(X)).asnumpy())


def test_cells_and_modules_nested_twice() -> None:
    class Top(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.outer = Outer()

        def forward(self, x: Any) -> Any:
            return self.outer(x).sum()

    net = Top()
    assert sorted(name for name, _ in net.named_parameters()) == [
        "outer.body.0.bias", "outer.body.0.weight", "outer.body.2.bias", "outer.body.2.weight", "outer.head.bias", "outer.head.weight",
    ]  # fmt: skip
    net(torch.tensor(X)).backward()
    assert all(p.grad is not None for p in net.parameters())


def test_a_native_child_that_comes_first_is_recorded() -> None:
    net = nn.Sequential(msnn.Dense(3, 2))
    net(torch.tensor(X)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    with torch.no_grad():
        assert not net(torch.tensor(X)).requires_grad


def test_a_module_with_native_children_is_copied() -> None:
    net = Mixed().eval()
    other = copy.deepcopy(net)
    x = torch.tensor(X)
    assert torch.equal(net(x), other(x))
    with torch.no_grad():
        dict(other.named_parameters())["native.0.weight"].zero_()
    assert not torch.equal(net(x), other(x))


def test_mindspores_words_for_a_module() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten())
    assert isinstance(net, msnn.Cell)
    assert [name for name, _ in net.cells_and_names()] == ["", "0", "1", "2"]
    assert list(net.parameters_dict()) == [p.name for p in net.get_parameters()]
    assert [p.name for p in net.trainable_params()] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert {p.name for p in net.untrainable_params()} == {"1.running_mean", "1.running_var", "1.num_batches_tracked"}
    net.set_train(False)
    assert not net[1].training
    raw = net(mindspore.Tensor(np.ones((1, 1, 4, 4), np.float32)))
    assert type(raw) is mindspore.Tensor and raw.shape == (1, 8)

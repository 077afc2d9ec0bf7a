"""mindspore.Parameters of a Module, seen from MindSpore: trained, frozen and named as in MindSpore alone."""
from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import mindspore
import numpy as np
import pytest
from mindspore import nn as msnn

import mstorch as torch

nn = torch.nn
X = np.random.RandomState(0).uniform(-1, 1, (4, 3)).astype(np.float32)
SCALE = np.array([0.5, -1.0, 2.0], np.float32)


def assigned(net: Any, parameter: Any) -> None:
    net.scale = parameter


def inserted(net: Any, parameter: Any) -> None:
    net.insert_param_to_cell("scale", parameter)


class Scaled(nn.Module):
    """A Module with a mindspore.Parameter."""

    def __init__(self, put: Callable[[Any, Any], None]) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        put(self, mindspore.Parameter(mindspore.Tensor(SCALE), name="mine"))

    def forward(self, x: Any) -> Any:
        return self.linear(x * self.scale)


class ScaledCell(msnn.Cell):
    """The same in MindSpore alone."""

    def __init__(self, net: Scaled) -> None:
        super().__init__()
        self.linear = msnn.Dense(3, 2)
        self.linear.weight.set_data(mindspore.Tensor(net.linear.weight.numpy(force=True)))
        self.linear.bias.set_data(mindspore.Tensor(net.linear.bias.numpy(force=True)))
        self.scale = mindspore.Parameter(mindspore.Tensor(SCALE), name="mine")

    def construct(self, x: Any) -> Any:
        return self.linear(x * self.scale)


def trained_by_mindspore(net: Any, steps: int = 3) -> dict[str, np.ndarray]:
    optimizer = msnn.SGD(net.trainable_params(), 0.1)
    step = mindspore.value_and_grad(lambda x: (net(x) ** 2).sum(), None, optimizer.parameters)
    for _ in range(steps):
        optimizer(step(mindspore.Tensor(X))[1])
    return {name: parameter.asnumpy() for name, parameter in net.parameters_and_names()}


def trained_by_torch(net: Any, steps: int = 3) -> dict[str, np.ndarray]:
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        (net(torch.tensor(X)) ** 2).sum().backward()
        optimizer.step()
    return {name: parameter.numpy(force=True) for name, parameter in net.named_parameters()}


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
    assert set(first) == set(second)
    for name, values in first.items():
        np.testing.assert_allclose(values, second[name], rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("put", [assigned, inserted])
@pytest.mark.parametrize("train", [trained_by_torch, trained_by_mindspore])
def test_a_parameter_of_mindspores_is_the_modules(put: Any, train: Any) -> None:
    net = Scaled(put)
    assert isinstance(net.scale, nn.Parameter)
    assert sorted(net.state_dict()) == ["linear.bias", "linear.weight", "scale"]
    assert sorted(p.name for p in net.trainable_params()) == ["linear.bias", "linear.weight", "scale"]
    alone = trained_by_mindspore(ScaledCell(net))
    same(train(net), alone)
    assert not np.allclose(alone["scale"], SCALE)


def test_the_parameter_and_mindspores_are_one() -> None:
    net, raw = nn.Module(), mindspore.Parameter(mindspore.Tensor(SCALE), requires_grad=False)
    net.scale = raw
    assert not net.scale.requires_grad and net.trainable_params() == []
    raw.set_data(mindspore.Tensor(SCALE * 2))
    np.testing.assert_array_equal(net.scale.numpy(force=True), SCALE * 2)
    with torch.no_grad():
        net.scale.fill_(3)
    np.testing.assert_array_equal(raw.asnumpy(), [3, 3, 3])
    again = nn.Module()
    again.scale = raw
    assert again.scale is net.scale


def test_what_cannot_be_the_modules_is_refused() -> None:
    net = nn.Linear(3, 2)
    fresh = [mindspore.Parameter(mindspore.Tensor(SCALE), name=name) for name in "ab"]
    for value in (mindspore.ParameterTuple(fresh), fresh):
        with pytest.raises(TypeError, match="ParameterList"):
            net.scales = value
    net.known = mindspore.ParameterTuple(net.trainable_params())  # it has its own memory: nothing is lost
    with pytest.raises(KeyError, match="already exists"):
        net.insert_param_to_cell("forward", fresh[0])
    with pytest.raises(KeyError, match='contain "\\."'):
        net.insert_param_to_cell("a.b", fresh[0])
    with pytest.raises(TypeError, match="int"):
        net.insert_param_to_cell("a", 3)


def test_a_child_that_is_inserted() -> None:
    net = nn.Module()
    net.insert_child_to_cell("dense", msnn.Dense(3, 2))
    net.insert_child_to_cell("linear", nn.Linear(2, 2))
    assert sorted(net.state_dict()) == ["dense.bias", "dense.weight", "linear.bias", "linear.weight"]
    net.linear(net.dense(torch.tensor(X))).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


class Half(nn.Module):
    """A Module with a layer of torch and one of MindSpore."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), msnn.Dense(4, 2)

    def forward(self, x: Any) -> Any:
        return self.second(torch.tanh(self.first(x)))


def by_trainable_params(net: Any) -> Any:
    return net.trainable_params()


def by_get_parameters(net: Any) -> Any:
    return net.get_parameters()


def by_parameters_dict(net: Any) -> Any:
    return net.parameters_dict().values()


def by_parameters_and_names(net: Any) -> Any:
    return [parameter for _, parameter in net.parameters_and_names()]


def by_cells(net: Any) -> Any:
    return [p for _, cell in net.cells_and_names() for _, p in cell.parameters_and_names(expand=False)]


def by_child(net: Any) -> Any:
    return [*net.first.get_parameters(), *net.second.get_parameters()]


WAYS = [by_trainable_params, by_get_parameters, by_parameters_dict, by_parameters_and_names, by_cells, by_child]


@pytest.mark.parametrize("way", WAYS)
def test_freezing_as_the_guides_do(way: Any) -> None:
    net = Half()
    for parameter in way(net):
        parameter.requires_grad = False
    assert not any(p.requires_grad for p in net.parameters()) and net.trainable_params() == []
    assert not net(torch.tensor(X)).requires_grad
    for parameter in net.get_parameters():
        parameter.requires_grad = True
    assert all(p.requires_grad for p in net.parameters()) and len(net.trainable_params()) == 4


def in_torchs_words(net: Any) -> None:
    for name, parameter in net.named_parameters():
        parameter.requires_grad_("weight" not in name)


def in_mindspores_words(net: Any) -> None:
    for parameter in net.get_parameters():
        parameter.requires_grad = "weight" not in parameter.name


@pytest.mark.parametrize("freeze", [in_torchs_words, in_mindspores_words])
@pytest.mark.parametrize("train", [trained_by_torch, trained_by_mindspore])
def test_frozen_parameters_are_not_trained(freeze: Any, train: Any) -> None:
    net = Half()
    before = {name: p.numpy(force=True).copy() for name, p in net.named_parameters()}
    freeze(net)
    after = train(net)
    assert {name for name in after if not np.array_equal(before[name], after[name])} == {"first.bias", "second.bias"}
    assert [p.grad is None for name, p in net.named_parameters() if "weight" in name] == [True, True]


def test_a_view_of_a_parameter_says_nothing_of_it() -> None:
    net = Half()
    net.trainable_params()
    for parameter in net.parameters():
        parameter.detach().requires_grad_()
    in_torchs_words(net)
    net.first.weight.detach().requires_grad_()
    assert sorted(p.name for p in net.trainable_params()) == ["first.bias", "second.bias"]
    net.first.bias.data.requires_grad_(False)
    assert len(net.trainable_params()) == 2


def test_whole_numbers_require_no_gradient() -> None:
    net = nn.BatchNorm1d(3)
    with pytest.raises(RuntimeError, match="floating point"):
        net.parameters_dict()["num_batches_tracked"].requires_grad = True
    assert not net.num_batches_tracked.requires_grad and len(net.trainable_params()) == 2


def test_names_that_mindspore_gives_stay() -> None:
    net = Half()
    net.update_parameters_name("encoder_")
    torchs = [name for name, _ in net.named_parameters()]
    names = [f"encoder_{name}" for name in torchs]
    assert [p.name for p in net.trainable_params()] == names == [p.name for p in net.get_parameters()]
    assert list(net.parameters_dict()) == names
    net.get_parameters().__next__().name = "other"
    assert [p.name for p in net.get_parameters()] == ["other", *names[1:]]
    assert [name for name, _ in net.named_parameters()] == torchs and list(net.state_dict()) == torchs


def test_words_of_mindspores_parameters() -> None:
    net = Half()
    for number, parameter in enumerate(net.trainable_params()):
        parameter.layerwise_parallel, parameter.parallel_optimizer = True, False
        parameter.set_data(mindspore.Tensor(np.full(parameter.shape, number, np.float32)))
    for number, (parameter, ours) in enumerate(zip(net.trainable_params(), net.parameters())):
        assert parameter.layerwise_parallel and not parameter.parallel_optimizer
        assert (ours == number).all() and parameter.init_data() is parameter
        parameter.assign_value(mindspore.Tensor(np.full(parameter.shape, -number, np.float32)))
        assert (ours == -number).all()
        parameter.set_data(mindspore.common.initializer.initializer("ones", parameter.shape, parameter.dtype))
        assert (ours == 1).all()
    copies = mindspore.ParameterTuple(net.trainable_params()).clone("moment", init="zeros")
    assert [p.name for p in copies] == [f"moment.{name}" for name, _ in net.named_parameters()]
    assert all((p.asnumpy() == 0).all() for p in copies) and all((p == 1).all() for p in net.parameters())
    copies[0].requires_grad = False
    twin = net.trainable_params()[0].clone()
    twin.requires_grad = False
    assert len(net.trainable_params()) == 4


def _loaded(net: Any) -> None:
    """Save a network's checkpoint and load it into the same network."""
    with tempfile.TemporaryDirectory() as folder:
        mindspore.save_checkpoint(net, f"{folder}/net.ckpt")
        mindspore.load_param_into_net(net, mindspore.load_checkpoint(f"{folder}/net.ckpt"))


@torch.no_grad()
def _written(net: Any) -> None:
    net.weight.add_(1)


def _replaced(net: Any) -> None:
    net.weight.data = net.weight.detach() * 2


CHANGES: dict[str, Callable[[Any], Any]] = {
    "set_data": lambda net: net.trainable_params()[0].set_data(mindspore.Tensor(np.full((2, 3), 7, np.float32))),
    "assign_value": lambda net: net.trainable_params()[0].assign_value(mindspore.Tensor(np.full((2, 3), 7, np.float32))),
    "a checkpoint": _loaded, "in place": _written, ".data": _replaced,
    "load_state_dict": lambda net: net.load_state_dict({"weight": torch.full((2, 3), 3.0), "bias": torch.zeros(2)}),
    "a step of torch's": lambda net: torch_step(net),
}  # fmt: skip


def torch_step(net: Any) -> None:
    optimizer = torch.optim.SGD(net.parameters(), 0.5)
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("kind", [msnn.SGD, msnn.Adam])
def test_mindspores_optimizers_go_on_after_a_change(kind: Any, change: Callable[[Any], Any]) -> None:
    """After the change, MindSpore's optimizer still updates the Module's parameters."""
    net = nn.Linear(3, 2)
    optimizer = kind(net.trainable_params(), 0.25)
    gradients = tuple(mindspore.Tensor(np.ones(parameter.shape, np.float32)) for parameter in net.trainable_params())
    optimizer(gradients)
    change(net)
    for _ in range(2):
        before = net.weight.numpy(force=True).copy()
        optimizer(gradients)
        after = net.weight.numpy(force=True)
        assert (after < before - 0.1).all()
        np.testing.assert_array_equal(after, net.trainable_params()[0].asnumpy())

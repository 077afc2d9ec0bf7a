"""Initial values of MindSpore's guides, and the names of layers' tensors, on Modules, compared with MindSpore alone."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore
import numpy as np
import pytest
from mindspore import nn as msnn
from mindspore.common import initializer as kinds
from mindspore.common.initializer import HeNormal, initializer

import mstorch as torch

nn = torch.nn
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)

WAYS: dict[str, Callable[[Any, Any], None]] = {
    "the parameter of MindSpore's side": lambda net, init: _each(net.trainable_params(), init),
    "by name": lambda net, init: _each(net.parameters_dict().values(), init),
    "the layer's own": lambda net, init: net.weight.set_data(initializer(init, list(net.weight.shape), mindspore.float32)),
    "assigned": lambda net, init: setattr(net, "weight", initializer(init, list(net.weight.shape), mindspore.float32).init_data()),
    "then drawn": lambda net, init: [_each(net.trainable_params(), init), [p.init_data() for p in net.get_parameters()]] and None,
}


def _each(parameters: Any, init: Any) -> None:
    for parameter in parameters:
        parameter.set_data(initializer(init, parameter.shape, parameter.dtype))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_initial_values_are_mindspores(way: Any) -> None:
    ours, alone = nn.Linear(3, 2, bias=False), msnn.Dense(3, 2, has_bias=False)
    weight = ours.weight
    for net in (ours, alone):
        mindspore.set_seed(3)
        way(net, HeNormal())
    np.testing.assert_array_equal(ours.weight.numpy(force=True), alone.weight.asnumpy())
    assert ours.weight is weight and weight.requires_grad and list(ours.state_dict()) == ["weight"]
    ours(torch.ones(1, 3)).sum().backward()
    np.testing.assert_array_equal(weight.grad.numpy(force=True), np.ones((2, 3)))


@pytest.mark.parametrize("init", [
    kinds.HeNormal(), kinds.HeUniform(), kinds.XavierUniform(), kinds.XavierNormal(), kinds.Normal(0.02), kinds.Uniform(0.1), kinds.TruncatedNormal(),
    kinds.Constant(3), kinds.One(), kinds.Zero(), kinds.Orthogonal(), kinds.VarianceScaling(), kinds.Identity(), "normal", "xavier_uniform", "ones", 2.5,
], ids=lambda init: init if isinstance(init, str) else type(init).__name__)  # fmt: skip
def test_from_initializer(init: Any) -> None:
    weight = nn.Linear(5, 4).weight
    mindspore.set_seed(5)
    assert nn.init.from_initializer(weight, init) is weight
    mindspore.set_seed(5)
    np.testing.assert_array_equal(weight.numpy(force=True), initializer(init, [4, 5], mindspore.float32).init_data().asnumpy())
    mindspore.set_seed(5)
    other = nn.init.from_initializer(torch.empty(4, 5), initializer(init, [4, 5], mindspore.float32))
    np.testing.assert_array_equal(other.numpy(force=True), weight.numpy(force=True))


def test_values_that_do_not_fit_are_refused() -> None:
    weight = nn.Linear(3, 2).weight
    before = weight.detach().clone()
    for call in (
        lambda: nn.init.from_initializer(weight, initializer("ones", [3, 2], mindspore.float32)), lambda: weight.set_data(torch.ones(3)),
        lambda: weight.set_data(mindspore.Tensor(ROWS.T)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="of shape \\(2, 3\\)"):
            call()
    with pytest.raises(TypeError, match="mindspore.float32"):  # MindSpore's function: a dtype is MindSpore's, or omitted
        initializer("ones", [2, 3], weight.dtype)
    assert (weight == before).all()
    assert weight.set_data(1.5) is weight and (weight == 1.5).all() and weight.init_data() is weight
    weight.set_data(torch.ones(2, 3, dtype=torch.float64))
    assert weight.dtype == torch.float32 and weight.is_leaf


def test_shape_and_dtype_that_mindspores_side_changes() -> None:
    net = nn.Linear(3, 2)
    raw = net.trainable_params()[0]
    raw.set_data(mindspore.Tensor(ROWS.T))
    np.testing.assert_array_equal(net.weight.numpy(force=True), ROWS.T)
    assert net.trainable_params()[0] is raw
    raw.assign_value(mindspore.Tensor(ROWS * 3))
    np.testing.assert_array_equal(net.weight.numpy(force=True), ROWS * 3)
    raw.set_data(mindspore.Tensor(ROWS.T))
    raw.set_dtype(mindspore.float16)
    assert net.weight.dtype == torch.float16 and net.weight.requires_grad and isinstance(net.weight, nn.Parameter)
    raw.set_data(mindspore.Tensor(ROWS.T * 2).astype(mindspore.float16))
    np.testing.assert_array_equal(net.weight.numpy(force=True), ROWS.T * 2)
    with torch.no_grad():
        net.weight.fill_(4)
    assert (raw.asnumpy() == 4).all()


LAYERS = [
    (nn.BatchNorm1d(3), msnn.BatchNorm1d(3), "gamma beta moving_mean moving_variance"),
    (nn.BatchNorm2d(3), msnn.BatchNorm2d(3), "gamma beta moving_mean moving_variance"),
    (nn.LayerNorm(3), msnn.LayerNorm((3,)), "gamma beta"),
    (nn.GroupNorm(1, 3), msnn.GroupNorm(1, 3), "gamma beta"),
    (nn.Embedding(4, 3), msnn.Embedding(4, 3), "embedding_table"),
    (nn.PReLU(3), msnn.PReLU(3), "w"),
    (nn.InstanceNorm2d(3, affine=True), None, "gamma beta"),
    (nn.SyncBatchNorm(3), None, "gamma beta moving_mean moving_variance"),
]


@pytest.mark.parametrize("layer, alone, names", LAYERS, ids=[type(layer[0]).__name__ for layer in LAYERS])
def test_names_of_mindspores_layers(layer: Any, alone: Any, names: str) -> None:
    state, parameters = list(layer.state_dict()), [name for name, _ in layer.named_parameters()]
    for name in names.split():
        assert alone is None or tuple(getattr(alone, name).shape) == tuple(getattr(layer, name).shape)
        tensor = getattr(layer, name)
        assert any(tensor is item for item in [*layer.parameters(), *layer.buffers()])
        values = np.random.RandomState(0).rand(*tensor.shape).astype(np.float32)
        setattr(layer, name, mindspore.Tensor(values))
        assert getattr(layer, name) is tensor
        np.testing.assert_array_equal(tensor.numpy(force=True), values)
        setattr(layer, name, mindspore.Parameter(mindspore.Tensor(values * 2)) if isinstance(tensor, nn.Parameter) else torch.tensor(values * 2))
        np.testing.assert_array_equal(getattr(layer, name).numpy(force=True), values * 2)
        getattr(layer, name).requires_grad_(False)
        assert name not in dir(layer)
    assert list(layer.state_dict()) == state and [name for name, _ in layer.named_parameters()] == parameters
    with pytest.raises(AttributeError, match="no attribute 'moving'"):
        layer.moving  # noqa: B018 - the access is the test


class Own(nn.LayerNorm):
    """A layer with a torch program's own ``gamma``."""

    def __init__(self) -> None:
        super().__init__(3)
        assert self.gamma is self.weight
        self.gamma = nn.Parameter(torch.full((3,), 2.0))
        self.register_buffer("beta", torch.ones(3))

    def forward(self, x: Any) -> Any:
        return super().forward(x) * self.gamma + self.beta


def test_a_subclass_may_have_the_names_for_itself() -> None:
    net = Own()
    assert sorted(net.state_dict()) == ["beta", "bias", "gamma", "weight"]
    net.gamma = mindspore.Tensor(np.full(3, 5, np.float32))
    assert (net.gamma == 5).all() and (net.weight == 1).all()
    del net.gamma
    assert net.gamma is net.weight
    assert not hasattr(nn.Linear(2, 2), "gamma")
    assert nn.BatchNorm1d(3, affine=False).gamma is None


def test_the_guides_loop_for_both() -> None:
    """isinstance(cell, mindspore.nn.Dense) is false for mstorch's layers: the loop names both classes."""

    def initialise(net: Any) -> None:
        mindspore.set_seed(1)
        for _, cell in net.cells_and_names():
            if isinstance(cell, (msnn.Dense, nn.Linear)):
                cell.weight.set_data(initializer(HeNormal(), list(cell.weight.shape), mindspore.float32))
            elif isinstance(cell, (msnn.BatchNorm1d, nn.BatchNorm1d)):
                cell.gamma.set_data(initializer("ones", list(cell.gamma.shape), mindspore.float32))
                cell.beta.set_data(initializer("zeros", list(cell.beta.shape), mindspore.float32))

    ours = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    alone = msnn.SequentialCell(msnn.Dense(3, 4), msnn.BatchNorm1d(4), msnn.Dense(4, 2))
    for net in (ours, alone):
        initialise(net)
    expected = {name: parameter.asnumpy() for name, parameter in alone.parameters_and_names()}
    for name, parameter in ours.named_parameters():
        known = {"1.weight": "1.gamma", "1.bias": "1.beta"}.get(name, name)
        if name not in ("0.bias", "2.bias"):
            np.testing.assert_array_equal(parameter.numpy(force=True), expected[known])

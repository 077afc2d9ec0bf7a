"""Pairs of code from MindSpore's migration guides: networks, names, precision, initial weights, freezing, files.

Each pair is written here in both forms; they get the same weights and must give the same outputs.
"""
from __future__ import annotations

import math
import pathlib
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn as msnn
from mindspore import ops
from mindspore.common.initializer import HeNormal, HeUniform, initializer

import mstorch as torch
from mstorch import interop

nn = torch.nn
RANDOM = np.random.RandomState(1)


def same_weights(module: Any, cell: Any, folder: pathlib.Path) -> None:
    """Give the native network the weights of the ported one."""
    interop.save_mindspore_checkpoint(module, folder / "weights.ckpt")
    assert ms.load_param_into_net(cell, ms.load_checkpoint(str(folder / "weights.ckpt")))[0] == []


def close(native: Any, ours: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    np.testing.assert_allclose(ours.detach().numpy(), native.asnumpy(), rtol=rtol, atol=atol)


class WrapCell(msnn.Cell):
    def __init__(self, forward_net: Any) -> None:
        super().__init__(auto_prefix=True)
        self.net = forward_net
        self.relu = ops.ReLU()

    def construct(self, x: Any) -> Any:
        return self.relu(self.net(x))


class WrapModule(nn.Module):
    def __init__(self, forward_net: Any) -> None:
        super().__init__()
        self.net = forward_net
        self.relu = nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.relu(self.net(x))


def test_a_cell_and_its_module() -> None:
    cell = WrapCell(msnn.Conv2d(120, 240, 4, has_bias=False, pad_mode="pad"))
    module = WrapModule(nn.Conv2d(120, 240, kernel_size=4, bias=False))
    assert [p.shape for p in module.parameters()] == [torch.Size([240, 120, 4, 4])]
    assert [p.name for p in cell.trainable_params()] == [p.name for p in module.trainable_params()] == ["net.weight"]
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.constant_(layer.weight, 0.1)
    for _, layer in cell.cells_and_names():
        if isinstance(layer, msnn.Conv2d):
            layer.weight.set_data(initializer(0.1, layer.weight.shape, layer.weight.dtype))
    x = RANDOM.uniform(-1, 1, (2, 120, 12, 12)).astype(np.float32)
    close(cell(ms.Tensor(x)), module(torch.from_numpy(x)), atol=1e-4)


def test_the_default_padding_differs() -> None:
    x = np.ones((2, 3, 12, 12), np.float32)
    assert WrapCell(msnn.Conv2d(3, 4, 4))(ms.Tensor(x)).shape == (2, 4, 12, 12)
    assert WrapModule(nn.Conv2d(3, 4, 4))(torch.from_numpy(x)).shape == (2, 4, 9, 9)


class NativeNetwork(msnn.Cell):
    def __init__(self) -> None:
        super().__init__()

        def layer(inputs: int, outputs: int) -> Any:
            return msnn.SequentialCell(
                [msnn.Conv2d(inputs, outputs, 3, pad_mode="pad", padding=1, has_bias=True), msnn.BatchNorm2d(outputs), msnn.ReLU(),
                 msnn.MaxPool2d(2, 2)]
            )  # fmt: skip

        self.layer1, self.layer2 = layer(3, 12), layer(12, 4)
        self.pool = msnn.AdaptiveMaxPool2d((5, 5))
        self.fc = msnn.Dense(100, 10)

    def construct(self, x: Any) -> Any:
        return self.fc(self.pool(self.layer2(self.layer1(x))).view((-1, 100)))


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()

        def layer(inputs: int, outputs: int) -> Any:
            return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2, 2))

        self.layer1, self.layer2 = layer(3, 12), layer(12, 4)
        self.pool = nn.AdaptiveMaxPool2d((5, 5))
        self.fc = nn.Linear(100, 10)

    def forward(self, x: Any) -> Any:
        x = self.pool(self.layer2(self.layer1(x)))
        return self.fc(x.view(x.size(0), -1))


IMAGES = RANDOM.uniform(-1, 1, (2, 3, 20, 20)).astype(np.float32)


@pytest.mark.parametrize("training", [True, False])
def test_a_network_with_normalisation(training: bool, tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    module, cell = Network(), NativeNetwork()
    same_weights(module, cell, tmp_path)
    module.train(training)
    cell.set_train(training)
    close(cell(ms.Tensor(IMAGES)), module(torch.from_numpy(IMAGES)), rtol=1e-4, atol=1e-5)
    close(cell.layer1[1].moving_mean, module.layer1[1].running_mean, atol=1e-5)


def test_half_precision_with_normalisation_in_full(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    module, cell, full = Network(), NativeNetwork(), Network()
    same_weights(module, cell, tmp_path)
    full.load_state_dict(module.state_dict())
    for net, kinds in ((cell, (msnn.BatchNorm2d,)), (module, (nn.BatchNorm2d,))):
        net.to_float(ms.float16)
        for _, layer in net.cells_and_names():
            if isinstance(layer, kinds):
                layer.to_float(ms.float32)
        net.set_train(False)
    full.eval()
    x = torch.from_numpy(IMAGES)
    assert module(x).dtype is torch.float16
    close(cell(ms.Tensor(IMAGES)).astype(ms.float32), module(x).float(), rtol=2e-2, atol=5e-3)
    close(full(x).to_mindspore(), module(x).float(), rtol=2e-2, atol=5e-3)


def test_a_module_is_made_full_precision_again() -> None:
    net = Network().half().to(torch.float32)
    loss = nn.CrossEntropyLoss(reduction="mean").to(torch.float32)
    assert all(p.dtype is torch.float32 for p in net.parameters())
    assert loss(net(torch.from_numpy(IMAGES)), torch.tensor([1, 2])).dtype is torch.float32


def test_initial_weights_of_the_users_own() -> None:
    """HeNormal and HeUniform are torch's kaiming_normal_ and kaiming_uniform_."""
    module, cell = Network(), NativeNetwork()
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(layer, nn.BatchNorm2d):
            nn.init.ones_(layer.weight)
            nn.init.zeros_(layer.bias)
        elif isinstance(layer, nn.Linear):
            nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5))
            nn.init.zeros_(layer.bias)
    normal, uniform = HeNormal(negative_slope=0, mode="fan_out", nonlinearity="relu"), HeUniform(negative_slope=math.sqrt(5))
    for _, layer in cell.cells_and_names():
        if isinstance(layer, msnn.Conv2d):
            layer.weight.set_data(initializer(normal, layer.weight.shape, layer.weight.dtype))
        elif isinstance(layer, msnn.BatchNorm2d):
            layer.gamma.set_data(initializer("ones", layer.gamma.shape, layer.gamma.dtype))
        elif isinstance(layer, msnn.Dense):
            layer.weight.set_data(initializer(uniform, layer.weight.shape, layer.weight.dtype))
            layer.bias.set_data(initializer("zeros", layer.bias.shape, layer.bias.dtype))
    ours, native = module.layer1[0].weight.detach().numpy(), cell.layer1[0].weight.asnumpy()
    deviation = math.sqrt(2 / (12 * 9))
    assert abs(ours.std() / deviation - 1) < 0.2 and abs(native.std() / deviation - 1) < 0.2
    for values in (module.fc.weight.detach().numpy(), cell.fc.weight.asnumpy()):
        assert 0.095 < np.abs(values).max() <= 0.1
    assert not module.fc.bias.any() and not cell.fc.bias.asnumpy().any() and (module.layer2[1].weight == 1).all()


def test_default_initial_weights_have_the_same_bounds() -> None:
    for ours, native, bound in (
        (nn.Conv2d(4, 30, 3), msnn.Conv2d(4, 30, 3, has_bias=True), 1 / 6), (nn.Linear(64, 99), msnn.Dense(64, 99), 1 / 8),
    ):  # fmt: skip
        for values in (ours.weight.detach().numpy(), native.weight.asnumpy()):
            assert 0.97 * bound < np.abs(values).max() <= bound and abs(values.std() * math.sqrt(3) / bound - 1) < 0.1


def test_uniform_in_place() -> None:
    x = torch.empty(2, 2)
    assert nn.init.uniform_(x) is x
    assert ((x >= 0) & (x < 1)).all() and len(x.unique()) == 4


def test_frozen_parameters(tmp_path: pathlib.Path) -> None:
    module, cell = nn.Linear(2, 1), msnn.Dense(2, 1, has_bias=True)
    same_weights(module, cell, tmp_path)
    assert [name for name, _ in module.named_parameters()] == ["weight", "bias"]
    for name, parameter in module.named_parameters():
        if "bias" in name:
            parameter.requires_grad = False
    for parameter in cell.trainable_params():
        if "bias" in parameter.name:
            parameter.requires_grad = False
    assert [name for name, p in module.named_parameters() if p.requires_grad] == ["weight"]
    assert [p.name for p in cell.trainable_params()] == [p.name for p in module.trainable_params()] == ["weight"]
    before = module.bias.clone()
    x = np.array([[1.0, 2.0]], np.float32)
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=0.1)
    module(torch.from_numpy(x)).sum().backward()
    optimizer.step()
    native = msnn.SGD(cell.trainable_params(), 0.1)
    native(mindspore_grads(cell, x, native))
    close(cell.weight, module.weight)
    assert torch.equal(module.bias, before) and module.bias.grad is None


def mindspore_grads(cell: Any, x: np.ndarray, optimizer: Any) -> Any:
    return ms.grad(lambda raw: cell(raw).sum(), None, optimizer.parameters)(ms.Tensor(x))


def test_a_stopped_gradient_and_detach(tmp_path: pathlib.Path) -> None:
    first, second = nn.Linear(3, 4), nn.Linear(4, 1)
    native_first, native_second = msnn.Dense(3, 4), msnn.Dense(4, 1)
    for module, cell in ((first, native_first), (second, native_second)):
        same_weights(module, cell, tmp_path)
    x = RANDOM.rand(2, 3).astype(np.float32)
    second(first(torch.from_numpy(x)).detach()).sum().backward()
    weights = [*native_first.trainable_params(), *native_second.trainable_params()]
    grads = ms.grad(lambda raw: native_second(ops.stop_gradient(native_first(raw))).sum(), None, weights)(ms.Tensor(x))
    assert first.weight.grad is None and not grads[0].asnumpy().any()
    close(grads[2], second.weight.grad)
    # ops.stop_gradient on the raw tensor has the same effect in torch's graph
    for parameter in (*first.parameters(), *second.parameters()):
        parameter.grad = None
    second(torch.from_mindspore(ops.stop_gradient(first(torch.from_numpy(x)).to_mindspore()))).sum().backward()
    assert first.weight.grad is None
    close(grads[2], second.weight.grad)


def test_saved_and_loaded_in_torchs_way(tmp_path: pathlib.Path) -> None:
    first, second = nn.Linear(2, 1), nn.Linear(2, 1)
    first.weight.data.fill_(1.0)
    first.bias.data.zero_()
    torch.save(first.state_dict(), tmp_path / "linear.pth")
    second.load_state_dict(torch.load(tmp_path / "linear.pth"))
    assert str(second.weight) == "Parameter containing:\ntensor([[1., 1.]], requires_grad=True)"
    assert str(second.bias) == "Parameter containing:\ntensor([0.], requires_grad=True)"


def test_saved_and_loaded_in_mindspores_way(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "dense.ckpt")
    for net in (nn.Linear(2, 1), msnn.Dense(2, 1, has_bias=True)):
        ms.save_checkpoint(net, path)
        loaded = ms.load_checkpoint(path)
        assert list(loaded) == ["weight", "bias"]
        ones = {name: ms.Parameter(ops.ones_like(value.data), name=name) for name, value in loaded.items()}
        ms.load_param_into_net(net, ones)
        for parameter in net.get_parameters():
            assert (parameter.asnumpy() == 1).all()
    linear = nn.Linear(2, 1)
    ms.load_param_into_net(linear, ones)
    assert linear(torch.tensor([[2.0, 3.0]])).item() == 6.0


class NativeParts(msnn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = msnn.Conv2d(1, 32, 3, 1), msnn.Conv2d(32, 64, 3, 1)
        self.insert_child_to_cell("conv3", msnn.Conv2d(64, 128, 3, 1))
        self.sequential_block = msnn.SequentialCell(msnn.ReLU(), msnn.Conv2d(128, 256, 3, 1), msnn.ReLU())


class Parts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3, 1), nn.Conv2d(32, 64, 3, 1)
        self.add_module("conv3", nn.Conv2d(64, 128, 3, 1))
        self.sequential_block = nn.Sequential(nn.ReLU(), nn.Conv2d(128, 256, 3, 1), nn.ReLU())


def test_submodules() -> None:
    module, cell = Parts(), NativeParts()
    names = [name for name, _ in module.named_modules()]
    assert names == [name for name, _ in cell.cells_and_names()] == [name for name, _ in module.cells_and_names()]
    assert [type(m).__name__ for m in module.modules()][1:5] == ["Conv2d", "Conv2d", "Conv2d", "Sequential"]
    assert [name for name, _ in module.named_children()] == list(cell.name_cells())
    module.insert_child_to_cell("conv4", nn.ReLU())
    assert "conv4" in dict(module.named_modules())


def test_training_and_evaluation_mode() -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))
    cell = msnn.SequentialCell(msnn.Dense(3, 3), msnn.Dropout(p=0.5), msnn.BatchNorm1d(3))
    x = np.ones((4, 3), np.float32)
    for net, given in ((module, torch.from_numpy(x)), (cell, ms.Tensor(x))):
        net.set_train()
        assert net.training and net[1].training
        net(given)
        net.set_train(False)
        assert not net.training and not net[2].training
    assert torch.equal(module(torch.from_numpy(x)), module(torch.from_numpy(x)))
    assert module[2].running_mean.abs().sum() > 0 and cell[2].moving_mean.asnumpy().any()


def test_moved_to_the_cpu() -> None:
    net = nn.Linear(3, 4).cpu()
    assert net.weight.shape == (4, 3) and net.weight.device.type == "cpu"

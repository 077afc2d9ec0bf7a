"""MindSpore's trainers on a Module, alone and alternating with torch's training loop."""
from __future__ import annotations

import os
from typing import Any

import mindspore
import numpy as np
import pytest
from mindspore import nn as msnn
from mindspore import ops
from mindspore.dataset import GeneratorDataset
from mindspore.train import Callback, CheckpointConfig, LossMonitor, Model, ModelCheckpoint, TimeMonitor

import mstorch as torch
from mstorch import interop
from tests.compile.networks import digits
from tests.interop.networks import cnn

pytestmark = pytest.mark.slow

nn = torch.nn
IMAGES, LABELS = (array[np.random.RandomState(0).permutation(1797)] for array in digits())


def batches(count: int, size: int = 32) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(IMAGES[i * size : (i + 1) * size], LABELS[i * size : (i + 1) * size]) for i in range(count)]


def torch_losses(net: Any, optimizer: Any, count: int, skip: int = 0) -> list[float]:
    """Return the losses of torch's training loop."""
    found = []
    for images, labels in batches(count + skip)[skip:]:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(torch.tensor(images)), torch.tensor(labels))
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def native_losses(net: Any, optimizer: Any, count: int, skip: int = 0) -> list[float]:
    """Return the losses of MindSpore's functional training loop."""
    step = mindspore.value_and_grad(
        lambda images, labels: ops.cross_entropy(net(images), labels), None, optimizer.parameters
    )  # fmt: skip
    found = []
    for images, labels in batches(count + skip)[skip:]:
        loss, grads = step(mindspore.Tensor(images), mindspore.Tensor(labels.astype(np.int32)))
        optimizer(grads)
        found.append(float(loss.asnumpy()))
    return found


OPTIMISERS: dict[str, tuple[Any, Any]] = {
    "SGD": (lambda p: msnn.SGD(p, 0.05), lambda p: torch.optim.SGD(p, 0.05)),
    "Momentum": (lambda p: msnn.Momentum(p, 0.05, 0.9), lambda p: torch.optim.SGD(p, 0.05, momentum=0.9)),
    "Adam": (lambda p: msnn.Adam(p, 1e-3), lambda p: torch.optim.Adam(p, 1e-3)),
    "AdamWeightDecay": (lambda p: msnn.AdamWeightDecay(p, 1e-3), None),
    "RMSProp": (lambda p: msnn.RMSProp(p, 1e-3), None),
}


@pytest.mark.parametrize("name", list(OPTIMISERS))
def test_mindspores_optimisers_on_trainable_params(name: str) -> None:
    native, ours = OPTIMISERS[name]
    net = cnn()
    before = [p.detach().clone() for p in net.parameters()]
    found = native_losses(net, native(net.trainable_params()), 8)
    assert all(not torch.equal(p, q) for p, q in zip(net.parameters(), before)), "torch's parameters are those that are trained"
    if ours is not None:
        other = cnn()
        np.testing.assert_allclose(found, torch_losses(other, ours(other.parameters()), 8), rtol=2e-4, atol=1e-5)
        if name != "Adam":  # MindSpore scales epsilon differently
            for one, two in zip(net.parameters(), other.parameters()):
                np.testing.assert_allclose(one.numpy(force=True), two.numpy(force=True), rtol=1e-3, atol=1e-6)


def test_value_and_grad_gives_the_gradients_of_backward() -> None:
    net = cnn()
    images, labels = batches(1)[0]
    loss = nn.functional.cross_entropy(net(torch.tensor(images)), torch.tensor(labels))
    loss.backward()
    forward = msnn.WithLossCell(net, msnn.CrossEntropyLoss())
    value, grads = mindspore.value_and_grad(forward, None, net.trainable_params())(mindspore.Tensor(images), mindspore.Tensor(labels.astype(np.int32)))
    np.testing.assert_allclose(float(value.asnumpy()), loss.item(), rtol=1e-5)
    for grad, parameter in zip(grads, net.parameters()):
        np.testing.assert_allclose(grad.asnumpy(), parameter.grad.numpy(force=True), rtol=1e-4, atol=1e-6)


def test_value_and_grad_of_a_module_that_is_its_own_loss() -> None:
    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.tensor([1.0, 2.0]))

        def forward(self, x: Any) -> Any:
            return (self.w * x).pow(2).sum()

    net = Loss()
    x = mindspore.Tensor(np.array([3.0, -1.0], np.float32))
    value, (inputs, weights) = mindspore.value_and_grad(net, 0, net.trainable_params())(x)
    assert float(value.asnumpy()) == 13.0
    assert inputs.asnumpy().tolist() == [6.0, -8.0] and weights[0].asnumpy().tolist() == [18.0, 4.0]


def dataset(images: np.ndarray, labels: np.ndarray, size: int, shuffle: bool) -> Any:
    rows = list(zip(images, map(np.asarray, labels.astype(np.int32))))  # MindSpore refuses NumPy scalars on NumPy 2
    return GeneratorDataset(rows, ["image", "label"], shuffle=shuffle).batch(size)


class Losses(Callback):
    def __init__(self) -> None:
        super().__init__()
        self.values: list[float] = []

    def on_train_step_end(self, run_context: Any) -> None:
        self.values.append(float(run_context.original_args().net_outputs.asnumpy()))


@pytest.mark.long
def test_model_trains_the_digits_cnn_to_97_percent(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    mindspore.set_seed(0)
    net = cnn()
    train, test = dataset(IMAGES[:1437], LABELS[:1437], 64, True), dataset(IMAGES[1437:], LABELS[1437:], 360, False)
    optimizer = msnn.Momentum(net.trainable_params(), 0.1, 0.9)
    model = Model(net, loss_fn=msnn.CrossEntropyLoss(), optimizer=optimizer, metrics={"accuracy"})
    losses = Losses()
    files = ModelCheckpoint("cnn", str(tmp_path), CheckpointConfig(save_checkpoint_steps=23, keep_checkpoint_max=1))
    model.train(14, train, callbacks=[losses, LossMonitor(23), TimeMonitor(23), files], dataset_sink_mode=False)
    assert "loss is" in capsys.readouterr().out and np.mean(losses.values[-23:]) < 0.1 * losses.values[0]
    accuracy = model.eval(test, dataset_sink_mode=False)["accuracy"]
    assert accuracy >= 0.97, accuracy

    net.eval()
    with torch.no_grad():
        right = (net(torch.tensor(IMAGES[1437:])).argmax(1) == torch.tensor(LABELS[1437:])).float().mean().item()
    assert right == pytest.approx(accuracy), "torch's evaluation of the same object"
    (name,) = [file for file in os.listdir(tmp_path) if file.endswith(".ckpt")]
    other = cnn()
    interop.load_mindspore_checkpoint(other, tmp_path / name, strict=False)
    for one, two in zip(other.parameters(), net.parameters()):
        assert torch.equal(one, two)
    assert model.predict(mindspore.Tensor(IMAGES[:2])).shape == (2, 10)


def test_torch_evaluation_between_two_trainings() -> None:
    """An evaluation that records a graph, as torch scripts without no_grad do, does not disturb MindSpore's trainer."""

    def run(evaluate: bool) -> tuple[list[float], list[np.ndarray]]:
        net, losses = cnn(), Losses()
        model = Model(net, loss_fn=msnn.CrossEntropyLoss(), optimizer=msnn.Momentum(net.trainable_params(), 0.05, 0.9))
        for part in range(3):
            images, labels = IMAGES[part * 128 : part * 128 + 128], LABELS[part * 128 : part * 128 + 128]
            model.train(1, dataset(images, labels, 32, False), callbacks=[losses], dataset_sink_mode=False)
            if evaluate:
                out = net(torch.tensor(IMAGES[:16]))
                assert out.requires_grad
                kept = nn.functional.cross_entropy(out, torch.tensor(LABELS[:16]))
                if part == 1:
                    kept.backward()
                    assert all(p.grad is not None for p in net.parameters())
                    net.zero_grad()
        return losses.values, [p.numpy(force=True) for p in net.parameters()]

    (want, weights), (got, others) = run(False), run(True)
    np.testing.assert_array_equal(got, want)
    assert len(want) == 12 and np.std(want) > 0.005
    for one, two in zip(weights, others):
        np.testing.assert_array_equal(two, one)


@pytest.mark.parametrize("order", ["native torch", "torch native", "native torch native torch", "torch native torch native"])
def test_both_ways_of_training_in_turn(order: str) -> None:
    """SGD without momentum has no state: with either trainer the losses are those of torch's loop."""
    net, plain = cnn(), cnn()
    want = torch_losses(plain, torch.optim.SGD(plain.parameters(), 0.05), 16)
    ours, native = torch.optim.SGD(net.parameters(), 0.05), msnn.SGD(net.trainable_params(), 0.05)
    got: list[float] = []
    for part in order.split():
        if part == "native":
            got += native_losses(net, native, 4, skip=len(got))
        else:
            got += torch_losses(net, ours, 4, skip=len(got))
    np.testing.assert_allclose(got, want[: len(got)], rtol=1e-4, atol=1e-5)


def test_backward_after_native_steps_of_a_graph_made_before() -> None:
    net = nn.Linear(3, 1)
    x = torch.ones(2, 3, requires_grad=True)
    out = (net(x) * x).sum()
    optimizer = msnn.SGD(net.trainable_params(), 0.1)
    step = mindspore.value_and_grad(lambda raw: net(raw).sum(), None, optimizer.parameters)
    _, grads = step(mindspore.Tensor(np.ones((2, 3), np.float32)))
    out.backward()
    assert x.grad is not None and grads[0].asnumpy().tolist() == [[2.0, 2.0, 2.0]]


def test_torchs_training_inside_of_a_native_callback() -> None:
    net, side = cnn(), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(side.parameters(), lr=0.1)
    seen = []

    class Side(Callback):
        def on_train_step_end(self, run_context: Any) -> None:
            optimizer.zero_grad()
            loss = (side(torch.ones(1, 2)) - 3).pow(2).sum()
            loss.backward()
            optimizer.step()
            seen.append(loss.item())

    losses = Losses()
    model = Model(net, loss_fn=msnn.CrossEntropyLoss(), optimizer=msnn.SGD(net.trainable_params(), 0.05))
    model.train(1, dataset(IMAGES[:256], LABELS[:256], 32, False), callbacks=[Side(), losses], dataset_sink_mode=False)
    other = cnn()
    np.testing.assert_allclose(losses.values, torch_losses(other, torch.optim.SGD(other.parameters(), 0.05), 8), rtol=1e-4)
    assert seen == sorted(seen, reverse=True) and seen[-1] < seen[0]


def test_grad_mode_is_left_as_it_was() -> None:
    net = cnn()
    model = Model(net, loss_fn=msnn.CrossEntropyLoss(), optimizer=msnn.SGD(net.trainable_params(), 0.05))
    data = dataset(IMAGES[:64], LABELS[:64], 32, False)
    model.train(1, data, dataset_sink_mode=False)
    assert torch.is_grad_enabled() and net(torch.tensor(IMAGES[:1])).requires_grad
    with torch.no_grad():
        with pytest.raises(RuntimeError, match="In no_grad context"):
            model.train(1, data, dataset_sink_mode=False)
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_train_cells_by_hand_between_torch_evaluations() -> None:
    def run(evaluate: bool) -> list[float]:
        net = cnn()
        step = msnn.TrainOneStepCell(msnn.WithLossCell(net, msnn.CrossEntropyLoss()), msnn.SGD(net.trainable_params(), 0.05))
        found = []
        for number, (images, labels) in enumerate(batches(6)):
            net.set_train()
            found.append(float(step(mindspore.Tensor(images), mindspore.Tensor(labels.astype(np.int32))).asnumpy()))
            if evaluate:
                net.eval()
                out = net(torch.tensor(IMAGES[:16]))
                if number % 2:
                    assert out.argmax(1).tolist()
        return found

    other = cnn()
    want = torch_losses(other, torch.optim.SGD(other.parameters(), 0.05), 6)
    np.testing.assert_allclose(run(False), want, rtol=1e-4)
    np.testing.assert_array_equal(run(True), run(False))


READS = {
    "item": lambda x: x.sum().item(), "tolist": lambda x: x.tolist(), "bool": lambda x: bool(x.sum() > 0), "repr": str,
    "numpy": lambda x: x.numpy(force=True), "equal": lambda x: torch.equal(x, x), "allclose": lambda x: torch.allclose(x, x),
}  # fmt: skip


@pytest.mark.parametrize("name", list(READS))
def test_a_native_network_trains_after_torch_code_was_read(name: str) -> None:
    """After torch code read its results, a Cell without mstorch's modules trains as before."""
    READS[name](nn.Linear(3, 2)(torch.ones(1, 3)) * 2)
    cell = msnn.Dense(3, 2)
    cell.set_grad()
    value, grads = mindspore.value_and_grad(cell, None, cell.trainable_params())(mindspore.Tensor(np.ones((1, 3), np.float32)))
    assert value.shape == (1, 2) and grads[1].asnumpy().tolist() == [1.0, 1.0]

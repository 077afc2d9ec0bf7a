"""Exceptions at random places of Modules that MindSpore runs: no crash, and what is trained afterwards has an untouched process's numbers.

    python -m tests.interop.exceptions 200 --seed 0
"""
from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import amp
from mindspore import nn as msnn

import mstorch as torch

X = np.random.default_rng(0).normal(size=(4, 2, 6, 6)).astype(np.float32)
LABELS = np.arange(4, dtype=np.int32) % 3


def _wrong_argument() -> None:
    ms.ops.Cast()(object, ms.float32)


def _no_kernel() -> None:
    ms.ops.Conv2D(3, 3)(ms.Tensor(np.ones((1, 2, 5, 5)), ms.bfloat16), ms.Tensor(np.ones((3, 2, 3, 3)), ms.bfloat16)).asnumpy()
    raise TypeError("this CPU has a kernel for bfloat16")


def _wrong_shape() -> None:
    ms.ops.MatMul()(ms.Tensor(np.ones((2, 2), np.float32)), ms.Tensor(np.ones((3, 3), np.float32))).asnumpy()


def _ours() -> None:
    torch.ones(2, 3) @ torch.ones(2, 3)


def _python() -> None:
    raise ValueError("raised")


def _stop() -> None:
    raise KeyboardInterrupt


KINDS = (_wrong_argument, _no_kernel, _wrong_shape, _ours, _python, _stop)
State = dict[str, Any]


class Raises(torch.nn.Module):
    """A layer that raises at its n-th call."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state

    def forward(self, x: Any) -> Any:
        self.state["left"] -= 1
        if self.state["left"] == 0:
            self.state["kind"]()
        return x


class RaisesInMindSpore(msnn.Cell):
    """The same, of MindSpore's."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state

    def construct(self, x: Any) -> Any:
        self.state["left"] -= 1
        if self.state["left"] == 0:
            self.state["kind"]()
        return x


class Catches(torch.nn.Module):
    """A module that goes on after an exception of its child."""

    def __init__(self, child: Any) -> None:
        super().__init__()
        self.child = child

    def forward(self, x: Any) -> Any:
        try:
            return self.child(x)
        except Exception:  # noqa: BLE001 - any
            return x


def network(state: State, random: np.random.Generator) -> Any:
    layers = [
        torch.nn.Conv2d(2, 3, 3), msnn.Conv2d(3, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Conv2d(3, 3, 1)), torch.nn.Flatten(),
        torch.nn.Linear(48, 3),
    ]  # fmt: skip
    for _ in range(2):
        raising = (Raises, RaisesInMindSpore)[random.integers(2)](state)
        if random.integers(3) == 0:
            raising = Catches(raising) if isinstance(raising, torch.nn.Module) else Catches(torch.nn.Sequential(raising))
        layers.insert(int(random.integers(len(layers) + 1)), raising)
    return torch.nn.Sequential(*layers)


def _loss(net: Any) -> Callable[..., Any]:
    loss = msnn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    return lambda x, y: loss(net(x), y)


def by_value_and_grad(net: Any, state: State) -> None:
    step = ms.value_and_grad(_loss(net), None, net.trainable_params())
    for _ in range(2):
        step(ms.Tensor(X), ms.Tensor(LABELS))


def by_value_and_grad_of_the_module(net: Any, state: State) -> None:
    ms.value_and_grad(net, None, net.trainable_params())(ms.Tensor(X))


class Stop(ms.train.Callback):
    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state

    def on_train_step_end(self, run_context: Any) -> None:
        self.state["left"] -= 1
        if self.state["left"] == 0:
            self.state["kind"]()


class Rows:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return X[index], LABELS[index]


def by_model(net: Any, state: State, level: str = "O0") -> None:
    data = ms.dataset.GeneratorDataset(Rows(), ["x", "y"], shuffle=False, num_parallel_workers=1).batch(2)
    model = ms.train.Model(net, msnn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), msnn.SGD(net.trainable_params(), 0.01), amp_level=level)
    model.train(1, data, callbacks=[Stop(state)], dataset_sink_mode=False)


def by_amp(net: Any, state: State) -> None:
    net = amp.custom_mixed_precision(net, black_list=[torch.nn.BatchNorm2d])
    by_value_and_grad(net, state)


def by_to_float(net: Any, state: State) -> None:
    by_value_and_grad(net.to_float((ms.bfloat16, ms.float16)[state["left"] % 2]), state)


def by_a_cell(net: Any, state: State) -> None:
    class Around(msnn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def construct(self, x: Any) -> Any:
            try:
                return self.net(x)
            except Exception:  # noqa: BLE001 - any
                return self.net(x)

    by_value_and_grad(Around().to_float(ms.float16) if state["left"] % 2 else Around(), state)


def by_torch(net: Any, state: State) -> None:
    for _ in range(2):
        torch.nn.functional.cross_entropy(net(torch.from_numpy(X)), torch.from_numpy(LABELS).long()).backward()


WAYS = (by_value_and_grad, by_value_and_grad_of_the_module, by_model, by_amp, by_to_float, by_a_cell, by_torch)


def trained() -> list[np.ndarray]:
    """Return what training gives: under MindSpore, in a Cell, by torch's loop, and in half precision."""
    found = []
    for half in (False, True):
        torch.manual_seed(0)
        ms.set_seed(0)
        net = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(48, 3))
        if half:
            net.to_float(ms.float16)
        optimizer = msnn.Adam(net.trainable_params(), 0.01)
        step = ms.value_and_grad(_loss(net), None, optimizer.parameters)
        for _ in range(2):
            loss, gradients = step(ms.Tensor(X), ms.Tensor(LABELS))
            optimizer(gradients)
        found += [loss.asnumpy(), *(p.detach().numpy().copy() for p in net.parameters())]
        if not half:
            again = torch.optim.SGD(net.parameters(), 0.1)
            torch.nn.functional.cross_entropy(net(torch.from_numpy(X)), torch.from_numpy(LABELS).long()).backward()
            again.step()
            found += [p.detach().numpy().copy() for p in net.parameters()]
    dense = msnn.Dense(6, 3, weight_init="ones")
    loss, gradients = ms.value_and_grad(lambda x: dense(x).sum(), None, dense.trainable_params())(ms.Tensor(X))
    found += [loss.asnumpy(), *(one.asnumpy() for one in gradients), (ms.Tensor(X) + ms.Tensor(X)).asnumpy(), ms.ops.MatMul()(ms.Tensor(X[0, 0]), ms.Tensor(X[0, 1])).asnumpy()]
    return found


def main(count: int, seed: int) -> int:
    warnings.simplefilter("ignore")
    random = np.random.default_rng(seed)
    before, wrong, raised = trained(), [], 0
    for number in range(count):
        kind, way = KINDS[random.integers(len(KINDS))], WAYS[random.integers(len(WAYS))]
        state: State = {"left": int(random.integers(1, 5)), "kind": kind}
        print(number, way.__name__, kind.__name__, state["left"], flush=True)
        try:
            way(network(state, random), state)
        except BaseException as error:
            raised += 1
            if isinstance(error, SystemExit):
                raise
        if number % 5 == 4:
            after = trained()
            if len(after) != len(before) or not all(one.dtype == other.dtype and np.array_equal(one, other) for one, other in zip(before, after)):
                wrong.append(number)
    print(f"{count} runs, {raised} of them raised; {len(wrong)} times training differed afterwards {wrong[:5]}")
    return len(wrong)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    sys.exit(bool(main(**vars(parser.parse_args()))))

"""How long does a training step take: mstorch, the same network written in MindSpore (untuned and tuned), torch.

Each library runs in a process of its own, in turn, five rounds; medians and ratios are printed.
"""
from __future__ import annotations

import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from _measure import in_process, in_turn, median_ms, print_table

BATCH = 64
TUNED = {"ONEDNN_MAX_CPU_ISA": "AVX2"}


def _data(network: str) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(0)
    shape = (BATCH, 784) if network == "mlp" else (BATCH, 1, 8, 8)
    return random.rand(*shape).astype(np.float32), random.randint(0, 10, BATCH).astype(np.int64)


def _torch_step(torch: Any, network: str) -> Callable[[], Any]:
    nn = torch.nn
    torch.manual_seed(0)
    if network == "mlp":
        model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    else:
        model = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10),
        )  # fmt: skip
    images, labels = (torch.from_numpy(array) for array in _data(network))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def _mindspore_step(network: str, tuned: bool) -> Callable[[], Any]:
    import mindspore
    from mindspore import nn

    if tuned:
        mindspore.runtime.launch_blocking()
    if network == "mlp":
        model = nn.SequentialCell(nn.Dense(784, 512), nn.ReLU(), nn.Dense(512, 512), nn.ReLU(), nn.Dense(512, 10))
    else:
        model = nn.SequentialCell(
            nn.Conv2d(1, 16, 3, pad_mode="pad", padding=1, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(16, 32, 3, pad_mode="pad", padding=1, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Flatten(), nn.Dense(128, 64), nn.ReLU(), nn.Dense(64, 10),
        )  # fmt: skip
    model.set_train()
    data, targets = _data(network)
    images, labels = mindspore.Tensor(data), mindspore.Tensor(targets.astype(np.int32))
    criterion = nn.CrossEntropyLoss()
    optimizer = nn.Adam(model.trainable_params(), learning_rate=1e-3)
    gradients = mindspore.value_and_grad(lambda x, y: criterion(model(x), y), None, optimizer.parameters)

    def step() -> Any:
        loss, grads = gradients(images, labels)
        optimizer(grads)
        return float(loss.asnumpy())

    return step


def _measure(library: str, network: str) -> dict[str, float]:
    if library == "mstorch":
        import mstorch

        step = _torch_step(mstorch, network)
    elif library == "torch":
        import torch

        step = _torch_step(torch, network)
    else:
        step = _mindspore_step(network, tuned=library == "mindspore tuned")
    slow = library == "mindspore"
    return {"ms": median_ms(step, warmup=3 if slow else 30, repeats=10 if slow else 150)}


def main() -> None:
    rows = []
    for network, title in (("mlp", "MLP 784-512-512-10"), ("cnn", "digits CNN")):
        found = in_turn(
            5,
            {
                library: lambda library=library, network=network: in_process(  # type: ignore[misc]
                    __file__, [library, network], TUNED if library == "mindspore tuned" else None
                )["ms"]
                for library in ("mstorch", "mindspore tuned", "mindspore", "torch")
            },
        )
        ours = found["mstorch"]
        rows.append(
            [
                title, *(found[name] for name in ("mstorch", "mindspore tuned", "mindspore", "torch")),
                *(ours / found[name] for name in ("mindspore tuned", "mindspore", "torch")),
            ]
        )  # fmt: skip
    print(f"ms a step at batch {BATCH}, medians of 5 rounds; the last three columns are mstorch divided by the other")
    print_table(["network", "mstorch", "tuned MindSpore", "MindSpore", "torch", "/ tuned", "/ untuned", "/ torch"], rows)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(_measure(*sys.argv[1:])))
    else:
        main()

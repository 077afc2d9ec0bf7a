"""python -m tests.interop.levels: train a Cell with Modules in it at each level of mindspore.amp, and print its losses beside those of O0."""
from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import mindspore
import numpy as np
from mindspore import nn as msnn
from mindspore.train import Model

import mstorch as torch

nn = torch.nn


class Tower(nn.Module):
    """Layers of torch within a Cell."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return self.last(torch.relu(self.norm(self.first(x))))


class Mixed(msnn.Cell):
    """Cells and Modules side by side, called in one statement or in several."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.tower = msnn.Dense(4, 4), Tower()
        self.after, self.head = nn.Sequential(nn.Linear(8, 8), nn.ReLU()), msnn.Dense(8, 3, has_bias=False)

    def construct(self, x: Any) -> Any:
        x = self.before(x)
        x = self.tower(x)
        return self.head(self.after(x))


def losses_of(level: str) -> list[list[float]]:
    """Return the losses of three steps at a level, and those of a network with the same values at O0; check that no parameter is lost."""
    nets = [Mixed().set_train() for _ in range(2)]
    names = [parameter.name for parameter in nets[0].trainable_params()]
    assert len(names) == 11
    for mine, theirs in zip(nets[0].get_parameters(), nets[1].get_parameters(), strict=True):
        mine.set_data(theirs.copy())
    x, y = mindspore.Tensor(np.random.RandomState(0).rand(6, 4).astype(np.float32)), mindspore.Tensor(np.ones((6, 3), np.float32))
    losses = []
    for net, own in zip(nets, (level, "O0")):
        model = Model(net, msnn.MSELoss(), msnn.SGD(net.trainable_params(), 0.1), amp_level=own)
        losses.append([float(model.train_network(x, y).asnumpy()) for _ in range(3)])
        assert [parameter.name for parameter in net.trainable_params()] == names
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "net.ckpt")
        mindspore.save_checkpoint(nets[0], path)
        assert set(names) < set(mindspore.load_checkpoint(path))
    return losses


if __name__ == "__main__":
    print(json.dumps({level: losses_of(level) for level in ("O0", "O1", "O3", "auto")}))

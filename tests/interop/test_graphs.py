"""Exported graphs, and modules under MindSpore's graph mode."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import mindspore
import numpy as np
import pytest
from mindspore import nn as msnn

import mstorch as torch
from mstorch import interop
from tests.compile.networks import losses, transformer
from tests.interop.networks import ResNet18, cnn

pytestmark = pytest.mark.slow

nn = torch.nn
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.lstm, self.norm = nn.Embedding(11, 6), nn.LSTM(6, 8, batch_first=True), nn.LayerNorm(8)

    def forward(self, indices: Any) -> Any:
        out, (hidden, cell) = self.lstm(self.embed(indices))
        return self.norm(out[:, -1]), {"hidden": hidden, "cell": cell}


class Two(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        y = y.clone()
        y[0] += x.sum()
        return torch.softmax(x @ y, -1), y.t()


EXPORTS: dict[str, tuple[Any, Any]] = {
    "cnn": (cnn, lambda: (torch.rand(3, 1, 8, 8),)),
    "resnet18": (lambda: ResNet18(width=8), lambda: (torch.rand(2, 3, 32, 32),)),
    "transformer": (lambda: transformer(torch), lambda: (torch.rand(2, 1, 8, 8),)),
    "recurrent": (Recurrent, lambda: (torch.arange(10).reshape(2, 5),)),
    "two inputs": (Two, lambda: (torch.rand(4, 3), torch.rand(3, 5))),
    "function": (lambda: (lambda x: (x.relu() * 2).cumsum(0)), lambda: (torch.randn(5, 2),)),
}


@pytest.mark.parametrize("name", list(EXPORTS))
def test_an_exported_graph_gives_the_same_outputs(name: str, tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    make, inputs = EXPORTS[name]
    net = make()
    if isinstance(net, nn.Module):
        net.eval()
    given = inputs()
    path = interop.export_mindir(net, *given, path=tmp_path / "net")
    assert path == str(tmp_path / "net.mindir") and os.listdir(tmp_path) == ["net.mindir"]
    graph = msnn.GraphCell(mindspore.load(path))
    torch.manual_seed(1)
    for values in (given, inputs()):
        wanted: list[Any] = []

        def collect(value: Any, wanted: list[Any] = wanted) -> None:
            if isinstance(value, torch.Tensor):
                wanted.append(value.detach().numpy())
            else:
                for item in value.values() if isinstance(value, dict) else value:
                    collect(item)

        collect(net(*values))
        got = graph(*(value.to_mindspore() for value in values))
        got = got if isinstance(got, tuple) else (got,)
        assert len(got) == len(wanted)
        for want, one in zip(wanted, got):
            np.testing.assert_allclose(one.asnumpy(), want, rtol=1e-6, atol=1e-6)


class Around(msnn.Cell):
    """A Cell around a Module."""

    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net, self.scale = net, msnn.Tanh()

    def construct(self, x: Any) -> Any:
        return self.scale(self.net(x))


class Native(msnn.Cell):
    """A Cell of MindSpore's layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = msnn.Conv2d(1, 4, 3, pad_mode="same"), msnn.BatchNorm2d(4)
        self.flat, self.dense = msnn.Flatten(), msnn.Dense(256, 5)

    def construct(self, x: Any) -> Any:
        return self.dense(self.flat(self.norm(self.conv(x))))


class Mixed(nn.Module):
    """A Module with two children of MindSpore's."""

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__()
        self.first, self.middle, self.second = first, nn.GELU(), second

    def forward(self, x: Any) -> Any:
        return self.second(self.middle(self.first(x)))


def _encoder() -> Any:
    return nn.Sequential(nn.Linear(6, 8), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0))


OF_BOTH: dict[str, tuple[Any, tuple[int, ...]]] = {
    "a cell around a cnn": (lambda: Around(cnn()), (2, 1, 8, 8)),
    "a cell around an encoder": (lambda: Around(_encoder()), (2, 5, 6)),
    "native convolutions": (Native, (2, 1, 8, 8)),
    "native layers in a row": (lambda: msnn.SequentialCell(msnn.Dense(6, 8), msnn.Tanh(), msnn.Dense(8, 2)), (4, 6)),
    "a module with dense layers": (lambda: Mixed(msnn.Dense(6, 8), msnn.Dense(8, 3)), (4, 6)),
    "a module with a convolution and a norm": (lambda: Mixed(msnn.Conv2d(1, 4, 3, has_bias=True), msnn.LayerNorm((8,))), (2, 1, 8, 8)),
}


@pytest.mark.parametrize("name", list(OF_BOTH))
def test_cells_and_modules_within_one_another_are_exported(name: str, tmp_path: pathlib.Path) -> None:
    """MindSpore alone, by the file, computes what the network computes; also after an export that failed."""
    torch.manual_seed(0)
    make, shape = OF_BOTH[name]
    net, x = make().set_train(False), torch.rand(*shape)
    given = x if isinstance(net, nn.Module) else x.to_mindspore()
    want = net(given)
    want = want.to_mindspore() if isinstance(want, torch.Tensor) else want
    with pytest.raises(RuntimeError, match="are read on the host"):
        interop.export_mindir(lambda x: net(x) if x.sum() > 0 else x, x, path=tmp_path / "failed")
    path = interop.export_mindir(net, x, path=tmp_path / "net")
    assert os.listdir(tmp_path) == ["net.mindir"]
    got = msnn.GraphCell(mindspore.load(path))(x.to_mindspore())
    got = got[0] if isinstance(got, tuple) else got
    assert got.shape == want.shape and float(want.asnumpy().std()) > 1e-3
    np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)
    again = net(given)
    np.testing.assert_array_equal((again.to_mindspore() if isinstance(again, torch.Tensor) else again).asnumpy(), want.asnumpy())


def test_exports_that_are_refused(tmp_path: pathlib.Path) -> None:
    x = torch.rand(4, 3)
    for net, words in (
        (nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), r"changes its buffers or parameters; call eval\(\) first"),
        (nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5)), r"draws random numbers; call eval\(\) first"),
        (lambda x: x if x.sum() > 0 else -x, "are read on the host"),
        (lambda x: 3, "every output must be a tensor that depends on the inputs"),
        (lambda x: torch.ones(2), "every output must be a tensor that depends on the inputs"),
    ):
        with pytest.raises(RuntimeError, match=words):
            interop.export_mindir(net, x, path=tmp_path / "a.mindir")
    with pytest.raises(TypeError, match="expects tensors as inputs, not int"):
        interop.export_mindir(nn.ReLU(), 3, path=tmp_path / "a.mindir")
    assert os.listdir(tmp_path) == []


def test_an_export_changes_nothing(tmp_path: pathlib.Path) -> None:
    net = cnn().eval()
    x = torch.rand(2, 1, 8, 8)
    before, state = net(x), torch.get_rng_state()
    interop.export_mindir(net, x.to_mindspore(), path=tmp_path / "a.mindir")
    assert torch.equal(net(x), before) and torch.equal(torch.get_rng_state(), state)
    net(x).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_mindspore_export_names_the_alternative(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match="mstorch.interop.export_mindir writes its graph to a file"):
        mindspore.export(cnn(), torch.rand(1, 1, 8, 8).to_mindspore(), file_name=str(tmp_path / "a"), file_format="MINDIR")
    assert cnn()(torch.rand(1, 1, 8, 8)).shape == (1, 10)


def run(mode: str, network: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.interop.graph_mode_script", mode, network], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("network", ["cnn", "transformer"])
def test_training_under_graph_mode_has_the_losses_of_eager(network: str) -> None:
    found = run("GRAPH_MODE", network)
    np.testing.assert_allclose(found["losses"], losses(torch, network, compiled=False), rtol=0, atol=1e-4)
    assert found["graphs"] >= 2 and found["native"] == "Tensor", "training and evaluation ran as graphs"
    assert 0 < found["accuracy"] <= 1

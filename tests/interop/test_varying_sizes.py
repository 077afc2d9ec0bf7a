"""Graphs for sizes that vary: MindSpore computes a file for batches that it was not made of."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore
import numpy as np
import pytest

import mstorch as torch
from mstorch import interop, nn
from mstorch.nn import functional as F
from mstorch.onnx import _sizes
from tests.interop.networks import cnn

pytestmark = pytest.mark.slow


class Patches(nn.Module):
    """A network with a token that is repeated for each image, attention, and positions."""

    def __init__(self) -> None:
        super().__init__()
        self.cut, self.token, self.places = nn.Conv2d(3, 8, 4, 4), nn.Parameter(torch.randn(1, 1, 8)), nn.Embedding(17, 8)
        self.layer, self.head = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        x = self.cut(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places(torch.arange(17))
        return self.head(self.layer(x)[:, 0])


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LSTM(4, 6, 2, batch_first=True), nn.GRU(6, 5, batch_first=True, bidirectional=True)

    def forward(self, x: Any) -> Any:
        x, (hidden, _) = self.first(x)
        x, _ = self.second(x)
        return x[torch.arange(x.shape[0]), -1], hidden


def _written(x: Any) -> Any:
    y = x.clone()
    y[:, 0] = 1.0
    y[:, 1:3] += 2
    return y, x[1:].sum(0), x[:-1] * 2, x.flip(0), x / x.shape[0]


def _shapes(x: Any) -> Any:
    count = x.shape[0]
    return x.flatten(), x.repeat(2, 1), x.t().reshape(-1, count), torch.cat(x.chunk(2, 1)), x[:, None].expand(-1, 3, -1).reshape(-1, 4), torch.stack([x, x])


def _made(x: Any) -> Any:
    count = x.shape[0]
    rows, zeros = torch.arange(count), torch.zeros(count, 4)
    return x + zeros, x * rows[:, None], x[rows, 0], torch.ones_like(x) + x, x.new_full((count,), 3.0) * x[:, 0], torch.roll(x, 1, 0)


def _reduced(x: Any) -> Any:
    return x.mean(0), x.cumsum(0), x.std(1), F.normalize(x), torch.einsum("bi,bj->bij", x, x), F.one_hot(x.argmax(1), 4) * 2.0, x.masked_fill(x > 0, 0.0)


CASES: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "cnn": (cnn, (2, 1, 8, 8)), "patches": (Patches, (1, 3, 16, 16)), "recurrent": (Recurrent, (3, 5, 4)), "written": (lambda: _written, (3, 4)),
    "shapes": (lambda: _shapes, (3, 4)), "made": (lambda: _made, (3, 4)), "reduced": (lambda: _reduced, (3, 4)),
    "images": (lambda: nn.Sequential(nn.GroupNorm(1, 3), nn.MaxPool2d(2), nn.ConvTranspose2d(3, 4, 2, 2), nn.Upsample(scale_factor=2, mode="bilinear")), (2, 3, 8, 8)),
}  # fmt: skip


def _arrays(result: Any) -> list[Any]:
    return [one.detach().numpy() for one in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("name", list(CASES))
def test_a_graph_for_batches_of_all_sizes(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    make, shape = CASES[name]
    net = make()
    if isinstance(net, nn.Module):
        net.eval()
    path = interop.export_mindir(net, torch.randn(shape), path=tmp_path / "net", dynamic_shapes=({0: "batch"},))
    graph = mindspore.nn.GraphCell(mindspore.load(path))
    for count in (2, 5, 7):
        x = torch.randn(count, *shape[1:])
        results = graph(x.to_mindspore())
        results = results if isinstance(results, tuple) else (results,)
        for one, wanted in zip(results, _arrays(net(x)), strict=True):
            np.testing.assert_allclose(one.asnumpy(), wanted, rtol=1e-5, atol=1e-5)


def test_two_sizes_and_names_of_inputs(tmp_path: Path) -> None:
    def product(x: Any, y: Any) -> Any:
        return (x @ y.transpose(1, 2)).reshape(x.shape[0] * x.shape[1], -1)

    x, y = torch.randn(2, 5, 3), torch.randn(2, 4, 3)
    path = interop.export_mindir(product, x, y, path=tmp_path / "net", dynamic_axes={"x": {0: "batch", 1: "rows"}, "y": {0: "batch"}})
    graph = mindspore.nn.GraphCell(mindspore.load(path))
    for batch, rows in ((3, 2), (1, 7)):
        x, y = torch.randn(batch, rows, 3), torch.randn(batch, 4, 3)
        np.testing.assert_allclose(graph(x.to_mindspore(), y.to_mindspore()).asnumpy(), product(x, y).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x.sin() if x.shape[0] > 4 else x.cos(), "one size does Cos, another does Sin"),
        (lambda x: x * (1.5 / x.shape[0]), "depends? on sizes"),
        (lambda x: x + torch.tensor(np.arange(float(x.shape[0]))[:, None] ** 2, dtype=torch.float32), "other numbers for other sizes"),
        (lambda x: x * 2 if x.shape[0] != 12 else x * 3, "batch = 12"),  # which no graph was made of
    ],
)
def test_what_a_graph_cannot_express_is_refused(function: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=words):
        interop.export_mindir(function, torch.randn(4, 4), path=tmp_path / "net", dynamic_shapes=({0: "batch"},))
    assert not list(tmp_path.iterdir())


def test_dimensions_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no dimension 3"):
        interop.export_mindir(nn.ReLU(), torch.ones(2), path=tmp_path / "net", dynamic_axes={"input": {3: "n"}})
    with pytest.raises(RuntimeError, match="called 'n' differ"):
        interop.export_mindir(torch.mul, torch.ones(2, 1), torch.ones(3, 1), path=tmp_path / "net", dynamic_shapes=({0: "n"}, {0: "n"}))


def test_numbers_that_follow_no_rule() -> None:
    assert _sizes.merged([7, 7], [[2], [4]]) == 7
    with pytest.raises(torch.onnx.OnnxExporterError, match="cannot tell how a number depends"):
        _sizes.merged([3, 5, 10], [[2, 2], [4, 2], [2, 4]])

"""``.pt2`` of sizes that vary: torch loads what mstorch writes and runs it for several sizes, within the ranges that the file tells."""
from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mstorch
from mstorch import nn
from mstorch.export._expressions import expressed
from tests.against_torch import same
from tests.export.pt2_samples import SAMPLES
from tests.export.test_pt2 import said
from tests.jit.archives import leaves_of
from tests.saved import saved

pytestmark = pytest.mark.filterwarnings("ignore")
Dim = mstorch.export.Dim
F = nn.functional


class Function(nn.Module):
    """A module of a function of layers and inputs."""

    def __init__(self, function: Callable[..., Any], **layers: Any) -> None:
        super().__init__()
        self.function = function
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def _attention(self: Any, x: Any) -> Any:
    batch, length, width = x.shape
    parts = self.first(x).view(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
    mask = mstorch.full((length, length), float("-inf")).triu(1)
    weights = (parts[0] @ parts[1].transpose(-2, -1) + mask).softmax(-1)
    return (weights @ parts[2]).transpose(1, 2).reshape(batch, length, width)


def _patches(self: Any, x: Any) -> Any:
    x = self.first(x)
    return x.flatten(2).transpose(1, 2), x.shape[2] * x.shape[3]


def _positions(self: Any, x: Any) -> Any:
    places = mstorch.arange(x.size(1)).expand(x.size(0), -1)
    return self.table(x) + self.places(places)


def _joined(self: Any, x: Any, y: Any) -> Any:
    z = mstorch.cat([x, y], 0)
    return z.view(z.size(0) * 2, -1), z.new_zeros(x.shape[0], y.shape[0]), F.pad(x, (0, 0, 1, 2)), x.repeat(2, 1).sum(0) / x.size(0)


def _windows(self: Any, x: Any) -> Any:
    height, width = x.shape[-2:]
    return F.interpolate(x, size=(2 * height, 2 * width)), F.max_pool2d(x, 2), x[:, :, 1:, : width - 1]


def _convolutions() -> Any:
    return nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)).eval()


batch, length, height, width = Dim("batch", min=2, max=64), Dim("length", min=2, max=40), Dim("height", min=8), Dim("width", min=8)
_INTS = (5, 7)
NETWORKS: dict[str, Callable[[], tuple[Any, tuple[Any, ...], Any, list[tuple[Any, ...]]]]] = {
    "mlp": lambda: (nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 2), nn.Softmax(-1)), ((3, 4),), ({0: batch},), [((2, 4),), ((9, 4),)]),
    "convolutions": lambda: (_convolutions(), ((2, 3, 16, 16),), ({0: batch},), [((5, 3, 16, 16),), ((3, 3, 16, 16),)]),
    "images": lambda: (_convolutions(), ((2, 3, 20, 16),), ({0: batch, 2: height, 3: width},), [((5, 3, 11, 31),), ((3, 3, 16, 8),)]),
    "training": lambda: (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh()), ((3, 4),), ({0: batch},), [((6, 4),), ((5, 4),)]),
    "attention": lambda: (Function(_attention, first=nn.Linear(8, 24)), ((3, 5, 8),), ({0: batch, 1: length},), [((2, 9, 8),), ((4, 3, 8),)]),
    "patches": lambda: (Function(_patches, first=nn.Conv2d(3, 4, 4, 4)), ((2, 3, 16, 20),), ({0: batch, 2: 4 * Dim("rows", min=2), 3: 4 * Dim("columns", min=2)},),
                        [((3, 3, 8, 40),), ((4, 3, 12, 8),)]),
    "positions": lambda: (Function(_positions, table=nn.Embedding(10, 4), places=nn.Embedding(40, 4)), (_INTS,), ({0: batch, 1: length},), [((2, 3),), ((3, 11),)]),
    "joined": lambda: (Function(_joined), ((3, 4), (5, 4)), ({0: Dim("a")}, {0: Dim("b")}), [((2, 4), (2, 4)), ((7, 4), (6, 4))]),
    "windows": lambda: (Function(_windows), ((1, 2, 10, 12),), ({2: height, 3: width},), [((1, 2, 9, 14),), ((1, 2, 11, 8),)]),
    "encoder": lambda: (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), ((2, 3, 8),), ({0: batch, 1: length},), [((3, 7, 8),), ((4, 2, 8),)]),
    "lstm": lambda: (nn.LSTM(4, 5, batch_first=True), ((2, 3, 4),), ({0: batch},), [((3, 3, 4),), ((5, 3, 4),)]),
    "derived": lambda: (Function(lambda self, x, y: x + y[1:]), ((4, 3), (5, 3)), ({0: batch}, {0: batch + 1}), [((6, 3), (7, 3)), ((2, 3), (3, 3))]),
    "automatic": lambda: (Function(lambda self, x, y: (x + y, x.reshape(-1))), ((4, 3), (4, 3)), ({0: Dim.AUTO}, {0: Dim.AUTO}), [((6, 3), (6, 3)), ((2, 3), (2, 3))]),
    "two automatic ones": lambda: (Function(lambda self, x, y: (x.view(-1), y.sum(0), x.size(0))), ((4, 3), (4, 3)), ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}), [((6, 3), (5, 3)), ((2, 3), (9, 3))]),
}  # fmt: skip


def _near(want: Any, got: Any) -> None:
    """Compare the results of two programs of one library."""
    pairs = list(zip(leaves_of(want), leaves_of(got), strict=True))
    assert pairs
    for one, other in pairs:
        np.testing.assert_allclose(other.detach().numpy(), one.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", list(NETWORKS))
def test_torch_runs_other_sizes(name: str, tmp_path: Any) -> None:
    mstorch.manual_seed(0)
    network, shapes, dynamic, calls = NETWORKS[name]()
    draw = (lambda shape: mstorch.randint(10, shape)) if name == "positions" else mstorch.randn
    args = tuple(map(draw, shapes))
    declared = (tuple(dynamic),) if isinstance(network, Function) else dynamic
    program = mstorch.export.export(network, args, dynamic_shapes=declared)
    mstorch.export.save(program, tmp_path / "own.pt2")
    theirs, again = torch.export.load(tmp_path / "own.pt2"), mstorch.export.load(tmp_path / "own.pt2")
    for shapes in calls:
        given = tuple(map(draw, shapes))
        wanted = program.module()(*given)
        _near(network(*given), wanted)
        same(theirs.module()(*(torch.tensor(one.numpy()) for one in given)), wanted, rtol=1e-4, atol=1e-5, strides=False)
        _near(wanted, again.module()(*given))


def test_ranges_and_equal_sizes_are_in_the_file(tmp_path: Any) -> None:
    b, t = Dim("b", min=3, max=8), Dim("t", min=4)
    network = Function(lambda self, x, y: x.unsqueeze(1) + y)
    program = mstorch.export.export(network, (mstorch.ones(4, 6), mstorch.ones(4, 5, 6)), dynamic_shapes=(({0: b}, {0: b, 1: t}),))
    mstorch.export.save(program, tmp_path / "own.pt2")
    theirs, own = torch.export.load(tmp_path / "own.pt2"), mstorch.export.load(tmp_path / "own.pt2")
    assert [str(one) for one in theirs.range_constraints.values()] == ["VR[3, 8]", "VR[4, int_oo]"]
    for first, second in ((3, 4), (2, 4), (9, 5), (8, 3), (8, 70)):
        for other in (first, first + 1):
            shapes = (first, 6), (other, second, 6)
            want = said(lambda: theirs.module()(*map(torch.ones, shapes)))
            got = [said(lambda program=program: program.module()(*map(mstorch.ones, shapes))) for program in (program, own)]
            assert [bool(want)] * 2 == [bool(one) for one in got], (shapes, want, got)
            assert want.partition(":")[0] == got[1].partition(":")[0]


@pytest.mark.sweep
def test_programs_of_torch_keep_their_sizes(tmp_path: Any) -> None:
    count = 0
    for name, make in SAMPLES.items():
        torch.manual_seed(0)
        program, calls = make()
        if not program.range_constraints:
            continue
        own = mstorch.export.load(saved(torch.export.save, program))
        if own._varying is None:
            continue
        try:
            mstorch.export.save(own, tmp_path / f"{name}.pt2")
        except NotImplementedError:
            continue
        theirs = torch.export.load(tmp_path / f"{name}.pt2")
        ranges = [{str(key): str(value) for key, value in one.range_constraints.items() if str(key) in own._varying.names} for one in (program, theirs)]
        assert ranges[0] == ranges[1], name
        for args in calls:
            _near(program.module()(*args), theirs.module()(*args))
        count += 1
    assert count


def test_other_operations_for_other_sizes_have_no_graph() -> None:
    network = Function(lambda self, x: x * 2 if x.size(0) % 2 else x + 1)
    program = mstorch.export.export(network, (mstorch.ones(4, 2),), dynamic_shapes=(({0: Dim("b")},),))
    assert program.module()(mstorch.ones(5, 2)).tolist() == [[2.0, 2.0]] * 5
    with pytest.raises(NotImplementedError, match="other operations for other sizes"):
        mstorch.export.save(program, io.BytesIO())


@pytest.mark.parametrize("function", [
    lambda s, t: 7, lambda s, t: s, lambda s, t: 3 * s + 1, lambda s, t: (s - 3) // 2 + 1, lambda s, t: 6 * ((s + 2) // 3), lambda s, t: s * t, lambda s, t: s + t,
    lambda s, t: 5 * s * t, lambda s, t: 2 * s + 3 * t - 1, lambda s, t: 4 * ((s - 1) // 2) * ((t + 1) // 2), lambda s, t: (s + 1) * t, lambda s, t: s // 4,
])  # fmt: skip
def test_numbers_are_found_from_runs(function: Callable[[int, int], int]) -> None:
    points = [(9, 6), (10, 6), (11, 6), (12, 6), (19, 6), (9, 7), (9, 8), (9, 9), (9, 13), (10, 8), (11, 9)]
    form: Any = expressed([function(*point) for point in points], points)
    for s in range(3, 40):
        for t in range(3, 30):
            assert (form if isinstance(form, int) else form.at((s, t))) == function(s, t)


def test_numbers_that_several_forms_fit_are_refused() -> None:
    points = [(224,), (225,), (226,), (227,), (449,)]
    assert expressed([point[0] // 16 for point in points], points) is None
    assert expressed([point[0] ** 2 for point in points], points) is None

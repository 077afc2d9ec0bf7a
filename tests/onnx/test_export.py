"""Models in ONNX, run by onnxruntime: their results equal the models', also for other sizes."""
from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mstorch as torch
from mstorch import nn
from mstorch.nn import functional as F
from mstorch.onnx import _exporting

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def exported(model: Any, args: tuple[Any, ...], other: tuple[Any, ...] | None = None, axes: Any = None, opset: int = 17) -> Any:
    """Export a model, check the file, and compare with the model on the arguments and on others."""
    program = torch.onnx.export(
        model, args, opset_version=opset, dynamic_axes={"x": axes} if axes else None, input_names=["x"] if axes else None
    )
    onnx.checker.check_model(program.model_proto, full_check=True)
    for given in (args, other):
        if given is None:
            continue
        with torch.no_grad():
            want = model.eval()(*given) if isinstance(model, nn.Module) else model(*given)
        found = program(*given)
        for one, expected in zip(_tensors(found), _tensors(want), strict=True):
            assert one.dtype == expected.dtype and one.shape == expected.shape
            np.testing.assert_allclose(one.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
    return program


def _tensors(value: Any) -> list[Any]:
    return [one for one in torch.utils._pytree.tree_leaves(value) if isinstance(one, torch.Tensor)]


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.Hardsigmoid())
        self.head = nn.Linear(8 * 4 * 4, 5)

    def forward(self, x: Any) -> Any:
        x = self.features(x)
        x = x * self.gate(x)
        return self.head(x.flatten(1)).log_softmax(-1)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, 2, 1)
        self.norm, self.up, self.out = nn.GroupNorm(4, 16), nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(24, 1, 1)

    def forward(self, x: Any) -> Any:
        a = F.silu(self.down(x), inplace=True)
        b = F.gelu(self.norm(self.deep(a)))
        return self.out(torch.cat([a, self.up(b), F.interpolate(b[:, :8], scale_factor=2, mode="bilinear")], 1)).sigmoid()


class Language(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True)
        self.head = nn.Linear(16, 50, bias=False)

    def forward(self, x: Any) -> Any:
        size = x.shape[1]
        mask = torch.full((size, size), float("-inf")).triu(1)
        hidden = self.words(x) + self.places(torch.arange(size))
        return self.head(self.layer(hidden, src_mask=mask))


@pytest.mark.parametrize("opset", [13, 15, 17, 18, 20])
def test_networks(opset: int) -> None:
    torch.manual_seed(0)
    exported(ConvNet(), (torch.randn(1, 3, 16, 16),), (torch.randn(3, 3, 16, 16),), {0: "n"}, opset)
    exported(UNet(), (torch.randn(1, 3, 16, 16),), (torch.randn(2, 3, 32, 24),), {0: "n", 2: "h", 3: "w"}, opset)
    ids = torch.randint(0, 50, (2, 7))
    exported(Language(), (ids,), (torch.randint(0, 50, (3, 12)),), {0: "n", 1: "t"}, max(opset, 14))


@pytest.mark.parametrize(
    "layer", [nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True), nn.GRU(4, 6, 2), nn.RNN(4, 6, nonlinearity="relu"), nn.LSTM(4, 6, bias=False)]
)
def test_recurrent_layers(layer: Any) -> None:
    exported(layer, (torch.randn(3, 5, 4),), (torch.randn(2, 9, 4),), {0: "a", 1: "b"})


def test_projections_of_recurrent_layers_are_refused() -> None:
    with pytest.raises(torch.onnx.OnnxExporterError, match="without projections"):
        exported(nn.LSTM(4, 6, proj_size=2), (torch.randn(5, 3, 4),))


def test_recurrent_layers_from_given_states() -> None:
    exported(nn.LSTM(4, 6, 2), (torch.randn(5, 3, 4), (torch.randn(2, 3, 6), torch.randn(2, 3, 6))))


def _written(x: Any) -> Any:
    y = x * 2
    y[:, 0] = 1.0
    y[:, 1:3] += 5
    part = y[1]
    part.mul_(3)
    y.t().add_(1)
    return y, part


def _windows(x: Any) -> Any:
    a, b = x.chunk(2, 1)
    return torch.roll(a, 1, 1), b.flip(0), torch.stack([a, b], 1).transpose(0, 2), x[:, [0, -1]], x[x.shape[0] - 1], F.pad(x, (1, 2), value=3.0)


def _reduced(x: Any) -> Any:
    best, place = x.max(1)
    return x.sum(), x.mean((0, 1), keepdim=True), best, place, x.std(1), x.cumsum(1), x.topk(2, 1), x.argmax(), x.logsumexp(1), x.norm(dim=1), (x > 0).any(1)


def _pointwise(x: Any) -> Any:
    n = torch.arange(x.shape[1])
    return (
        torch.where(x > 0, x, -1.0), x.clamp(-1, 1), x.pow(3), x.abs().sqrt().log1p(), n // 2, n % 3, x.remainder(0.7), 1 - x, x.erf(),
        F.softplus(x), F.leaky_relu(x, 0.2), F.elu(x), x.masked_fill(x < 0, 2.0), (x == x.round()) | (x > 1), x.int(), F.mish(x), F.hardswish(x),
        F.normalize(x), x.double() * 2, torch.zeros_like(x) + x.new_ones(x.shape[1]), F.one_hot(n, 6),
    )  # fmt: skip


def _indexed(x: Any) -> Any:
    rows = torch.tensor([0, 1, 1])
    z = torch.zeros(4, x.shape[1]).index_put((rows,), x[rows])
    return x[rows], x[:, rows], x[rows, rows], x.gather(1, rows.expand(3, 3)), x.index_select(1, rows), z, x[x[:, 0] > -9], x.tril(), x.triu(1)


@pytest.mark.parametrize("function", [_written, _windows, _reduced, _pointwise, _indexed])
def test_operations(function: Any) -> None:
    torch.manual_seed(1)
    exported(function, (torch.randn(3, 4),), (torch.randn(3, 4),), None, 18)
    if function is not _indexed:
        exported(function, (torch.randn(4, 4),), (torch.randn(6, 4),), {0: "n"}, 18)


def test_names_files_and_answers(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5)).train()
    x = torch.randn(2, 3)
    path = tmp_path / "model.onnx"
    program = torch.onnx.export(model, (x,), path, input_names=["x"], output_names=["y"], verify=True)
    assert model.training and model[1].training and not torch.onnx.is_in_onnx_export()
    graph = onnx.load(path).graph
    assert [one.name for one in graph.input] == ["x"] and [one.name for one in graph.output] == ["y"]
    assert {one.name for one in graph.initializer} >= {"0.weight", "0.bias"} and repr(program).startswith("ONNXProgram(")
    stream = io.BytesIO()
    assert torch.onnx.export(model, x, stream, dynamo=False) is None
    assert onnx.load_from_string(stream.getvalue()).graph.input[0].name == "input"
    program.save(tmp_path / "apart.onnx", external_data=True)
    assert (tmp_path / "apart.onnx.data").exists() and program(x).shape == (2, 2)


def test_sizes_that_vary_by_the_form_of_the_arguments() -> None:
    batch = torch.export.Dim("batch")
    program = torch.onnx.export(lambda a, b: a @ b, (torch.randn(2, 3), torch.randn(3, 4)), dynamic_shapes=({0: batch}, None))
    assert program.model_proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert program.model_proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert program(torch.randn(7, 3), torch.randn(3, 4)).shape == (7, 4)


class Doubling(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.new_tensor(x.numpy() * 2)


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda x: torch.linalg.qr(x)[0], torch.onnx.UnsupportedOperatorError, "qr"),
        (lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4), training=True), torch.onnx.OnnxExporterError, "eval"),
        (lambda x: x + torch.tensor(np.arange(float(x.shape[0]))[:, None], dtype=torch.float32), torch.onnx.OnnxExporterError, "depends on"),
        (lambda x: x.sin() if x.shape[0] > 4 else x.cos(), torch.onnx.OnnxExporterError, "another does sin"),
        (lambda x: x * (1.5 / x.shape[0]), torch.onnx.OnnxExporterError, "floating point"),
    ],
)
def test_what_onnx_cannot_express_is_refused(function: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        torch.onnx.export(function, (torch.randn(4, 4),), input_names=["x"], dynamic_axes={"x": {0: "n"}})


def test_arguments_that_are_refused() -> None:
    x = torch.ones(2)
    with pytest.raises(ValueError, match="opset"):
        torch.onnx.export(torch.sin, (x,), opset_version=5)
    with pytest.raises(NotImplementedError, match="evaluation"):
        torch.onnx.export(torch.sin, (x,), training=torch.onnx.TrainingMode.TRAINING)
    with pytest.raises(torch.onnx.OnnxExporterError, match="no dimension 3"):
        torch.onnx.export(nn.Identity(), (x,), input_names=["x"], dynamic_axes={"x": {3: "n"}})


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(_exporting.importlib, "import_module", absent)
    with pytest.raises(ImportError, match="pip install onnx"):
        torch.onnx.export(nn.Identity(), (torch.ones(1),))

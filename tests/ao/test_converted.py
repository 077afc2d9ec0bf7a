"""Converted models: quantized layers return torch's integers, or integers that differ by one, and can be saved and loaded."""
from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

from .networks import FUSED, STEPS, TOKENS, encoder, images, recurrent, small_cnn
from .test_training import CONFIGURATIONS, trained

# A device rounds a product and a sum separately where the CPU fuses them, so that integers of each layer may differ by one.
pytestmark = pytest.mark.on_the_cpu


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def calibrated(torch: Any, configuration: Callable[[Any], Any]) -> Any:
    """Return a network that observed some images."""
    q = torch.ao.quantization
    model = q.fuse_modules(small_cnn(torch).eval(), FUSED)
    model.qconfig = configuration(q)
    model = q.prepare(model)
    for seed in range(3):
        model(torch.tensor(images(seed)))
    return model


AFTER_TRAINING: list[Callable[[Any], Any]] = [
    lambda q: q.default_qconfig, lambda q: q.get_default_qconfig("x86"), lambda q: q.get_default_qconfig("qnnpack"),
    lambda q: q.default_per_channel_qconfig, lambda q: q.get_default_qconfig("onednn"),
]  # fmt: skip


def near(want: Any, got: Any, step: float) -> None:
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), atol=step * 1.001, rtol=0)


@pytest.mark.parametrize("number", range(len(AFTER_TRAINING)))
def test_small_network_after_training(number: int) -> None:
    """Each layer's integers differ by at most one; the result may differ by one step of the last layer."""
    models = [torch.ao.quantization.convert(calibrated(torch, AFTER_TRAINING[number])) for torch in (real_torch, mstorch)]
    assert list(models[0].state_dict()) == list(models[1].state_dict())
    assert [type(m).__name__ for m in models[0].modules()] == [type(m).__name__ for m in models[1].modules()]
    want, got = (model(torch.tensor(images(7))) for model, torch in zip(models, (real_torch, mstorch)))
    near(want, got, models[0].out.scale)


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_small_network_with_training(number: int) -> None:
    models = [torch.ao.quantization.convert(trained(torch, CONFIGURATIONS[number], 1)[1].eval()) for torch in (real_torch, mstorch)]
    assert list(models[0].state_dict()) == list(models[1].state_dict())
    want, got = (model(torch.tensor(images(7))) for model, torch in zip(models, (real_torch, mstorch)))
    near(want, got, models[0].out.scale)


def moved(model: Any, writer: Any, fresh: Any, reader: Any) -> Any:
    """Return a model of one library with the state of another's."""
    file = io.BytesIO()
    writer.save(model.state_dict(), file)
    file.seek(0)
    fresh.load_state_dict(reader.load(file, weights_only=False))
    return fresh


@pytest.mark.parametrize("number", range(len(AFTER_TRAINING)))
def test_states_of_converted_networks_both_ways(number: int) -> None:
    """torch's state loads into our layers and ours into torch's, with the same integers."""
    theirs, ours = (torch.ao.quantization.convert(calibrated(torch, AFTER_TRAINING[number])) for torch in (real_torch, mstorch))
    x = images(8)
    for model, writer, other, reader in ((theirs, real_torch, ours, mstorch), (ours, mstorch, theirs, real_torch)):
        there = moved(model, writer, copy.deepcopy(other), reader)
        near(model(writer.tensor(x)), there(reader.tensor(x)), model.out.scale)
        assert [str(value) for value in there.state_dict().values()] == [str(value) for value in model.state_dict().values()]


@pytest.mark.parametrize("kind", ["qint8", "float16"])
@pytest.mark.parametrize("make", [encoder, recurrent])
def test_weights_alone(kind: str, make: Callable[[Any], Any]) -> None:
    """Layers that quantize their inputs at each call: results, texts, states, copies and whole models in files."""
    given = TOKENS if make is encoder else STEPS
    models = {}
    for torch in (real_torch, mstorch):
        spec = {torch.nn.Linear} if make is encoder else None
        models[torch] = torch.ao.quantization.quantize_dynamic(make(torch), spec, dtype=getattr(torch, kind))
    theirs, ours = models.values()
    assert repr(theirs) == repr(ours) and list(theirs.state_dict()) == list(ours.state_dict())
    want, got = (run(model, torch, given) for torch, model in models.items())
    for w, g in zip(want, got):
        np.testing.assert_allclose(g, w, atol=1e-6, rtol=0)  # a step is at least 1e-3
    for model, writer, other, reader in ((theirs, real_torch, ours, mstorch), (ours, mstorch, theirs, real_torch)):
        there = copy.deepcopy(other)
        for parameter in there.parameters():
            parameter.data.zero_()
        for w, g in zip(run(model, writer, given), run(moved(model, writer, there, reader), reader, given)):
            np.testing.assert_allclose(g, w, atol=1e-6, rtol=0)


def run(model: Any, torch: Any, given: np.ndarray) -> list[np.ndarray]:
    with torch.no_grad():
        found = model(torch.tensor(given))
    return [part.numpy() for part in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_packed_sequences_and_states(kind: str) -> None:
    def body(torch: Any) -> Any:
        torch.manual_seed(0)
        layer = getattr(torch.nn, kind)(8, 6, 2, bidirectional=True)
        made = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(layer), {type(layer)})[0]
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            torch.tensor(STEPS), torch.tensor([4, 9, 2]), batch_first=True, enforce_sorted=False
        )
        state = torch.linspace(-1, 1, 4 * 3 * 6).reshape(4, 3, 6)
        states = (state, state * 0.5) if kind == "LSTM" else state
        y, end = made(packed, states)
        z, last = made(torch.tensor(STEPS).transpose(0, 1), states)
        return [part.detach().numpy() for part in (y.data, *(end if kind == "LSTM" else [end]), z, *(last if kind == "LSTM" else [last]))]

    for want, got in zip(body(real_torch), body(mstorch)):
        np.testing.assert_allclose(got, want, atol=1e-6, rtol=0)


def test_whole_layers_in_files() -> None:
    models = {torch: torch.ao.quantization.quantize_dynamic(recurrent(torch)) for torch in (real_torch, mstorch)}
    for writer, reader in ((real_torch, mstorch), (mstorch, real_torch), (mstorch, mstorch)):
        for name, given in (("lstm", STEPS), ("out", np.ones((2, 3), np.float32)), ("gru_cell", np.ones((2, 5), np.float32))):
            file = io.BytesIO()
            writer.save(getattr(models[writer], name), file)
            file.seek(0)
            found = reader.load(file, weights_only=False)
            wanted, got = (layer(torch.tensor(given)) for layer, torch in ((getattr(models[writer], name), writer), (found, reader)))
            wanted, got = ((part[0] if isinstance(part, tuple) else part) for part in (wanted, got))
            np.testing.assert_allclose(got.detach().numpy(), wanted.detach().numpy(), atol=1e-6, rtol=0)


OPERATORS = ["add", "add_relu", "mul", "mul_relu"]


@pytest.mark.parametrize("name", OPERATORS)
def test_sums_and_products(name: str) -> None:
    """One element in a hundred may differ by one: torch rounds a product and a sum together."""
    a, b = (np.random.RandomState(seed).randn(20, 50).astype(np.float32) for seed in (0, 1))

    def body(torch: Any) -> Any:
        x, y = torch.quantize_per_tensor(torch.tensor(a), 0.03, 100, torch.quint8), torch.quantize_per_tensor(torch.tensor(b), 0.02, 120, torch.quint8)
        return getattr(torch.ops.quantized, name)(x, y, 0.04, 90).int_repr().numpy().astype(int)

    apart = np.abs(body(real_torch) - body(mstorch))
    assert apart.max() <= 1 and apart.mean() < 0.1


@pytest.mark.parametrize("name", ["add_scalar", "mul_scalar", "add_scalar_relu", "mul_scalar_relu"])
@pytest.mark.parametrize("number", [0.5, -0.7, 20.0, -30.0, 0.0, 3])
def test_with_a_number(name: str, number: float) -> None:
    a = np.random.RandomState(0).randn(3, 50).astype(np.float32)
    want, got = (
        getattr(torch.ops.quantized, name)(torch.quantize_per_tensor(torch.tensor(a), 0.03, 100, torch.quint8), number)
        for torch in (real_torch, mstorch)
    )
    assert (want.q_zero_point(), want.q_scale()) == (got.q_zero_point(), pytest.approx(got.q_scale(), rel=1e-12))
    assert np.abs(want.int_repr().numpy().astype(int) - got.int_repr().numpy()).max() <= 1


CONVOLUTIONS = [(2, 1, 1, 1, 0, 1), (4, 2, 3, 1, 1, 1), (16, 1, 3, 2, 1, 1), (4, 1, 3, 1, 0, 2), (64, 1, 5, 1, 2, 1)]


@pytest.mark.parametrize(("channels", "groups", "size", "stride", "padding", "dilation"), CONVOLUTIONS)
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("by_channel", [False, True])
def test_convolutions(channels: int, groups: int, size: int, stride: int, padding: int, dilation: int, relu: bool, by_channel: bool) -> None:
    draw = np.random.RandomState(size)
    out = 4 * groups
    weight = draw.randn(out, channels // groups, size, size).astype(np.float32)
    x, bias = draw.randn(2, channels, 9, 8).astype(np.float32), draw.randn(out).astype(np.float32)

    def body(torch: Any) -> Any:
        if by_channel:
            scales = torch.tensor(np.linspace(0.02, 0.05, out))
            packed = torch.quantize_per_channel(torch.tensor(weight), scales, torch.zeros(out, dtype=torch.int64), 0, torch.qint8)
        else:
            packed = torch.quantize_per_tensor(torch.tensor(weight), 0.03, 0, torch.qint8)
        options = [stride] * 2, [padding] * 2, [dilation] * 2, groups
        params = torch.ops.quantized.conv2d_prepack(packed, torch.tensor(bias), *options)
        q = torch.quantize_per_tensor(torch.tensor(x), 0.03, 100, torch.quint8)
        found = getattr(torch.ops.quantized, "conv2d_relu" if relu else "conv2d")(q, params, 0.2, 77)
        return found.int_repr().numpy().astype(int), found.stride(), found.q_scale(), found.q_zero_point()

    want, got = body(real_torch), body(mstorch)
    assert want[1:] == got[1:]
    apart = np.abs(want[0] - got[0])
    assert apart.max() <= 1 and apart.mean() < 0.01


@pytest.mark.parametrize("length", [3, 256, 257, 1000])
def test_linear_layers(length: int) -> None:
    """Long sums are exact, because integers add up exactly."""
    draw = np.random.RandomState(length)
    weight, x = draw.randint(-128, 128, (7, length)).astype(np.int8), draw.randint(0, 256, (5, length)).astype(np.uint8)

    def body(torch: Any, relu: bool) -> Any:
        packed = torch.ops.quantized.linear_prepack(torch._make_per_tensor_quantized_tensor(torch.tensor(weight), 0.5, 0), None)
        q = torch._make_per_tensor_quantized_tensor(torch.tensor(x), 0.25, 0)
        found = (torch.ops.quantized.linear_relu if relu else torch.ops.quantized.linear)(q, packed, 8.0 * length, 128)
        return found.int_repr().numpy()

    for relu in (False, True):
        np.testing.assert_array_equal(body(mstorch, relu), body(real_torch, relu))

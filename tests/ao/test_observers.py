"""Observers and fake-quantizing modules: their states, chosen scales, texts and files are torch's, bit for bit."""
from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

from ..against_torch import both, without_device

BATCHES = [(np.random.RandomState(i).randn(4, 6, 5) * (1 + i) + i * 0.3).astype(np.float32) for i in range(4)]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def plain(value: Any) -> Any:
    """Return tensors as arrays and texts without the library's name, to be compared exactly."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "detach"):
        array = value.detach().numpy()
        return str(array.dtype), array.shape, array.tobytes()
    if isinstance(value, (int, float, type(None))):
        return value
    return " ".join(without_device(str(value).replace("mstorch", "torch")).split())  # a device's name changes line breaks


def exactly(body: Callable[[Any], Any]) -> None:
    """Assert that a body gives the same bits, or the same error, with both libraries."""
    found = []
    for torch in (real_torch, mstorch):
        try:
            found.append(plain(body(torch)))
        except Exception as error:  # noqa: BLE001 - whatever torch raises is what is compared
            found.append((type(error).__name__, " ".join(str(error).split())))
    assert found[0] == found[1]


def seen(torch: Any, make: Callable[[], Any]) -> Any:
    """Return the results of an observer on the batches, and those of a copy that loaded its state."""
    observer = make()
    given = [observer(torch.tensor(batch)) for batch in BATCHES]
    again = make()
    again.load_state_dict(observer.state_dict())
    copied = copy.deepcopy(observer)
    return [
        *given, observer.calculate_qparams(), dict(observer.state_dict()), repr(observer), again.calculate_qparams(), copied.calculate_qparams(),
    ]  # fmt: skip


TENSORS = ("MinMaxObserver", "MovingAverageMinMaxObserver", "HistogramObserver")
CHANNELS = ("PerChannelMinMaxObserver", "MovingAveragePerChannelMinMaxObserver")


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("kind", ["quint8", "qint8", "qint32"])
@pytest.mark.parametrize("scheme", ["per_tensor_affine", "per_tensor_symmetric", "per_channel_affine"])
def test_tensors(name: str, kind: str, scheme: str) -> None:
    if name == "HistogramObserver" and kind == "qint32":
        pytest.skip("2 to the 32th bins")
    for reduced in (False, True):
        for limits in ({}, {"quant_min": 0, "quant_max": 127}, {"quant_min": -127, "quant_max": 127}, {"quant_min": 1, "quant_max": 3}):

            def body(torch: Any) -> Any:
                options = {"dtype": getattr(torch, kind), "qscheme": getattr(torch, scheme), "reduce_range": reduced, **limits}
                return seen(torch, lambda: getattr(torch.ao.quantization, name)(**options))

            exactly(body)


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("kind", ["quint8", "qint8", "qint32"])
@pytest.mark.parametrize(
    "scheme", ["per_channel_affine", "per_channel_symmetric", "per_channel_affine_float_qparams", "per_tensor_affine"]
)
def test_channels(name: str, kind: str, scheme: str) -> None:
    for reduced in (False, True):
        for axis in range(3):

            def body(torch: Any) -> Any:
                options = {"dtype": getattr(torch, kind), "qscheme": getattr(torch, scheme), "reduce_range": reduced, "ch_axis": axis}
                return seen(torch, lambda: getattr(torch.ao.quantization, name)(**options))

            exactly(body)


@pytest.mark.parametrize("bins", [16, 256])
def test_histograms(bins: int) -> None:
    """Histograms: bounds that widen on either side, equal numbers, and infinite ones."""
    batches = [np.full(5, 0.5), np.linspace(-1, 1, 50), np.linspace(0, 9, 80) ** 2, [np.inf, 1.0], [-np.inf], [], [-200.0], [0.1]]

    def body(torch: Any) -> Any:
        observer = torch.ao.quantization.HistogramObserver(bins=bins)
        found = [observer.calculate_qparams()]
        for batch in batches:
            observer(torch.tensor(np.float32(batch)))
            found += [observer.histogram.clone(), observer.min_val.clone(), observer.max_val.clone(), observer.calculate_qparams()]
        return found

    exactly(body)


def rounded(torch: Any, module: Any) -> Any:
    """Return the results and gradients of a fake-quantizing module on the batches, with each of its switches turned off in turn."""
    found = []
    for number, batch in enumerate(BATCHES):
        x = torch.tensor(batch, requires_grad=True)
        y = module(x)
        if y.requires_grad and y is not x:
            (y * y).sum().backward()
        found += [y, x.grad]
        if number == 1 and hasattr(module, "disable_observer"):
            module.apply(torch.ao.quantization.disable_observer)
        if number == 2 and hasattr(module, "disable_fake_quant"):
            module.apply(torch.ao.quantization.disable_fake_quant)
    return [*found, dict(module.state_dict()), repr(module)]


MAKERS = [name for name in real_torch.ao.quantization.__all__ if name.startswith("default_") and not name.endswith(("qconfig", "eval_fn"))]
QCONFIGS = [name for name in real_torch.ao.quantization.qconfig.__all__ if name.endswith("qconfig") and not name.startswith("get_")]


@pytest.mark.parametrize("name", MAKERS)
def test_default_observers(name: str) -> None:
    exactly(lambda torch: repr(getattr(torch.ao.quantization, name)))
    exactly(lambda torch: rounded(torch, getattr(torch.ao.quantization, name)()))


@pytest.mark.parametrize("name", QCONFIGS)
def test_default_configurations(name: str) -> None:
    exactly(lambda torch: repr(getattr(torch.ao.quantization.qconfig, name)))
    for part in ("activation", "weight"):
        exactly(lambda torch: rounded(torch, getattr(getattr(torch.ao.quantization.qconfig, name), part)()))


@pytest.mark.parametrize("backend", ["x86", "fbgemm", "qnnpack", "onednn", "other"])
@pytest.mark.parametrize("version", [0, 1, 7])
def test_configurations_of_backends(backend: str, version: int) -> None:
    for name in ("get_default_qconfig", "get_default_qat_qconfig"):
        exactly(lambda torch: getattr(torch.ao.quantization, name)(backend, version))


def test_arguments_of_makers() -> None:
    def body(torch: Any) -> Any:
        q = torch.ao.quantization
        counts = iter(range(9))
        made = q.MinMaxObserver.with_args(dtype=torch.qint8).with_args(quant_min=-3, quant_max=4)
        called = q.MovingAverageMinMaxObserver.with_callable_args(averaging_constant=lambda: next(counts))
        one = q.QConfig(activation=made, weight=q.default_weight_observer)
        return [
            repr(made), made().quant_min, made(quant_max=5).quant_max, called().averaging_constant, called().averaging_constant,
            called(averaging_constant=0.5).averaging_constant, q.qconfig_equals(one, copy.copy(one)), q.qconfig_equals(one, q.default_qconfig),
            q.qconfig_equals(None, None), q.qconfig_equals(q.get_default_qat_qconfig(), q.get_default_qat_qconfig()), tuple(one._fields),
        ]  # fmt: skip

    exactly(body)
    exactly(lambda torch: torch.ao.quantization.QConfig(activation=torch.nn.Identity(), weight=None))
    exactly(lambda torch: torch.ao.quantization.FakeQuantize(quant_min=0, quant_max=300))
    exactly(lambda torch: torch.ao.quantization.FakeQuantize(quant_min=5, quant_max=3))
    exactly(lambda torch: torch.ao.quantization.FixedQParamsFakeQuantize(torch.ao.quantization.MinMaxObserver))
    exactly(lambda torch: torch.ao.quantization.FusedMovingAvgObsFakeQuantize(torch.ao.quantization.MinMaxObserver))
    exactly(lambda torch: torch.ao.quantization.PlaceholderObserver().calculate_qparams())
    exactly(lambda torch: torch.ao.quantization.ObserverBase(torch.qint8))


def test_states_of_a_model() -> None:
    def body(torch: Any) -> Any:
        q = torch.ao.quantization
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU())
        model.qconfig = q.get_default_qconfig("fbgemm")
        one, other = q.prepare(model), q.prepare(model)
        one(torch.tensor(BATCHES[0][:, :, 0]))
        state = q.get_observer_state_dict(one)
        q.load_observer_state_dict(other, state)
        return [list(state), dict(q.get_observer_state_dict(other))]

    both(body)

"""Quantization-aware training: fused layers, results, gradients, states and texts are torch's.

Convolutions and normalisation add up in another order than torch's, so results differ by their rounding, and a number that lies halfway
between two steps may go to the other one. Layers of whole numbers, which add up exactly, are compared bit for bit.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

from ..against_torch import both, without_device
from .networks import FUSED, images, small_cnn


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


CONFIGURATIONS: list[Callable[[Any], Any]] = [
    lambda q: q.default_qat_qconfig, lambda q: q.default_qat_qconfig_v2, lambda q: q.get_default_qat_qconfig("x86", 0),
    lambda q: q.get_default_qat_qconfig("x86"), lambda q: q.get_default_qat_qconfig("qnnpack"),
    lambda q: q.get_default_qat_qconfig("onednn"),
]  # fmt: skip


def trained(torch: Any, configuration: Callable[[Any], Any], steps: int) -> list[Any]:
    """Return texts, results, gradients and states of a network during some training steps."""
    q = torch.ao.quantization
    model = q.fuse_modules_qat(small_cnn(torch).train(), FUSED)
    model.qconfig = configuration(q)
    model = q.prepare_qat(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    found: list[Any] = [repr(model)]
    for step in range(steps):
        optimizer.zero_grad()
        y = model(torch.tensor(images(step)))
        torch.nn.functional.cross_entropy(y, torch.tensor([0, 1, 2, 3])).backward()
        gradients = {name: p.grad.clone() for name, p in model.named_parameters() if name != "conv1.bias"}  # this value is noise around 0
        optimizer.step()
        found += [y, gradients, {name: value.clone() for name, value in model.state_dict().items()}]
    model.apply(q.disable_observer)
    model.apply(torch.ao.nn.intrinsic.qat.freeze_bn_stats)
    found.append(model(torch.tensor(images(9))))
    return [found, model]


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_small_network(number: int) -> None:
    """One step with each configuration: a weight that crosses the middle between two steps would change results by a hundredth."""
    both(lambda torch: trained(torch, CONFIGURATIONS[number], 1)[0][1:3], rtol=1e-4, atol=1e-5)

    def body(torch: Any) -> Any:
        found = trained(torch, CONFIGURATIONS[number], 1)[0]
        return {name: value for name, value in found[3].items() if name != "conv1.bias"}

    both(body, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_texts(number: int) -> None:
    want, got = (trained(torch, CONFIGURATIONS[number], 1)[0][0] for torch in (real_torch, mstorch))
    assert want == without_device(got)


def test_whole_numbers_bit_for_bit() -> None:
    """A linear layer of small integers with scales that are powers of two: sums are exact in any order, and so are all later results."""
    draw = np.random.RandomState(0)
    weight, x, g = (draw.randint(-8, 9, shape).astype(np.float32) for shape in ((5, 16), (12, 16), (12, 5)))

    def body(torch: Any) -> Any:
        q = torch.ao.quantization
        model = torch.nn.Sequential(q.QuantStub(), torch.nn.Linear(16, 5), torch.nn.ReLU(), q.DeQuantStub())
        model[1].weight.data.copy_(torch.tensor(weight))
        model[1].bias.data.zero_()
        model = q.fuse_modules_qat(model.train(), ["1", "2"])
        power = {"averaging_constant": 1.0, "quant_min": -128, "quant_max": 127, "dtype": torch.qint8}
        model.qconfig = q.QConfig(
            activation=q.FakeQuantize.with_args(observer=q.MovingAverageMinMaxObserver, qscheme=torch.per_tensor_symmetric, **power),
            weight=q.FakeQuantize.with_args(observer=q.MovingAverageMinMaxObserver, qscheme=torch.per_tensor_symmetric, **power),
        )
        model = q.prepare_qat(model)
        for module in model.modules():  # scales that are powers of two, so that only quantization rounds
            if isinstance(module, q.FakeQuantize):
                module.disable_observer()
                module.scale.fill_(2.0)
        found = []
        for _ in range(3):
            model.zero_grad()
            y = model(torch.tensor(x))
            y.backward(torch.tensor(g))
            gradient = model[1].weight.grad
            found += [y.detach().numpy().tobytes(), gradient.numpy().tobytes()]
            model[1].weight.data.sub_(gradient.sign())
        return found

    assert body(real_torch) == body(mstorch)


LAYERS: list[Callable[[Any], list[Any]]] = [
    lambda nn: [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)], lambda nn: [nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU()],
    lambda nn: [nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU()], lambda nn: [nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4)],
    lambda nn: [nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4), nn.ReLU()], lambda nn: [nn.Conv3d(3, 4, 2), nn.BatchNorm3d(4), nn.ReLU()],
    lambda nn: [nn.Conv3d(3, 4, 2), nn.ReLU()], lambda nn: [nn.Linear(6, 4), nn.BatchNorm1d(4)], lambda nn: [nn.Linear(6, 4), nn.ReLU()],
]  # fmt: skip
SHAPES = [(4, 3, 8, 8), (4, 3, 8, 8), (4, 3, 8, 8), (4, 3, 9), (4, 3, 9), (2, 3, 4, 5, 4), (2, 3, 4, 5, 4), (8, 6), (8, 6)]


@pytest.mark.parametrize("number", range(len(LAYERS)))
@pytest.mark.parametrize("slow", [False, True])
def test_layers_put_together(number: int, slow: bool) -> None:
    """Each fused layer: forward, gradients and buffers, and the float layer that it converts back to."""
    x = np.random.RandomState(number).randn(*SHAPES[number]).astype(np.float32)

    def body(torch: Any) -> Any:
        q = torch.ao.quantization
        torch.manual_seed(number)
        model = torch.nn.Sequential(*LAYERS[number](torch.nn)).train()
        names = [str(place) for place in range(len(model))]
        model.qconfig = q.get_default_qat_qconfig("fbgemm")
        model = q.prepare_qat(q.fuse_modules_qat(model, names))
        if slow and hasattr(model[0], "_enable_slow_path_for_better_numerical_stability"):
            model[0]._enable_slow_path_for_better_numerical_stability = True
        y = model(torch.tensor(x))
        y.square().sum().backward()
        buffers = {name: value.clone() for name, value in model.named_buffers()}
        gradients = {name: p.grad for name, p in model.named_parameters() if not (name.endswith("0.bias") and len(names) > 1)}
        plain = model[0].to_float().eval()
        return y, buffers, gradients, plain(torch.tensor(x)), model.eval()(torch.tensor(x)), type(plain).__name__

    both(body, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("number", range(len(LAYERS)))
def test_layers_put_together_after_training(number: int) -> None:
    x = np.random.RandomState(number).randn(*SHAPES[number]).astype(np.float32)

    def body(torch: Any) -> Any:
        torch.manual_seed(number)
        model = torch.nn.Sequential(*LAYERS[number](torch.nn)).eval()
        names = [str(place) for place in range(len(model))]
        fused = torch.ao.quantization.fuse_modules(model, names)
        return fused(torch.tensor(x)), repr(fused), model(torch.tensor(x)), list(fused.state_dict())

    both(body, rtol=1e-4, atol=1e-5)


def test_hooks_go_along() -> None:
    def body(torch: Any) -> Any:
        called = []
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
        model[0].register_forward_pre_hook(lambda module, x: called.append(type(module).__name__))
        model[1].register_forward_hook(lambda module, x, y: called.append(type(module).__name__))
        fused = torch.ao.quantization.fuse_modules(model.eval(), ["0", "1"])
        fused(torch.ones(1, 4))
        return called

    both(body)


MISTAKES: list[Callable[[Any], Any]] = [
    lambda t: t.ao.quantization.prepare_qat(t.nn.Linear(2, 2).eval()),
    lambda t: t.ao.quantization.fuse_modules(t.nn.Sequential(t.nn.ReLU(), t.nn.Linear(2, 2)), ["0", "1"]),
    lambda t: t.ao.quantization.fuse_modules(t.nn.Sequential(t.nn.Conv2d(2, 2, 1), t.nn.BatchNorm2d(2)), ["0", "1"]),
    lambda t: t.ao.quantization.fuse_modules_qat(t.nn.Sequential(t.nn.Conv2d(2, 2, 1), t.nn.BatchNorm2d(3)), ["0", "1"]),
    lambda t: t.ao.quantization.fuse_modules_qat(t.nn.Sequential(t.nn.Conv2d(2, 2, 1), t.nn.BatchNorm2d(2, affine=False)), ["0", "1"]),
    lambda t: t.ao.quantization.fuse_modules_qat(t.nn.Sequential(t.nn.Conv2d(2, 2, 1), t.nn.BatchNorm2d(2).eval()), ["0", "1"]),
    lambda t: t.ao.quantization.fuse_modules_qat(t.nn.Sequential(t.nn.ConvTranspose2d(2, 2, 1), t.nn.BatchNorm2d(2)), ["0", "1"]),
    lambda t: t.ao.nn.intrinsic.ConvReLU2d(t.nn.Linear(2, 2), t.nn.ReLU()),
    lambda t: t.ao.nn.intrinsic.ConvBnReLU2d(t.nn.Conv2d(2, 2, 1), t.nn.BatchNorm1d(2), t.nn.ReLU()),
    lambda t: t.ao.nn.qat.Linear(2, 2), lambda t: t.ao.nn.qat.Linear.from_float(t.nn.Conv2d(2, 2, 1)),
    lambda t: t.ao.nn.qat.Conv2d.from_float(t.nn.Conv2d(2, 2, 1)), lambda t: t.ao.nn.intrinsic.qat.ConvBn2d(2, 2, 1),
    lambda t: t.ao.nn.qat.dynamic.Linear(2, 2, qconfig=t.ao.quantization.default_qat_qconfig),
    lambda t: t.ao.nn.quantized.FloatFunctional()(1),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes(number: int) -> None:
    both(lambda torch: MISTAKES[number](torch), message="did not find fuser method for" if number == 1 else None)

"""Graphs of layers that write in place and of layers that draw random numbers: torch's operators and numbers."""
from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

Both = Callable[..., Any]
ARGUMENTS: dict[str, tuple[Any, ...]] = {"Threshold": (0.1, 2.0)}
SHAPES = {"Dropout1d": (2, 3, 4), "Dropout2d": (2, 3, 4, 4), "Dropout3d": (2, 3, 2, 2, 2)}
LAYERS = sorted(
    name for name, kind in vars(torch.nn).items()
    if isinstance(kind, type) and issubclass(kind, torch.nn.Module) and "inplace" in inspect.signature(kind.__init__).parameters
)  # fmt: skip


def _told(lib: Any, function: Callable[..., Any], shape: tuple[int, ...]) -> Any:
    """Return the calls in a function's graph, and the results; ``function`` receives a tensor that it may write to."""
    lib.manual_seed(3)
    x = lib.randn(*shape)
    make_fx = importlib.import_module(f"{lib.__name__}.fx.experimental.proxy_tensor").make_fx
    graph = make_fx(lambda x: function(x.clone()))(x)
    lib.manual_seed(4)
    calls = [(str(node.target), str(node.args)) for node in graph.graph.nodes if node.op == "call_function"]
    return calls, graph(x)


def test_the_sweep_finds_the_layers() -> None:
    assert {"Dropout", "AlphaDropout", "RReLU", "SELU", "CELU", "Threshold", "Hardswish"} <= set(LAYERS) and len(LAYERS) >= 19


@pytest.mark.parametrize("inplace", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(both: Both, name: str, training: bool, inplace: bool) -> None:
    def body(torch: Any) -> Any:
        layer = getattr(torch.nn, name)(*ARGUMENTS.get(name, ()), inplace=inplace).train(training)
        return _told(torch, layer, SHAPES.get(name, (2, 3, 4)))

    both(body)


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("suffix", ["", "_"])
def test_probabilities(both: Both, name: str, suffix: str, p: float) -> None:
    both(lambda torch: _told(torch, lambda x: getattr(torch, name + suffix)(x, p, True), (2, 3, 4)))


@pytest.mark.parametrize("training", [True, False])
def test_the_gradient_of_slopes_that_are_drawn(both: Both, training: bool) -> None:
    def body(torch: Any) -> Any:
        def gradient(x: Any) -> Any:
            x = x.detach().requires_grad_()
            return torch.autograd.grad(torch.nn.functional.rrelu(x, 0.1, 0.3, training).sum(), x)[0]

        return _told(torch, gradient, (2, 3))[1]

    both(body)


def test_the_operators_of_rrelu(both: Both) -> None:
    def body(torch: Any) -> Any:
        aten = torch.ops.aten
        torch.manual_seed(0)
        x, noise = torch.randn(6), torch.full((6,), 7.0)
        found = [aten.rrelu_with_noise(x, noise, 0.1, 0.3), noise.clone(), aten.rrelu_with_noise(x, noise, 0.1, 0.3, True), noise.clone()]
        written = x.clone()
        found += [aten.rrelu_with_noise_(written, noise, 0.1, 0.3, True), written, noise]
        slopes = [aten.rrelu_with_noise_backward(x.cos(), x, noise, 0.1, 0.3, training, False) for training in (True, False)]
        return found, slopes

    both(body)

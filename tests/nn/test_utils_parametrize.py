"""Parametrizations and the older normalization hooks, compared with torch."""
from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.against_torch import state

Both = Callable[..., Any]


def trained(torch: Any, module: Any, *shape: int, steps: int = 3) -> list[Any]:
    """Return outputs and state of a few training steps."""
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    x = torch.tensor(np.random.RandomState(0).randn(*shape).astype(np.float32))
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (module(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    module.eval()
    return [losses, module(x).detach(), state(module)]


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(both: Both, dim: Any) -> None:
    def body(torch: Any) -> Any:
        layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3), dim=dim)
        names = [name for name, _ in layer.named_parameters()]
        return names, trained(torch, layer, 5, 4), repr(layer)

    both(body)


@pytest.mark.parametrize("kind", ["linear", "conv", "transposed"])
def test_spectral_norm(both: Both, kind: str) -> None:
    def body(torch: Any) -> Any:
        layer, shape = {
            "linear": (torch.nn.Linear(4, 3), (5, 4)),
            "conv": (torch.nn.Conv2d(2, 3, 3), (2, 2, 5, 5)),
            "transposed": (torch.nn.ConvTranspose1d(2, 3, 3), (2, 2, 5)),
        }[kind]
        return trained(torch, torch.nn.utils.parametrizations.spectral_norm(layer, n_power_iterations=2), *shape)

    both(body, rtol=1e-4, atol=1e-5, strides=False)


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6)])
@pytest.mark.parametrize("options", [
    {}, {"orthogonal_map": "cayley"}, {"orthogonal_map": "matrix_exp"}, {"orthogonal_map": "householder"},
    {"orthogonal_map": "householder", "use_trivialization": False},
    {"orthogonal_map": "cayley", "use_trivialization": False},
])  # fmt: skip
def test_orthogonal(both: Both, shape: tuple[int, int], options: dict[str, Any]) -> None:
    def body(torch: Any) -> Any:
        layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(shape[1], shape[0]), **options)
        weight = layer.weight
        small = weight.mT @ weight if shape[0] >= shape[1] else weight @ weight.mT
        return small.detach(), trained(torch, layer, 5, shape[1])

    both(body, rtol=1e-3, atol=1e-4, strides=False)


def _symmetric(torch: Any) -> Any:
    class Symmetric(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).mT

        def right_inverse(self, a: Any) -> Any:
            return a.triu()

    return Symmetric()


def _rank_one(torch: Any) -> Any:
    class RankOne(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x.unsqueeze(-1) @ y.unsqueeze(-2)

        def right_inverse(self, z: Any) -> Any:
            return z[:, 0].clone(), z[0].clone()

    return RankOne()


def test_register_chain_assign_and_remove(both: Both) -> None:
    def body(torch: Any) -> Any:
        parametrize = torch.nn.utils.parametrize
        layer = torch.nn.Linear(3, 3)
        weight = layer.weight
        parametrize.register_parametrization(layer, "weight", _symmetric(torch))
        result = [layer.parametrizations.weight.original is weight, layer.weight.detach().clone(), list(layer.state_dict())]
        layer.weight = torch.arange(9.0).reshape(3, 3)
        result += [layer.weight.detach(), state(layer), parametrize.is_parametrized(layer, "weight")]
        parametrize.register_parametrization(layer, "weight", torch.nn.Tanh())
        result += [layer.weight.detach(), type(layer).__name__, parametrize.type_before_parametrizations(layer).__name__]
        result += [repr(layer), parametrize.is_parametrized(layer, "bias"), [n for n, _ in layer.named_modules()]]
        parametrize.remove_parametrizations(layer, "weight")
        return [*result, state(layer), type(layer).__name__, repr(layer), parametrize.is_parametrized(layer)]

    both(body)


def test_several_originals(both: Both) -> None:
    def body(torch: Any) -> Any:
        parametrize = torch.nn.utils.parametrize
        layer = parametrize.register_parametrization(torch.nn.Linear(3, 2), "weight", _rank_one(torch))
        (layer(torch.ones(1, 3)).sum()).backward()
        grads = [p.grad for p in layer.parameters()]
        other = parametrize.transfer_parametrizations_and_params(layer, torch.nn.Linear(3, 2))
        same = other.parametrizations.weight.original0 is layer.parametrizations.weight.original0
        parametrize.remove_parametrizations(other, "weight")
        return grads, state(layer), same, state(other)

    both(body)


def test_cache_and_deepcopy(both: Both) -> None:
    def body(torch: Any) -> Any:
        parametrize = torch.nn.utils.parametrize
        layer = parametrize.register_parametrization(torch.nn.Linear(3, 3), "weight", _symmetric(torch))
        with parametrize.cached():
            inside = layer.weight is layer.weight
        outside = layer.weight is layer.weight
        twin = copy.deepcopy(layer)
        with torch.no_grad():
            twin.weight = torch.ones(3, 3)
        return inside, outside, layer.weight.detach(), twin.weight.detach(), twin(torch.ones(1, 3)).detach()

    both(body)


def _changing(torch: Any, call: Callable[[Any], Any], back: Callable[[Any], Any] | None = None) -> Any:
    class Changing(torch.nn.Module):
        def forward(self, *x: Any) -> Any:
            return call(x[0])

    if back is not None:
        Changing.right_inverse = lambda self, x: back(x)  # type: ignore[attr-defined]
    return Changing()


@pytest.mark.parametrize("body", [
    lambda t, p, m: p.register_parametrization(m, "nothing", t.nn.Tanh()),
    lambda t, p, m: p.register_parametrization(m, "weight", _changing(t, lambda x: x[0])),
    lambda t, p, m: p.register_parametrization(m, "weight", _changing(t, lambda x: x.double())),
    lambda t, p, m: p.register_parametrization(m, "weight", _changing(t, lambda x: 1)),
    lambda t, p, m: p.register_parametrization(m, "weight", _changing(t, lambda x: x, lambda x: 1)),
    lambda t, p, m: p.register_parametrization(m, "weight", _changing(t, lambda x: x, lambda x: x.double())),
    lambda t, p, m: p.remove_parametrizations(m, "weight"),
    lambda t, p, m: p.remove_parametrizations(p.register_parametrization(m, "weight", _rank_one(t)), "weight", False),
    lambda t, p, m: setattr(p.register_parametrization(m, "weight", t.nn.Tanh()), "weight", t.zeros(3, 3)),
    lambda t, p, m: p.ParametrizationList([], t.zeros(3)),
    lambda t, p, m: t.nn.utils.parametrizations.orthogonal(m, "bias"),
    lambda t, p, m: t.nn.utils.parametrizations.orthogonal(m, "nothing"),
    lambda t, p, m: t.nn.utils.parametrizations.orthogonal(m, orthogonal_map="other"),
    lambda t, p, m: t.nn.utils.parametrizations.spectral_norm(m, n_power_iterations=0),
    lambda t, p, m: t.nn.utils.parametrizations.spectral_norm(m, dim=2),
    lambda t, p, m: t.nn.utils.remove_weight_norm(m),
    lambda t, p, m: t.nn.utils.remove_spectral_norm(m),
    lambda t, p, m: t.nn.utils.spectral_norm(t.nn.utils.spectral_norm(m)),
])  # fmt: skip
def test_errors(both: Both, body: Callable[..., Any]) -> None:
    both(lambda torch: body(torch, torch.nn.utils.parametrize, torch.nn.Linear(3, 3)))


def test_parametrized_modules_are_not_pickled(both: Both) -> None:
    def body(torch: Any) -> Any:
        layer = torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(3, 3), "weight", torch.nn.Tanh())
        torch.save(layer, io.BytesIO())

    both(body)


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_older_hooks(both: Both, name: str) -> None:
    def body(torch: Any) -> Any:
        layer = getattr(torch.nn.utils, name)(torch.nn.Conv1d(2, 3, 3))
        result = [list(layer.state_dict()), trained(torch, layer, 2, 2, 5)]
        getattr(torch.nn.utils, f"remove_{name}")(layer)
        return [*result, state(layer), [n for n, _ in layer.named_parameters()]]

    both(body, strides=False, rtol=1e-4, atol=1e-5)


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("make", [
    lambda t: t.nn.utils.parametrizations.weight_norm(t.nn.Linear(4, 3)),
    lambda t: t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(4, 3)),
    lambda t: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(4, 3)),
    lambda t: t.nn.utils.spectral_norm(t.nn.Linear(4, 3)),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_states_go_both_ways(make: Callable[[Any], Any]) -> None:
    for first, second in ((real_torch, mstorch), (mstorch, real_torch)):
        first.manual_seed(1)
        second.manual_seed(2)
        source, target = make(first), make(second)
        file = io.BytesIO()
        first.save(source.state_dict(), file)
        file.seek(0)
        target.load_state_dict(second.load(file))
        x = np.random.RandomState(0).randn(2, 4).astype(np.float32)
        a = source.eval()(first.tensor(x)).detach().numpy()
        b = target.eval()(second.tensor(x)).detach().numpy()
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_older_weight_norm_state_loads_into_parametrization(both: Both) -> None:
    def body(torch: Any) -> Any:
        state = torch.nn.utils.weight_norm(torch.nn.Linear(4, 3)).state_dict()
        layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3))
        return str(layer.load_state_dict(state)), state(layer)

    both(body)

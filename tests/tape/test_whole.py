"""Operations that are one node: saved tensors, hooks, and second derivatives if inputs depend on each other."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mstorch

DRAWN = np.random.RandomState(0).randn(2, 3, 4, 4)


def attention_by_hand(q: Any, k: Any, v: Any) -> Any:
    return (q @ k.transpose(-2, -1) * 0.5).softmax(-1) @ v


ONE_PIECE = mstorch.nn.functional.scaled_dot_product_attention
INPUTS: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {
    "one tensor": lambda x: (x, x, x),
    "one of another": lambda x: (x * 2, x, x.sin()),
    "a chain": lambda x: ((y := x.exp()), (z := y * 0.5), z + y),
    "without one": lambda x: (x, x.detach(), x),
}


@pytest.mark.parametrize("inputs", INPUTS)
def test_gradients_of_attention_whose_inputs_depend_on_each_other(inputs: str) -> None:
    found = []
    for attention in (ONE_PIECE, attention_by_hand):
        x = mstorch.tensor(DRAWN, requires_grad=True)
        log: list[int] = []
        x.register_hook(lambda g, log=log: (log.append(1), g * 2)[1])
        (first,) = mstorch.autograd.grad(attention(*INPUTS[inputs](x)).pow(2).sum(), x, create_graph=True)
        (second,) = mstorch.autograd.grad(first.pow(2).sum(), x)
        found.append((first.detach().numpy(), second.numpy(), len(log)))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-8, atol=1e-9)
    assert found[0][2] == found[1][2] == 2


@pytest.mark.parametrize("name", ["var", "std"])
def test_hooks_run_once_when_the_gradient_is_recorded(both: Any, name: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor(DRAWN, requires_grad=True)
        y = x.exp()
        log: list[int] = []
        y.register_hook(lambda g: (log.append(1), g * 2)[1])
        y.retain_grad()
        (first,) = torch.autograd.grad(getattr(y, name)(-1).pow(2).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.pow(2).sum(), x)
        return first, second, len(log), y.grad

    both(program, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_hooks_of_recurrent_layers_run_once(both: Any, kind: str) -> None:
    def program(torch: Any) -> Any:
        torch.manual_seed(0)
        module = getattr(torch.nn, kind)(3, 3, dtype=torch.float64)
        x = torch.randn(4, 2, 3, dtype=torch.float64, requires_grad=True)
        log: list[int] = []
        for leaf in module.parameters():
            leaf.register_hook(lambda g: (log.append(1), g * 2)[1])
        leaves = [x, *module.parameters()]
        first = torch.autograd.grad(module(x)[0].pow(2).sum(), leaves, create_graph=True)
        second = torch.autograd.grad(sum(g.pow(2).sum() for g in first), leaves)
        return [g.detach() for g in first], second, len(log)

    both(program, rtol=1e-8, atol=1e-9)


PICKS: dict[str, Callable[[Any], Any]] = {
    "sort": lambda x: x.sort(),
    "sort of a transpose": lambda x: x.transpose(-1, -2).sort(),
    "topk": lambda x: x.topk(2),
    "max": lambda x: x.max(-1),
    "max kept": lambda x: x.max(-1, keepdim=True),
    "median": lambda x: x.median(0),
    "kthvalue": lambda x: x.kthvalue(2),
    "mode": lambda x: x.mode(),
}


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("shape", [(4,), (3, 4)])
def test_indices_that_were_written_to_are_refused(both: Any, pick: str, shape: tuple[int, ...]) -> None:
    def program(torch: Any) -> Any:
        if "transpose" in pick and len(shape) == 1:
            return None
        x = torch.tensor(DRAWN[0, 0, : shape[0]] if len(shape) > 1 else DRAWN[0, 0, 0], requires_grad=True)
        values, indices = PICKS[pick](x)
        indices.zero_()
        with pytest.raises(RuntimeError) as caught:
            values.sum().backward()
        return str(caught.value)

    both(program)


RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "std": lambda torch, x: x.std(-1),
    "std of all": lambda torch, x: x.std(),
    "var": lambda torch, x: x.var(-1),
    "attention": lambda torch, x: torch.nn.functional.scaled_dot_product_attention(x, x, x),
    "sort": lambda torch, x: x.sort()[0],
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_that_were_written_to(both: Any, name: str) -> None:
    """A write to a value that backward needs is refused, other writes are not; nodes have torch's names."""

    def program(torch: Any) -> Any:
        x = torch.tensor(DRAWN, requires_grad=True)
        found = RESULTS[name](torch, x)
        called = found.grad_fn.name()
        found.mul_(2)
        try:
            found.sum().backward()
        except RuntimeError as error:
            return called, str(error)
        return called, x.grad

    both(program, rtol=1e-9, atol=1e-12)


def test_standard_deviations_where_nothing_spreads(both: Any) -> None:
    def program(torch: Any) -> Any:
        found = []
        for rows in ([[1.0, 1.0], [2.0, 3.0]], [[1.0], [2.0]], [[float("nan"), 1.0]], [[float("inf"), 1.0]]):
            for dim in (None, 0, 1, (0, 1)):
                for correction in (0, 1, 2):
                    x = torch.tensor(rows, requires_grad=True)
                    with warnings.catch_warnings(record=True) as seen:
                        warnings.simplefilter("always")
                        y = x.std(dim, correction=correction)
                    y.sum().backward()
                    found.append((y, x.grad, [str(item.message).split(" (Triggered")[0] for item in seen]))
        return found

    both(program)

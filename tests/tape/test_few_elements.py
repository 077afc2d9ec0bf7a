"""Gradients of tensors with one element or none, of operations on flattened tensors, and of graphs that are used twice."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(bool(os.environ.get("MSTORCH_FAKE_DEVICE")), reason="values of a device have no order of memory")

Both = Callable[..., Any]

SHOWN: dict[str, Callable[[Any, Any], Any]] = {
    "itself": lambda torch, x: x,
    "float64": lambda torch, x: x.double(),
    "half": lambda torch, x: x.half().float(),
    "a dimension more": lambda torch, x: x[..., None],
    "two more": lambda torch, x: torch.atleast_3d(x),
    "flat": lambda torch, x: x.reshape(-1),
    "turned": lambda torch, x: x.transpose(0, -1),
    "all of it": lambda torch, x: x[..., :],
    "all of a dimension": lambda torch, x: x[:, ::1] if x.dim() > 1 else x[::1],
    "a slice": lambda torch, x: x[0:1],
    "the largest": lambda torch, x: torch.maximum(x, x),
}


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("shown", SHOWN)
def test_order_of_gradients(both: Both, shown: str, shape: tuple[int, ...]) -> None:
    def body(torch: Any) -> Any:
        found = []
        for create in (False, True, None):
            x = torch.full(shape, 0.5).requires_grad_()
            total = SHOWN[shown](torch, x).sum()
            if create is None:
                total.backward()
                found.append(x.grad)
            else:
                (gradient,) = torch.autograd.grad(total, x, create_graph=create)
                found.append(gradient)
        return found

    both(body)


FLAT: dict[str, Callable[[Any, Any], Any]] = {
    **{name: lambda torch, x, name=name: getattr(torch, name)(x) for name in ("floor", "ceil", "trunc", "round", "sign", "sgn", "angle")},
    "decimals": lambda torch, x: x.round(decimals=1),
    "quotient": lambda torch, x: torch.div(x, 2, rounding_mode="floor"),
    "power": lambda torch, x: x**0,
}


@pytest.mark.parametrize("flat", FLAT)
def test_flat_operations_give_zeros_that_depend_on_nothing(both: Both, flat: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([[0.5, -1.5, 3.0], [2.0, float("inf"), -0.25]]).t().requires_grad_()
        (first,) = torch.autograd.grad((FLAT[flat](torch, x) ** 2).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(FLAT[flat](torch, x), x, torch.full((3, 2), float("inf")))
        return first, second

    both(body)


def test_rounded_division_with_two_kinds_has_no_gradient(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, dtype=torch.float16).requires_grad_()
        y = torch.tensor(2.0, dtype=torch.bfloat16).requires_grad_()
        torch.autograd.backward([(x // y).float().sum()], inputs=[x])

    both(body)


TWICE: dict[str, Callable[[Any, Any], Any]] = {
    "fmod": lambda torch, x: x.fmod(2),
    "remainder": lambda torch, x: x % torch.tensor(2.0, dtype=x.dtype),
    "sum with a factor": lambda torch, x: torch.add(x, x, alpha=2),
    "degrees": lambda torch, x: torch.deg2rad(x),
    "diagonal": lambda torch, x: torch.diag_embed(x),
    "a part": lambda torch, x: torch.zeros(3, 2, dtype=x.dtype).select_scatter(x, 1, 0),
    "drawn": lambda torch, x: torch.normal(x, 1.0),
    "product": lambda torch, x: x * 2,
    "trapezoid": lambda torch, x: torch.trapezoid(x),
    "running trapezoid": lambda torch, x: torch.cumulative_trapezoid(x, dx=2.0),
    "gradient": lambda torch, x: torch.gradient(x)[0],
    "spectrum": lambda torch, x: torch.fft.rfft(x.float()).real,
    "sum beside points": lambda torch, x: torch.trapezoid(x, torch.arange(3.0).to(x.dtype)),
}


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("twice", TWICE)
def test_backward_runs_twice_through_nodes_that_saved_nothing(both: Both, twice: str, kind: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.5, -3.5], dtype=getattr(torch, kind)).requires_grad_()
        found = TWICE[twice](torch, x)
        likes = torch.ones_like(found)
        return [torch.autograd.grad(found, x, likes)[0].contiguous() for _ in range(2)]

    both(body)


RESHAPED: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda torch, x: x * 2,
    "exp": lambda torch, x: x.exp(),
    "relu": lambda torch, x: x.relu(),
    "view": lambda torch, x: x.view(6),
    "turned": lambda torch, x: x.t(),
    "selection": lambda torch, x: x.topk(1)[0],
    "matrix product": lambda torch, x: x @ x.t(),
    "float64": lambda torch, x: x.double(),
}


@pytest.mark.parametrize("shape", [(5,), (1, 2, 3), (3, 2), (2, 1)], ids=str)
@pytest.mark.parametrize("made", RESHAPED)
def test_gradients_fit_what_was_recorded_before_data_got_another_shape(both: Both, made: str, shape: tuple[int, ...]) -> None:
    def body(torch: Any) -> Any:
        x = torch.full((2, 3), 0.5).requires_grad_()
        found = RESHAPED[made](torch, x)
        found.data = torch.ones(shape, dtype=found.dtype)
        (found * 3).sum().backward()
        return x.grad

    both(body)


@pytest.mark.parametrize("turned", ["unsqueeze_", "t_", "squeeze_"])
def test_gradients_fit_what_was_recorded_before_a_tensor_was_turned_unseen(both: Both, turned: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.full((2, 1), 0.5).requires_grad_()
        found = x.exp()
        with torch.no_grad():
            getattr(found, turned)(*([0] if turned == "unsqueeze_" else []))
        name = type(found.grad_fn).__name__
        return name, torch.autograd.grad((found * 2).sum(), x)

    both(body)


def test_gradients_of_leaves_fit_what_a_living_graph_recorded(both: Both) -> None:
    def body(torch: Any, shape: tuple[int, ...], kept: bool) -> Any:
        x = torch.ones(2, 3).requires_grad_()
        graph = x * 2 if kept else None
        x.data = torch.ones(shape)
        x.sum().backward()
        return graph is None, x.grad

    for shape in ((1, 2, 3), (5,), (4, 2, 3)):
        for kept in (True, False):
            both(lambda torch, shape=shape, kept=kept: body(torch, shape, kept))


def test_comparisons_do_not_look_at_histories(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(3, 2, dtype=torch.float16).requires_grad_()
        first, second = x.split(1, -1)
        with torch.no_grad():
            x.add_(first)
        return torch.ones(3, 1) < second, second == second, second != 1

    both(body)


def test_heaviside_has_no_gradient(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.zeros(()).requires_grad_()
        torch.autograd.backward([x.heaviside(x)], inputs=[x])

    both(body)

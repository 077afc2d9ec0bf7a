"""Gradients of empty slices, and of single numbers, compared with torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("expression", [
    "torch.cat([z[3:], z])", "torch.cat([z, z[3:]])", "torch.atleast_2d(z[3:])", "z[3:] * 2", "z[3:].clone()", "z.split([3, 0])[1]",
    "z.narrow(0, 3, 0)", "z[3:].view(0, 1)", "z.as_strided((0, 1), (1, 1), 3)", "torch.stack([z[3:], z[:0]])", "z[3:].float()",
    "z[[]]", "z[z > 9]", "torch.where(z[3:] > 0, z[3:], z[:0])", "torch.nn.functional.pad(z[3:], (0, 2))",
])  # fmt: skip
def test_gradients_of_nothing(both: Both, expression: str, kind: str) -> None:
    def body(torch: Any) -> Any:
        z = torch.arange(3).to(getattr(torch, kind)).requires_grad_()
        result = eval(expression, {"torch": torch, "z": z})
        result.sum().backward()
        return result, z.grad, z.grad + 0

    both(body)


@pytest.mark.parametrize("layer", [
    "F.layer_norm(t, t.shape[-1:])", "F.group_norm(t, 1)", "F.batch_norm(t, None, None, training=True)", "F.instance_norm(t)",
])  # fmt: skip
def test_norms_of_nothing_keep_their_history(both: Both, layer: str) -> None:
    def body(torch: Any) -> Any:
        t = torch.zeros(0, 2, 5, requires_grad=True)
        result = eval(layer, {"F": torch.nn.functional, "t": t})
        (slope,) = torch.autograd.grad((result**2).sum(), t, create_graph=True)
        return slope, slope.is_leaf

    both(body)


def test_the_gradient_of_a_sum_of_one_number_is_a_view(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor(2.0, requires_grad=True)
        y = x * 1
        (slope,) = torch.autograd.grad(y.sum(), y)
        return slope, slope._base is not None

    both(body)


@pytest.mark.parametrize("turn", ["t.rot90()", "t.rot90(2)", "t.rot90(3)", "t.rot90(1, (1, 0))", "t.rot90(-1)", "t.rot90(0)"])
def test_rot90_is_one_step(both: Both, turn: str) -> None:
    def body(torch: Any) -> Any:
        t = torch.arange(6.0).reshape(2, 3).requires_grad_()
        result = eval(turn, {"t": t})
        (slope,) = torch.autograd.grad((result * torch.arange(6.0).reshape(result.shape)).sum(), t)
        return result.grad_fn.name(), slope, slope.stride()

    both(body)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (0, 1), ()])
def test_gradients_that_are_converted_are_no_views(both: Both, shape: tuple[int, ...], kind: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(shape).to(getattr(torch, kind)).requires_grad_()
        (slope,) = torch.autograd.grad((x.double() if kind == "float32" else x.float()).sum(), x)
        try:
            written = slope.add_(x)
        except RuntimeError as error:
            return slope._base is None, str(error)[:60]
        return slope.stride(), slope._base is None, written.requires_grad

    both(body)


@pytest.mark.parametrize("shape", [(3, 0, 3), (0,), (3, 0), (2, 3), (1,)])
@pytest.mark.parametrize("expression", ["t[...] ** 2", "t[...].exp()", "t.expand(t.shape) ** 2", "t.expand(t.shape)", "t.cumsum(0).double()"])
def test_gradients_that_are_left_as_they_are(both: Both, expression: str, shape: tuple[int, ...]) -> None:
    def body(torch: Any) -> Any:
        t = torch.ones(shape, requires_grad=True)
        (slope,) = torch.autograd.grad(eval(expression, {"t": t}).sum(), t, create_graph=True)
        return slope, slope.stride(), slope._base is None

    both(body)


@pytest.mark.parametrize("keepdim", [True, False])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_a_number_go_back_once(both: Both, name: str, keepdim: bool) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor(2.0, requires_grad=True)
        found = getattr(x, name)(0, keepdim)
        found[0].backward()
        try:
            found[0].backward()
        except RuntimeError as error:
            return x.grad, found[1], str(error)[:40]
        return x.grad

    both(body)


def test_a_write_to_nothing_of_another_dtype(both):
    def body(torch):
        leaf = torch.zeros(3, 0, 3, dtype=torch.float64).requires_grad_()
        shown = (leaf * 1)[None]
        shown.data = torch.zeros(0, 4)
        flat = shown.reshape(2, -1)
        flat[-1:-2:2, 1:0] = -1.5
        flat.sum().backward()
        return leaf.grad

    both(body)

"""Python numbers written into tensors: a number that the dtype cannot hold raises, and is never wrapped."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Both = Callable[..., Any]
NUMBERS = (-1, -1.5, -256, 255.5, 300, 2**40, 1e39, float("nan"), float("inf"), 2 + 0j, 2 + 1j)


def _outcome(function: Callable[[], Any]) -> Any:
    """Return the values, or the error's class."""
    try:
        return function()
    except (RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__


def _set(torch: Any, x: Any, number: Any) -> Any:
    x[:] = number
    return x


WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "setitem": _set,
    "fill_": lambda torch, x, number: x.fill_(number),
    "full": lambda torch, x, number: torch.full((2,), number, dtype=x.dtype),
    "full_like": lambda torch, x, number: torch.full_like(x, number),
    "tensor": lambda torch, x, number: torch.tensor([number], dtype=x.dtype),
    "masked_fill": lambda torch, x, number: x.masked_fill(torch.tensor([True, False]), number),
    "where": lambda torch, x, number: torch.where(torch.tensor([True, False]), x, number),
    "clamp": lambda torch, x, number: x.clamp(min=number) if not isinstance(number, complex) else x,
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "bool", "float32", "float16", "complex64"])
def test_numbers_that_do_not_fit(both: Both, dtype: str, name: str) -> None:
    def body(torch: Any) -> Any:
        def result(number: Any) -> Any:
            x = torch.zeros(2, dtype=getattr(torch, dtype))
            found = _outcome(lambda: WRITES[name](torch, x, number))
            # Complex numbers with 16-bit parts are not tested here.
            return None if str(getattr(found, "dtype", "")).endswith(("complex32", "complex64")) and dtype == "float16" else found

        return [result(number) for number in NUMBERS]

    both(body)


def test_truth_values_are_written_without_a_gradient(both: Both) -> None:
    def body(torch: Any) -> Any:
        leaf, other = torch.ones(2, requires_grad=True), torch.zeros(2)
        leaf.logical_not_()
        product = torch.ones(2, requires_grad=True) * 2
        name = product.grad_fn.name()
        product.logical_xor_(other)
        return leaf.detach(), leaf.is_leaf, leaf.requires_grad, leaf._version, product.detach(), product.grad_fn.name() == name

    both(body)


def test_floor_division_has_no_gradient(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        y, quotient = x // 2, torch.div(x, 2, rounding_mode="floor")
        quotient.sum().backward()
        try:
            y.sum().backward()
        except RuntimeError as error:
            return y.requires_grad, str(error), x.grad
        return None

    both(body)


@pytest.mark.parametrize("call", ["view.mul_(x)", "x.mul_(view)", "x.mul_(x)", "x.mul_(x[:])", "torch.add(x, 1, out=view)"])
def test_another_shape_of_the_same_memory(both: Both, call: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(3)
        view = x.view(1, 3)
        return _outcome(lambda: {
            "view.mul_(x)": lambda: view.mul_(x), "x.mul_(view)": lambda: x.mul_(view), "x.mul_(x)": lambda: x.mul_(x),
            "x.mul_(x[:])": lambda: x.mul_(x[:]), "torch.add(x, 1, out=view)": lambda: torch.add(x, 1, out=view),
        }[call]())  # fmt: skip

    both(body)


@pytest.mark.parametrize("layer", ["RNN", "LSTM", "GRU"])
def test_recurrent_layers_of_an_empty_batch(both: Both, layer: str) -> None:
    def body(torch: Any) -> Any:
        net = getattr(torch.nn, layer)(5, 3, num_layers=2, bidirectional=True)
        output, state = net(torch.zeros(4, 0, 5))
        return output.detach(), (state[0] if layer == "LSTM" else state).detach()

    both(body)


@pytest.mark.parametrize("lengths", ["float", "negative", "long", "wide"])
def test_ctc_checks_lengths(both: Both, lengths: str) -> None:
    def body(torch: Any) -> Any:
        targets = torch.ones(2, 2, dtype=torch.int64)
        inputs, wanted = {
            "float": (torch.tensor([5.0, 5.0]), torch.tensor([2, 2])), "negative": ([5, 5], [-1, 2]), "long": ([9, 5], [2, 2]),
            "wide": ([5, 5], [3, 2]),
        }[lengths]  # fmt: skip
        torch.nn.functional.ctc_loss(torch.zeros(5, 2, 4).log_softmax(2), targets, inputs, wanted)

    both(body)


@pytest.mark.parametrize("name", ["affine_grid", "interpolate"])
def test_backward_runs_twice_where_nothing_is_saved(both: Both, name: str) -> None:
    def body(torch: Any) -> Any:
        functional = torch.nn.functional
        x = torch.linspace(-1, 1, 12).reshape(2, 2, 3).requires_grad_()
        if name == "affine_grid":
            y = functional.affine_grid(x, [2, 1, 3, 4], align_corners=False)
        else:
            y = functional.interpolate(x, scale_factor=2, mode="linear")
        for _ in range(2):
            y.backward(torch.ones_like(y))
        return y, x.grad

    both(body, rtol=1e-6)


SCALARS = (
    np.int8(-3), np.uint8(200), np.int16(-300), np.int32(7), np.int64(-1), np.float16(1.5), np.float32(-0.5),
    np.float64(1e10),
)  # fmt: skip


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda value: value.dtype.name)
@pytest.mark.parametrize("kind", ["uint8", "int64", "float32", "bfloat16", "bool"])
def test_numpy_scalars_with_tensors(both, kind, scalar):
    """NumPy scalars as operands on either side, fill values and elements: on NumPy 2, MindSpore refuses all of them."""

    def body(torch):
        x = torch.tensor([1, 0, 2]).to(getattr(torch, kind))
        calls = [
            lambda: x + scalar, lambda: x * scalar, lambda: x / scalar, lambda: x**scalar, lambda: x == scalar, lambda: x - scalar,
            lambda: torch.where(x > 0, x, scalar), lambda: torch.full((2,), scalar), lambda: torch.full_like(x, scalar), lambda: x.fill_(scalar),
            lambda: x.masked_fill(x > 0, scalar), lambda: torch.tensor(scalar), lambda: torch.tensor([scalar, scalar]),
            lambda: torch.clamp(x, scalar),
        ]  # fmt: skip
        found = []
        for call in calls:
            try:
                found.append(call())
            except (TypeError, RuntimeError) as error:
                found.append(type(error).__name__)
        return found

    both(body)


@pytest.mark.parametrize("value", ["1.5", "float('nan')", "float('inf')", "1 + 0j", "1 + 2j", "complex('nan')", "True", "3", "[1, 2]", "[]", "[2.5]"])
@pytest.mark.parametrize("kind", ["int(x)", "float(x)", "complex(x)", "bool(x)", "x.__index__()", "round(x)", "x.item()", "'a' * x", "hex(x)"])
def test_numbers_of_python(both, kind, value):
    both(lambda torch: repr(eval(kind, {"x": torch.tensor(eval(value))})))

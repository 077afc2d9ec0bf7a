"""Errors of layers for operands of different dtypes or of mismatched shapes, and warnings of calls."""
from __future__ import annotations

import warnings
from typing import Any

import pytest

KINDS = ["float32", "float64", "float16", "bfloat16", "int64", "complex64"]
CALLS = {
    "linear": lambda F, x, w: F.linear(x((2, 2)), w((3, 2))), "linear, three": lambda F, x, w: F.linear(x((2, 2, 2)), w((3, 2))),
    "linear with a bias": lambda F, x, w: F.linear(x((2, 2)), w((3, 2)), w((3,))),
    "linear, the bias": lambda F, x, w: F.linear(x((2, 2)), x((3, 2)), w((3,))), "conv1d": lambda F, x, w: F.conv1d(x((1, 1, 3)), w((1, 1, 2))),
    "conv2d": lambda F, x, w: F.conv2d(x((1, 1, 3, 3)), w((1, 1, 2, 2))), "in groups": lambda F, x, w: F.conv2d(x((1, 2, 3, 3)), w((2, 1, 2, 2)), groups=2),
    "conv2d with a bias": lambda F, x, w: F.conv2d(x((1, 1, 3, 3)), w((1, 1, 2, 2)), w((1,))),
    "conv2d, the bias": lambda F, x, w: F.conv2d(x((1, 1, 3, 3)), x((1, 1, 2, 2)), w((1,))),
    "conv3d": lambda F, x, w: F.conv3d(x((1, 1, 3, 3, 3)), w((1, 1, 2, 2, 2))),
    "transposed": lambda F, x, w: F.conv_transpose2d(x((1, 1, 3, 3)), w((1, 1, 2, 2)), w((1,))),
}  # fmt: skip
PRODUCTS = ["torch.addmm(x((2,)), x((2, 2)), w((2, 2)))", "torch.addmm(w((2,)), x((2, 2)), w((2, 2)))", "torch.addmm(w((2,)), x((2, 2)), x((2, 2)))"]


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("name", [*CALLS, *PRODUCTS])
def test_dtypes(both: Any, name: str, first: str, second: str) -> None:
    if first == second:
        return

    def body(torch: Any) -> Any:
        x, w = (lambda shape, kind=kind: torch.ones(shape, dtype=getattr(torch, kind)) for kind in (first, second))
        return CALLS[name](torch.nn.functional, x, w) if name in CALLS else eval(name, {"torch": torch, "x": x, "w": w})

    by_processor = first in ("bfloat16", "float16") and ("conv" in name or name in ("in groups", "transposed"))  # where torch has a kernel for it
    both(body, message="" if by_processor else None)


SHAPES = [((2, 3, 4, 5), (2, 4, 4)), ((2, 3, 4, 5), (2, 4)), ((2, 3, 4, 5), (3, 4, 5)), ((2, 3, 4, 5), (2, 1, 4, 5)), ((2, 3, 4), (2, 5)), ((2, 3, 4), (2,)),
          ((2, 3, 4, 5, 6), (2, 4, 5, 5)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((3,), (2,)), ((3,), ()), ((2, 3, 4), (2, 4, 1))]  # fmt: skip


@pytest.mark.parametrize(("scores", "target"), SHAPES)
@pytest.mark.parametrize("loss", ["cross_entropy", "nll_loss"])
def test_targets(both: Any, loss: str, scores: tuple[int, ...], target: tuple[int, ...]) -> None:
    both(lambda torch: getattr(torch.nn.functional, loss)(torch.zeros(scores), torch.zeros(target, dtype=torch.long)))


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("call", ["x(2, 5, 2, 2)", "x(2)", "x(5, 2, 2), x(1)", "x(5, 2), x(1, 1, 3)", "x(5, 2, 2), 3", "x(5, 2, 2), (x(1, 2, 3),) * 3"])
def test_recurrent_layers(both: Any, kind: str, call: str) -> None:
    if kind != "LSTM" and call.endswith(("3", "* 3")):
        pytest.skip("AttributeErrors of torch's own lines")
    both(lambda torch: eval(f"layer({call})", {"layer": getattr(torch.nn, kind)(2, 3), "x": torch.zeros})[0].shape)


SAID = {
    "positions of state_dict": lambda torch: list(torch.nn.Linear(1, 1).state_dict({}, "a.")),
    "names of state_dict": lambda torch: list(torch.nn.Linear(1, 1).state_dict(prefix="a.")),
    "scatter": lambda torch: torch.zeros(3).scatter(0, torch.tensor([0]), torch.ones(1), reduce="add"),
    "scatter, a number": lambda torch: torch.zeros(3).scatter_(0, torch.tensor([0]), 1.0, reduce="add"),
    "index_reduce": lambda torch: torch.zeros(3).index_reduce(0, torch.tensor([0]), torch.ones(1), "mean"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        torch.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found = SAID[name](torch)
        finally:
            torch.set_warn_always(False)
        return found, [(each.category.__name__, str(each.message).split(" (Triggered")[0]) for each in said]

    both(body)


def test_a_state_that_says_nothing(both: Any) -> None:
    """A state without parameters and submodules leaves those of the module unchanged."""

    def body(torch: Any) -> Any:
        layer = torch.nn.Sequential(torch.nn.Linear(1, 2))
        layer.__setstate__({"extra": 1})
        return layer.extra, layer[0].weight.shape, list(layer.state_dict())

    both(body)


@pytest.mark.parametrize("value", ["lambda: 0", "print", "3", "[]", "torch.ones(1)", "'x'", "int", "torch.nn.Linear", "torch.nn.functional.relu", "layer.forward"])
@pytest.mark.parametrize("call", [
    "torch.nn.Sequential(layer).__setattr__('0', value)", "layer.__setattr__('weight', value)", "layer.register_parameter('a', value)",
    "layer.register_buffer('b', value)", "layer.register_module('c', value)", "layer.register_buffer(value, None)",
])  # fmt: skip
def test_what_is_named_in_an_error(both: Any, call: str, value: str) -> None:
    def body(torch: Any) -> Any:
        layer = torch.nn.Linear(1, 1)
        eval(call, {"torch": torch, "layer": layer, "value": eval(value, {"torch": torch, "layer": layer})})

    both(body)

"""Convolutions of float64: values, gradients and second ones. None is composed of gathers, which take memory for each kernel element."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mstorch
from mstorch._src.backend.kernels import conv

Both = Callable[..., Any]


@pytest.mark.parametrize(("name", "input", "weight", "numbers"), [
    ("conv1d", (2, 4, 9), (3, 4, 3), (None, 1, 1)), ("conv2d", (2, 4, 7, 6), (3, 4, 3, 2), (None, 2, 1)),
    ("conv2d", (2, 4, 6, 6), (4, 2, 3, 3), (None, 1, 1, 1, 2)), ("conv3d", (1, 2, 4, 4, 4), (2, 2, 3, 3, 3), (None, 1, 1)),
    ("conv_transpose2d", (2, 4, 5, 6), (4, 3, 4, 4), (None, 2, 1)), ("conv_transpose2d", (2, 4, 5, 6), (4, 3, 3, 3), (None, 3, 0, 2)),
    ("conv_transpose2d", (2, 4, 5, 6), (4, 3, 4, 4), (None, 2, 1, 0, 2)),
])  # fmt: skip
def test_gradients(both: Both, name: str, input: tuple[int, ...], weight: tuple[int, ...], numbers: tuple[Any, ...]) -> None:
    def body(torch):
        torch.manual_seed(0)
        x, w = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in (input, weight))
        y = getattr(torch.nn.functional, name)(x, w, *numbers)
        slopes = torch.autograd.grad((y * y * y).sum(), (x, w), create_graph=True)
        second = torch.autograd.grad(sum((slope * slope).sum() for slope in slopes), (x, w))
        return y, *slopes, *(item.contiguous() for item in second), y.grad_fn.name()

    both(body, rtol=1e-10, atol=1e-8)


def test_double_precision_does_not_go_through_mindspore(monkeypatch) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("composed of gathers")

    for name in ("composed_conv", "composed_conv_transpose"):
        monkeypatch.setattr(conv, name, refuse)
    x, w = (mstorch.randn(*shape, dtype=mstorch.float64) for shape in ((2, 3, 5, 5), (3, 3, 3, 3)))
    mstorch.nn.functional.conv2d(x, w)
    mstorch.nn.functional.conv_transpose2d(x, w)

"""gradcheck finds wrong gradients and passes right ones."""
from __future__ import annotations

from typing import Any

import pytest

import mstorch as torch
from mstorch.autograd import gradcheck, gradgradcheck


def _input(*shape: int) -> Any:
    torch.manual_seed(0)
    return torch.rand(*shape, dtype=torch.float64).add(0.5).requires_grad_()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x, lambda x: x.exp().sum(0), lambda x: (x.sin(), x.log()), lambda x: torch.softmax(x, 1), lambda x: x @ x.t(),
        lambda x: x[1:] * 3, lambda x: x.cumsum(0), lambda x: torch.cat([x, x * 2]), lambda x: x.pow(3).mean(),
        lambda x: torch.nn.functional.silu(x), lambda x: torch.where(x > 0.9, x * 2, x),
    ],
)  # fmt: skip
def test_right_gradients(function: Any) -> None:
    assert gradcheck(function, (_input(3, 2),))
    assert gradgradcheck(function, (_input(3, 2),))


def test_wrong_gradients() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(Wrong.apply, (_input(2),))
    assert not gradcheck(Wrong.apply, (_input(2),), raise_exception=False)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, (torch.ones(2),))

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


def _closing(t: Any) -> bool:
    x = t.ones(2, dtype=t.float64, requires_grad=True)
    return t.autograd.gradcheck(lambda y: x * y, (x,))


def _hooked(t: Any, change: Any, **options: Any) -> bool:
    def function(x: Any) -> Any:
        y = x.clone()
        y.register_hook(change)
        return y

    return t.autograd.gradcheck(function, (t.ones(2, 2, dtype=options.pop("dtype", t.float64), requires_grad=True),), **options)


def _undefined(grad: Any) -> None:
    if grad is None:
        raise RuntimeError("no gradient")


CHECKS: dict[str, Any] = {
    "complex": lambda t, **o: t.autograd.gradcheck(lambda z: (z * z.conj(), z.real), (t.ones(2, dtype=t.complex128).requires_grad_(),), **o),
    "to complex": lambda t, **o: t.autograd.gradcheck(t.complex, [t.rand(2, dtype=t.float64).requires_grad_() for _ in "ab"], **o),
    "closure": lambda t, **o: _closing(t),
    "wrong": lambda t, **o: _hooked(t, lambda g: g * 2, **o),
    "wrong complex": lambda t, **o: _hooked(t, lambda g: g * 2, dtype=t.complex128),
    "not multiplied": lambda t, **o: _hooked(t, lambda g: g + 1e-2, atol=0.1, **o),
    "undefined": lambda t, **o: _hooked(t, _undefined, **o),
    "no gradient": lambda t, **o: t.autograd.gradcheck(lambda x: x.detach(), (t.ones(2, dtype=t.float64, requires_grad=True),), **o),
    "nothing": lambda t, **o: t.autograd.gradcheck(lambda x: (), (t.ones(2, dtype=t.float64, requires_grad=True),), **o),
    "expanded": lambda t, **o: t.autograd.gradcheck(
        lambda x: x * 2, (t.ones(1, dtype=t.float64, requires_grad=True).expand(2, 2),), **o
    ),
    "shape": lambda t, **o: t.autograd.gradcheck(
        lambda x: t.cat([x, x]) if bool((x >= 1).all()) else x, (t.ones(1, dtype=t.float64, requires_grad=True),), **o
    ),
    "batched": lambda t, **o: t.autograd.gradcheck(
        lambda x: x.sin(), (t.ones(2, dtype=t.float64, requires_grad=True),), check_batched_grad=True, **o
    ),
    "sparse": lambda t, **o: t.autograd.gradcheck(
        lambda x: x.coalesce().to_dense() * 2, (t.eye(2, dtype=t.float64).to_sparse().requires_grad_(),), masked=True, **o
    ),
    "second complex": lambda t, **o: t.autograd.gradgradcheck(lambda z: z**3, (t.ones(2, dtype=t.complex128).requires_grad_(),), **o),
}  # fmt: skip
_SPOKEN = {
    "wrong": "Jacobian mismatch for output 0 with respect to input 0",
    "wrong complex": "While considering the imaginary part of complex outputs only, Jacobian mismatch for output 0",
    "undefined": "Expected backward function to handle undefined output grads",
    "shape": "return outputs with the same shape when inputs are perturbed",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", CHECKS)
def test_beside_torch(name: str, fast: bool, both: Any) -> None:
    both(lambda t: CHECKS[name](t, fast_mode=fast), message=_SPOKEN.get(name))


@pytest.mark.filterwarnings("ignore")
def test_jacobians_of_old(both: Any) -> None:
    def body(t: Any) -> Any:
        module = __import__(f"{t.__name__}.autograd.gradcheck", fromlist=["get_numerical_jacobian"])
        a, b = (t.ones(2, 2, dtype=t.float64, requires_grad=True) for _ in range(2))
        return (
            module.get_numerical_jacobian(lambda given: 2 * given[0] + given[1], (a, b), eps=1e-6),
            module.get_analytical_jacobian((a, b), 2 * a + b),
        )

    both(body)

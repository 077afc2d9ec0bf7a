"""gradcheck rejects wrong gradients and accepts right ones."""
from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch as real_torch

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


FUNCTIONS = {
    "product": lambda torch, x, y: x * y,
    "several": lambda torch, x, y: (x.sin(), y.exp(), (x > 0).long()),
    "complex product": lambda torch, x, y: torch.complex(x, x * 2) * y,
    "modulus": lambda torch, x, y: torch.complex(x, y).abs(),
    "in place": lambda torch, x, y: x.clone().mul_(x) + y,
    "not connected": lambda torch, x, y: torch.ones(2, dtype=torch.float64),
    "cut off": lambda torch, x, y: x.detach() * 1.0,
    "sparse": lambda torch, x, y: x.to_sparse(),
}


@pytest.mark.parametrize("fast_mode", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_beside_torch(name: str, fast_mode: bool) -> None:
    ends = []
    for library in (real_torch, torch):
        x, y = (library.arange(1.0, 5, dtype=library.float64).reshape(2, 2).requires_grad_() for _ in range(2))
        try:
            ends.append(library.autograd.gradcheck(lambda x, y: FUNCTIONS[name](library, x, y), (x, y), fast_mode=fast_mode))
        except (RuntimeError, ValueError) as error:
            ends.append((type(error).__name__, str(error).split("\n")[0]))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("fast_mode", [True, False])
def test_complex_inputs_and_what_the_function_closes_over(fast_mode: bool) -> None:
    z = torch.complex(_input(3), _input(3)).detach().requires_grad_()
    assert gradcheck(lambda x: x * z.conj() + x, (z,), fast_mode=fast_mode)
    assert gradgradcheck(lambda x: x * x.exp(), (z,), fast_mode=fast_mode, gen_non_contig_grad_outputs=True)


@pytest.mark.parametrize("gradient", ["scaled", "constant", "random", "larger"])
@pytest.mark.parametrize("fast_mode", [True, False])
def test_wrong_backwards_as_in_torch(gradient: str, fast_mode: bool) -> None:
    texts = []
    for library in (real_torch, torch):
        draws = iter(range(10_000))
        made = {
            "scaled": lambda g: g * 3, "constant": lambda g: g * 0 + 2, "random": lambda g: g * (2 + 1e-6 * next(draws)),
            "larger": lambda g: g.expand(3, *g.shape) * 2,
        }[gradient]  # fmt: skip

        class Doubled(library.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any, made: Any = made) -> Any:
                return made(grad)

        x = library.ones(2, dtype=library.float64, requires_grad=True)
        try:
            texts.append(str(library.autograd.gradcheck(Doubled.apply, (x,), fast_mode=fast_mode)))
        except RuntimeError as error:
            texts.append(str(error)[:60])
    assert texts[0] == texts[1]


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_sparse_inputs(layout: str) -> None:
    values = torch.tensor([[0.0, 2, 0], [3, 0, 4]], dtype=torch.float64)
    leaf = getattr(values, layout)().requires_grad_()
    assert gradcheck(lambda s, d: torch.sparse.mm(s, d), (leaf, _input(3, 2)), masked=True)


def test_older_names() -> None:
    module = importlib.import_module("mstorch.autograd.gradcheck")
    x, y = _input(2, 2), _input(2, 2)
    with pytest.warns(FutureWarning):
        (numerical, _), (analytical, *answers) = (
            module.get_numerical_jacobian(lambda given: given[0] * given[1], (x, y)), module.get_analytical_jacobian((x, y), x * y)
        )  # fmt: skip
    assert torch.allclose(numerical, analytical[0], atol=1e-6) and answers == [True, True, True]
    assert torch.allclose(torch.diag(y.flatten()), module.get_numerical_jacobian_wrt_specific_input(torch.mul, 0, (x, y), (x * y,), 1e-6)[0])


def test_batched_tangents(both):
    """Tangents are computed in a batch, through ``vmap``."""

    def body(t):
        x = t.tensor([1.0, 2, 3], dtype=t.float64, requires_grad=True)
        functions = (lambda v: v.sin() * v, lambda v: v.cumsum(0).max(0).values, lambda v: t.outer(v, v) @ v)
        return [t.autograd.gradcheck(f, (x,), check_forward_ad=True, check_batched_forward_grad=True) for f in functions]

    both(body)

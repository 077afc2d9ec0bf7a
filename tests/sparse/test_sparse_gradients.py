"""Sparse gradients of embeddings, and the optimizers that support them, compared with torch."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mstorch
from tests.sparse.sparse_parts import parts


def _weight(torch: Any) -> Any:
    return torch.arange(12.0).reshape(6, 2).requires_grad_()


def _taken(torch: Any, weight: Any, **options: Any) -> Any:
    taken = torch.nn.functional.embedding(torch.tensor([[1, 3], [1, 5]]), weight, sparse=True, **options)
    return (taken * torch.arange(8.0).reshape(2, 2, 2)).sum()


BODIES = {
    "rows": lambda t, w: _taken(t, w).backward(),
    "padding": lambda t, w: _taken(t, w, padding_idx=5).backward(),
    "twice": lambda t, w: [_taken(t, w).backward(), _taken(t, w).backward()],
    "two uses": lambda t, w: (_taken(t, w) + _taken(t, w) * 2).backward(),
    "with a dense gradient": lambda t, w: (_taken(t, w) + w.sum()).backward(),
    "then a dense gradient": lambda t, w: [_taken(t, w).backward(), w.sum().backward()],
    "after a dense gradient": lambda t, w: [w.sum().backward(), _taken(t, w).backward()],
    "bag": lambda t, w: t.nn.functional.embedding_bag(t.tensor([1, 1, 4]), w, t.tensor([0, 2]), sparse=True, mode="sum").sum().backward(),
    "named inputs": lambda t, w: _taken(t, w).backward(inputs=[w]),
    "other inputs": lambda t, w: _taken(t, w * 1 if False else w).backward(inputs=[t.ones(1, requires_grad=True)]),
    "hook": lambda t, w: [w.register_hook(lambda g: g * 3), _taken(t, w).backward()],
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_embedding(both: Callable[..., Any], name: str) -> None:
    def body(torch: Any) -> Any:
        weight = _weight(torch)
        BODIES[name](torch, weight)
        return parts(weight.grad)

    both(body, strides=False)


def test_autograd_grad(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        weight, factor = _weight(torch), torch.ones(6, 2, requires_grad=True)
        found = torch.autograd.grad(_taken(torch, weight) + (factor**2).sum(), [weight, factor])
        return parts(found), weight.grad

    both(body, strides=False)


def test_errors_and_no_grad(both: Callable[..., Any]) -> None:
    both(lambda torch: _taken(torch, _weight(torch), scale_grad_by_freq=True).backward())

    def body(torch: Any) -> Any:
        with torch.no_grad():
            return _taken(torch, _weight(torch)), _taken(torch, _weight(torch).detach())

    both(body, strides=False)


OPTIMIZERS = {
    "SparseAdam": lambda t, p: t.optim.SparseAdam(p, lr=0.1),
    "SparseAdam betas": lambda t, p: t.optim.SparseAdam(p, lr=0.05, betas=(0.8, 0.9), eps=1e-3, maximize=True),
    "SGD": lambda t, p: t.optim.SGD(p, lr=0.1),
    "SGD momentum": lambda t, p: t.optim.SGD(p, lr=0.1, momentum=0.5),
    "SGD maximize": lambda t, p: t.optim.SGD(p, lr=0.1, maximize=True),
    "Adagrad": lambda t, p: t.optim.Adagrad(p, lr=0.1),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(both: Callable[..., Any], name: str) -> None:
    def body(torch: Any) -> Any:
        model = torch.nn.Embedding(6, 3, sparse=True)
        model.load_state_dict({"weight": torch.linspace(-1, 1, 18).reshape(6, 3)})
        optimizer = OPTIMIZERS[name](torch, model.parameters())
        for step in range(4):
            optimizer.zero_grad()
            taken = model(torch.tensor([step, 1, 1, 5]))
            (taken**2).sum().backward()
            optimizer.step()
        state = optimizer.state_dict()["state"].get(0, {})
        kept = {key: parts(value) if getattr(value, "is_sparse", False) else value for key, value in state.items() if value is not None}
        return model.weight.detach(), kept

    both(body, rtol=1e-5, atol=1e-6, strides=False)


def test_sums_of_rows_in_no_order(both: Callable[..., Any]) -> None:
    """The next of the first operand and the next of the second are compared, and equal ones become one."""

    def body(torch: Any) -> Any:
        def of(*rows: int) -> Any:
            return torch.sparse_coo_tensor(torch.tensor([rows]), torch.arange(1.0, len(rows) + 1), (9,))

        draws = np.random.RandomState(0)
        pairs = [(draws.randint(0, 9, draws.randint(1, 7)), draws.randint(0, 9, draws.randint(1, 7))) for _ in range(40)]
        return [parts(of(*map(int, first)) + of(*map(int, second))) for first, second in pairs]

    both(body, strides=False)


@pytest.mark.parametrize("bad", [False, True])
def test_gradients_are_unscaled(both: Callable[..., Any], bad: bool) -> None:
    def body(torch: Any) -> Any:
        weight = _weight(torch)
        optimizer, scaler = torch.optim.SGD([weight], lr=0.1), torch.amp.GradScaler("cpu", init_scale=4.0)
        scaler.scale(_taken(torch, weight) * (float("inf") if bad else 1)).backward()
        scaler.unscale_(optimizer)
        scaled = parts(weight.grad)
        scaler.step(optimizer)
        scaler.update()
        return scaled, weight.detach(), scaler.get_scale()

    both(body, strides=False)


REFUSED = ("Adam", "RMSprop", "Adamax", "NAdam", "RAdam", "Adadelta", "Rprop", "ASGD")


@pytest.mark.parametrize("name", REFUSED)
def test_optimizers_that_take_dense_gradients_only(both: Callable[..., Any], name: str) -> None:
    def body(torch: Any) -> Any:
        weight = _weight(torch)
        _taken(torch, weight).backward()
        getattr(torch.optim, name)([weight]).step()

    both(body, strides=False)


def test_sparse_adam_checks_its_arguments(both: Callable[..., Any]) -> None:
    for options in ({"lr": 0.0}, {"eps": 0.0}, {"betas": (1.0, 0.9)}, {"betas": (0.9, 1.0)}):
        both(lambda torch, options=options: torch.optim.SparseAdam([_weight(torch)], **options))
    both(lambda torch: torch.optim.SparseAdam([torch.eye(2).to_sparse().requires_grad_()]))
    both(lambda torch: torch.optim.SparseAdam([]))

    def dense(torch: Any) -> Any:
        weight = _weight(torch)
        weight.sum().backward()
        torch.optim.SparseAdam([weight]).step()

    both(dense)


def test_a_graph_that_was_freed_leaves_nothing(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        weight = _weight(torch)
        loss = _taken(torch, weight)
        loss.backward()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loss.backward()
            except RuntimeError:
                pass
        weight.grad = None
        _taken(torch, weight).backward()
        return parts(weight.grad)

    both(body, strides=False)


def test_gradients_of_other_dtypes() -> None:
    for name in ("float64", "float16", "bfloat16"):
        weight = _weight(mstorch).detach().to(getattr(mstorch, name)).requires_grad_()
        _taken(mstorch, weight).backward()
        assert weight.grad.dtype == weight.dtype
        np.testing.assert_array_equal(weight.grad.to_dense().float().numpy()[1], [4.0, 6.0])


def _product(torch: Any, trained: bool) -> Any:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, sparse: Any, dense: Any) -> Any:
            ctx.save_for_backward(sparse, dense)
            return torch.sparse.mm(sparse, dense)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            sparse, dense = ctx.saved_tensors
            own = (gradient @ dense.t()).sparse_mask(sparse) if ctx.needs_input_grad[0] else None
            return own, sparse.t() @ gradient

    places, values = torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0])
    sparse = torch.sparse_coo_tensor(places, values, (2, 3)).coalesce().requires_grad_(trained)
    dense = torch.arange(12.0).reshape(3, 4).requires_grad_()
    result = Product.apply(sparse, dense)
    (result**2).sum().backward()
    return result, dense.grad, parts(sparse.grad.coalesce()) if trained else None


@pytest.mark.parametrize("trained", [False, True])
def test_function_of_a_sparse_tensor(both: Callable[..., Any], trained: bool) -> None:
    both(lambda torch: _product(torch, trained))

"""Memory of gradients: their strides, and the tensors that share it."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(bool(os.environ.get("MSTORCH_FAKE_DEVICE")), reason="values of a device have no order of memory")

Both = Callable[..., Any]


def _leaf(torch: Any) -> Any:
    return ((torch.arange(12) * 5 % 11 + 1) * 0.25).reshape(3, 4).clone().requires_grad_()


OF_VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "t": lambda torch, x: x.t(),
    "permute": lambda torch, x: x[None].permute(2, 0, 1),
    "exp of t": lambda torch, x: x.t().exp(),
    "t, made contiguous": lambda torch, x: x.t().contiguous(),
    "t, flat": lambda torch, x: x.t().reshape(-1),
    "reshape": lambda torch, x: x.reshape(4, 3),
    "unsqueeze": lambda torch, x: x.unsqueeze(1).transpose(0, 2),
    "rows": lambda torch, x: x.t()[torch.tensor([0, 1])],
    "part": lambda torch, x: x.t()[1:],
    "split": lambda torch, x: x.t().split(2)[1],
    "mean": lambda torch, x: x.t().mean(0),
    "cat": lambda torch, x: torch.cat([x, x * 2], 1),
    "stack": lambda torch, x: torch.stack([x, x * 2], 1),
    "double": lambda torch, x: x.t().double(),
    "expand": lambda torch, x: x.expand(2, 3, 4),
    "softmax": lambda torch, x: x.t().softmax(0),
    "power of one": lambda torch, x: x**1,
    "remainder": lambda torch, x: 7 + torch.ones(3, 4).remainder(x),
}


@pytest.mark.parametrize("name", OF_VIEWS)
@pytest.mark.parametrize("order", [1, 2])
def test_recorded_gradients_have_the_order_of_values(both: Both, name: str, order: int) -> None:
    """First and second gradients that are recorded, and the strides of the leaf's ``grad``."""

    def body(torch: Any) -> Any:
        x = _leaf(torch)
        found = OF_VIEWS[name](torch, x)
        for _ in range(order):
            (found,) = torch.autograd.grad((found**3).sum(), x, create_graph=True)
        flat = _leaf(torch)
        (OF_VIEWS[name](torch, flat) ** 3).sum().backward(create_graph=True)
        (unrecorded,) = torch.autograd.grad((found**2).sum(), x)
        return found, found.is_contiguous(), flat.grad, unrecorded.requires_grad, unrecorded.sum()

    both(body, rtol=1e-4)


@pytest.mark.parametrize("view", ["t", "contiguous", "rows"])
def test_grad_has_the_strides_of_the_leaf(both: Both, view: str) -> None:
    def body(torch: Any) -> Any:
        x = _leaf(torch).detach().t().requires_grad_()
        y = {"t": lambda: x.t(), "contiguous": lambda: x.contiguous(), "rows": lambda: x[torch.tensor([0, 2])]}[view]()
        (y**3).sum().backward(create_graph=True)
        return x.grad, torch.autograd.grad(x.grad.sum(), x)[0].sum()

    both(body)


def test_a_recorded_gradient_shows_the_memory_that_it_came_through(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = _leaf(torch)
        given = torch.ones(4, 3, requires_grad=True) * 1
        (gradient,) = torch.autograd.grad(x.t(), x, given, create_graph=True)
        aliased = gradient.data_ptr() == given.data_ptr()
        gradient.mul_(3)
        (back,) = torch.autograd.grad(gradient.sum(), given)
        return aliased, gradient, given, back.sum()

    both(body)


COUNTED: dict[str, Callable[[Any, Any], Any]] = {
    "places": lambda torch, x: x[torch.tensor([0, 1])],
    "mask": lambda torch, x: x[x > 0],
    "gather": lambda torch, x: x.gather(1, torch.zeros(3, 0, dtype=torch.int64)),
    "index_select": lambda torch, x: x.index_select(0, torch.tensor([0, 0])),
    "take": lambda torch, x: x.take(torch.tensor([0, 1])),
    "topk": lambda torch, x: x.topk(2)[0],
    "topk of a view": lambda torch, x: x.t().topk(2)[0].transpose(0, 1),
    "sort": lambda torch, x: x.sort()[0],
    "median": lambda torch, x: x.median(),
    "medians": lambda torch, x: x.median(0)[0],
    "mode": lambda torch, x: x.mode()[0],
    "kthvalue": lambda torch, x: x.kthvalue(1)[0],
    "max": lambda torch, x: x.max(),
    "maxima": lambda torch, x: x.min(0)[0],
    "amax": lambda torch, x: x.amax(0),
    "as_strided": lambda torch, x: x.as_strided((3,), (0,)),
    "select": lambda torch, x: x[0],
    "unbind": lambda torch, x: x.unbind()[0],
    "square": lambda torch, x: x * x,
    "twice": lambda torch, x: x + x,
    "difference": lambda torch, x: x - x,
    "parts": lambda torch, x: x.split(1)[0] + x.split(1)[1],
    "cat": lambda torch, x: torch.cat([x, x]),
    "product": lambda torch, x: x @ x.T,
    "where": lambda torch, x: torch.where(x > 0, x, x),
    "sum": lambda torch, x: x.sum(),
    "diagonal": lambda torch, x: x.diagonal(),
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("recorded", [False, True])
def test_counted_gradients(both: Both, name: str, recorded: bool) -> None:
    def body(torch: Any) -> Any:
        x = _leaf(torch)
        (found,) = torch.autograd.grad(COUNTED[name](torch, x).sum(), x, create_graph=recorded)
        COUNTED[name](torch, x).sum().backward(create_graph=recorded)
        return found, x.grad

    both(body)


@pytest.mark.parametrize("change", ["unsqueeze", "transpose", "squeeze", "data"])
def test_a_leaf_that_changed_shape_between_backwards(both, change):
    def body(torch):
        leaf = torch.arange(6.0).reshape(1, 2, 3).requires_grad_()
        leaf.sum().backward()
        with torch.no_grad():
            if change == "data":
                leaf.data = torch.ones(2, 2)
            elif change == "transpose":
                leaf.transpose_(1, 2)
            else:
                getattr(leaf, f"{change}_")(0)
        try:
            (leaf * leaf).sum().backward()
        except RuntimeError as error:
            return str(error), leaf.grad
        return leaf.grad

    both(body)


LAID = {
    "rows": lambda torch: torch.randn(4, 3), "columns": lambda torch: torch.randn(3, 4).t(), "steps": lambda torch: torch.randn(4, 6)[:, ::2],
    "columns with steps": lambda torch: torch.randn(6, 4)[::2].t(), "one row for all": lambda torch: torch.randn(1, 3).expand(4, 3),
    "one column for all": lambda torch: torch.randn(4, 1).expand(4, 3), "one number for all": lambda torch: torch.randn(1, 1).expand(4, 3),
    "channels last": lambda torch: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "planes for all": lambda torch: torch.randn(1, 3, 2).expand(4, 3, 2), "swapped": lambda torch: torch.randn(2, 3, 4).permute(1, 2, 0),
}  # fmt: skip
LOSSES = {
    "sum": lambda torch, x: x.sum(), "product": lambda torch, x: (x * 2).sum(), "swapped": lambda torch, x: (x.transpose(0, 1).contiguous() ** 2).sum(),
    "two ways": lambda torch, x: (x * 2).sum() + (x.transpose(0, 1).contiguous() ** 2).sum(),
    "two ways, turned": lambda torch, x: (x.transpose(0, 1).contiguous() ** 2).sum() + (x * 2).sum(),
    "with a sum": lambda torch, x: x.sum() + (x.transpose(0, 1).contiguous() ** 2).sum(),
    "three ways": lambda torch, x: (x * x).sum() + (x.transpose(0, 1).contiguous() ** 3).sum(),
}  # fmt: skip


@pytest.mark.parametrize("way", LOSSES)
@pytest.mark.parametrize("laid", LAID)
def test_where_leaves_of_any_order_keep_their_gradients(both: Both, laid: str, way: str) -> None:
    """A leaf whose elements overlap or have gaps gets a row-major gradient; of two gradients the first determines the strides of the sum.
    """

    def body(torch: Any) -> Any:
        torch.manual_seed(0)
        leaf = LAID[laid](torch).detach().requires_grad_()
        LOSSES[way](torch, leaf).backward()
        (found,) = torch.autograd.grad(LOSSES[way](torch, leaf), leaf)
        kept = leaf.grad.clone(), leaf.grad.stride(), found.stride()
        leaf.grad = None
        LOSSES[way](torch, leaf).backward(create_graph=True)
        return kept, leaf.grad.stride(), leaf.grad

    both(body)

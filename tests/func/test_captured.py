"""Writes inside a transform of ``torch.func`` to tensors that the function captured, created, or received."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

WRITES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {  # (torch, captured tensor, captured count, argument)
    "add_": lambda t, c, n, x: c.add_(1),
    "+=": lambda t, c, n, x: c.__iadd__(1),
    "mul_ by the argument": lambda t, c, n, x: c.mul_(x),
    "copy_": lambda t, c, n, x: c.copy_(x),
    "fill_": lambda t, c, n, x: c.fill_(2),
    "zero_": lambda t, c, n, x: c.zero_(),
    "clamp_": lambda t, c, n, x: c.clamp_(0, 1),
    "lerp_": lambda t, c, n, x: c.lerp_(x, 0.5),
    "addcmul_": lambda t, c, n, x: c.addcmul_(x, x),
    "normal_": lambda t, c, n, x: c.normal_(),
    "uniform_": lambda t, c, n, x: c.uniform_(),
    "bernoulli_": lambda t, c, n, x: c.bernoulli_(0.5),
    "put_": lambda t, c, n, x: c.put_(t.tensor([0]), x[:1]),
    "scatter_": lambda t, c, n, x: c.scatter_(0, t.tensor([1]), 5.0),
    "index_add_": lambda t, c, n, x: c.index_add_(0, t.tensor([1]), x[:1]),
    "masked_fill_": lambda t, c, n, x: c.masked_fill_(c > 1, 0),
    "a place": lambda t, c, n, x: c.__setitem__(0, x[0]),
    "a number at a place": lambda t, c, n, x: c.__setitem__(0, 3.0),
    "a number under a mask": lambda t, c, n, x: c.__setitem__(c > 1, 0.0),
    "places of a list": lambda t, c, n, x: c.__setitem__([0, 1], x[:2]),
    "a slice": lambda t, c, n, x: c.__setitem__(slice(1, 3), x[:2]),
    "a view": lambda t, c, n, x: c[0].add_(1),
    "a view of a view": lambda t, c, n, x: c.view(2, 2)[0].copy_(x[:2]),
    "detached": lambda t, c, n, x: c.detach().add_(1),
    "data": lambda t, c, n, x: c.data.add_(1),
    "without gradients": lambda t, c, n, x: t.no_grad()(lambda: c.add_(1))(),
    "a count": lambda t, c, n, x: n.add_(1),
    "a number to a count": lambda t, c, n, x: n.copy_(x[0]),
    "unsqueeze_": lambda t, c, n, x: c.unsqueeze_(0),
    "t_": lambda t, c, n, x: c.t_(),
    "relu_": lambda t, c, n, x: t.relu_(c),
    "relu in place": lambda t, c, n, x: t.nn.functional.relu(c, inplace=True),
    "dropout in place": lambda t, c, n, x: t.nn.functional.dropout(c, 0.5, inplace=True),
    "init": lambda t, c, n, x: t.nn.init.normal_(c),
    "renormalized rows": lambda t, c, n, x: t.nn.functional.embedding(t.tensor([0]), c.view(2, 2), max_norm=0.1),
    "batch norm": lambda t, c, n, x: t.nn.BatchNorm1d(4)(x.repeat(3, 1)),
    "statistics of a batch": lambda t, c, n, x: t.nn.functional.batch_norm(x.repeat(3, 1), c, t.ones(4), training=True),
    "out": lambda t, c, n, x: t.add(c, 1, out=c),
    "out of the argument": lambda t, c, n, x: t.mul(x.detach(), 2, out=c),
    "a copy": lambda t, c, n, x: c.clone().add_(1),
    "made inside": lambda t, c, n, x: t.zeros(4).add_(x),
    "made of numbers": lambda t, c, n, x: t.tensor([1.0, 2.0]).add_(1),
    "place of what was made inside": lambda t, c, n, x: t.zeros(4).__setitem__(0, x[0]),
    "a result": lambda t, c, n, x: (x * 1).add_(c),
    "the argument": lambda t, c, n, x: x.add_(1),
    "a view of the argument": lambda t, c, n, x: x[0].add_(1),
}  # fmt: skip
TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda t, f: t.func.grad(f)(t.ones(4)),
    "vjp": lambda t, f: t.func.vjp(f, t.ones(4))[0],
    "jvp": lambda t, f: t.func.jvp(f, (t.ones(4),), (t.ones(4),)),
    "jacrev": lambda t, f: t.func.jacrev(f)(t.ones(4)),
    "vmap of a count": lambda t, f: t.func.vmap(lambda _: f(t.ones(4)))(t.ones(2)),
}
KEY = "that would mutate a captured Tensor. This is not supported"


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", WRITES)
def test_writes(both: Any, write: str, transform: str) -> None:
    if transform == "vmap of a count" and write in ("normal_", "uniform_", "bernoulli_", "dropout in place", "init", "batch norm"):
        pytest.skip("drawing and counting under vmap are tested elsewhere")

    def body(torch: Any) -> Any:
        captured, count = torch.arange(4.0), torch.tensor(0)

        def function(x: Any) -> Any:
            WRITES[write](torch, captured, count, x)
            return (x * 2 * captured.reshape(-1)[0]).sum()

        try:
            found = TRANSFORMS[transform](torch, function)
        except RuntimeError as error:
            found = "captured" if KEY in str(error) else str(error).split("\n")[0]
        return found, captured, count

    both(body)


@pytest.mark.parametrize("body", [
    lambda t, b: (t.func.grad(lambda x, b: (b.mul_(x), (x * b).sum())[1])(t.ones(4), b), b),
    lambda t, b: (t.func.grad(lambda x, b: (b["b"].add_(x), (x * b["b"]).sum())[1])(t.ones(4), {"b": b}), b),
    lambda t, b: (t.func.grad(lambda x, b=None: (b.add_(x), (x * b).sum())[1])(t.ones(4), b=b), b),
    lambda t, b: (t.func.vjp(lambda x, b: (b.add_(1), x * b)[1], t.ones(4), b)[0], b),
    lambda t, b: t.func.grad(lambda x: _writing_what_the_outer_made(t, x))(b),
    lambda t, b: t.func.grad(lambda x: t.func.grad(lambda y: (y * y).sum())(x).add_(1).sum())(b),
    lambda t, b: (t.func.grad(lambda x: (x.sum(), b.add_(1)), has_aux=True)(t.ones(4)), b),
    lambda t, b: (_with_buffers(t, b, True), b),
    lambda t, b: (_with_buffers(t, b, False), b),
])  # fmt: skip
def test_arguments_and_levels(both: Any, body: Callable[[Any, Any], Any]) -> None:
    """A function's writes to its arguments reach the caller's tensors, which stay without a history."""

    def both_of(torch: Any) -> Any:
        try:
            return body(torch, torch.full((4,), 2.0))
        except RuntimeError as error:
            return "captured" if KEY in str(error) else str(error).split("\n")[0]

    both(both_of)


def _writing_what_the_outer_made(t: Any, x: Any) -> Any:
    made = t.zeros(4)
    return t.func.grad(lambda y: (made.add_(1), (made * y).sum())[1])(x).sum()


def _with_buffers(t: Any, b: Any, given: bool) -> Any:
    norm = t.nn.BatchNorm1d(4, affine=False)
    buffers = {"running_mean": b, "running_var": t.ones(4), "num_batches_tracked": t.tensor(0)}
    x = t.arange(12.0).view(3, 4)
    if not given:
        return t.func.grad(lambda x: norm(x).pow(3).sum())(x)
    return t.func.grad(lambda x, b: t.func.functional_call(norm, b, (x,)).pow(3).sum().sin())(x, buffers).shape, buffers

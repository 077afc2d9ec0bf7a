"""Values saved for backward, as in torch: the writes that backward refuses, and the values that it reads after ``.data`` was changed.

``python -m tests.writes`` runs the whole operator database.
"""
from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

_Operation = Callable[..., Any]

# Functions of a tensor (3, 3), another one, indices (3), and the library.
OPERATIONS: dict[str, _Operation] = {
    "gather": lambda a, b, i, t: a.gather(0, i.unsqueeze(0)), "take": lambda a, b, i, t: a.take(i),
    "index_select": lambda a, b, i, t: a.index_select(0, i), "index": lambda a, b, i, t: a[i],
    "index_add": lambda a, b, i, t: a.index_add(0, i, b), "index_copy": lambda a, b, i, t: a.index_copy(0, i, b),
    "index_fill": lambda a, b, i, t: a.index_fill(0, i, 2.0), "put": lambda a, b, i, t: a.put(i, b[0]),
    "index_put": lambda a, b, i, t: a.index_put((i,), b), "scatter_add": lambda a, b, i, t: a.scatter_add(0, i.unsqueeze(0), b),
    "scatter_reduce": lambda a, b, i, t: a.scatter_reduce(0, i.expand(3, 3), b, "sum"),
    "masked_scatter": lambda a, b, i, t: a.masked_scatter(i.unsqueeze(0) > 0, b), "masked_select": lambda a, b, i, t: a.masked_select(i > 0),
    "take_along_dim": lambda a, b, i, t: a.take_along_dim(i.unsqueeze(0), 0), "setitem": lambda a, b, i, t: _put(a, i, b),
    "nll_loss": lambda a, b, i, t: t.nn.functional.nll_loss(a, i),
    "cross_entropy": lambda a, b, i, t: t.nn.functional.cross_entropy(a, i),
    "weighted": lambda a, b, i, t: t.nn.functional.cross_entropy(a, i, b[0].detach().abs()),
    "mse_loss": lambda a, b, i, t: t.nn.functional.mse_loss(a, b), "smooth_l1_loss": lambda a, b, i, t: t.nn.functional.smooth_l1_loss(a, b),
    "huber_loss": lambda a, b, i, t: t.nn.functional.huber_loss(a, b, reduction="none"),
    "soft_margin_loss": lambda a, b, i, t: t.nn.functional.soft_margin_loss(a, b.detach()),
    "logsumexp": lambda a, b, i, t: a.logsumexp(1), "std": lambda a, b, i, t: a.std(1), "var": lambda a, b, i, t: a.var(),
    "floor": lambda a, b, i, t: t.div(a, b, rounding_mode="floor"), "dist": lambda a, b, i, t: t.dist(a, b),
    "cdist": lambda a, b, i, t: t.cdist(a, b), "cross": lambda a, b, i, t: t.linalg.cross(a, b), "complex": lambda a, b, i, t: t.complex(a, b),
    "lerp": lambda a, b, i, t: t.lerp(a, b, t.full((3, 3), 0.3)), "conv1d": lambda a, b, i, t: t.nn.functional.conv1d(a[None], b[None, :, :2]),
    "avg_pool1d": lambda a, b, i, t: t.nn.functional.avg_pool1d(a[None], 2), "max_pool1d": lambda a, b, i, t: t.nn.functional.max_pool1d(a[None], 2),
    "pad": lambda a, b, i, t: t.nn.functional.pad(a[None], (1, 1), mode="reflect"),
    "layer_norm": lambda a, b, i, t: t.nn.functional.layer_norm(a, (3,), b[0], b[1]), "nan_to_num": lambda a, b, i, t: a.nan_to_num(),
    "sgn": lambda a, b, i, t: a.sgn(), "bilinear": lambda a, b, i, t: t.nn.functional.bilinear(a, b, t.ones(2, 3, 3)),
    "cumprod": lambda a, b, i, t: a[0, 0].cumprod(0), "cummax": lambda a, b, i, t: a.cummax(1)[0],
}  # fmt: skip


def _put(a: Any, i: Any, b: Any) -> Any:
    a[i] = b
    return a


def _given(torch: Any) -> tuple[Any, Any, Any, Any]:
    leaves = [torch.tensor(rows, requires_grad=True) for rows in ([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0], [2.5, 1.0, 0.0]],
                                                                   [[2.0, 1.5, -3.5], [1.0, -0.5, 2.0], [3.0, -4.0, 0.5]])]  # fmt: skip
    return leaves, leaves[0] * 1, leaves[1] * 1, torch.tensor([0, 2, 1])


@pytest.mark.parametrize("followed", ["both", "first", "second"])
@pytest.mark.parametrize("written", ["first", "second", "positions", "result"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_which_writes_are_refused(both: Callable[..., Any], name: str, written: str, followed: str) -> None:
    def body(torch: Any) -> Any:
        leaves, a, b, i = _given(torch)
        a = a.detach() if followed == "second" else a
        b = b.detach() if followed == "first" else b
        result = OPERATIONS[name](a, b, i, torch)
        with torch.no_grad():
            {"first": a, "second": b, "positions": i, "result": result}[written].mul_(1)
        if result.grad_fn is None:
            return None
        try:
            torch.autograd.grad(result.sum(), leaves, allow_unused=True)
        except RuntimeError as error:
            return "modified by an inplace operation" in str(error)
        return False

    both(body)


READ = ("mse_loss smooth_l1_loss huber_loss logsumexp std var cross_entropy nll_loss floor lerp conv1d index_add "
        "gather nan_to_num sgn cummax scatter_reduce")  # fmt: skip


@pytest.mark.parametrize("name", READ.split())
def test_backward_reads_what_data_is_then(both: Callable[..., Any], name: str) -> None:
    def body(torch: Any) -> Any:
        leaves, a, b, i = _given(torch)
        result = OPERATIONS[name](a, b, i, torch)
        a.data.mul_(2)
        b.data[0] = 0.25
        return torch.autograd.grad((result * 1.5).sum(), leaves, allow_unused=True)

    both(body)


IN_PLACE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "nan_to_num_": lambda w, i, t: w.nan_to_num_(), "sgn_": lambda w, i, t: w.sgn_(), "mvlgamma_": lambda w, i, t: w.mvlgamma_(1),
    "div_": lambda w, i, t: w.div_(2.0, rounding_mode="floor"), "index_fill_": lambda w, i, t: w.index_fill_(0, i, 3.0),
    "put_": lambda w, i, t: w.put_(i, t.ones(2)), "index_add_": lambda w, i, t: w.index_add_(0, i, t.ones(2), alpha=2),
    "scatter_reduce_": lambda w, i, t: w.scatter_reduce_(0, i, t.ones(2), "sum"), "lerp_": lambda w, i, t: w.lerp_(t.ones(3), 0.5),
    "index_put_": lambda w, i, t: w.index_put_((i,), t.ones(2)), "masked_scatter_": lambda w, i, t: w.masked_scatter_(w > 2, t.ones(3)),
}  # fmt: skip


@pytest.mark.parametrize("window", ["t", "t[0:3]", "t.view(1, -1)[0]"])
@pytest.mark.parametrize("name", IN_PLACE)
def test_forms_in_place_keep_the_old_value(both: Callable[..., Any], name: str, window: str) -> None:
    def body(torch: Any) -> Any:
        leaf = torch.tensor([1.5, 2.5, 4.0], requires_grad=True)
        w = eval(window, {"t": leaf * 1})
        IN_PLACE[name](w, torch.tensor([0, 2]), torch)
        return torch.autograd.grad(w.sum(), leaf)

    both(body)


def test_the_cross_entropy_keeps_no_logits(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        leaf = torch.tensor([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]], dtype=torch.float64, requires_grad=True)
        target = torch.tensor([2, 0])
        logits = leaf * 1
        loss = torch.nn.functional.cross_entropy(logits, target)
        logits.detach().zero_()
        first, = torch.autograd.grad(loss * 3, leaf, create_graph=True)
        second, = torch.autograd.grad(first.square().sum(), leaf)
        return loss, loss.grad_fn.name(), loss.grad_fn.next_functions[0][0].name(), first, second

    both(body)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss"])
def test_losses_between_numbers(both: Callable[..., Any], name: str, reduction: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([[0.5, -3.0, float("nan")], [2.0, float("inf"), 0.0]], dtype=torch.float64, requires_grad=True)
        y = torch.tensor([[1.0, 0.25, 0.0]], dtype=torch.float64, requires_grad=True)
        loss = getattr(torch.nn.functional, name)(x, y.expand(2, 3), reduction=reduction)
        found = torch.autograd.grad((loss * 2).sum(), (x, y), create_graph=True)
        again = torch.autograd.grad(found[0].sum() + found[1].square().sum(), (x, y))
        return loss, loss.grad_fn.name(), found, again

    both(body)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
def test_logsumexp_beside_infinity(both: Callable[..., Any], dim: Any, keepdim: bool) -> None:
    def body(torch: Any) -> Any:
        inf, nan = float("inf"), float("nan")
        rows = [[[inf, 1.0], [2.0, 3.0]], [[-inf, -inf], [-inf, 0.0]], [[nan, 1.0], [2.0, 3.0]], [[1e3, -1e3], [inf, inf]]]
        found = []
        for row in rows:
            x = torch.tensor(row, dtype=torch.float64, requires_grad=True)
            y = x.logsumexp(dim, keepdim)
            found.append((y, *torch.autograd.grad(y.sum(), x)))
        return found

    both(body)


@pytest.mark.parametrize("name", ["conv1d", "gather", "avg_pool1d", "mse_loss", "cross_entropy", "index_add", "dist"])
def test_what_is_watched_goes_with_the_first_backward(name: str) -> None:
    import mstorch as torch

    leaves, a, b, i = _given(torch)
    result = OPERATIONS[name](a, b.detach(), i, torch)
    memory = [weakref.ref(tensor._ms_storage) for tensor in (a, b)]
    del a, b, i
    result.sum().backward()
    gc.collect()
    assert result.grad_fn is not None
    assert [ref() for ref in memory] == [None, None]


VIEWS: dict[str, _Operation] = {
    "t": lambda a, t: a.t(), "transpose": lambda a, t: a.transpose(0, 1), "view": lambda a, t: a.view(9), "slice": lambda a, t: a[1:],
    "select": lambda a, t: a[1], "diagonal": lambda a, t: a.diagonal(), "expand": lambda a, t: a[:1].expand(4, 3), "unsqueeze": lambda a, t: a[None],
    "permute": lambda a, t: a.permute(1, 0), "unbind": lambda a, t: a.unbind(0)[1], "split": lambda a, t: a.split(2)[1], "narrow": lambda a, t: a.narrow(1, 0, 2),
    "as_strided": lambda a, t: a.as_strided((2, 2), (1, 3)), "unfold": lambda a, t: a.unfold(0, 2, 1), "swapaxes": lambda a, t: a.swapaxes(0, 1),
    "detached": lambda a, t: a.detach(), "none": lambda a, t: a,
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_message_names_the_node_after_the_write(both: Callable[..., Any], name: str) -> None:
    """A view that was saved has another node once its base is written to, and the message names that one."""

    def body(torch: Any) -> Any:
        _, a, b, _ = _given(torch)
        view = VIEWS[name](a, torch)
        result = (view * b[0, 0]).sum() + b.sum()
        a.mul_(2.0)
        result.backward()

    both(body)

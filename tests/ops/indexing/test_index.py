"""Reading and filling by index tensors and masks, compared with torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

X = np.arange(12, dtype=np.float32).reshape(3, 4) + 0.5
INDEX = np.array([[0, 2, 1, 0], [2, 2, 0, 1]])
MASK = (np.arange(12).reshape(3, 4) % 3) == 0
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()

TAKE = {
    "gather": lambda torch, x: torch.gather(x, 0, torch.tensor(INDEX)),
    "gather part": lambda torch, x: x.gather(1, torch.tensor([[3], [0]])),
    "gather int32": lambda torch, x: torch.gather(x, -1, torch.tensor(INDEX, dtype=torch.int32)),
    "gather empty": lambda torch, x: torch.gather(x, 0, torch.zeros(0, 4, dtype=torch.int64)),
    "gather 0-d": lambda torch, x: x[0, 0].gather(0, torch.tensor(0)),
    "index_select": lambda torch, x: torch.index_select(x, 0, torch.tensor([2, 0, 2])),
    "index_select columns": lambda torch, x: x.index_select(-1, torch.tensor([1, 1], dtype=torch.int32)),
    "index_select none": lambda torch, x: x.index_select(0, torch.tensor([], dtype=torch.int64)),
    "take": lambda torch, x: torch.take(x, torch.tensor([[0, -1], [5, 5]])),
    "take_along_dim": lambda torch, x: torch.take_along_dim(x, torch.tensor([[1], [0], [3]]), 1),
    "take_along_dim flat": lambda torch, x: torch.take_along_dim(x, torch.tensor([1, 7])),
    "take_along_dim sorted": lambda torch, x: torch.take_along_dim(x, x.detach().real.float().argsort(0), 0)
    if x.dtype.is_complex else torch.take_along_dim(x, x.detach().argsort(0), 0),
    "masked_select": lambda torch, x: torch.masked_select(x, torch.tensor(MASK)),
    "masked_select row": lambda torch, x: x.masked_select(torch.tensor(MASK[0])),
    "masked_select none": lambda torch, x: x.masked_select(torch.zeros(3, 4, dtype=torch.bool)),
}  # fmt: skip
FILL = {
    "masked_fill": lambda torch, x: torch.masked_fill(x, torch.tensor(MASK), 3),
    "masked_fill row": lambda torch, x: x.masked_fill(torch.tensor(MASK[0]), True),
    "masked_fill wider": lambda torch, x: x.masked_fill(torch.tensor(MASK.reshape(3, 1, 4)), 1),
    "masked_fill tensor": lambda torch, x: x.masked_fill(torch.tensor(MASK), torch.ones((), dtype=x.dtype)),
    "index_fill": lambda torch, x: torch.index_fill(x, 1, torch.tensor([0, -1]), 2),
    "index_fill 0-d": lambda torch, x: x.index_fill(0, torch.tensor(1), 1),
    "masked_scatter": lambda torch, x: torch.masked_scatter(x, torch.tensor(MASK), x.detach().flip(0)),
    "put": lambda torch, x: torch.put(x, torch.tensor([0, -1]), x.detach()[0, :2]),
    "put add": lambda torch, x: torch.put(x, torch.tensor([[1, 1]]), x.detach()[:1, :2], accumulate=True),
    "index_put": lambda torch, x: torch.index_put(x, (torch.tensor([0, 2]),), x.detach()[1]),
    "index_put pairs": lambda torch, x: x.index_put((torch.tensor([0, 0]), torch.tensor([1, 1])), x.detach()[1, :2], accumulate=True),
}  # fmt: skip
ALL = {**TAKE, **FILL}


@pytest.mark.parametrize("name", ALL)
def test_values_and_gradients(both, with_gradients, name):
    """Values, strides and gradients for contiguous, transposed and strided tensors."""
    body = ALL[name]
    with_gradients(body, X)
    both(lambda torch: body(torch, torch.tensor(X.T.copy()).t()))
    both(lambda torch: body(torch, torch.tensor(np.repeat(X, 2, 1))[:, ::2]))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(both, name, dtype):
    """Every dtype that torch supports."""
    if dtype == "bool" and ("add" in name or "pairs" in name):
        return
    both(lambda torch: ALL[name](torch, torch.tensor(X).to(getattr(torch, dtype))))


def test_gradients_of_the_second_operand(with_gradients):
    """The written values get a gradient, also at repeated indices."""
    source = np.linspace(1, 2, 6, dtype=np.float32)
    with_gradients(lambda torch, x, s: torch.put(x, torch.tensor([0, 3, 3]), s[:3], accumulate=True), X, source)
    with_gradients(lambda torch, x, s: torch.masked_scatter(x, torch.tensor(MASK), s), X, source)
    with_gradients(lambda torch, x, s: torch.index_put(x, (torch.tensor([0, 2]),), s[:4]), X, source)
    with_gradients(lambda torch, x, s: x.masked_fill(torch.tensor(MASK), s[0]), X, source)
    with_gradients(lambda torch, x, s: x.index_fill(1, torch.tensor([0, 2]), s[1]), X, source)


@pytest.mark.parametrize("name", ["gather", "gather int32", "index_select", "take", "masked_select", "masked_fill", "index_fill"])
def test_second_derivative(both, name):
    """Operations that select elements can be differentiated twice."""

    def body(torch):
        x = torch.tensor(X, requires_grad=True)
        (first,) = torch.autograd.grad((ALL[name](torch, x) ** 3).sum(), x, create_graph=True)
        return torch.autograd.grad((first**2).sum(), x)

    both(body)


def test_nonzero(both):
    """Positions of nonzero elements, in each form, also of empty tensors."""

    def body(torch):
        x = torch.tensor([[0.0, 1.0], [float("nan"), -0.0]])
        tensors = (x, x > 5, torch.tensor(3), torch.tensor(0), torch.zeros(0, 2), x.to(torch.complex64), x.bfloat16())
        return [
            (torch.nonzero(t), t.nonzero(as_tuple=True), torch.argwhere(t), torch.nonzero_static(t, size=3)) for t in tensors
        ] + [torch.where(x), torch.nonzero_static(x, size=1, fill_value=7)]

    both(body, strides=False)
    both(lambda torch: (torch.ones(2, 3).nonzero(), torch.argwhere(torch.ones(2)), torch.nonzero_static(torch.ones(2, 2), size=3)))


IN_PLACE = {
    "masked_fill_": lambda torch, x: x.masked_fill_(torch.tensor(MASK), 9.0),
    "index_fill_": lambda torch, x: x.index_fill_(0, torch.tensor([1]), 9.0),
    "masked_scatter_": lambda torch, x: x.masked_scatter_(torch.tensor(MASK), torch.arange(12.0)),
    "put_": lambda torch, x: x.put_(torch.tensor([3, 1]), torch.tensor([1.0, 2.0])),
    "index_put_": lambda torch, x: x.index_put_((torch.tensor([0, 1]), torch.tensor([2, 2])), torch.tensor([5.0, 6.0])),
    "index_put_ add": lambda torch, x: x.index_put_((torch.tensor([0, 0]),), torch.ones(4), accumulate=True),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(both, name):
    """In-place forms return the tensor, change its views, and are recorded."""

    def body(torch):
        leaf = torch.tensor(X, requires_grad=True)
        x = leaf * 1
        row = x[1]
        same = IN_PLACE[name](torch, x) is x
        (x * torch.arange(12.0).reshape(3, 4)).sum().backward()
        base = torch.tensor(np.zeros((4, 3), np.float32))
        IN_PLACE[name](torch, base.t())
        return same, x, row, leaf.grad, base

    both(body)


def test_out(both):
    """``out=`` is filled."""

    def body(torch):
        x = torch.tensor(X)
        target = torch.zeros(2, 4)
        found = torch.gather(x, 0, torch.tensor(INDEX), out=target)
        other = torch.zeros(0)
        torch.index_select(x, 0, torch.tensor([1]), out=other)
        picked = torch.masked_select(x, torch.tensor(MASK), out=torch.zeros(0))
        return found is target, target, other, torch.take(x, torch.tensor([3]), out=torch.zeros(1)), picked

    both(body)


ERRORS = {
    "high": lambda torch, x: torch.gather(x, 0, torch.tensor([[9]])),
    "negative": lambda torch, x: torch.gather(x, 0, torch.tensor([[-1]])),
    "rank": lambda torch, x: torch.gather(x, 0, torch.tensor([0])),
    "float index": lambda torch, x: torch.gather(x, 0, torch.tensor([[0.0]])),
    "too large": lambda torch, x: torch.gather(x, 0, torch.zeros(2, 9, dtype=torch.long)),
    "dim": lambda torch, x: torch.gather(x, 5, torch.zeros(1, 2, dtype=torch.int64)),
    "select range": lambda torch, x: torch.index_select(x, 0, torch.tensor([9])),
    "select matrix": lambda torch, x: torch.index_select(x, 0, torch.tensor([[0]])),
    "take range": lambda torch, x: torch.take(x, torch.tensor([99])),
    "take dtype": lambda torch, x: torch.take(x, torch.tensor([0], dtype=torch.int32)),
    "mask dtype": lambda torch, x: torch.masked_fill(x, torch.zeros(3, 4), 1.5),
    "mask shape": lambda torch, x: torch.masked_fill(x, torch.zeros(2, dtype=torch.bool), 1.0),
    "fill vector": lambda torch, x: torch.masked_fill(x, x > 3, torch.ones(2)),
    "complex fill": lambda torch, x: torch.masked_fill(torch.arange(3), torch.tensor([True, False, True]), 1j),
    "in-place shape": lambda torch, x: x.masked_fill_(torch.zeros(2, 3, 4, dtype=torch.bool), 1.0),
    "masked_select dtype": lambda torch, x: torch.masked_select(x, torch.zeros(3, 4)),
    "index_fill range": lambda torch, x: torch.index_fill(x, 0, torch.tensor([9]), 1.0),
    "put range": lambda torch, x: x.put_(torch.tensor([99]), torch.tensor([1.0])),
    "put dtype": lambda torch, x: x.put_(torch.tensor([0]), torch.tensor([1])),
    "leaf": lambda torch, x: x.requires_grad_().masked_fill_(torch.tensor(MASK), 1.0),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both, name):
    """Errors have torch's classes and messages."""
    both(lambda torch: ERRORS[name](torch, torch.tensor(X)))


@pytest.mark.parametrize("value", ["part", "integer", "several"])
def test_one_value_by_a_mask(both: Callable[..., Any], value: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(4.0)
        chosen = {"part": x[::4], "integer": torch.tensor([5]), "several": x[:2]}[value]
        x[torch.tensor([False, True, value == "several", False])] = chosen
        return x

    both(body)


@pytest.mark.parametrize("weight", [(1, 2, 2), (2, 2)])
def test_linear_checks_its_parameters(both: Callable[..., Any], weight: tuple[int, ...]) -> None:
    both(lambda torch: torch.nn.functional.linear(torch.ones(2, 2), torch.ones(weight), torch.ones(3)))


@pytest.mark.parametrize("kind", ["int8", "float32", "bfloat16", "bool"])
def test_adding_at_indices_of_many_elements(both, kind):
    """No table of all positions is created: for over two billion elements of int8 it took 17 GB."""

    def body(torch):
        x = torch.ones(3, (1 << 21) + 5, dtype=getattr(torch, kind))
        rows, columns = torch.tensor([0, -1, 0, 2, 0]), torch.tensor([-2, -1, 0, 1, 0])
        before = x._version
        values = torch.tensor([1, 1, 0, 1, 1]).to(x.dtype)
        x.index_put_((rows, columns), values, accumulate=True)
        x.t().index_put_((columns[:2],), torch.ones((), dtype=x.dtype), accumulate=True)
        x.index_put_((torch.tensor([True, False, True]), torch.tensor([4])), torch.ones(2, dtype=x.dtype), accumulate=True)
        try:
            x.index_put_((torch.tensor([7]),), values[:1], accumulate=True)
        except IndexError as error:
            words = str(error)
        return x[:, :8], x[:, -8:], x._version - before, words

    both(body)


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
@pytest.mark.parametrize("mask", [0, 1])
def test_numbers_of_bytes_select_all_or_nothing(both, mask):
    def body(torch):
        x = torch.zeros(2, 2)
        x[torch.tensor(mask, dtype=torch.uint8)] = 3
        x[torch.tensor(mask, dtype=torch.uint8), 0] = torch.ones(1, 2)[:, :1]
        return x

    both(body)


WRITES = {
    "too large a value": ((slice(None), [2, 1]), (7, 7), "float32"), "a fitting value": ((slice(None), [2, 1]), (5,), "float32"),
    "another dtype": ((slice(None), [2, 1]), (5,), "float64"), "nothing": ((slice(0, 0), [2, 1]), (7, 7), "float32"),
    "two": (([0, 1], [5, 0]), (3,), "float32"), "rows that do not fit": (([0, 1, 2], [5, 0]), (3,), "float32"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_values_are_looked_at_before_indices(both, name):
    key, shape, dtype = WRITES[name]

    def body(torch):
        torch.zeros(3, 1, 5)[key] = torch.zeros(shape, dtype=getattr(torch, dtype))

    both(body)


@pytest.mark.parametrize("accumulate", [False, True])
def test_more_indices_than_dimensions_are_put(both, accumulate):
    both(lambda torch: torch.zeros(3, 5).index_put_((torch.tensor([0]),) * 3, torch.zeros(1), accumulate))


SOURCES = {
    "itself": lambda t: t, "row": lambda t: t[0], "element": lambda t: t[:1, :1], "number": lambda t: t[0, 0], "turned": lambda t: t.T,
    "expanded": lambda t: t[0].expand(3, 3), "full": lambda t: t.clone(), "dtype": lambda t: t.double(),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_expanded_tensors_written_from_themselves(both, name):
    def body(torch):
        found = []
        for write in (lambda t, v: t.copy_(v), lambda t, v: t.__setitem__(..., v), lambda t, v: t.add_(v), lambda t, v: t.data.copy_(v)):
            t = torch.arange(2.0)[:1].expand(3, 3)
            try:
                write(t, SOURCES[name](t))
                found.append("written")
            except RuntimeError as error:
                found.append(str(error))
        return found

    both(body)


def test_nothing_written_from_itself(both):
    def body(torch):
        t = torch.zeros(0, 1)
        t[1::1, torch.tensor([True])] = t
        return t

    both(body)


@pytest.mark.parametrize("write", ["t[None] = t[:2:2]", "t[:] = t[:2:2]", "t[None] = t", "t[...] = t[:1]", "t[0] = t[:2:2]", "t[:, :1] = t[:, :1][None]"])
def test_a_tensor_is_given_its_own_memory(both, write):
    def body(torch):
        t = torch.arange(6).reshape(1, 3, 2)
        exec(write, {"t": t})
        return t

    both(body)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0,), (2, 3)])
@pytest.mark.parametrize("key", ["i", "(i, slice(None))", "(..., i)", "(i, slice(1, None))", "(slice(None), i)"])
def test_a_tensor_put_into_itself_at_indices(both, shape, key):
    """Such a write is refused, also if it is empty."""

    def body(torch):
        x = torch.ones(shape)
        i = torch.tensor([], dtype=torch.int64) if 0 in shape[:1] else torch.tensor([0, 0])
        x[eval(key, {"i": i})] = x
        return x

    both(body, message="")


def test_a_leading_one_is_left_out_before_overlaps_are_looked_for(both):
    def body(torch):
        x = torch.zeros(1, 0, dtype=torch.int64)
        x[[0, 0]] = x
        return x

    both(body)


@pytest.mark.parametrize("call", ["x.masked_select(x > 0)", "x[x > 0]", "x.take(torch.tensor([0]))"])
def test_names_of_selections(both, call):
    def body(torch):
        x = torch.ones(2, 2, requires_grad=True)
        return eval(call, {"torch": torch, "x": x}).grad_fn.name()

    both(body)

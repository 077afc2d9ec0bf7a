"""Writes to a part of an expanded tensor, and writes between forward and backward to what backward does not need."""
import warnings

import pytest

from tests.against_torch import both

WRITES = {
    "triu_": lambda e, torch: e.triu_(),
    "tril_": lambda e, torch: e.tril_(),
    "triu_ above": lambda e, torch: e.triu_(1),
    "masked_fill_": lambda e, torch: e.masked_fill_(torch.ones(3, 3, dtype=torch.bool).triu(1), 7),
    "masked_fill_ none": lambda e, torch: e.masked_fill_(torch.zeros(3, 3, dtype=torch.bool), 7),
    "index_fill_": lambda e, torch: e.index_fill_(0, torch.tensor([0]), 7),
}
SOURCES = {
    "rows": lambda torch, kind: torch.tensor([1, 2, 3], dtype=kind).expand(3, 3),
    "columns": lambda torch, kind: torch.tensor([[1], [2], [3]], dtype=kind).expand(3, 3),
    "number": lambda torch, kind: torch.tensor(2, dtype=kind).expand(3, 3),
    "batch": lambda torch, kind: torch.arange(9).to(kind).reshape(3, 3).t().expand(2, 3, 3),
}


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int64", "complex64"])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("write", WRITES)
def test_expanded(write, source, kind):
    """What one index writes is seen at all indices of the place."""

    def body(torch):
        e = SOURCES[source](torch, getattr(torch, kind))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            WRITES[write](e, torch)
        return e, e._base, e.stride(), e._version

    both(body)


@pytest.mark.parametrize("write", [
    "w.index_fill_(0, torch.tensor([0, 1]), 7.0)", "w.index_fill_(1, torch.tensor([1]), 7.0)",
    "w.masked_fill_(torch.tensor([[True, True], [False, False], [False, True]]), 8.0)", "w.triu_()",
])  # fmt: skip
def test_unfolded(write):
    """The same where windows overlap in part."""

    def body(torch):
        t = torch.arange(4.0) + 1
        exec(write, {"torch": torch, "w": t.unfold(0, 2, 1)})
        return t, t._version

    both(body)


UNARY = {"erfinv": lambda torch, x: torch.erfinv(x), "tanhshrink": lambda torch, x: torch.nn.functional.tanhshrink(x)}


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("name", UNARY)
def test_write_after_unary(name, place):
    """The same error, or the same gradient, after the operand or the result was written."""

    def body(torch):
        leaf = torch.tensor([0.1, -0.2, 0.3], requires_grad=True)
        x = leaf * 2
        y = UNARY[name](torch, x)
        (x, y)[place].add_(0.25)
        y.sum().backward()
        return leaf.grad

    both(body)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True)])
def test_write_after_copysign(needs, place):
    """Backward keeps the first operand, if that has a gradient, and the result."""

    def body(torch):
        a, b = torch.tensor([0.1, -0.2, 0.3], requires_grad=needs[0]), torch.tensor([1.0, 2.0, -3.0], requires_grad=needs[1])
        x, w = a * 2, b * 2
        y = torch.copysign(x, w)
        (x, w, y)[place].add_(0.25)
        y.sum().backward()
        return a.grad, b.grad

    both(body)


def test_added_by_position_with_a_history(both):
    """What stands in one place is added up there, recorded or not."""
    def body(torch):
        x = torch.zeros(2, 2, 2, requires_grad=True)
        whole = x.clone()
        shared = whole[:, 1:].as_strided((3,), (0,))
        value = torch.tensor(1.5, requires_grad=True)
        shared.index_put_((torch.tensor([0, 0]),), value, accumulate=True)
        return whole, shared

    both(body)

"""Writing, adding and reducing at index tensors, compared with torch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mstorch

X = np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4)
INDEX = np.array([[0, 2, 1, 0], [2, 2, 0, 0]])
SOURCE = np.linspace(1, 2.4, 8, dtype=np.float32).reshape(2, 4)
DTYPES = "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()

OPS = {
    "scatter": lambda torch, x, s: torch.scatter(x, 0, torch.tensor([[0, 2, 1, 0]]), s[:1]),
    "scatter value": lambda torch, x, s: x.scatter(1, torch.tensor(INDEX), 5),
    "scatter part": lambda torch, x, s: x.scatter(1, torch.tensor([[3], [0]]), s.detach()),
    "scatter int32": lambda torch, x, s: x.scatter(1, torch.tensor([[3], [0]], dtype=torch.int32), s[:, :1]),
    "scatter none": lambda torch, x, s: x.scatter(0, torch.zeros(0, 4, dtype=torch.int64), s),
    "scatter reduce add": lambda torch, x, s: x.detach().scatter(0, torch.tensor(INDEX), s.detach(), reduce="add"),
    "scatter reduce multiply": lambda torch, x, s: x.detach().scatter(0, torch.tensor(INDEX), s.detach(), reduce="multiply"),
    "scatter_add": lambda torch, x, s: torch.scatter_add(x, 0, torch.tensor(INDEX), s),
    "scatter_add part": lambda torch, x, s: x.scatter_add(-1, torch.tensor([[1, 1, 0]]), s.detach()),
    "index_add": lambda torch, x, s: torch.index_add(x, 0, torch.tensor([2, 2]), s),
    "index_add alpha": lambda torch, x, s: x.index_add(1, torch.tensor([3, 0]), s.t()[:3], alpha=2),
    "index_copy": lambda torch, x, s: torch.index_copy(x, 0, torch.tensor([2, 0]), s),
    "index_copy columns": lambda torch, x, s: x.index_copy(1, torch.tensor([3, 0]), s.t()[:3]),
}
for how in ("sum", "prod", "mean", "amax", "amin"):
    for own in (True, False):
        OPS[f"scatter_reduce {how} {own}"] = lambda torch, x, s, how=how, own=own: torch.scatter_reduce(
            x, 0, torch.tensor(INDEX), s, how, include_self=own
        )
        if how != "sum":
            OPS[f"index_reduce {how} {own}"] = lambda torch, x, s, how=how, own=own: torch.index_reduce(
                x, 0, torch.tensor([2, 2]), s, how, include_self=own
            )


@pytest.mark.parametrize("name", OPS)
def test_values_and_gradients(both, with_gradients, name):
    """Values, strides and gradients of both operands, also of transposed ones."""
    body = OPS[name]
    if name != "scatter none":
        with_gradients(body, X, SOURCE)
    both(lambda torch: body(torch, torch.tensor(X.T.copy()).t(), torch.tensor(SOURCE.T.copy()).t()))


VECTORS = {
    **{f"index_reduce {how}": lambda torch, x, s, how=how: x.index_reduce(0, torch.tensor([1, 1]), s, how) for how in ("prod", "mean", "amax", "amin")},
    **{f"scatter_reduce {how}": lambda torch, x, s, how=how: x.scatter_reduce(0, torch.tensor([2, 0]), s, how) for how in ("sum", "mean", "amax")},
    "index_add": lambda torch, x, s: x.index_add(0, torch.tensor([2, 2]), s),
    "index_copy": lambda torch, x, s: x.index_copy(0, torch.tensor([2, 0]), s),
    "put": lambda torch, x, s: x.put(torch.tensor([[2, 0]]), s),
    "put, added": lambda torch, x, s: x.put(torch.tensor([1, 1]), s, accumulate=True),
    "put, one number": lambda torch, x, s: x.put(torch.tensor([2]), s[0]),
    **{f"index_reduce {how}, one row": lambda torch, x, s, how=how: x.index_reduce(0, torch.tensor([1]), s[:1], how) for how in ("mean", "amax")},
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(with_gradients, name):
    """1-d tensors, where a position is an element."""
    with_gradients(VECTORS[name], X[:, 0].copy(), SOURCE[:, 0].copy())


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(both, name, dtype):
    """Integers and half precision."""

    def body(torch):
        kind = getattr(torch, dtype)
        return OPS[name](torch, torch.tensor(np.abs(X)).to(kind), torch.tensor(SOURCE).to(kind))

    both(body, rtol=1e-2 if dtype in ("float16", "bfloat16") else 1e-5)


@pytest.mark.parametrize("name", [n for n in OPS if n.split()[0] in ("scatter", "scatter_add", "index_add", "index_copy")])
@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_bool_and_complex(both, name, dtype):
    """Operations that move elements accept every dtype."""
    if dtype == "bool" and ("add" in name or "reduce" in name) or "reduce" in name:
        return

    def body(torch):
        kind = getattr(torch, dtype)
        return OPS[name](torch, torch.tensor(X > 0).to(kind), torch.tensor(SOURCE > 1.5).to(kind))

    both(body)


def test_extremes_and_zeros(with_gradients):
    """Equal extremes share the gradient; products support zeros."""
    x = np.array([1.0, 2.0, 0.0, 4.0], np.float32)
    s = np.array([1.0, 2.0, 2.0, 0.0, 0.0, 3.0], np.float32)
    index = np.array([0, 1, 1, 3, 2, 3])
    for how in ("amax", "amin", "prod", "mean"):
        for own in (True, False):
            with_gradients(
                lambda torch, a, b, how=how, own=own: a.scatter_reduce(0, torch.tensor(index), b, how, include_self=own), x, s
            )


def test_nan_wins(both):
    """amax and amin return NaN wherever it is."""

    def body(torch):
        nan = float("nan")
        x = torch.tensor([1.0, nan, 3.0])
        s = torch.tensor([nan, 2.0, 2.0, 5.0])
        index = torch.tensor([0, 1, 2, 2])
        return [x.scatter_reduce(0, index, s, how) for how in ("amax", "amin", "sum", "mean", "prod")]

    both(body)


def test_in_place_and_out(both):
    """In-place forms and ``out=``."""

    def body(torch):
        leaf = torch.tensor(X, requires_grad=True)
        x = leaf * 2
        column = x[:, 1]
        x.scatter_(0, torch.tensor([[0, 2, 1, 0]]), torch.tensor(SOURCE))
        x.scatter_add_(0, torch.tensor(INDEX), torch.tensor(SOURCE))
        x.index_add_(0, torch.tensor([0, 0]), torch.tensor(SOURCE), alpha=-1)
        x.index_copy_(0, torch.tensor([1]), torch.tensor(SOURCE[:1]))
        x.scatter_(1, torch.tensor([[0]]), 7.0)
        x.scatter_reduce_(0, torch.tensor(INDEX), torch.tensor(SOURCE), "amax")
        x.sum().backward()
        target = torch.zeros(3, 4)
        torch.scatter_add(x.detach(), 0, torch.tensor(INDEX), torch.tensor(SOURCE), out=target)
        base = torch.zeros(4, 3)
        base.t().scatter_(0, torch.tensor([[0, 2, 1, 0]]), torch.tensor(SOURCE))
        return x, column, leaf.grad, target, base

    both(body)


ERRORS = {
    "range": lambda torch, x: torch.scatter(x, 0, torch.tensor([[9]]), 1.0),
    "negative": lambda torch, x: torch.scatter(x, 0, torch.tensor([[-1]]), 1.0),
    "source": lambda torch, x: torch.scatter(x, 0, torch.tensor([[0, 1]]), torch.ones(1, 1)),
    "dtype": lambda torch, x: torch.scatter(x, 0, torch.tensor([[0]]), torch.ones(1, 1, dtype=torch.int64)),
    "index dtype": lambda torch, x: torch.scatter(x, 0, torch.tensor([[0.0]]), torch.ones(1, 1)),
    "rank": lambda torch, x: torch.scatter(x, 0, torch.tensor([0]), torch.ones(1, 1)),
    "reduce": lambda torch, x: torch.scatter(x, 0, torch.tensor([[0]]), 1.0, reduce="foo"),
    "wide": lambda torch, x: torch.scatter(x, 0, torch.zeros(4, 5, dtype=torch.int64), 1.0),
    "scatter_reduce": lambda torch, x: torch.scatter_reduce(x, 0, torch.tensor([[0]]), torch.ones(1, 1), "foo"),
    "add range": lambda torch, x: torch.index_add(x, 0, torch.tensor([9]), torch.ones(1, 4)),
    "add shape": lambda torch, x: torch.index_add(x, 0, torch.tensor([0]), torch.ones(1, 3)),
    "add count": lambda torch, x: torch.index_add(x, 0, torch.tensor([0, 1]), torch.ones(1, 4)),
    "add dtype": lambda torch, x: torch.index_add(x, 0, torch.tensor([0]), torch.ones(1, 4).double()),
    "copy range": lambda torch, x: torch.index_copy(x, 0, torch.tensor([9]), torch.ones(1, 4)),
    "copy shape": lambda torch, x: torch.index_copy(x, 0, torch.tensor([0]), torch.ones(1, 3)),
    "copy count": lambda torch, x: torch.index_copy(x, 0, torch.tensor([0, 1]), torch.ones(1, 4)),
    "copy rank": lambda torch, x: torch.index_copy(x, 0, torch.tensor([0]), torch.ones(4)),
    "index_reduce": lambda torch, x: torch.index_reduce(x, 0, torch.tensor([0]), torch.ones(1, 4), "foo"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both, name):
    """Errors have torch's classes and messages."""
    both(lambda torch: ERRORS[name](torch, torch.tensor(X)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_addition_is_lost(dtype: str) -> None:
    # Additions to few places from many threads: MindSpore's TensorScatterElements loses some, now and then.
    index = np.random.RandomState(0).randint(0, 7, (1, 1, 2000))
    want = np.bincount(index.reshape(-1), minlength=7).tolist()
    positions = mstorch.tensor(index)
    ones = mstorch.ones(1, 1, 2000, dtype=getattr(mstorch, dtype))
    for _ in range(100):
        x = mstorch.zeros(1, 1, 7, dtype=ones.dtype, requires_grad=True)
        x.gather(2, positions).sum().backward()
        assert x.grad[0, 0].tolist() == want
        assert mstorch.zeros(1, 1, 7, dtype=ones.dtype).scatter_add(2, positions, ones)[0, 0].tolist() == want


ADDING = {
    "put": lambda x, i, v: x.put(i, v, accumulate=True), "index_put": lambda x, i, v: x.index_put((i,), v, accumulate=True),
    "index_add": lambda x, i, v: x.index_add(0, i, v), "scatter_add": lambda x, i, v: x.scatter_add(0, i, v),
    "sum": lambda x, i, v: x.scatter_reduce(0, i, v, "sum"), "mean": lambda x, i, v: x.scatter_reduce(0, i, v, "mean"),
    "prod": lambda x, i, v: x.scatter_reduce(0, i, v, "prod", include_self=False),
}  # fmt: skip
TAKING = {
    "take": lambda x, i: x.take(i), "index": lambda x, i: x[i], "gather": lambda x, i: x.gather(0, i), "select": lambda x, i: x.index_select(0, i),
}  # fmt: skip
ROWS = {
    "index_put": lambda x, i, v: x.index_put((i,), v, accumulate=True), "index_add": lambda x, i, v: x.index_add(0, i, v),
    "scatter_add": lambda x, i, v: x.scatter_add(0, i[:, None].expand(v.shape), v),
}  # fmt: skip


def _halves(torch, dtype, *shape):
    return (torch.arange(float(np.prod(shape))).reshape(shape) * 0.37 % 2.1 - 0.4).to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ADDING)
def test_half_precision_is_rounded_as_in_torch(both, name, dtype):
    """Each addition is rounded, or the sum is rounded once."""
    both(lambda torch: ADDING[name](_halves(torch, dtype, 5), torch.arange(60) * 7 % 5, _halves(torch, dtype, 60)), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_half_precision(both, name, dtype):
    both(lambda torch: ROWS[name](_halves(torch, dtype, 5, 3), torch.arange(60) * 7 % 5, _halves(torch, dtype, 60, 3)), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [*TAKING, "rows"])
def test_gradients_of_half_precision(both, name, dtype):
    def body(torch):
        x = _halves(torch, dtype, *((5, 3) if name == "rows" else (5,))).requires_grad_()
        i = torch.arange(60) * 7 % 5
        found = x.index_select(0, i) if name == "rows" else TAKING[name](x, i)
        (found * _halves(torch, dtype, *found.shape)).sum().backward()
        return x.grad

    both(body, rtol=0, atol=0)


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("alpha", [1, 2, 0.3, -1, 0])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_half_precision_sums_along_a_dimension(both, dim, alpha, dtype):
    """Sums along outer dimensions are rounded once; along an inner dimension, and with a factor, each addition is rounded."""

    def body(torch):
        x = _halves(torch, dtype, 3, 4, 2).requires_grad_()
        shape = [3, 4, 2]
        shape[dim] = 12
        source = _halves(torch, dtype, *shape).requires_grad_()
        found = x.index_add(dim, torch.arange(12) * 7 % x.shape[dim], source, alpha=alpha)
        return found, *torch.autograd.grad((found * found).sum(), [x, source])

    both(body, rtol=0, atol=0)


@pytest.mark.parametrize("alpha", [1, 2])
@pytest.mark.parametrize("dim", [0, 1])
def test_nothing_added_to_nothing(both, dim, alpha):
    def body(torch):
        x = torch.zeros(3, 0).requires_grad_()
        source = torch.zeros((2, 0) if dim == 0 else (3, 2)).requires_grad_()
        found = x.index_add(dim, torch.tensor([0, 1]), source, alpha=alpha)
        return found, *torch.autograd.grad(found.sum(), [x, source])

    both(body, strides=False)


@pytest.mark.parametrize("shape", [(3, 0, 2), (0, 1, 0)])
@pytest.mark.parametrize("tracked", [False, True])
def test_backward_goes_twice_through_what_adds_nothing(both, shape, tracked):
    def body(torch):
        x = torch.zeros(shape, requires_grad=True)
        source = torch.zeros((1,) + shape[1:]).requires_grad_(tracked)
        found = x.index_add(0, torch.tensor([0]), source)
        found.sum().backward()
        found.sum().backward()
        return x.grad

    both(body)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("how", ["amax", "amin", "prod", "mean"])
def test_gradients_at_no_numbers(with_gradients, how, include_self):
    x, source = np.array([1.0, np.nan, 0.0, np.inf, 2.0]), np.array([1.0, np.nan, 0.0, np.inf, np.inf, -np.inf])
    for function in ("scatter_reduce", "index_reduce"):
        with_gradients(
            lambda torch, x, s: getattr(x, function)(0, torch.tensor([0, 0, 1, 2, 2, 3]), s, how, include_self=include_self), x, source
        )


@pytest.mark.parametrize("how", ["add", "multiply"])
@pytest.mark.parametrize("source", ["tracked", "tensor", "number"])
@pytest.mark.parametrize("name", ["scatter", "scatter_"])
def test_a_scatter_that_combines_has_no_gradient(both, name, source, how):
    def body(torch):
        x, index = torch.ones(3).requires_grad_(), torch.tensor([0, 2])
        src = 2.0 if source == "number" else torch.tensor([3.0, 4.0]).requires_grad_(source == "tracked")
        found = getattr(x.clone(), name)(0, index, src, reduce=how)
        try:
            found.sum().backward()
        except RuntimeError as error:
            return found, str(error)
        return found, None

    both(body)


@pytest.mark.parametrize("call", [
    "x.scatter(0, i, s[:0])", "z.scatter(2, i2, s2)", "x.scatter_add(0, i, s[:0])", "x.scatter_reduce(0, i, s[:0], 'sum')",
    "x.scatter_reduce(0, i, s[:0], 'amax')", "x.clone().scatter_(0, i, s[:0])", "x.clone().scatter_add_(0, i, s[:0])", "z.scatter_add(2, i2, s2)",
    "y.scatter(0, i, s[:0])", "y.scatter_add(0, i, s[:0])", "x.index_add(0, i, s[:0])", "x.index_copy(0, i, s[:0])", "x.put(i, s[:0])", "x.scatter(0, i, 2.0)",
])  # fmt: skip
def test_sources_of_no_indices_take_part(both, call):
    def body(torch):
        names = {
            "x": torch.zeros(3), "y": torch.ones(3, requires_grad=True), "z": torch.zeros(0, 3, 8), "s": torch.ones(3, requires_grad=True),
            "s2": torch.ones(0, 3, 4, requires_grad=True), "i": torch.zeros(0, dtype=torch.long), "i2": torch.zeros(0, 3, 4, dtype=torch.long),
        }  # fmt: skip
        found = eval(call, names)
        if found.requires_grad:
            found.sum().backward()
        return found, names["y"].grad, names["s"].grad, names["s2"].grad

    both(body)


ROWS = {"rows of 8": (20, 300, (8,)), "rows of rows": (20, 300, (3, 5)), "short rows": (20, 1500, (2,)), "long rows": (300, 7, (400,))}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16"])
@pytest.mark.parametrize(("count", "many", "shape"), ROWS.values(), ids=ROWS)
def test_an_index_that_is_expanded_over_rows(both: Any, count: int, many: int, shape: tuple[int, ...], dtype: str) -> None:
    random = np.random.default_rng(0)
    x, source, places = random.standard_normal((count, *shape)), random.standard_normal((many, *shape)), random.integers(0, count, many)

    def body(torch: Any) -> Any:
        kind = getattr(torch, dtype)
        into, values = torch.tensor(x * 3).to(kind), torch.tensor(source * 3).to(kind)
        index = torch.tensor(places).view(-1, *[1] * len(shape)).expand(many, *shape)
        found = [into.gather(0, index), into.scatter_add(0, index, values)]
        found += [
            into.scatter_reduce(0, index, values, how, include_self=own)
            for how in ("sum", "mean", "prod", "amax", "amin") for own in (True, False)
        ]  # fmt: skip
        once = torch.arange(min(count, many)).flip(0).view(-1, *[1] * len(shape)).expand(-1, *shape)
        found.append(into.scatter(0, once, values[: len(once)]))
        if kind.is_floating_point and dtype != "bfloat16":
            a, b = into.clone().requires_grad_(), values.clone().requires_grad_()
            calls = [a.gather(0, index) * values, a.scatter_add(0, index, b) * into, a.scatter(0, once, b[: len(once)]) * into,
                     *(a.scatter_reduce(0, index, b, how) * into for how in ("sum", "mean", "amax"))]  # fmt: skip
            found += [torch.autograd.grad(call.sum(), (a, b), allow_unused=True) for call in calls]
        return found

    both(body, rtol=2e-2 if dtype == "bfloat16" else 1e-5, atol=2e-2 if dtype == "bfloat16" else 1e-5)

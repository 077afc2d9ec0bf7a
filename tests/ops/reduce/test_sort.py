"""Sorting, largest elements, medians, modes and quantiles, compared with torch."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mstorch

X = np.random.RandomState(0).permutation(24).reshape(4, 6).astype(np.float32) / 4
TIES = np.random.RandomState(1).randint(0, 4, (5, 7))
NAN = X.copy()
NAN[1, 2] = NAN[1, 4] = NAN[3, 0] = np.nan
NAN[0, 1], NAN[2, 3] = np.inf, -np.inf
DTYPES = "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()

OPS = {
    "sort": lambda torch, x: (torch.sort(x), x.sort(0, True), x.sort(stable=True, dim=1), x.sort(descending=True)),
    "argsort": lambda torch, x: (x.argsort(), torch.argsort(x, 0, descending=True), x.argsort(dim=-1, stable=True)),
    "msort": lambda torch, x: torch.msort(x),
    "kthvalue": lambda torch, x: (x.kthvalue(2), torch.kthvalue(x, 4, 0, keepdim=True)),
    "median": lambda torch, x: (x.median(), torch.median(x, 1), x.median(0, keepdim=True)),
    "nanmedian": lambda torch, x: (x.nanmedian(), torch.nanmedian(x, 1), x.nanmedian(0, True)),
    "mode": lambda torch, x: (x.mode(), torch.mode(x, 0, keepdim=True)),
}
UNIQUE_ONLY = {
    "topk": lambda torch, x: (torch.topk(x, 2), x.topk(3, 0, largest=False), x.topk(0), x.topk(k=6)),
    "quantile": lambda torch, x: (
        x.quantile(0.3), torch.quantile(x, torch.tensor([0.0, 0.25, 1.0]), dim=1), x.quantile(0.7, 0, keepdim=True),
        *(torch.quantile(x, 0.4, dim=1, interpolation=how) for how in ("lower", "higher", "midpoint", "nearest")),
    ),
    "nanquantile": lambda torch, x: (x.nanquantile(0.3, 1), torch.nanquantile(x, torch.tensor([0.5, 0.9]), 0, True)),
}  # fmt: skip


def flat(found):
    """Return named tuples as plain ones."""
    return [tuple(item) if isinstance(item, tuple) else item for item in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("name", [*OPS, *UNIQUE_ONLY])
@pytest.mark.parametrize("values", ["plain", "nan"])
def test_values_and_gradients(both, with_gradients, name, values):
    """Values, indices, strides and gradients; NaN is larger than every number."""
    body = {**OPS, **UNIQUE_ONLY}[name]
    if (name, values) == ("mode", "nan"):
        return  # what torch finds depends on its sort's order of comparisons
    array = X if values == "plain" else NAN

    def parts(torch, x):
        return [part for item in flat(body(torch, x)) for part in (item if isinstance(item, tuple) else (item,))]

    if values == "plain":
        with_gradients(parts, array)
    both(lambda torch: parts(torch, torch.tensor(array)))
    both(lambda torch: parts(torch, torch.tensor(array.T.copy()).t()))


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_ties(both, name, dtype):
    """Every dtype; equal elements keep their order."""
    if name == "kthvalue":
        return
    only_values = name in ("median", "nanmedian")

    def body(torch):
        found = OPS[name](torch, torch.tensor(TIES).to(getattr(torch, dtype)))
        return [item[0] if isinstance(item, tuple) else item for item in found] if only_values else found

    both(body)


def test_wide_numbers(both):
    """64-bit values are ordered exactly."""
    both(lambda torch: torch.tensor([1 + 1e-12, 1.0, 1 + 1e-13], dtype=torch.float64).sort())
    both(lambda torch: torch.tensor([2**60 + 1, 2**60, -(2**62)]).sort(descending=True))
    both(lambda torch: torch.tensor([2**60 + 1, 2**60, -(2**62)]).topk(2, largest=False))
    both(lambda torch: torch.tensor([True, False, True]).sort())
    both(lambda torch: torch.tensor([float("nan"), 1.0, 2.0], dtype=torch.float64).topk(2))


def test_shapes(both):
    """0-d and empty tensors."""

    def body(torch):
        x = torch.tensor(3.0)
        return x.sort(), x.topk(1), x.kthvalue(1), x.median(0), x.median(), x.mode(), x.argsort(), x.quantile(0.5), torch.zeros(
            0
        ).sort(), torch.zeros(2, 0).sort(), torch.zeros(2, 0).argsort(0), torch.zeros(2, 0).topk(0), torch.zeros(0).median()

    both(body)


def test_out_and_names(both):
    """``out=`` takes both tensors; results have names."""

    def body(torch):
        x = torch.tensor(X)
        values, indices = torch.zeros(0), torch.zeros(0, dtype=torch.int64)
        found = torch.sort(x, out=(values, indices))
        best = torch.topk(x, 2)
        return values, indices, found.values is values, best.values, best.indices, repr(x[0].sort()), str(type(best).__name__)

    both(body)


def test_sort_through_a_loss(both):
    """Gradients through indices that repeat."""

    def body(torch):
        x = torch.tensor([3.0, 1.0, 1.0, 2.0], requires_grad=True)
        (x.sort()[0] * torch.arange(4.0)).sum().backward()
        first = x.grad.clone()
        x.grad = None
        (x.topk(2).values ** 2).sum().backward()
        return first, x.grad

    both(body)


ERRORS = {
    "k": lambda torch, x: torch.topk(x, 9),
    "negative k": lambda torch, x: torch.topk(x, -1),
    "dim": lambda torch, x: torch.sort(x, 7),
    "complex": lambda torch, x: torch.sort(x.cfloat()),
    "topk bool": lambda torch, x: torch.topk(x.bool(), 1),
    "kthvalue": lambda torch, x: torch.kthvalue(x, 9),
    "quantile range": lambda torch, x: torch.quantile(x, 1.5),
    "quantile dtype": lambda torch, x: torch.quantile(torch.arange(3), 0.5),
    "quantile q": lambda torch, x: torch.quantile(x, torch.tensor(0.5).double()),
    "interpolation": lambda torch, x: torch.quantile(x, 0.5, interpolation="foo"),
    "empty": lambda torch, x: torch.quantile(torch.zeros(0), 0.5),
    "median": lambda torch, x: torch.median(torch.zeros(0, 2), 0),
    "mode": lambda torch, x: torch.mode(torch.zeros(0, 2), 0),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both, name):
    """Errors have torch's classes and messages."""
    both(lambda torch: ERRORS[name](torch, torch.tensor(X)))


CHOSEN = {
    "sort": lambda x: x.sort(1, descending=True), "topk": lambda x: x.topk(2, 0), "max": lambda x: x.max(1), "min": lambda x: x.min(0, True),
    "kthvalue": lambda x: x.kthvalue(2, 1), "median": lambda x: x.median(0), "nanmedian": lambda x: x.nanmedian(1), "mode": lambda x: x.mode(1),
}  # fmt: skip


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", CHOSEN)
def test_chosen_values_are_no_views(both, name, turned):
    """Each value has its operation's node, its own memory, and a gradient that can be differentiated."""

    def body(torch):
        x = (torch.arange(12.0, dtype=torch.float64) * 1.3).sin().reshape(3, 4).requires_grad_()
        values, indices = CHOSEN[name](x.t() if turned else x)
        (g,) = torch.autograd.grad((values**3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((g * x.detach()).sum(), x)
        return values, indices, type(values.grad_fn).__name__, values._base is None, indices._base is None, g.contiguous(), second

    both(body, rtol=1e-10)


@pytest.mark.parametrize("name", ["sort", "topk", "kthvalue", "mode", "median", "nanmedian"])
@pytest.mark.parametrize("kinds", [("float32", "int64"), ("int64", "int32"), ("int64", "int64")])
def test_the_dtypes_of_out(both, name, kinds):
    def body(torch):
        values, indices = (torch.zeros(0, dtype=getattr(torch, kind)) for kind in kinds)
        return tuple(getattr(torch, name)(torch.arange(6).reshape(2, 3), 1, out=(values, indices)))

    both(body)


@pytest.mark.parametrize("name", ["median", "nanmedian"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_elements_that_are_the_median_share_its_gradient(both, dtype, name):
    nan, inf = float("nan"), float("inf")

    def body(torch):
        found = []
        for values in ([1.0, 2, 2, 2, 3], [[1.0, 2], [2, 3]], [1.0, nan, nan], [inf, inf, 1.0], 3.0, [nan]):
            x = torch.tensor(values, dtype=getattr(torch, dtype), requires_grad=True)
            y = getattr(x, name)()
            found += [y, type(y.grad_fn).__name__, torch.autograd.grad(y, x)[0]]
            slope = torch.autograd.grad(getattr(x, name)() ** 2, x, create_graph=True)[0]
            found += [slope, torch.autograd.grad(slope.sum(), x)[0]]
            found += torch.func.jvp(lambda leaf: getattr(leaf, name)(), (x.detach(),), (torch.ones_like(x.detach()),))
        return found

    both(body)


@pytest.mark.parametrize("name", ["kthvalue", "median", "nanmedian", "mode", "topk", "sort"])
@pytest.mark.parametrize("dtype", ["bool", "complex64", "uint16"])
def test_refused_dtypes(both, name, dtype):
    def body(torch):
        x = torch.tensor([1, 0, 1]).to(getattr(torch, dtype))
        return tuple(getattr(x, name)(*((1,) if name in ("kthvalue", "topk") else (0,))))

    both(body)


@pytest.mark.parametrize("name", ["sort", "topk", "kthvalue", "median", "mode"])
def test_gradients_of_equal_elements(with_gradients, name):
    values = np.random.RandomState(5).randint(0, 3, (2, 40)).astype(np.float64)
    with_gradients(lambda torch, x: getattr(x, name)(*((12,) if name in ("kthvalue", "topk") else ()), dim=1)[0] * torch.arange(
        1.0, 41.0, dtype=torch.float64
    )[: 40 if name == "sort" else 12 if name == "topk" else 1].reshape((-1,) if name in ("sort", "topk") else (1,)), values)  # fmt: skip


@pytest.mark.parametrize("shape, dim", [((3, 0), 0), ((0, 4, 2), 1), ((2, 0, 3), -1)])
def test_rows_of_nothing(both, shape, dim):
    both(lambda torch: [flat(getattr(torch.zeros(shape), name)(*((1,) if name in ("kthvalue", "topk") else ()), dim=dim))
                        for name in ("kthvalue", "median", "mode", "sort", "topk")])  # fmt: skip


@pytest.mark.parametrize("name", ["sort", "topk", "kthvalue", "median", "nanmedian", "mode", "max", "min", "cummax"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_second_backward_through_values(both, name, shape):
    def body(torch):
        x = torch.full(shape, 2.0).requires_grad_()
        values = getattr(x, name)(*((1,) if name in ("kthvalue", "topk") else ()), dim=0)[0]
        values.sum().backward(retain_graph=False)
        try:
            values.sum().backward()
        except RuntimeError as error:
            return x.grad, str(error)
        return x.grad, None

    both(body)


@pytest.mark.parametrize("function", ["quantile", "nanquantile"])
@pytest.mark.parametrize("q", [[0.5, 1.1], [-0.1, 0.5], [math.nan], [0.0, 1.0], [], 1.1, -1.0])
def test_quantiles_outside_of_0_and_1(both, function, q):
    """torch checks a vector of them on the CPU only."""
    if isinstance(q, list) and not all(0 <= one <= 1 for one in q) and mstorch.get_default_device().type != "cpu":
        pytest.skip("the values of a device are not read")
    both(lambda torch: getattr(torch, function)(torch.arange(4.0), torch.tensor(q) if isinstance(q, list) else q))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [1, 2, 5, 31, 32, 50])
@pytest.mark.parametrize("width", [70, 300, 8192, 20_001])
def test_topk_of_long_rows(both: Any, width: int, k: int, largest: bool) -> None:
    random = np.random.default_rng(k)
    rows = random.standard_normal((5 if width > 300 else 120, width)).astype(np.float32)
    rows[1] = np.round(rows[1] * 10)
    rows[2, ::3] = np.inf
    rows[3, 1::2] = -np.inf
    rows[4, 7] = np.nan
    both(lambda torch: [torch.tensor(part).topk(k, largest=largest) for part in (rows[:4], rows[4:5], rows[0], rows[5:])])
    both(lambda torch: torch.tensor((rows[:1] * 1000).astype(np.int64)).topk(k, largest=largest))

"""Running sums, products and extremes, differences and integrals, compared with torch."""
from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import mstorch

X = np.array([[1.5, -2.0, 0.0, 3.0], [0.5, 0.0, 0.0, 2.0], [-1.0, 4.0, 2.5, 2.5]], np.float32)
NAN = X.copy()
NAN[0, 1], NAN[2, 0], NAN[1, 3] = np.nan, np.inf, -np.inf
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()

OPS = {
    "cumsum": lambda torch, x: (torch.cumsum(x, 0), x.cumsum(-1), x.cumsum(axis=1, dtype=torch.float64)),
    "cumprod": lambda torch, x: (torch.cumprod(x, 0), x.cumprod(1)),
    "cummax": lambda torch, x: (*torch.cummax(x, 0), *x.cummax(1)),
    "cummin": lambda torch, x: (*torch.cummin(x, 0), *x.cummin(1)),
    "logcumsumexp": lambda torch, x: (torch.logcumsumexp(x, 0), x.logcumsumexp(1)),
    "diff": lambda torch, x: (torch.diff(x), x.diff(2, 0), torch.diff(x, n=1, dim=0, prepend=x[:1], append=x[:2]), x.diff(5)),
    "trapezoid": lambda torch, x: (torch.trapezoid(x), torch.trapz(x, dx=0.5, dim=0), torch.trapezoid(x, x.detach().cumsum(1)),
                                   torch.trapezoid(x, torch.tensor([1.0, 2.0, 4.0]), dim=0)),
    "cumulative_trapezoid": lambda torch, x: (torch.cumulative_trapezoid(x), torch.cumulative_trapezoid(x, dx=2.0, dim=0)),
    "gradient": lambda torch, x: (*torch.gradient(x), *torch.gradient(x, spacing=2.0, dim=1, edge_order=2),
                                  *torch.gradient(x, spacing=(torch.tensor([1.0, 2.0, 5.0]),), dim=0)),
}  # fmt: skip


@pytest.mark.parametrize("name", OPS)
def test_values_and_gradients(both, with_gradients, name):
    """Values, strides and gradients; NaN and infinities as in torch."""
    body = OPS[name]
    with_gradients(body, X)
    both(lambda torch: body(torch, torch.tensor(X.T.copy()).t()))
    both(lambda torch: body(torch, torch.tensor(NAN)))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "diff"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(both, name, dtype):
    """Integers are summed in int64; half precision in float32."""
    if dtype == "complex64" and name in ("cummax", "cummin") or dtype == "bool" and name == "diff":
        return

    def body(torch):
        x = torch.tensor(np.abs(X)).to(getattr(torch, dtype))
        return (torch.cumsum(x, 0), x.cumprod(1)) if name in ("cumsum", "cumprod") else OPS[name](torch, x)

    both(body, rtol=1e-2 if dtype in ("float16", "bfloat16") else 1e-5)


def test_precision(both):
    """A long sum in single precision is as accurate as torch's."""
    both(lambda torch: torch.full((100000,), 0.1).cumsum(0), rtol=1e-7)


def test_small(both):
    """0-d and empty tensors."""

    def body(torch):
        x, none = torch.tensor(2.0), torch.zeros(0, 3)
        return [
            x.cumsum(0), x.cumprod(0), x.cummax(0), x.logcumsumexp(0), none.cumsum(0), none.cumprod(1), none.cummin(1),
            none.diff(dim=0), torch.trapezoid(none, dim=0), torch.diff(torch.tensor([True, False, False])),
        ]

    both(body)


def test_products_with_zeros(with_gradients):
    """The gradient of a running product at one, two and no zeros."""
    rows = np.array([[2, 3, 4, 5], [2, 0, 4, 5], [0, 3, 0, 5], [0, 0, 0, 0]], np.float32)
    with_gradients(lambda torch, x: x.cumprod(1), rows)
    with_gradients(lambda torch, x: x.prod(1), rows)
    with_gradients(lambda torch, x: x.prod(), rows[0])


def test_in_place_and_out(both):
    """In-place forms, ``out=`` and named results."""

    def body(torch):
        x = torch.tensor(X)
        x.cumsum_(0)
        x[:, :2].cumprod_(1)
        target = torch.cumsum(x, 1, out=torch.zeros(3, 4))
        found = torch.cummax(x, 0)
        i = torch.arange(4)
        i.cumsum_(0)
        return x, target, found.values, found.indices, i, torch.arange(3, dtype=torch.int32).cumsum(0, dtype=torch.int32)

    both(body)


ERRORS = {
    "dim": lambda torch, x: torch.cumsum(x, 5),
    "diff 0-d": lambda torch, x: torch.diff(torch.tensor(1.0)),
    "diff n": lambda torch, x: torch.diff(x, -1),
    "trapezoid": lambda torch, x: torch.trapezoid(x, x[:2]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both, name):
    """Errors have torch's classes and messages."""
    both(lambda torch: ERRORS[name](torch, torch.tensor(X)))


@pytest.mark.parametrize("gradient", [[1.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -2.0, 3.0], [0.0, 0.0, 0.0]])
def test_logcumsumexp_gradients_of_zero(both, gradient):
    """A gradient of zero has no logarithm."""
    def body(torch):
        x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
        torch.logcumsumexp(x, 0).backward(torch.tensor(gradient, dtype=torch.float64))
        return x.grad

    both(body)


COMPLEX = [0j, 1 + 2j, -3 + 1j, complex("inf"), complex("-inf"), complex("nan"), complex(1, float("inf"))]


@pytest.mark.parametrize("first", range(len(COMPLEX)))
def test_logarithms_of_complex_sums(first, both):
    """Infinite numbers and NaN next to each other."""

    def body(torch):
        rows = [[COMPLEX[first], other, COMPLEX[first]] for other in COMPLEX]
        found = torch.logcumsumexp(torch.tensor(rows), 1), torch.logcumsumexp(torch.tensor(rows), 0)
        return [torch.view_as_real(part) for part in found]

    both(body)


def test_gradients_of_complex_sums(both):
    def body(torch):
        x = torch.tensor([[1 + 2j, -2, 3 - 1j], [0.5j, 1, 2 - 2j]], dtype=torch.complex128).requires_grad_()
        found = torch.logcumsumexp(x, 1)
        (first,) = torch.autograd.grad((found.abs() * torch.arange(1.0, 4)).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.abs().sum(), x)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x.detach(), torch.ones_like(x) * (1 + 1j))
            tangent = torch.autograd.forward_ad.unpack_dual(torch.logcumsumexp(dual, 0)).tangent
        return found, first, second, tangent, torch.logcumsumexp(x[0, 0], 0), torch.logcumsumexp(x[:0], 0)

    both(body)


@pytest.mark.parametrize("shape", [(64, 64), (65, 100), (3, 5, 400), (1, 5000), (4097, 1), (2, 3000)])
@pytest.mark.parametrize("turned", [False, True])
def test_running_sums_of_rows(shape, turned):
    values = np.random.RandomState(0).randn(*shape).astype(np.float32) * 1e3
    values.flat[7], values.flat[9], values.flat[-1] = np.inf, -np.inf, np.nan

    def sums(torch):
        x = torch.from_numpy(values)
        return (x.transpose(0, -1) if turned else x).cumsum(-1).numpy()

    np.testing.assert_array_equal(sums(mstorch), sums(real_torch))


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_gradients_of_logcumsumexp_at_infinity(both, kind):
    inf, nan = float("inf"), float("nan")

    def body(torch):
        found = []
        for values in ([-inf, -inf, 1, 2, -inf], [nan, 1, 2], [1, inf, -inf], [1, -2, 3], [-inf, 1.0]):
            x = torch.tensor(values, dtype=getattr(torch, kind), requires_grad=True)
            y = torch.logcumsumexp(x, 0)
            found += [y, *torch.autograd.grad((y * torch.linspace(-1, 2, len(values), dtype=x.dtype)).sum(), x)]
        x = torch.tensor([[0.5, 1, -2], [3, 0, 1]], dtype=getattr(torch, kind), requires_grad=True)
        (first,) = torch.autograd.grad(torch.logcumsumexp(x, 1).square().sum(), x, create_graph=True)
        return [*found, first, *torch.autograd.grad(first.square().sum(), x)]

    both(body)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("shape", [(0,), (2, 0), (), (1,)])
def test_truth_values_as_results(both, shape, name):
    def body(torch):
        out = torch.zeros(0, dtype=torch.bool)
        return getattr(torch, name)(torch.zeros(shape, dtype=torch.bool), 0, out=out), getattr(torch, name)(torch.zeros(shape), 0, dtype=torch.bool)

    both(body)


@pytest.mark.parametrize("name", ["trapezoid", "cumulative_trapezoid"])
@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0), (3,)])
@pytest.mark.parametrize("points", [None, "same", "row", "steps", "dim"])
@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_arguments_of_integrals(both, dtype, points, shape, name):
    def body(torch):
        y = torch.ones(shape, dtype=getattr(torch, dtype))
        named = {None: {}, "same": {"x": y}, "row": {"x": torch.ones(1)}, "steps": {"dx": 2}, "dim": {"dim": 3}}[points]
        return getattr(torch, name)(y, **named)

    both(body)


@pytest.mark.parametrize("dim", [0, 1])
def test_products_of_nan_and_zeros(with_gradients, dim):
    rows = [[1.0, 2.0, np.nan, 3.0], [0.0, np.inf, 2.0, 0.0], [2.0, 1.0, 0.0, 5.0], [3.0, -np.inf, 1.0, 0.0], [0.0, 2.0, 1.0, 0.0]]
    for function in ("cumprod", "prod"):
        with_gradients(lambda torch, x: getattr(torch, function)(x, dim), np.array(rows))
    with_gradients(lambda torch, x: x[:1, :1].cumprod(dim), np.array([[np.inf]]))


@pytest.mark.parametrize("row", [[0.0, 2.0, np.inf, np.nan], [0.0, 2.0, np.nan, 0.0], [0.0, np.inf, 3.0], [np.nan, 2.0]])
def test_product_of_all(with_gradients, row):
    with_gradients(lambda torch, x: x.prod(), np.array(row))

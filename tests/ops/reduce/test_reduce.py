"""Reductions compared with torch: values, NaN, dtypes, empty tensors, gradients, errors."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mstorch

X = np.array([[1.5, -2.0, 0.25, 3.0], [0.5, 3.0, 0.75, 2.0], [-1.0, 4.0, 2.5, 2.5]], np.float32)
NAN = X.copy()
NAN[0, 1], NAN[2, 0], NAN[1, 3] = np.nan, np.inf, -np.inf
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()

OPS = {
    "sum": lambda torch, x: (x.sum(), torch.sum(x, 0), x.sum((0, 1)), x.sum(-1, True), x.sum(axis=1), x.sum(dim=[])),
    "nansum": lambda torch, x: (x.nansum(), torch.nansum(x, 1)),
    "mean": lambda torch, x: (x.mean(), torch.mean(x, 0), x.mean((0, 1), keepdim=True), x.mean(axis=(0,), keepdims=True)),
    "nanmean": lambda torch, x: (x.nanmean(), torch.nanmean(x, 1)),
    "prod": lambda torch, x: (x.prod(), torch.prod(x, 0), x.prod(1, keepdim=True)),
    "amax": lambda torch, x: (x.amax(), torch.amax(x, (0, 1)), x.amax(1, True)),
    "amin": lambda torch, x: (x.amin(), torch.amin(x, 0), x.amin((-1,))),
    "aminmax": lambda torch, x: (*torch.aminmax(x), *x.aminmax(dim=1, keepdim=True)),
    "max": lambda torch, x: (x.max(), *torch.max(x, 0), *x.max(1, keepdim=True)),
    "min": lambda torch, x: (x.min(), *torch.min(x, 0), *x.min(1)),
    "argmax": lambda torch, x: (x.argmax(), torch.argmax(x, 0), x.argmax(1, keepdim=True), x.argmax(keepdim=True)),
    "argmin": lambda torch, x: (x.argmin(), torch.argmin(x, 0), x.argmin(-1)),
    "all": lambda torch, x: (x.all(), torch.all(x, 0), x.all(dim=(0, 1), keepdim=True), (x > 1).all(1)),
    "any": lambda torch, x: (x.any(), torch.any(x, 0), (x > 3).any(1)),
    "std": lambda torch, x: (x.std(), torch.std(x, 0), x.std(1, unbiased=False), x.std((0, 1), correction=2), x.std(False)),
    "var": lambda torch, x: (x.var(), torch.var(x, 0, keepdim=True), x.var(dim=1, correction=0)),
    "var_mean": lambda torch, x: (*torch.var_mean(x), *torch.std_mean(x, 1, keepdim=True)),
    "count_nonzero": lambda torch, x: (x.count_nonzero(), torch.count_nonzero(x, 1), x.count_nonzero((0, 1))),
    "logsumexp": lambda torch, x: (torch.logsumexp(x, 0), x.logsumexp((0, 1)), x.logsumexp(1, True)),
}
FLOATING = ("mean", "nanmean", "std", "var", "var_mean", "logsumexp")


@pytest.mark.parametrize("name", OPS)
def test_values_and_gradients(both, with_gradients, name):
    """Values and gradients (ties included); NaN and infinities; transposed input."""
    body = OPS[name]
    with_gradients(body, X)
    both(lambda torch: body(torch, torch.tensor(X.T.copy()).t()))
    if name != "var_mean":  # torch's running mean turns an infinity into NaN, depending on its position
        both(lambda torch: body(torch, torch.tensor(NAN)))


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(both, name, dtype):
    """Every dtype that torch supports, or torch's error."""
    if dtype == "complex64" and name in ("all", "any", "nanmean"):
        return
    if dtype == "bool" and name in ("argmax", "argmin", "all", "any"):
        return
    both(
        lambda torch: OPS[name](torch, torch.tensor(X).to(getattr(torch, dtype))),
        rtol=1e-2 if dtype in ("float16", "bfloat16") else 1e-5,
    )


@pytest.mark.parametrize("name", OPS)
def test_small(both, name):
    """0-d tensors, and reductions that empty tensors support."""
    both(lambda torch: {
        "sum": torch.tensor(2.5).sum(0), "mean": torch.tensor(2.5).mean(0), "prod": torch.tensor(2.5).prod(0),
        "amax": torch.tensor(2.5).amax(0), "max": torch.tensor(2.5).max(0), "argmax": torch.tensor(2.5).argmax(0),
        "all": torch.tensor(2.5).all(0), "var": torch.tensor(2.5).var(), "logsumexp": torch.tensor(2.5).logsumexp(0),
    }.get(name, 0))
    both(lambda torch: {
        "sum": (torch.zeros(0).sum(), torch.zeros(0, 3).sum(0), torch.zeros(0, 3).sum(1)),
        "mean": (torch.zeros(0).mean(), torch.zeros(0, 3).mean(0)), "prod": (torch.zeros(0).prod(), torch.zeros(2, 0).prod(1)),
        "all": (torch.zeros(0).all(), torch.zeros(2, 0).any(1)), "amax": torch.zeros(0, 3).amax(1),
        "max": torch.zeros(0, 3).max(1), "argmax": torch.zeros(0, 3).argmax(1), "var": torch.zeros(0).var(),
        "logsumexp": torch.zeros(2, 0).logsumexp(1), "count_nonzero": torch.zeros(0).count_nonzero(),
    }.get(name, 0))  # fmt: skip


def test_accumulation(both):
    """dtype=, long sums, and integers that overflow int32."""
    both(lambda torch: torch.full((1000, 100), 0.1).sum(), rtol=1e-6)
    both(lambda torch: torch.full((3,), 2**31 - 1, dtype=torch.int32).sum())
    both(lambda torch: torch.ones(3, dtype=torch.bool).sum(dtype=torch.float16))
    both(lambda torch: torch.tensor([1.5, 2.5]).sum(dtype=torch.int64))
    both(lambda torch: torch.tensor([2.0, 3.0]).mean(dtype=torch.float64))


def test_out(both):
    """``out=`` of one and of two results; names."""

    def body(torch):
        x = torch.tensor(X)
        found = torch.max(x, 1, out=(torch.zeros(0), torch.zeros(0, dtype=torch.int64)))
        return torch.sum(x, 0, out=torch.zeros(4)), found.values, found.indices, repr(torch.max(x[0], 0)), torch.amax(
            x, 0, out=torch.zeros(4)
        )

    both(body)


def test_second_derivative(both):
    """Sums and means can be differentiated twice."""

    def body(torch):
        x = torch.tensor(X, requires_grad=True)
        (g,) = torch.autograd.grad((x.sum(0) ** 3).sum() * x.mean(), x, create_graph=True)
        return torch.autograd.grad((g**2).sum(), x)

    both(body, rtol=1e-4)


ERRORS = {
    "dim": lambda torch, x: torch.sum(x, 5),
    "repeated": lambda torch, x: torch.sum(x, (0, 0)),
    "mean int": lambda torch, x: torch.mean(torch.arange(3)),
    "amax empty": lambda torch, x: torch.amax(torch.zeros(0, 2), 0),
    "amax all": lambda torch, x: torch.amax(torch.zeros(0)),
    "max empty": lambda torch, x: torch.max(torch.zeros(0)),
    "max dim": lambda torch, x: torch.max(torch.zeros(0, 2), 0),
    "argmax empty": lambda torch, x: torch.argmax(torch.zeros(0)),
    "argmax bool": lambda torch, x: torch.argmax(x > 2),
    "max complex": lambda torch, x: torch.max(x.cfloat()),
    "std int": lambda torch, x: torch.std(torch.arange(3)),
    "not a tensor": lambda torch, x: torch.sum("a"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both, name):
    """Errors have torch's classes and messages."""
    message = "sum(): argument 'input' (position 1) must be Tensor, not str" if name == "not a tensor" else None
    both(lambda torch: ERRORS[name](torch, torch.tensor(X)), message=message)


@pytest.mark.parametrize("name", ["std", "std_mean", "var"])
def test_no_spread_has_no_gradient(name, both):
    def body(t):
        x = t.tensor([[1.0, 1.0, 1.0], [1.0, 2.0, 4.0]], requires_grad=True)
        found = getattr(t, name)(x, 1)
        (found[0] if isinstance(found, tuple) else found).sum().backward()
        return x.grad

    both(body)


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("dim", [0, 1, None])
def test_gradients_of_products(dim, zeros, kind, both):
    def body(t):
        x = t.tensor([[1.5, -2.0, 0.5], [0.25, 3.0, -1.0]], dtype=getattr(t, kind)) * (1 + 0.5j if kind == "complex128" else 1)
        x.view(-1)[: 2 * zeros : 2] = 0
        x.requires_grad_()
        y = x.prod() if dim is None else x.prod(dim)
        (g,) = t.autograd.grad(y, x, t.ones_like(y), create_graph=True)
        (h,) = t.autograd.grad(g, x, t.ones_like(g))
        return y.detach(), g.detach(), h

    both(body)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("correction", [0, 1, 4, 7])
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2)])
def test_variance_in_one_piece(both, dim, correction, dtype):
    """Values, layout and gradients, also if the count minus the correction is not positive."""

    def body(torch):
        x = (torch.arange(24.0, dtype=getattr(torch, dtype)) * 0.7).sin().reshape(2, 3, 4).requires_grad_()
        out = x.transpose(0, 1).var(dim, keepdim=correction == 1, correction=correction)
        seeds = torch.arange(1.0, out.numel() + 1, dtype=out.dtype).reshape(out.shape)
        return out, type(out.grad_fn).__name__, torch.autograd.grad(out, x, seeds)

    both(body, rtol=1e-5)


def test_variance_twice_differentiated():
    x = mstorch.randn(3, 4, dtype=mstorch.float64, requires_grad=True)
    for dim in (None, 0, (0, 1)):
        assert mstorch.autograd.gradgradcheck(lambda x, dim=dim: x.var(dim), x)
        assert mstorch.autograd.gradgradcheck(lambda x, dim=dim: x.std(dim, correction=0), x)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_spreads_of_half_precision_are_rounded_once(both, kind, name):
    both(lambda torch: getattr(torch, name)((torch.arange(18.0) * 40 - 300).to(getattr(torch, kind)).reshape(3, 6), 1))


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_results_for_out_are_not_recorded(both, name, kind):
    def program(torch):
        x = torch.ones(4, 2, requires_grad=True)
        out = torch.zeros(4, dtype=getattr(torch, kind))
        with pytest.raises(RuntimeError) as caught:
            getattr(torch, name)(x, -1, out=out)
        return str(caught.value), out, getattr(x, name)().grad_fn.name(), getattr(x, name)(1).grad_fn.name()

    both(program)


@pytest.mark.parametrize("name", ["median", "max", "cumsum", "softmax", "argmax"])
def test_several_dimensions_for_one(both, name):
    def program(torch):
        with pytest.raises(TypeError):
            getattr(torch.ones(2, 3), name)((0, 1))

    both(program)


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
def test_means_that_run_past_infinity(both, name):
    """With a variance torch updates the mean element by element: an element after an infinite one makes it NaN."""

    def body(torch):
        found = []
        for place in range(24):
            x = torch.ones(2, 3, 4)
            x.view(-1)[place] = float("inf")
            for dim in (None, 0, 1, (0, 2), -1):
                found.append(getattr(torch, name)(x, dim)[1])
            found.append(getattr(torch, name)(x.permute(2, 0, 1), (0, 2), keepdim=True)[1])
        return found

    both(body, strides=False)


@pytest.mark.parametrize("op", ["amax", "amin", "max", "min"])
def test_gradient_of_an_extreme_that_is_no_number(with_gradients, op):
    with_gradients(lambda torch, x: getattr(torch, op)(x), np.array(np.nan))
    with_gradients(lambda torch, x: getattr(torch, op)(x), np.array([1.0, np.nan, np.nan]))


@pytest.mark.parametrize("dim", [0, (0, 1), None])
@pytest.mark.parametrize("keepdim", [False, True])
def test_gradients_where_all_are_nan(with_gradients, dim, keepdim):
    x = np.array([[np.nan, 1.0, np.inf], [np.nan, 2.0, np.nan]])
    with_gradients(lambda torch, x: torch.nanmean(x, dim, keepdim), x)
    with_gradients(lambda torch, x: torch.nansum(x, dim, keepdim) * float("inf"), x)
    with_gradients(lambda torch, x: torch.nanmean(x, dim, keepdim), np.full((2, 3), np.nan, np.float32))


@pytest.mark.parametrize("reduce", ["max", "min", "sum", "mean", "prod"])
@pytest.mark.parametrize("initial", [None, 1.0, 2.0])
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_gradients_of_segments(with_gradients, reduce, initial, kind):
    def of_lengths(torch, x):
        return torch.segment_reduce(x.to(getattr(torch, kind)), reduce, lengths=torch.tensor([2, 0, 2, 3, 1]), initial=initial)

    with_gradients(of_lengths, np.array([1.0, np.nan, 0.0, np.inf, 2.0, 2.0, np.nan, np.nan]))
    with_gradients(of_lengths, np.array([1.0, 2.0, 0.0, 0.0, 2.0, 2.0, 3.0, -1.0]))
    with_gradients(
        lambda torch, x: torch.segment_reduce(x, reduce, lengths=torch.tensor([[1, 2], [3, 0]]), initial=initial, axis=1),
        np.array([[[1.0, 2.0], [np.nan, 0.0], [0.0, 3.0]], [[1.0, np.inf], [np.nan, 0.0], [0.0, 3.0]]]),
    )


@pytest.mark.parametrize("mask", [None, [[True, False, True, True], [True, True, False, True]]])
@pytest.mark.parametrize("op", ["median", "var", "std", "amax", "cumprod", "prod", "mean"])
def test_masked_reductions_of_no_numbers(with_gradients, op, mask):
    with_gradients(
        lambda torch, x: getattr(torch.masked, op)(x, 1, mask=None if mask is None else torch.tensor(mask)),
        np.array([[1.0, np.nan, 2.0, 0.0], [np.inf, 1.0, np.nan, -np.inf]]),
    )


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, float("inf")])
def test_renorm_changes_each_entry_by_itself(with_gradients, p):
    rows = [[1.0, 2.0, np.nan], [1.0, np.inf, 0.0], [3.0, 0.0, -0.0], [0.1, 0.1, 0.1], [0.0, 0.0, 0.0], [3.0, 1.0, -1.0]]
    with_gradients(lambda torch, x: torch.renorm(x, p, 0, 1.0), np.array(rows))


def test_weights_of_a_covariance_are_numbers(both):
    both(lambda torch: torch.cov(torch.ones(2, 2), aweights=torch.tensor([0.5, float("nan")])))


ROWS = {"points": (1500, 3), "pairs": (1100, 2), "rows of 8": (300, 8), "rows of 9": (500, 9), "rows": (700, 31), "blocks": (5, 50, 64), "images": (2, 9, 12, 20),
        "columns": (4099, 1, 2)}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "float16", "complex64"])
@pytest.mark.parametrize("shape", ROWS.values(), ids=ROWS)
def test_reductions_of_many_short_rows(both: Any, shape: tuple[int, ...], dtype: str) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal(shape).astype(np.float32)
    special = x.copy()
    special.reshape(-1)[::701] = np.nan
    special.reshape(-1)[5::907] = np.inf
    names = {"bool": ["any", "all", "sum"], "complex64": ["sum", "mean", "prod"], "int64": ["sum", "prod", "amax", "amin"]}.get(
        dtype, ["sum", "mean", "prod", "amax", "amin", "norm", "var"]
    )
    dims = [*range(len(shape)), *((0, 1) for _ in shape[2:3]), *((1, 2) for _ in shape[2:3]), *((2, 3) for _ in shape[3:])]

    def body(torch: Any) -> Any:
        kind = getattr(torch, dtype)
        found = []
        for values in (x,) if dtype in ("int64", "bool") else (x, special):
            tensor = torch.tensor(values)
            tensor = (tensor * 3).to(kind) if dtype == "int64" else tensor > -0.5 if dtype == "bool" else tensor.to(kind)
            for name in names:
                for dim in dims:
                    if name == "prod" and isinstance(dim, tuple):
                        continue
                    near = 1 + 0.1 * tensor if name == "prod" and kind.is_floating_point else tensor
                    found.append(getattr(near, name)(dim=dim, keepdim=name in ("sum", "amax", "any")))
        return found

    both(body, rtol=1e-2 if dtype == "float16" else 1e-4, atol=1e-2 if dtype == "float16" else 2e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "complex64"])
@pytest.mark.parametrize("shape", [(3,), (9, 3), *ROWS.values()])
def test_sums_of_negative_zeros_are_positive(both: Any, shape: tuple[int, ...], dtype: str) -> None:
    def body(torch: Any) -> Any:
        zeros = torch.full(shape, -0.0, dtype=getattr(torch, dtype))
        sums = [getattr(zeros, name)(dim=dim) for name in ("sum", "mean") for dim in range(len(shape))]
        return [torch.signbit(total.real).any() for total in sums]

    both(body)

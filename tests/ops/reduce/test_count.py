"""Counting, searching and histograms, norms and contractions, compared with torch."""
from __future__ import annotations

import numpy as np
import pytest

X = np.array([[3, 1, 2, 3], [1, 1, 0, 2], [3, 1, 2, 3]], np.int64)
F = np.random.RandomState(0).randn(3, 4).astype(np.float32)
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()

COUNTS = {
    "unique": lambda torch, x: (torch.unique(x), *x.unique(return_inverse=True, return_counts=True)),
    "unique rows": lambda torch, x: (*torch.unique(x, dim=0, return_inverse=True, return_counts=True), x.unique(dim=1)),
    "unique_consecutive": lambda torch, x: (
        *torch.unique_consecutive(x, return_inverse=True, return_counts=True), x.unique_consecutive(dim=1),
    ),
    "isin": lambda torch, x: (torch.isin(x, x[1]), torch.isin(x, x.flatten(), invert=True), torch.isin(x, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_distinct(both, name, dtype):
    """Distinct values in order, indices and counts."""
    if name == "isin" and dtype == "bool":
        return
    both(lambda torch: COUNTS[name](torch, torch.tensor(X).to(getattr(torch, dtype))), strides=False)


def test_distinct_edges(both):
    """NaN differs from itself; the result for an empty tensor is empty."""
    both(lambda torch: torch.unique(torch.tensor([3.0, 1.0, float("nan"), float("nan")]), return_counts=True))
    both(lambda torch: torch.unique(torch.zeros(0), return_inverse=True, return_counts=True))
    both(lambda torch: torch.isin(torch.arange(5), torch.tensor([], dtype=torch.int64)))
    both(lambda torch: torch.isin(2, torch.arange(20)))


def test_bins(both):
    """bincount, histc, histogram, histogramdd."""
    both(lambda torch: (torch.bincount(torch.tensor([1, 3, 1])), torch.tensor([1, 0]).bincount(minlength=5)))
    both(lambda torch: torch.bincount(torch.tensor([1, 3, 1], dtype=torch.uint8), torch.tensor([0.5, 1.0, 2.0])))
    both(lambda torch: torch.bincount(torch.tensor([1, 3]), torch.tensor([2, 1])))
    both(lambda torch: torch.bincount(torch.tensor([], dtype=torch.int64), minlength=2))
    both(lambda torch: (torch.histc(torch.tensor(F), 5), torch.tensor(F).histc(4, -1, 1), torch.histc(torch.ones(3), 3)))
    both(lambda torch: (*torch.histogram(torch.tensor(F), 5), *torch.tensor(F).histogram(3, range=(-1.0, 1.0), density=True)))
    both(lambda torch: tuple(torch.histogram(torch.tensor(F), torch.tensor([-2.0, 0.0, 0.5, 3.0]), weight=torch.tensor(F) ** 2)))
    both(lambda torch: torch.histogramdd(torch.tensor(F[:, :2]), [2, 3])[0])


def test_searchsorted(both):
    """Left and right, batches, a sorter, scalars, buckets."""

    def body(torch):
        rows = torch.tensor(F).sort()[0]
        line = torch.tensor([1.0, 2.0, 2.0, 5.0])
        return [
            torch.searchsorted(rows, torch.tensor(F)), torch.searchsorted(line, torch.tensor([2.0, float("nan"), 0.0])),
            torch.searchsorted(line, torch.tensor([[2.0]]), right=True), torch.searchsorted(line, 2.0, side="right"),
            torch.searchsorted(torch.tensor([5, 1, 3]), torch.tensor([2, 3]), sorter=torch.tensor([1, 2, 0])),
            torch.bucketize(torch.tensor(F), torch.tensor([-0.5, 0.5]), out_int32=True), torch.bucketize(3, torch.arange(5)),
            torch.searchsorted(torch.arange(3, dtype=torch.uint8), torch.tensor([1], dtype=torch.uint8)),
            torch.searchsorted(torch.ones(2, dtype=torch.complex64), torch.ones(0)),
        ]  # fmt: skip

    both(body)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_searchsorted_in_sequences_with_nan(both, dtype):
    """NaN at the end, alone, in one row of several; sought itself; in every length to 9, before and after equal elements."""
    inf, nan = float("inf"), float("nan")

    def body(torch):
        kind = getattr(torch, dtype)
        sought = torch.tensor([0.0, 0.1, 0.2, 0.3, nan, inf, -inf], dtype=kind)
        lines = [[0.2, nan], [nan] * 3, [-inf, 0.2, inf, nan, nan]] + [[*range(n - count), *[nan] * count] for n in range(1, 10) for count in range(n)]
        lines = [torch.tensor(line, dtype=kind) for line in lines]
        rows = torch.tensor([[-1.0, 0.1, nan], [-1.0, 0.1, 0.2], [nan, nan, nan]], dtype=kind)
        of_lines = [function(right) for line in lines for right in (False, True) for function in (
            lambda right: torch.searchsorted(line, sought, right=right), lambda right: torch.bucketize(sought[:, None], line, right=right),
        )]  # fmt: skip
        return of_lines + [torch.searchsorted(rows, sought.expand(3, 7).contiguous(), right=right) for right in (False, True)]

    both(body)


NORMS = {
    "norm": lambda torch, x: (x.norm(), torch.norm(x, 1), x.norm(3, 0), x.norm(float("inf"), 1, True), torch.norm(x, dim=(0, 1))),
    "norm low": lambda torch, x: (x.norm(0.5), x.norm(-1, 0), x.norm(0, 1), torch.norm(x, -float("inf")), x.norm(dtype=torch.float64)),
    "dist": lambda torch, x: (torch.dist(x, x.detach() * 2 + 1), x.dist(x.detach() + 1, 1)),
    "renorm": lambda torch, x: torch.renorm(x, 2, 0, 1.5),
    "cov": lambda torch, x: (torch.cov(x), x.cov(correction=0), x[0].cov(), torch.cov(x, fweights=torch.tensor([1, 2, 1, 3])),
                             torch.cov(x, aweights=torch.tensor([0.5, 1.0, 1.0, 2.0]))),
    "corrcoef": lambda torch, x: (torch.corrcoef(x), x[0].corrcoef()),
    "cross": lambda torch, x: (torch.cross(x, x.detach().flip(1), dim=0), x[:, :1].t().cross(x.detach()[:, 1:].t(), dim=1)),
}  # fmt: skip


@pytest.mark.parametrize("name", NORMS)
def test_norms(both, with_gradients, name):
    """Values and gradients."""
    with_gradients(NORMS[name], F, rtol=1e-4, atol=1e-5, strides=False)


def test_norm_of_zero(with_gradients):
    """The gradient of a norm at zero is zero."""
    zeros = np.zeros((2, 3), np.float32)
    zeros[0, 1] = 2
    for p in (2, 1, 1.5, 3, float("inf")):
        with_gradients(lambda torch, x, p=p: x.norm(p, 1), zeros)


PRODUCTS = {
    "einsum": lambda torch, x, y: (
        torch.einsum("ij,kj->ik", x, y), torch.einsum("ij,kj->ki", x, y), torch.einsum("ij,ij->", x, y), torch.einsum("ij,ij->i", [x, y]), torch.einsum("ij->ji", x),
        torch.einsum("...j,...j", x, y), torch.einsum("i...,k...->ik...", x, y), torch.einsum("ii->i", x[:, :3]),
        torch.einsum("ij,jk,kl", x, y.t(), x), torch.einsum(x, [0, 1], y, [2, 1], [2, 0]), torch.einsum("i,j->ij", x[0], y[0]),
        torch.einsum("ij,k->", x, y[0]), torch.einsum("bij,bjk->bik", x.reshape(2, 2, 3), y.reshape(2, 3, 2)),
    ),
    "tensordot": lambda torch, x, y: (torch.tensordot(x, y, ([1], [1])), torch.tensordot(x, y.t(), 1), torch.tensordot(x, y, 0)),
    "outer": lambda torch, x, y: (torch.outer(x[0], y[0]), x[0].ger(y[1]), torch.inner(x, y), torch.vdot(x[0], y[0])),
    "kron": lambda torch, x, y: (torch.kron(x[:2], y[:1]), torch.trace(x), torch.kron(x[0], y)),
    "matrix_power": lambda torch, x, y: (x[:, :3].matrix_power(3), torch.matrix_power(x[:, :3].detach(), 0)),
    "addmm": lambda torch, x, y: (
        torch.addmm(y[0, :3], x, y.t(), beta=0.5, alpha=2), torch.addmv(x[:, 0], x, y[0]), torch.addr(x, x[:, 0], y[0], alpha=2),
        torch.baddbmm(x[:2, :2], x.reshape(2, 2, 3), y.reshape(2, 3, 2)), torch.addbmm(x[:2, :2], x.reshape(2, 2, 3), y.reshape(2, 3, 2)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(both, with_gradients, name):
    """Values and gradients."""
    with_gradients(PRODUCTS[name], F, F[::-1].copy() * 2, rtol=1e-4, atol=1e-4, strides=False)


ERRORS = {
    "bincount negative": lambda torch, x: torch.bincount(torch.tensor([-1])),
    "bincount float": lambda torch, x: torch.bincount(torch.tensor([1.0])),
    "bincount weights": lambda torch, x: torch.bincount(torch.tensor([1]), torch.tensor([1.0, 2.0])),
    "histc bins": lambda torch, x: torch.histc(x, 0),
    "histc range": lambda torch, x: torch.histc(x, 3, 2, 1),
    "histc dtype": lambda torch, x: torch.histc(torch.arange(3)),
    "searchsorted": lambda torch, x: torch.searchsorted(torch.zeros(2, 3), torch.zeros(3, 3)),
    "searchsorted complex": lambda torch, x: torch.searchsorted(torch.ones(2, dtype=torch.complex64), torch.ones(2)),
    "side": lambda torch, x: torch.searchsorted(torch.zeros(3), torch.zeros(3), side="foo"),
    "bucketize": lambda torch, x: torch.bucketize(x, torch.zeros(2, 2)),
    "einsum size": lambda torch, x: torch.einsum("ij,jk", torch.ones(2, 3), torch.ones(2, 3)),
    "einsum count": lambda torch, x: torch.einsum("ij,k", torch.ones(2, 3)),
    "einsum output": lambda torch, x: torch.einsum("i->j", torch.ones(2)),
    "tensordot": lambda torch, x: torch.tensordot(torch.ones(2, 3), torch.ones(2, 3), 1),
    "addmm": lambda torch, x: torch.addmm(torch.ones(2), torch.ones(2, 3), torch.ones(3, 4)),
    "norm": lambda torch, x: torch.norm(torch.arange(3)),
    "cross": lambda torch, x: torch.cross(torch.zeros(2), torch.zeros(2), dim=0),
    "renorm": lambda torch, x: torch.renorm(x, 2, 0, -1),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both, name):
    """Errors have torch's classes and messages."""
    both(lambda torch: ERRORS[name](torch, torch.tensor(F)))


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_order_of_entries(both, dim):
    """Memory order of the distinct entries."""
    both(lambda torch: (
        torch.arange(24).reshape(2, 3, 4).unique(dim=dim), torch.arange(24).reshape(2, 3, 4).unique_consecutive(dim=dim),
        torch.ones(2, 3, 4).unique(dim=dim),
    ))  # fmt: skip


def test_unravel_index(both):
    """Memory order of the indices."""
    both(lambda torch: (
        torch.unravel_index(torch.tensor([[3, 7, 9], [1, 2, 3]]), (3, 4)), torch.unravel_index(torch.tensor(5), (2, 2, 2)),
        torch.unravel_index(torch.tensor([], dtype=torch.int64), (3, 4)),
    ))  # fmt: skip


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8", "float16", "float64"])
@pytest.mark.parametrize("value", [2**40, 2**32 + 3, 257, -1, 3.7, 1e10, -1e30])
def test_numbers_beyond_the_boundaries_dtype(both, kind, value):
    """Integers wrap around."""
    both(lambda torch: (
        torch.searchsorted(torch.arange(5).to(getattr(torch, kind)), value), torch.bucketize(value, torch.arange(5).to(getattr(torch, kind))),
    ))  # fmt: skip


@pytest.mark.parametrize("elements, others", [("b", "n"), ("n", True), (True, "n"), ("n", "b"), ("b", 1)])
def test_isin_takes_no_bool(both, elements, others):
    def body(torch):
        tensors = {"b": torch.tensor([True, False]), "n": torch.arange(3)}
        return torch.isin(tensors.get(elements, elements), tensors.get(others, others))

    both(body)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("ends", [(100,), (10, -3, 3), (7, -0.3, 0.7), (5, 1, 1)])
def test_bins_of_half_precision_are_found_in_steps(both, ends, dtype):
    def body(torch):
        x = ((torch.arange(240.0) * 37 % 101 - 50) / 7).to(getattr(torch, dtype))
        return torch.histc(x, *ends), torch.histc(x[:3] * 100, *ends)

    both(body)

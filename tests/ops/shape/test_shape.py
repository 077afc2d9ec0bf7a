"""Triangles, diagonals, splits, copies of views, in-place changes of a view, compared with torch."""
from __future__ import annotations

import numpy as np
import pytest

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()

OPS = {
    "tril": lambda torch, x: (torch.tril(x), x.tril(1), x.tril(-2), x.triu(), torch.triu(x, -1), x.triu(9)),
    "diag": lambda torch, x: (torch.diag(x), x.diag(1), torch.diag(x[0]), x[1].diag(-1), torch.diagflat(x[:2], 1)),
    "diag_embed": lambda torch, x: (torch.diag_embed(x), x.diag_embed(1, 0, 2), torch.diag_embed(x, -1)),
    "diagonal_scatter": lambda torch, x: (torch.diagonal_scatter(x, x[0, :3] * 2), x.diagonal_scatter(x[0, :2], -1)),
    "select_scatter": lambda torch, x: (torch.select_scatter(x, x[0] * 2, 0, 1), x.select_scatter(x[:, 0], 1, -1)),
    "slice_scatter": lambda torch, x: (torch.slice_scatter(x, x[:2] * 2, 0, 1), x.slice_scatter(x[:, :2], 1, 0, 4, 2)),
    "vander": lambda torch, x: (torch.vander(x[0]), torch.vander(x[0], 2, True), torch.vander(x[0], 0)),
    "tensor_split": lambda torch, x: (
        *torch.tensor_split(x, 2), *x.tensor_split((1, 3), 1), *x.tensor_split(5, 1), *torch.hsplit(x, 2), *x.vsplit([1]),
        *torch.hsplit(x[0], (1, 2)), *x.split_with_sizes((1, 3), 1), *torch.unsafe_split(x, 2), *torch.unsafe_chunk(x, 2, 1),
    ),
    "ravel": lambda torch, x: (torch.ravel(x), x.adjoint(), x.mT, x.T, x.H, x.mH, torch.adjoint(x)),
    "sum_to_size": lambda torch, x: (x.sum_to_size(1, 4), x.sum_to_size((4,)), x.sum_to_size(3, 1)),
    "copies": lambda torch, x: (
        torch.permute_copy(x, (1, 0)), torch.transpose_copy(x, 0, 1), torch.t_copy(x), torch.squeeze_copy(x[:1]),
        torch.unsqueeze_copy(x, 1), torch.expand_copy(x[:1], (3, 4)), torch.select_copy(x, 1, 2), torch.diagonal_copy(x),
        torch.slice_copy(x, 1, 1, 3), torch.narrow_copy(x, 1, 1, 2), x.narrow_copy(0, 1, 1), *torch.split_copy(x, 2),
        *torch.unbind_copy(x), torch.unfold_copy(x, 1, 2, 1), torch.alias_copy(x), torch.detach_copy(x),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPS)
def test_values_and_gradients(both, with_gradients, name):
    """Values, strides and gradients of contiguous and of transposed tensors."""
    body = OPS[name]
    if name in ("vander", "copies"):  # torch's own gradient of vander fails
        both(lambda torch: body(torch, torch.tensor(X)))
    else:
        with_gradients(body, X)
    if name != "copies":
        both(lambda torch: body(torch, torch.tensor(X.T.copy()).t()))


@pytest.mark.parametrize("name", ["tril", "diag", "diag_embed", "diagonal_scatter", "slice_scatter", "tensor_split"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(both, name, dtype):
    """Every dtype is copied exactly."""
    if dtype == "bool" and "scatter" in name:
        return
    both(lambda torch: OPS[name](torch, torch.tensor(X).to(getattr(torch, dtype))))


def test_batches(both):
    """More dimensions, and matrices without elements."""

    def body(torch):
        x = torch.tensor(CUBE)
        parts = torch.dsplit(x, 2)
        return x.tril(), x.triu(1), *parts, x.mT, x.adjoint(), torch.zeros(0, 3).tril(), torch.zeros(2, 0, 3).triu()

    both(body)
    both(lambda torch: (torch.tril_indices(3, 4), torch.triu_indices(3, 2, -1), torch.tril_indices(2, 2, dtype=torch.int32)))
    both(lambda torch: torch.as_strided_scatter(torch.zeros(3, 3), torch.ones(2, 2), (2, 2), (1, 2), 1))
    for window in (((1,), (1,), -97), ((2,), (-1,), 3), ((2,), (1, 1), 0), ((2,), (1,), 8)):
        both(lambda torch, window=window: torch.as_strided_scatter(torch.zeros(3, 3), torch.ones(window[0]), *window))
    both(lambda torch: torch.numel(torch.zeros(3, 4)))


def test_views_changed_in_place(both):
    """t_, transpose_, squeeze_ and similar methods change the shape of the tensor over the same storage."""

    def body(torch):
        x = torch.tensor(X)
        same = x.t_() is x
        y = torch.tensor(CUBE)
        y.transpose_(0, 2)
        y[0, 0, 0] = 100
        z = torch.zeros(1, 3, 1)
        z.squeeze_(0).unsqueeze_(1)
        w = torch.tensor(X)
        w.as_strided_((2, 2), (4, 1), 1)
        s = torch.tensor(CUBE).swapaxes_(0, 1).swapdims_(1, 2)
        return same, x, y, z, w, s

    both(body)


def test_fill_diagonal(both):
    """The main diagonal; with ``wrap`` it starts again in tall matrices."""
    both(lambda torch: (torch.zeros(3, 3).fill_diagonal_(2), torch.zeros(7, 3).fill_diagonal_(5, wrap=True)))
    both(lambda torch: (torch.zeros(7, 3).fill_diagonal_(5), torch.zeros(2, 4).fill_diagonal_(1, True)))
    both(lambda torch: torch.zeros(3, 3, 3).fill_diagonal_(1.5))
    both(lambda torch: torch.zeros(2, 3, 3).fill_diagonal_(1.5))


def test_resize_and_set(both):
    """resize_ keeps the first elements, set_ shares the storage."""

    def body(torch):
        x = torch.tensor(X)
        x.resize_(2, 3)
        y = torch.arange(4.0)
        y.resize_((2, 2)).resize_as_(torch.zeros(4))
        z = torch.zeros(2)
        z.set_(y)
        z[0] = 9
        big = torch.arange(3.0).resize_(5)
        return x, y, z, big.shape, big[:3]

    both(body)


def test_in_place_and_out(both):
    """tril_ and triu_; ``out=``."""

    def body(torch):
        x = torch.tensor(X)
        x.tril_().t().triu_(-1)
        return x, torch.triu(x, out=torch.zeros(3, 4)), torch.diag(x, out=torch.zeros(3))

    both(body)


ERRORS = {
    "tril": lambda torch, x: torch.tril(x[0]),
    "diag": lambda torch, x: torch.diag(torch.zeros(2, 2, 2)),
    "diag_embed": lambda torch, x: torch.diag_embed(x, 0, 1, 1),
    "vander": lambda torch, x: torch.vander(x),
    "indices": lambda torch, x: torch.tril_indices(-1, 2),
    "hsplit 0-d": lambda torch, x: torch.hsplit(torch.tensor(1.0), 2),
    "hsplit": lambda torch, x: torch.hsplit(torch.zeros(3), 2),
    "vsplit": lambda torch, x: torch.vsplit(torch.zeros(3), 2),
    "tensor_split": lambda torch, x: torch.tensor_split(x, 0),
    "select_scatter": lambda torch, x: torch.select_scatter(x, torch.zeros(3), 0, 0),
    "sum_to_size": lambda torch, x: x.sum_to_size(2),
    "mT": lambda torch, x: x[0].mT,
    "H": lambda torch, x: torch.zeros(2, 3, 3).H,
    "resize_": lambda torch, x: x.requires_grad_().resize_(1),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both, name):
    """Errors have torch's classes and messages."""
    both(lambda torch: ERRORS[name](torch, torch.tensor(X)))

"""Sums, products, elementwise operations, softmax of sparse tensors and their gradients, compared with torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mstorch
from tests.sparse.sparse_parts import Samples, parts

UNARY = tuple(
    "abs asin asinh atan ceil deg2rad erf expm1 floor frac isinf isnan isneginf isposinf log1p neg positive rad2deg relu round sgn "
    "sign signbit sin sinh sqrt square tan tanh trunc nan_to_num".split()
)
RESULTS = {
    "scaled": lambda t, x: [x.s * 2, 2 * x.u, x.c * 2, x.s / 2, x.s * t.tensor(2.0), x.s.div(2, rounding_mode="floor"), x.s // 2],
    "dense factor": lambda t, x: [x.s * x.d.t(), x.d.t() * x.s, x.s * t.ones(4), x.c * x.d.t(), x.s * t.ones(3, 2, 4)],
    "sparse factor": lambda t, x: x.s.coalesce() * x.u.coalesce(),
    "sums": lambda t, x: [x.s + x.s, x.s + x.u, x.u + x.s, x.s.coalesce() + x.u.coalesce(), x.c + x.c, x.s - x.u, x.h + x.h],
    "sums with dense": lambda t, x: [x.d.t() + x.s, x.d.t() - x.s, t.add(x.d.t(), x.u, alpha=3), x.d.t() + x.c, t.ones(2, 3) + x.h],
    "promotion": lambda t, x: [x.s + x.u.double(), x.s.long() * 1.5, x.s.long().sin(), x.s * t.tensor(2.0, dtype=t.float64)],
    "powers": lambda t, x: [x.s**2, x.s.pow(3.0), t.square(x.s)],
    "products": lambda t, x: [
        x.s @ x.d, t.mm(x.s, x.d), t.matmul(x.u, x.d), x.c @ x.d, x.d @ x.s, t.mm(x.d, x.u), x.d.t() @ x.c.t(), t.spmm(x.s, x.d),
        t.dsmm(x.s, x.d), t.sparse.mm(x.s, x.d), t.sparse.mm(x.d.t(), x.d),
    ],
    "vectors": lambda t, x: [x.s @ t.ones(4), x.u.mv(t.arange(4.0)), x.c @ t.ones(4), t.mv(x.s, t.ones(4))],
    "sparse products": lambda t, x: [
        t.mm(x.s, x.s.t()), t.sparse.mm(x.u, x.s.t()), x.b.to_sparse_csr() @ x.b.to_sparse_csr(), x.s @ t.zeros(4, 3).to_sparse()
    ],
    "bmm": lambda t, x: t.bmm(t.tensor([[[0.0, 2.0], [1.0, 0.0]], [[3.0, 0.0], [0.0, 0.0]]]).to_sparse(), t.arange(12.0).reshape(2, 2, 3)),
    "addmm": lambda t, x: [
        t.addmm(t.ones(2, 2), x.s, x.d), t.sparse.addmm(t.ones(2, 2), x.s, x.d, beta=2, alpha=3), t.addmm(t.ones(2, 2), x.c, x.d)
    ],
    "smm": lambda t, x: [t.smm(x.s, x.d), t.hspmm(x.s, x.d), t.hsmm(x.s, x.d), t.sspaddmm(x.s, x.s, t.eye(4), beta=2, alpha=3)],
    "reduce": lambda t, x: [t.sparse.mm(x.c, x.d, kind) for kind in ("sum", "mean", "amax", "amin")],
    "sampled_addmm": lambda t, x: t.sparse.sampled_addmm(x.b.to_sparse_csr(), t.ones(4, 2), t.arange(8.0).reshape(2, 4), beta=2, alpha=3),
    "sum": lambda t, x: [
        x.s.sum(), x.s.sum(0), x.s.sum(1), t.sparse.sum(x.u, 0), t.sparse.sum(x.h, 1), t.sparse.sum(x.h, 0), t.sparse.sum(x.h, (0, 1)),
        x.s.sum((0,), keepdim=True), x.s.sum(dim=(0, 1)), t.sparse.sum(x.s, dtype=t.float64), t.sparse.sum(x.s, 0, dtype=t.float64),
        t.sparse.sum(x.s.long(), 1), x.c.sum(), x.c.sum(1, keepdim=True), x.c.sum(0, keepdim=True), t.sum(x.s, -1),
    ],
    "softmax": lambda t, x: [
        t.sparse.softmax(x.s, 1), t.sparse.softmax(x.u, 0), t.sparse.log_softmax(x.s, dim=1), t.sparse.softmax(x.h, 1),
        t.sparse.softmax(x.h, 0), t.sparse.softmax(x.s, 1, dtype=t.float64), t.sparse.log_softmax(x.b.to_sparse() * 100, 1),
    ],
    "others": lambda t, x: [x.s.norm(), x.s.norm(1), x.s.any(), t.any(x.s)],
    "order": lambda t, x: [
        x.s.t(), x.s.transpose(0, 1), t.permute(x.s, (1, 0)), x.s.T, x.s.mT, x.c.t(), x.c.transpose(0, 1), x.b.to_sparse_bsr((2, 1)).t(),
        t.ones(2, 3, 4).to_sparse(1).permute(0, 2, 1),
    ],
    "parts": lambda t, x: [
        x.s[0], x.s[0, 2], x.s[:, 2], x.s[-1], x.c[0], x.c[0, 2], x.s.select(1, 2), x.h[0], x.h.select(1, 2), list(x.s), x.s[None],
        x.s.index_select(0, t.tensor([1, 0, 1])), x.h.index_select(1, t.tensor([2, 0])), x.s.unsqueeze(0), x.h.unsqueeze(-1),
    ],
    "joined": lambda t, x: [t.cat([x.s, x.u]), t.cat([x.s, x.s], 1), t.stack([x.s, x.u]), t.cat([x.h, x.h], 1)],
    "copies": lambda t, x: [x.s.clone(), x.u.clone(), x.s.double(), x.s.to(t.float16), x.c.double(), x.s.cpu(), x.s.detach(), t.clone(x.c)],
    "in place": lambda t, x: [
        x.s.add_(x.u), x.u.mul_(2), x.h.neg_(), t.zeros_like(x.s).copy_(x.s), Samples(t).s.zero_(), x.c.sin_(), Samples(t).s.div_(2)
    ],
    "dense in place": lambda t, x: [
        t.ones(2, 4).add_(x.s, alpha=-2), t.ones(2, 4).sub_(x.u), x.d.t().add_(x.s), x.d, t.ones(2, 4).mul_(x.s),
        t.ones(4, 2).t().__iadd__(x.s),
    ],
    "nothing in it": lambda t, x: [
        t.zeros(2, 4, layout=t.sparse_coo) @ x.d, t.zeros(2, 4, layout=t.sparse_coo) + x.s, x.d.t() + t.zeros(2, 4, layout=t.sparse_coo),
        t.zeros(2, 4, layout=t.sparse_coo).sum(), t.zeros(2, 4, layout=t.sparse_csr) @ x.d, t.zeros(2, 4, layout=t.sparse_coo).to_dense(),
        t.sparse.softmax(t.zeros(2, 4, layout=t.sparse_coo), 1), t.zeros(2, 4, layout=t.sparse_coo).sum(0), t.zeros(0, 3).to_sparse().t(),
    ],
    "complex": lambda t, x: [(x.s * 1j) @ x.d.to(t.complex64), (x.s * 1j).conj_physical(), (x.u * 1j).coalesce()],
    "half": lambda t, x: [x.s.half() @ x.d.half() if t is mstorch else (x.s @ x.d).half(), x.u.bfloat16().to_dense(), x.u.half().coalesce()],
}  # fmt: skip

ERRORS = {
    "sparse + dense": lambda t, x: x.s + x.d.t(),
    "sparse + number": lambda t, x: x.s + 1,
    "number - sparse": lambda t, x: 2 - x.s,
    "dense + sparse sizes": lambda t, x: x.d + x.s,
    "sparse + sparse sizes": lambda t, x: x.s + t.sparse_coo_tensor((2, 3)),
    "division": lambda t, x: x.s / x.d.t(),
    "mm": lambda t, x: t.mm(x.s, t.ones(3, 2)),
    "sparse.mm": lambda t, x: t.sparse.mm(x.s, t.ones(3, 2)),
    "mm dtype": lambda t, x: t.mm(x.s, x.d.double()),
    "mm rank": lambda t, x: t.sparse.mm(t.ones(2, 2, 2).to_sparse(), t.ones(2, 2)),
    "mv": lambda t, x: x.s @ t.ones(3),
    "bmm": lambda t, x: t.bmm(x.s, x.d),
    "csr @ csr": lambda t, x: x.c @ x.c,
    "matmul 3-d": lambda t, x: x.s @ t.ones(2, 4, 2),
    "permute hybrid": lambda t, x: x.h.permute(1, 0),
    "permute length": lambda t, x: x.s.permute(0),
    "csr sum": lambda t, x: x.c.sum(1),
    "norm": lambda t, x: x.s.norm(dim=0),
    "copy_": lambda t, x: t.zeros(2, 4).copy_(x.s),
    "copy_ into": lambda t, x: x.s.copy_(t.zeros(2, 4)),
    "select": lambda t, x: x.s.select(0, 5),
    "bool sum": lambda t, x: x.s.bool() + x.s.bool(),
    "leaf in place": lambda t, x: x.s.requires_grad_().mul_(2),
    "backward": lambda t, x: (x.s.requires_grad_() * 2).backward(),
    "integer leaf": lambda t, x: x.s.long().requires_grad_(),
}  # fmt: skip
OTHER_WORDS = {"select": "out of range", "leaf in place": "a leaf Variable that requires grad", "integer leaf": "floating point"}


@pytest.mark.parametrize("name", RESULTS)
def test_results(both: Callable[..., Any], name: str) -> None:
    both(lambda torch: parts(RESULTS[name](torch, Samples(torch))), strides=False)


@pytest.mark.parametrize("name", UNARY)
def test_unary(both: Callable[..., Any], name: str) -> None:
    def body(torch: Any) -> Any:
        x = Samples(torch)
        compressed = x.s if name in ("square", "nan_to_num") else x.c  # torch has no CSR kernels for these
        return parts([getattr(torch, name)(x.s), getattr(x.u, name)(), getattr(compressed, name)()])

    both(body, strides=False)


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both: Callable[..., Any], name: str) -> None:
    both(lambda torch: ERRORS[name](torch, Samples(torch)), message=OTHER_WORDS.get(name))


# Functions that torch differentiates too, for a coalesced COO leaf, one with a duplicate index, a CSR leaf.
GRADIENTS = {
    "to_dense": lambda t, s, d: s.to_dense(),
    "sparse.mm": lambda t, s, d: t.sparse.mm(s, d),
    "sparse.addmm": lambda t, s, d: t.sparse.addmm(d[:2], s, d, beta=2, alpha=3),
    "scaled": lambda t, s, d: s * 2,
    "sum of two": lambda t, s, d: s + s,
    "clone": lambda t, s, d: s.clone(),
    "neg": lambda t, s, d: -s,
    "to_sparse_csr": lambda t, s, d: s.to_sparse_csr(),
}  # fmt: skip
COO_GRADIENTS = {
    "sparse.sum": lambda t, s, d: t.sparse.sum(s),
    "sparse.sum 0": lambda t, s, d: t.sparse.sum(s, 0),
    "softmax": lambda t, s, d: t.sparse.softmax(s, 1),
    "log_softmax": lambda t, s, d: t.sparse.log_softmax(s, 0),
    "coalesce": lambda t, s, d: s.coalesce(),
    "values": lambda t, s, d: s.coalesce().values(),
    "mask": lambda t, s, d: d.t().sparse_mask(s.detach()),
    "to_sparse": lambda t, s, d: d.to_sparse() * 2,
    "dense csr": lambda t, s, d: d.to_sparse_csr(),
}  # fmt: skip


def _gradients(torch: Any, function: Callable[..., Any], kind: str) -> Any:
    x = Samples(torch, requires_grad=True)
    leaf = getattr(x, kind)
    result = function(torch, leaf, x.d)
    dense = result if "strided" in str(result.layout) else result.to_dense()
    (dense * dense).sum().backward()
    grad = None if leaf.grad is None else leaf.grad.to_dense()
    return dense, grad, x.d.grad, str(getattr(leaf.grad, "layout", None)), None if grad is None else leaf.grad._nnz()


@pytest.mark.parametrize("kind", ["s", "u", "c"])
@pytest.mark.parametrize("name", [*GRADIENTS, *COO_GRADIENTS])
def test_gradients(both: Callable[..., Any], name: str, kind: str) -> None:
    if kind == "c" and name in COO_GRADIENTS:
        pytest.skip("torch has no kernel for CSR")
    both(lambda torch: _gradients(torch, {**GRADIENTS, **COO_GRADIENTS}[name], kind), strides=False)


# Operations that torch cannot differentiate for all layouts: the sparse gradient is the dense one at the leaf's indices.
BEYOND = {
    "mm": lambda t, s, d: t.mm(s, d), "@": lambda t, s, d: s @ d, "dense @": lambda t, s, d: d @ s, "mv": lambda t, s, d: s @ d[:, 0],
    "sin": lambda t, s, d: s.sin(),
    "select": lambda t, s, d: s[1], "mm of two": lambda t, s, d: t.mm(s, s.t()), "transpose": lambda t, s, d: s.t(),
    "sum": lambda t, s, d: s.sum(0, keepdim=True),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["s", "c"])
@pytest.mark.parametrize("name", BEYOND)
def test_gradients_are_those_of_dense_tensors(name: str, kind: str) -> None:
    x = Samples(mstorch, requires_grad=True)
    leaf = getattr(x, kind)
    whole, other = leaf.detach().to_dense().requires_grad_(), x.d.detach().requires_grad_()
    results = [BEYOND[name](mstorch, leaf, x.d).to_dense(), BEYOND[name](mstorch, whole, other)]
    for result in results:
        (result * result).sum().backward()
    np.testing.assert_allclose(results[0].detach().numpy(), results[1].detach().numpy(), rtol=1e-6)
    assert leaf.grad.layout is leaf.layout
    where = (whole.detach() != 0).numpy()
    np.testing.assert_allclose(leaf.grad.to_dense().numpy(), np.where(where, whole.grad.numpy(), 0), rtol=1e-5)
    if other.grad is not None:
        np.testing.assert_allclose(x.d.grad.numpy(), other.grad.numpy(), rtol=1e-5)


def test_values_and_autograd_functions(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        x = Samples(torch, requires_grad=True)
        v = x.v.clone().requires_grad_()
        made = torch.sparse_coo_tensor(x.i, v, (2, 4))
        torch.sparse.mm(made, x.d.detach()).sum().backward()
        (first,) = torch.autograd.grad(torch.sparse.mm(x.s, x.d).sum(), x.s)
        row = torch.sparse.sum(x.s, 0)
        row.backward(row.detach())
        once = x.s.grad.to_dense()
        torch.sparse.mm(x.s, x.d).sum().backward()
        twice = x.s.grad.to_dense()
        x.s.grad = None
        return v.grad, made.is_leaf, made.requires_grad, x.s.is_leaf, first.to_dense(), once, twice, x.s.grad, row.is_leaf

    both(body, strides=False)


def test_double_backward() -> None:
    x = Samples(mstorch)
    v, d = x.v.double().requires_grad_(), x.d.double().requires_grad_()
    result = mstorch.sparse.mm(mstorch.sparse_coo_tensor(x.i, v, (2, 4)), d).pow(2).sum()
    first = mstorch.autograd.grad(result, [v, d], create_graph=True)
    second = mstorch.autograd.grad(sum((g**2).sum() for g in first), [v, d])
    whole = mstorch.zeros(2, 4, dtype=mstorch.float64).index_put((x.i[0], x.i[1]), v)
    want = mstorch.autograd.grad((whole @ d).pow(2).sum(), [v, d], create_graph=True)
    wanted = mstorch.autograd.grad(sum((g**2).sum() for g in want), [v, d])
    for got, expected in zip(second, wanted):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-12)


def test_gradcheck() -> None:
    x = Samples(mstorch)
    check = mstorch.sparse.as_sparse_gradcheck(mstorch.autograd.gradcheck)
    leaf = x.s.double().requires_grad_()
    assert check(lambda s, d: mstorch.sparse.mm(s, d), (leaf, x.d.double().requires_grad_()))
    assert check(lambda s: mstorch.sparse.softmax(s, 1), (leaf,))


def test_a_larger_product() -> None:
    generator = np.random.RandomState(0)
    dense = generator.randn(40, 60).astype(np.float32) * (generator.rand(40, 60) < 0.1)
    factor = mstorch.tensor(generator.randn(60, 7).astype(np.float32))
    want = dense @ factor.numpy()
    for made in (mstorch.tensor(dense).to_sparse(), mstorch.tensor(dense).to_sparse_csr(), mstorch.tensor(dense).to_sparse_bsr((4, 5))):
        np.testing.assert_allclose((made @ factor).numpy(), want, rtol=1e-5, atol=1e-5)


def test_products_of_csr_by_largest_and_smallest(both):
    def body(t):
        matrix = t.tensor([[1.0, 0.0, -2.0], [0.0, 0.0, 0.0], [3.0, 4.0, 0.0]]).to_sparse_csr()
        return [t.sparse.mm(matrix, t.arange(6.0).reshape(3, 2) - 2, name) for name in ("max", "min", "amax", "amin", "mean", "sum")]

    both(body)


@pytest.mark.parametrize("first", ["uint8", "int8", "int16", "float16", "float32", "bool"])
@pytest.mark.parametrize("second", ["uint8", "int8", "int64", "float16", "float32", "bool"])
@pytest.mark.parametrize("call", [
    "p.to_sparse().sub(q.to_sparse())", "p.sub(q.to_sparse())", "p.to_sparse().add(q.to_sparse(), alpha=3)", "p.add(q.to_sparse(), alpha=3)",
    "p.to_sparse().add(q.to_sparse())", "p.clone().sub_(q.to_sparse())", "p.to_sparse() * q.to_sparse()",
    "p.to_sparse() * torch.tensor(2).to(q.dtype).to_sparse()",
])  # fmt: skip
def test_sums_of_narrow_dtypes(both, call, first, second):
    """The second operand is scaled in the dtype of the sum."""

    def body(torch):
        p = torch.tensor([[1, 0], [0, 100]]).to(getattr(torch, first))
        q = torch.tensor([[3, 0], [100, 0]]).to(getattr(torch, second))
        found = eval(call, {"p": p, "q": q, "torch": torch})
        return found.to_dense() if found.is_sparse else found

    both(body)


def test_numbers_of_elements_that_overflow(both):
    size = (100_001,) * 4
    both(lambda torch: torch.sparse_coo_tensor(torch.zeros(4, 0, dtype=torch.long), torch.zeros(0), size))
    both(lambda torch: torch.zeros(size, layout=torch.sparse_coo))


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128", "int64"])
def test_conjugates(both, layout, dtype):
    """They are computed at once; a real tensor is its own conjugate."""

    def body(torch):
        x = torch.tensor([[1, 0], [2, 3]]).to(getattr(torch, dtype))
        x = (x * 1j if x.is_complex() else x).to_sparse(layout=getattr(torch, layout))
        found = [x.conj(), torch.conj(x), x.conj_physical(), x.resolve_conj(), x.resolve_neg(), torch.resolve_conj(x), x.adjoint(), x.mH]
        return [x.is_conj(), x.is_neg(), torch.is_conj(x), x.conj() is x, [(y.layout == x.layout, y.is_conj(), y.to_dense()) for y in found]]

    both(body)


def test_the_gradient_of_a_conjugate(both):
    def body(torch):
        x = torch.tensor([[1j, 0], [2 + 1j, 3]]).to_sparse().requires_grad_()
        (x.conj().to_dense() * torch.tensor([[1, 2], [3 + 1j, 4j]])).sum().abs().backward()
        return x.grad.to_dense()

    both(body)

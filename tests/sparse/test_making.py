"""Creation of sparse tensors, their parts, layouts, text, and errors, compared with torch."""
from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import mstorch
from tests.sparse.sparse_parts import Samples, parts

MAKING = {
    "indices, values": lambda t, x: t.sparse_coo_tensor(x.i, x.v),
    "lists": lambda t, x: t.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2]),
    "size": lambda t, x: t.sparse_coo_tensor(x.i, x.v, (3, 7)),
    "size alone": lambda t, x: t.sparse_coo_tensor((2, 3), dtype=t.float64),
    "number": lambda t, x: t.sparse_coo_tensor([[1]], 3.0),
    "dtype": lambda t, x: t.sparse_coo_tensor(x.i, x.v, dtype=t.float16),
    "leaf": lambda t, x: t.sparse_coo_tensor(x.i, x.v, (2, 4), requires_grad=True),
    "hybrid": lambda t, x: t.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]]),
    "empty": lambda t, x: t.sparse_coo_tensor(t.zeros(2, 0), t.zeros(0, 3)),
    "in order": lambda t, x: t.sparse_coo_tensor(x.i, x.v, (2, 4), is_coalesced=True, check_invariants=True),
    "csr": lambda t, x: t.sparse_csr_tensor([0, 1, 3], [2, 0, 2], x.v),
    "csc": lambda t, x: t.sparse_csc_tensor([0, 1, 1, 3], [0, 0, 1], x.v, (2, 3)),
    "bsr": lambda t, x: t.sparse_bsr_tensor([0, 1, 2], [0, 1], t.ones(2, 2, 3)),
    "bsc": lambda t, x: t.sparse_bsc_tensor([0, 1, 2], [0, 1], t.ones(2, 2, 3)),
    "batch": lambda t, x: t.sparse_csr_tensor([[0, 1, 2], [0, 0, 2]], [[0, 1], [0, 1]], t.ones(2, 2)),
    "dense rows": lambda t, x: t.sparse_csr_tensor([0, 1, 2], [0, 1], t.ones(2, 3)),
    "compressed": lambda t, x: t.sparse_compressed_tensor([0, 1, 3], [2, 0, 2], x.v, (2, 4), layout=t.sparse_csr),
    "int32": lambda t, x: t.sparse_csr_tensor(t.tensor([0, 1, 3]).int(), t.tensor([2, 0, 2]).int(), x.v, (2, 4)),
    "zeros": lambda t, x: t.zeros(2, 3, layout=t.sparse_coo),
    "zeros_like": lambda t, x: [t.zeros_like(x.s), t.zeros_like(x.d, layout=t.sparse_coo), t.empty_like(x.h)],
    "spdiags": lambda t, x: t.sparse.spdiags(t.arange(6.0).reshape(2, 3), t.tensor([0, 1]), (3, 3)),
}  # fmt: skip

LAYOUTS = {
    "coalesce": lambda t, x: [x.s.coalesce(), x.u.coalesce(), x.h.coalesce()],
    "to_dense": lambda t, x: [x.s.to_dense(), x.u.to_dense(), x.h.to_dense(), x.c.to_dense(), x.d.to_dense()],
    "to_sparse": lambda t, x: [x.b.to_sparse(), x.b.to_sparse(1), x.d.to_sparse_coo(), t.zeros(0, 3).to_sparse()],
    "0-d": lambda t, x: [t.tensor(3.0).to_sparse(), t.tensor(0.0).to_sparse(), t.tensor(3.0).to_sparse().to_dense()],
    "csr": lambda t, x: [x.b.to_sparse_csr(), x.s.to_sparse_csr(), x.u.to_sparse_csr(), x.c.to_sparse_csc().to_sparse_csr()],
    "csc": lambda t, x: [x.b.to_sparse_csc(), x.s.to_sparse_csc(), x.c.to_sparse(layout=t.sparse_csc)],
    "bsr": lambda t, x: [x.b.to_sparse_bsr((2, 2)), x.b.to_sparse_csr().to_sparse_bsr((2, 2)), x.b.to_sparse_bsr((2, 1)).to_dense()],
    "bsc": lambda t, x: [x.b.to_sparse_bsc((2, 2)), x.b.to_sparse_bsc((1, 2)).to_dense()],
    "coo": lambda t, x: [x.c.to_sparse_coo(), x.b.to_sparse_bsr((2, 2)).to_sparse_coo().to_dense(), x.s.to_sparse()],
    "batch": lambda t, x: [t.ones(2, 3, 2).to_sparse_csr(), t.ones(2, 3, 2).to_sparse_csr().to_dense()],
    "dense_dim": lambda t, x: t.ones(2, 2, 2).to_sparse_csr(dense_dim=1),
    "sparse_mask": lambda t, x: [x.d.t().sparse_mask(x.s), x.d.t().sparse_mask(x.c), x.u.sparse_mask(x.s), x.s.sparse_mask(x.s)],
    "copies": lambda t, x: [t.values_copy(x.c), t.col_indices_copy(x.c), t.crow_indices_copy(x.c)],
    "about": lambda t, x: [
        x.s.is_sparse, x.c.is_sparse, x.c.is_sparse_csr, x.d.is_sparse, x.s.numel(), len(x.s), x.s.dim(), x.s.layout, x.c.layout,
        x.s.device.type, x.s.dtype, x.h.shape, x.s.stride(), x.s.is_contiguous(), x.d.sparse_dim(), x.s.element_size(), t.is_tensor(x.s),
    ],
    "any place twice of bool": lambda t, x: t.sparse_coo_tensor([[0, 0]], t.tensor([True, True])).coalesce(),
    "resized": lambda t, x: [
        x.s.sparse_resize_((3, 5), 2, 0), x.h.sparse_resize_and_clear_((3, 4), 2, 0), t.zeros(1, 1, layout=t.sparse_coo).resize_as_sparse_(x.u),
    ],
}  # fmt: skip

ERRORS = {
    "nnz": lambda t, x: t.sparse_coo_tensor(x.i, x.v[:2]),
    "rank": lambda t, x: t.sparse_coo_tensor(x.i, x.v, (2,)),
    "negative": lambda t, x: t.sparse_coo_tensor(-x.i, x.v),
    "vector": lambda t, x: t.sparse_coo_tensor(x.i[0], x.v),
    "outside": lambda t, x: t.sparse_coo_tensor(x.i, x.v, (2, 2), check_invariants=True),
    "not in order": lambda t, x: t.sparse_coo_tensor(x.i.flip(1), x.v, (2, 4), is_coalesced=True, check_invariants=True),
    "int leaf": lambda t, x: t.sparse_coo_tensor(x.i, x.v.long(), requires_grad=True),
    "csr end": lambda t, x: t.sparse_csr_tensor([0, 1, 2], [2, 0, 2], x.v, (2, 4), check_invariants=True),
    "csr begin": lambda t, x: t.sparse_csr_tensor([1, 1, 3], [2, 0, 2], x.v, (2, 4), check_invariants=True),
    "csr columns": lambda t, x: t.sparse_csr_tensor([0, 1, 3], [2, 0, 5], x.v, (2, 4), check_invariants=True),
    "csr order": lambda t, x: t.sparse_csr_tensor([0, 1, 3], [2, 2, 0], x.v, (2, 4), check_invariants=True),
    "csr rows": lambda t, x: t.sparse_csr_tensor([0, 1, 3, 3], [2, 0, 2], x.v, (2, 4), check_invariants=True),
    "csr nnz": lambda t, x: t.sparse_csr_tensor([0, 1, 3], [2, 0], x.v, (2, 4), check_invariants=True),
    "block": lambda t, x: t.sparse_bsr_tensor([0, 1, 2], [0, 1], t.ones(2, 2, 2), (5, 4), check_invariants=True),
    "no layout": lambda t, x: t.sparse_compressed_tensor([0, 1, 3], [2, 0, 2], x.v, (2, 4)),
    "indices": lambda t, x: x.u.indices(),
    "values": lambda t, x: x.u.values(),
    "strided indices": lambda t, x: x.d.indices(),
    "strided values": lambda t, x: x.d.values(),
    "strided coalesce": lambda t, x: x.d.coalesce(),
    "crow of coo": lambda t, x: x.s.crow_indices(),
    "indices of csr": lambda t, x: x.c.indices(),
    "numpy": lambda t, x: x.s.numpy(),
    "item": lambda t, x: x.s.item(),
    "tolist": lambda t, x: x.s.tolist(),
    "stride": lambda t, x: x.c.stride(),
    "data_ptr": lambda t, x: x.s.data_ptr(),
    "to_dense dtype": lambda t, x: x.s.to_dense(t.float64),
    "sparse_dim": lambda t, x: x.s.to_sparse(1),
    "too many": lambda t, x: t.ones(3).to_sparse(2),
    "blocksize": lambda t, x: x.b.to_sparse_bsr((3, 2)),
    "mask": lambda t, x: x.d.sparse_mask(x.s),
    "full": lambda t, x: t.ones(2, 3, layout=t.sparse_coo),
    "reshape": lambda t, x: x.s.reshape(8),
    "bool": lambda t, x: bool(x.s),
}  # fmt: skip


@pytest.mark.parametrize("name", [*MAKING, *LAYOUTS])
def test_parts(both: Callable[..., Any], name: str) -> None:
    body = {**MAKING, **LAYOUTS}[name]
    both(lambda torch: parts(body(torch, Samples(torch))), strides=False)


@pytest.mark.parametrize("name", [*MAKING, *LAYOUTS])
def test_text(both: Callable[..., Any], name: str) -> None:
    body = {**MAKING, **LAYOUTS}[name]

    def written(torch: Any) -> list[str]:
        found = body(torch, Samples(torch))
        return [repr(item) for item in (found if isinstance(found, list) else [found])]

    both(written)


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both: Callable[..., Any], name: str) -> None:
    both(lambda torch: ERRORS[name](torch, Samples(torch)))


# torch has no kernels for these either.
REFUSED = {
    "cos": lambda x: x.s.cos(), "exp": lambda x: x.s.exp(), "view": lambda x: x.s.view(8), "fill_": lambda x: x.s.fill_(1),
    "max": lambda x: x.s.max(), "mean": lambda x: x.s.mean(), "greater": lambda x: x.s > 0, "slice": lambda x: x.s[0:1],
    "equal": lambda x: x.s == x.s, "softmax": lambda x: x.s.softmax(1), "clamp": lambda x: x.s.clamp(0, 1),
    "reciprocal": lambda x: 2 / x.s, "narrow": lambda x: x.s.narrow(0, 0, 1), "nonzero": lambda x: x.s.nonzero(),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_operations_without_a_sparse_kernel_raise(name: str) -> None:
    import torch

    for library in (torch, mstorch):
        with pytest.raises(NotImplementedError, match="Could not run"):
            REFUSED[name](Samples(library))


@pytest.mark.parametrize("name", ["cos", "exp", "max", "mean", "equal", "argmax", "sort", "ones_like", "linalg.norm"])
def test_functions_without_a_sparse_kernel_raise(name: str) -> None:
    function: Any = mstorch
    for part in name.split("."):
        function = getattr(function, part)
    x = Samples(mstorch)
    with pytest.raises(NotImplementedError, match="to_dense"):
        function(x.s, x.s) if name == "equal" else function(x.s)


def test_places_outside_are_refused_when_used() -> None:
    wrong = mstorch.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,))
    with pytest.raises(RuntimeError, match="size is inconsistent with indices: for dim 0, size is 3 but found index 5"):
        wrong.to_dense()


def test_invariants_switch() -> None:
    check = mstorch.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check():
        assert check.is_enabled()
        with pytest.raises(RuntimeError, match="size is inconsistent"):
            mstorch.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,))
    check(True)(lambda: check.is_enabled())()
    assert not check.is_enabled()
    check.enable()
    assert check.is_enabled()
    check.disable()


def test_copies_keep_gradients(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        s = torch.eye(2).to_sparse()
        s.grad = torch.ones(2, 2).to_sparse()
        first, second = copy.deepcopy([s, s.grad])
        return first.grad is second, first.grad is not s.grad, first.grad.to_dense()

    both(body)


def test_copies_and_pickles() -> None:
    x = Samples(mstorch, requires_grad=True)
    for tensor in (x.s, x.c):
        for made in (copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
            assert repr(made) == repr(tensor)
            assert made._values().data_ptr() != tensor._values().data_ptr()
    assert isinstance(x.s, mstorch.Tensor)
    assert hash(x.s) == id(x.s)

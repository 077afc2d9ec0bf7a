"""Sparse tensors as arguments: ``out=``, scalars, layouts, sizes, and what torch refuses."""
from __future__ import annotations

import pytest

OUT = [
    f"torch.{name}(x, {other}, {rest}out=out)"
    for name, other, rest in (
        ("add", "x", ""), ("sub", "x", "alpha=3, "), ("mul", "x", ""), ("mul", "2.5", ""), ("div", "-2.0", "rounding_mode='trunc', "),
        ("pow", "2", ""),
    )
]  # fmt: skip
VALUES = [
    "torch.add(r, y, alpha=3.0)", "torch.add(y, r, alpha=3.0)", "torch.Tensor.neg(x)", "torch.Tensor.asin_(x.int())",
    "torch.addmm(y * float('nan'), r, y, beta=0)", "torch.addmm(y, r, r)", "torch.addmm(y, x, x)", "torch.addmv(y[0], r, y[0], alpha=2, beta=3)",
    "torch.addmv(y[0], b, y[0], alpha=2, beta=3)", "torch.sparse.sampled_addmm(r, y, y, out=r.clone())", "x // x", "y.int().add_(x)",
    "x.is_nonzero()", "torch.ones(1).to_sparse().is_nonzero()", "x.new().layout", "x.new(3, 4)", "x.type()", "x.type('torch.sparse.DoubleTensor')",
    "torch.empty_like(x, memory_format=torch.channels_last)", "r.is_contiguous()", "torch.result_type(r, y.double())",
    "torch.sparse.spdiags(torch.ones(2, 2), torch.tensor([0, 1]), (2, 2, 2))", "torch.sparse.spdiags(y, torch.tensor([0.0, 1]), (2, 2))",
    "torch.empty((2,), layout=torch.sparse_csr)", "torch.empty((2, 3), layout=torch.sparse_bsr)",
]  # fmt: skip
LAYOUTS = [
    "r.to_sparse().layout", "b.to_sparse(blocksize=(1, 1))", "y.to_sparse(layout=torch.sparse_bsr, blocksize=1)", "b.to_sparse_csr()",
    "y.to_sparse(layout=torch.sparse_bsr, blocksize=(0, 1))", "b.to_sparse_bsr((2, 2))", "y.to_sparse(layout=torch.sparse_bsr)",
    "i.to_sparse_csc().row_indices().dtype", "i.to_sparse_bsr((1, 1)).col_indices().dtype", "r.copy_(r.to_sparse_csc())", "r.copy_(x)",
    "r.copy_(y.to_sparse_csr())", "r.resize_(3, 4)", "r.resize_(2, 1)", "r.resize_(2)",
]  # fmt: skip
MORE = [
    "r.copy_(torch.eye(3, 2).to_sparse_csr())", "r.copy_(torch.eye(2, 3).to_sparse_csr())", "b.copy_(torch.eye(2, 4).to_sparse_bsr((1, 2)))",
    "torch.ones(2, 4, 4).to_sparse_csr().to_sparse_bsr((2, 2))", "b.to_sparse_bsc((2, 2))", "torch.ones(1).to_sparse(blocksize=(1,))",
    "torch.addmm(y, r, torch.ones(1, 2, 2))", "torch.addmm(torch.ones(3, 2), r, y)", "torch.zeros(2, 0).to_sparse().is_nonzero()",
    "torch.sparse.sampled_addmm(torch.ones(2, 2, 2).to_sparse_csr(), *(torch.arange(8.0).reshape(2, 2, 2),) * 2)",
    "torch.sparse_coo_tensor([[0, 0]], [0.5, 0.1], (2,)).arcsin_()", "torch.sparse_coo_tensor([[0, 0]], [0.5, 0.1], (2,)).neg_()",
    "x.resize_as_(x)", "torch._convert_indices_from_coo_to_csr(torch.ones(2, 2, dtype=torch.int64), 3)",
]  # fmt: skip
CHECKS = [
    "torch._validate_sparse_coo_tensor_args(torch.tensor([[0, 5]]), torch.ones(2), (2,))",
    "torch._validate_sparse_csr_tensor_args(torch.tensor([0, 1]), torch.tensor([0, 1]), torch.ones(2), (2, 2))",
    "torch._validate_sparse_csc_tensor_args(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.ones(2), (2, 2))",
    "torch._convert_indices_from_coo_to_csr(torch.tensor([0, 0, 2]), 4, out_int32=True)",
    "torch._convert_indices_from_csr_to_coo(torch.tensor([0, 2, 2, 3]), torch.tensor([0, 1, 1]), transpose=True)",
]  # fmt: skip


@pytest.mark.parametrize("text", OUT + VALUES + LAYOUTS + MORE + CHECKS)
def test_one_call(both, text):
    def body(torch):
        dense = torch.tensor([[1.0, 0], [0, 2]])
        x, out, r, b = dense.to_sparse(), torch.zeros(2, 2).to_sparse(), dense.to_sparse_csr(), dense.to_sparse_bsr((1, 1))
        i = torch.sparse_csr_tensor(r.crow_indices().int(), r.col_indices().int(), torch.ones(2), (2, 2))
        found = eval(text, {"torch": torch, "x": x, "out": out, "r": r, "b": b, "i": i, "y": torch.ones(2, 2)})
        return found, out

    both(body, strides=False)

"""Sparse tensors that are resized or filled in place, sampled products, and their gradients."""
from __future__ import annotations

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import same

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")


def _both(body):
    found = []
    for torch in (real_torch, mstorch):
        torch.manual_seed(0)
        try:
            found.append(body(torch))
        except RuntimeError as error:
            found.append(str(error))
    if isinstance(found[0], str):
        assert found[0] == found[1]
    else:
        same(found[0].to_dense(), found[1].to_dense())
        assert str(found[0].layout) == str(found[1].layout)


@pytest.mark.parametrize("name", ["mul_", "add_", "sub_"])
def test_integers_do_not_take_sparse_fractions(name):
    _both(lambda torch: getattr(torch.ones(2, 2, dtype=torch.int64), name)(torch.ones(2, 2).to_sparse()))
    _both(lambda torch: getattr(torch.ones(2, 2, dtype=torch.int64).to_sparse(), name)(torch.ones(2, 2).to_sparse()))


@pytest.mark.parametrize("name", ["zeros", "empty"])
def test_zeros_into_a_sparse_tensor(name):
    _both(lambda torch: getattr(torch, name)((2, 3), out=torch.zeros(3, 3).to_sparse()))
    if name == "zeros":
        _both(lambda torch: torch.zeros((2, 3), out=torch.ones(3, 3).to_sparse()))
        _both(lambda torch: torch.zeros((2, 3), out=torch.ones(3, 3).to_sparse_csr()))
    out = mstorch.ones(2).to_sparse()
    assert getattr(mstorch, name)((2, 3), out=out) is out and out.shape == (2, 3) and out._nnz() == 0


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_resized_as_another(layout):
    for torch in (real_torch, mstorch):
        options = ((2, 2),) if layout.startswith("b") else ()
        x, y = (getattr(torch.ones(4, n), f"to_sparse_{layout}")(*options) for n in (4, 6))
        z = x.resize_as_sparse_(y)
        assert z is x and str(z.layout) == f"torch.sparse_{layout}" and z.shape == (4, 6)
        assert z._nnz() == y._nnz() and z.values().shape == y.values().shape


def test_one_pattern_for_a_batch():
    _both(lambda torch: torch.sparse.sampled_addmm(torch.eye(3).to_sparse_csr(), torch.rand(2, 3, 2), torch.rand(2, 2, 3), beta=0.5))


@pytest.mark.parametrize("fast", [True, False])
def test_gradcheck_of_places_that_occur_twice(fast):
    for torch in (real_torch, mstorch):
        torch.manual_seed(0)
        indices = torch.tensor([[0, 0, 1, 2], [1, 1, 2, 0]])
        sparse = torch.sparse_coo_tensor(indices, torch.rand(4, dtype=torch.float64), (3, 3)).requires_grad_()
        dense = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda s, d: torch.sparse.mm(s, d), (sparse, dense), masked=True, fast_mode=fast)

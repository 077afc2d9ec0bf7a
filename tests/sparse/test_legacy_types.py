"""torch.sparse.FloatTensor and the other legacy tensor types."""
from __future__ import annotations

import pytest

from tests.against_torch import both

KINDS = ["Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long"]


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_and_isinstance(kind):
    def body(torch):
        plain, sparse = getattr(torch, f"{kind}Tensor"), getattr(torch.sparse, f"{kind}Tensor")
        x = torch.eye(2, dtype=plain.dtype)
        dense, coo, other = x, x.to_sparse(), torch.eye(2, dtype=torch.bool).to_sparse()
        return [
            [sparse.dtype, sparse.layout, sparse.is_sparse, sparse.is_cuda, plain.layout, plain.is_sparse, repr(sparse), sparse.__name__],
            [isinstance(value, each) for value in (dense, coo, other, 3) for each in (plain, sparse)],
        ]

    both(body)
    both(lambda torch: getattr(torch.cuda.sparse, f"{kind}Tensor")(2))
    both(lambda torch: isinstance(torch.ones(1), getattr(torch.cuda.sparse, f"{kind}Tensor")))


@pytest.mark.parametrize("call", [
    "FloatTensor(i, v)", "FloatTensor(i, v, size)", "FloatTensor(i, v, device='cpu')", "FloatTensor(2, 3)", "FloatTensor(size)",
    "FloatTensor()", "LongTensor(i, v.long())", "LongTensor(i, v)", "FloatTensor(2, 3, device='cpu')", "FloatTensor([1, 2])",
])  # fmt: skip
def test_making(call):
    def body(torch):
        names = {"i": torch.tensor([[0, 1], [1, 0]]), "v": torch.tensor([1.0, 2.0]), "size": torch.Size([2, 3])}
        made = eval(f"sparse.{call}", {"sparse": torch.sparse, **names})
        return made.to_dense(), made.layout, made._nnz()

    both(body)


def test_refusals():
    both(lambda torch: torch.sparse.FloatTensor(torch.eye(2).to_sparse()), message="new() received an invalid combination of arguments")
    both(lambda torch: torch.sparse.FloatTensor("a"), message="new()")

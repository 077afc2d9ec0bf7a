"""The parts of a sparse tensor that are compared between the libraries: layout, indices, values, size."""
from __future__ import annotations

from typing import Any

INDICES = {
    "torch.sparse_csr": ("crow_indices", "col_indices"), "torch.sparse_bsr": ("crow_indices", "col_indices"),
    "torch.sparse_csc": ("ccol_indices", "row_indices"), "torch.sparse_bsc": ("ccol_indices", "row_indices"),
}  # fmt: skip


def parts(value: Any) -> Any:
    """Return a sparse tensor as a dict of its parts, lists item by item, and anything else unchanged."""
    if isinstance(value, (list, tuple)):
        return [parts(item) for item in value]
    layout = str(getattr(value, "layout", "torch.strided"))
    if layout == "torch.strided":
        return value
    found = {"layout": layout, "size": tuple(value.shape), "nnz": value._nnz(), "requires_grad": value.requires_grad}
    found["dims"] = (value.sparse_dim(), value.dense_dim())
    if layout == "torch.sparse_coo":
        return {**found, "coalesced": value.is_coalesced(), "indices": value._indices(), "values": value._values().detach()}
    return {**found, "indices": [getattr(value, name)() for name in INDICES[layout]], "values": value.values().detach()}


class Samples:
    """Sparse and dense tensors of one library: ``s`` coalesced COO, ``u`` with a duplicate index, ``h`` with dense rows, ``c`` CSR."""

    def __init__(self, torch: Any, requires_grad: bool = False) -> None:
        self.i = torch.tensor([[0, 1, 1], [2, 0, 2]])
        self.v = torch.tensor([3.0, -4.0, 5.0])
        self.s = torch.sparse_coo_tensor(self.i, self.v, (2, 4))
        self.u = torch.sparse_coo_tensor(torch.tensor([[0, 0, 1], [1, 1, 0]]), torch.tensor([1.0, 2.0, 3.0]), (2, 4))
        self.h = torch.sparse_coo_tensor([[1, 0]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], (2, 3))
        self.c = torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, -4.0, 5.0], (2, 4))
        self.d = torch.arange(8.0).reshape(4, 2)
        self.b = torch.tensor([[1.0, 2.0, 0.0, 0.0], [3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0], [0.0, 0.0, 0.0, 7.0]])
        if requires_grad:
            for name in ("s", "u", "h", "c", "d"):
                getattr(self, name).requires_grad_()

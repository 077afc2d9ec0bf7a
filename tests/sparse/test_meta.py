"""Sparse tensors on the meta device, which have no specified elements, and functions that create them."""
from __future__ import annotations

from typing import Any

import pytest

LAYOUTS = ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")
CALLS = [
    "x.to('meta')", "x.to(device='meta', dtype=torch.float64)", "torch.zeros_like(x, device='meta')", "torch.empty_like(x, device='meta')",
    "torch.empty_like(m)", "torch.zeros_like(m)", "torch.sum(m)", "m.detach()", "m.clone()", "m.to(torch.float64)", "m.double()", "m.to('meta')",
    "m.to('cpu')",
]  # fmt: skip


def parts(found: Any) -> Any:
    """Return a tensor's layout, sizes and parts, sparse or strided."""
    said = str(found.layout), tuple(found.shape), str(found.dtype), str(found.device), found.is_meta
    if str(found.layout) == "torch.strided":
        return said
    coo = str(found.layout) == "torch.sparse_coo"
    index = [found._indices()] if coo else [found.crow_indices(), found.col_indices()] if "r" in str(found.layout)[-1] else [
        found.ccol_indices(), found.row_indices()]
    values = found._values() if coo else found.values()
    return *said, found._nnz(), tuple(values.shape), [tuple(part.shape) for part in index], [part.is_meta for part in (*index, values)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 4)])
@pytest.mark.parametrize("call", CALLS)
def test_tensors_without_memory(both: Any, layout: str, shape: tuple[int, ...], call: str) -> None:
    def body(torch: Any) -> Any:
        options = {"blocksize": (2, 2)} if layout in LAYOUTS[3:] else {}
        x = torch.ones(shape).to_sparse(layout=getattr(torch, layout), **options)
        return parts(eval(call, {"x": x, "m": x.to("meta"), "torch": torch}))

    both(body, message="")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3), (2, 2, 4, 3), (4,)])
def test_factories(both: Any, layout: str, device: str, shape: tuple[int, ...]) -> None:
    both(lambda torch: parts(torch.empty(shape, layout=getattr(torch, layout), device=device)))
    both(lambda torch: parts(torch.zeros(shape, layout=getattr(torch, layout), device=device, dtype=torch.float64)), message="")


@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_sums(both: Any, layout: str) -> None:
    def body(torch: Any) -> Any:
        m = torch.ones(4, 4).to_sparse(layout=getattr(torch, layout)).to("meta")
        return parts(m + m)

    both(body)


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc"])
def test_matrices_of_a_batch(both: Any, layout: str) -> None:
    """A batch dimension can be selected, and a compressed tensor gets no additional one."""

    def body(torch: Any, use: str) -> Any:
        x = torch.arange(24.0).view(2, 3, 4).to_sparse(layout=getattr(torch, layout))
        found = eval(use, {"x": x})
        return parts(found), found.to_dense()

    for use in ("x[1]", "x.select(0, -1)", "x[0]", "x.unsqueeze(0)"):
        both(lambda torch: body(torch, use))


def test_resized(both: Any) -> None:
    def body(torch: Any) -> Any:
        r = torch.empty(4, 4, layout=torch.sparse_coo, device="meta")
        r.sparse_resize_((4, 4), 1, 1)
        r.sparse_resize_and_clear_((4, 4, 4), 2, 1)
        return r.sparse_dim(), r.dense_dim(), r._nnz(), r.is_coalesced(), parts(r)

    both(body)

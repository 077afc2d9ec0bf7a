"""Transposes of sparse tensors: supported dimensions, the parts of results, and errors."""
from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.against_torch import both

pytestmark = pytest.mark.filterwarnings("ignore")
COMPRESSED = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def _parts(torch: Any, value: Any) -> Any:
    """Return the parts of a compressed tensor; for an error its class and first line."""
    rows = value.layout in (torch.sparse_csr, torch.sparse_bsr)
    places = (value.crow_indices(), value.col_indices()) if rows else (value.ccol_indices(), value.row_indices())
    told = [[part, part.stride()] for part in (*places, value.values())]
    return str(value.layout), tuple(value.shape), value._is_view(), told, value.to_dense()


def _told(call: Any) -> Any:
    try:
        return call()
    except (IndexError, NotImplementedError, RuntimeError) as error:
        return type(error).__name__, str(error).splitlines()[0]


@pytest.mark.parametrize("dense", [0, 1])
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize("layout", COMPRESSED)
def test_pairs_of_dimensions(layout: str, batch: tuple[int, ...], dense: int) -> None:
    def body(torch: Any) -> Any:
        one = torch.arange(24.0).reshape(4, 6) * (torch.arange(24).reshape(4, 6) % 3 != 0)
        whole = one * torch.arange(1.0, 1 + math.prod(batch)).reshape(*batch, 1, 1) if batch else one
        whole = torch.stack([whole, whole * 10], -1) if dense else whole
        blocks = {"blocksize": (2, 3)} if "bs" in layout else {}
        tensor = whole.to_sparse(layout=getattr(torch, layout), dense_dim=dense, **blocks)
        pairs = itertools.product(range(-1, whole.dim() + 1), range(whole.dim()))
        return [_told(lambda: _parts(torch, tensor.transpose(*pair))) for pair in pairs]

    both(body)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("layout", ["sparse_coo", *COMPRESSED[:2]])
def test_adjoints(layout: str, dtype: str) -> None:
    def body(torch: Any) -> Any:
        matrix = torch.arange(6.0).reshape(2, 3).to(getattr(torch, dtype))
        matrix = (matrix * (1 + 1j) if matrix.is_complex() else matrix).to_sparse(layout=getattr(torch, layout))
        calls = (lambda x: x.adjoint(), torch.adjoint, lambda x: x.H, lambda x: x.mH)
        told = [_told(lambda: [str(call(matrix).layout), call(matrix).to_dense()]) for call in calls]
        others = [torch.ones(3).to_sparse(), torch.ones(2, 3, 4).to_sparse()]
        return told + [_told(lambda: call(other).to_dense()) for call in calls for other in others]

    both(body)

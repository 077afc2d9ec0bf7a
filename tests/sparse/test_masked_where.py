"""``torch.masked._where`` of strided and sparse masks."""
from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")
MASK = [[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 1, 1, 1]]
INPUT = [[1.0, 2.0, 0.0, 0.0], [0.0, 5.0, 6.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 3.0, 4.0]]


@pytest.mark.parametrize("kind", ["strided", "coo", "hybrid", "csr", "csc"])
@pytest.mark.parametrize("fill", [0.0, 7.0])
def test_where(both: Any, kind: str, fill: float) -> None:
    def body(torch: Any) -> Any:
        made = {
            "strided": lambda t: t, "coo": lambda t: t.to_sparse(2), "hybrid": lambda t: t.to_sparse(1), "csr": lambda t: t.to_sparse_csr(),
            "csc": lambda t: t.to_sparse_csc(),
        }[kind]  # fmt: skip
        mask, input = made(torch.tensor(MASK, dtype=torch.bool)), made(torch.tensor(INPUT))
        if kind in ("coo", "hybrid"):
            mask._values()[1] = False
        found = torch.masked._where(mask, input, torch.tensor(fill))
        if kind == "strided":
            return found
        return (found.indices(), found.values(), found.is_coalesced()) if found.is_sparse else (found.crow_indices(), found.col_indices(), found.values())

    both(body)

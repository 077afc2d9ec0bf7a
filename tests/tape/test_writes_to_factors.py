"""Writes to factorizations before backward: the input may be written if the gradient needs the factors only, as in torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

FACTORS = {
    "cholesky": lambda t, a: t.linalg.cholesky(a @ a.mT + 3 * t.eye(3, dtype=a.dtype)), "inv": lambda t, a: t.linalg.inv(a),
    "eigvalsh": lambda t, a: t.linalg.eigvalsh(a), "eigh": lambda t, a: t.linalg.eigh(a)[0], "svd": lambda t, a: t.linalg.svd(a)[1],
    "qr": lambda t, a: t.linalg.qr(a)[1], "wide qr": lambda t, a: t.linalg.qr(a[:2])[1], "lu": lambda t, a: t.linalg.lu_factor(a)[0],
    "solve": lambda t, a: t.linalg.solve(a.detach(), a), "triangular": lambda t, a: t.linalg.solve_triangular(a.detach(), a, upper=True),
    "inverse": lambda t, a: a.inverse(), "inv_ex": lambda t, a: t.linalg.inv_ex(a)[0],
}  # fmt: skip


@pytest.mark.parametrize("which", ["input", "result", "nothing"])
@pytest.mark.parametrize("name", FACTORS)
def test_writes(both: Callable[..., Any], name: str, which: str) -> None:
    def body(torch: Any) -> Any:
        leaf = torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]], dtype=torch.float64, requires_grad=True)
        a = leaf * 1
        result = FACTORS[name](torch, a)
        node = result.grad_fn.name()
        with torch.no_grad():
            {"input": a, "result": result, "nothing": torch.ones(1)}[which].mul_(2)
        try:
            result.sum().backward()
        except RuntimeError as error:
            return node, "modified by an inplace operation" in str(error)
        return node, leaf.grad

    both(body)

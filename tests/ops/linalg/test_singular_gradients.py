"""Gradients at singular matrices and at equal singular values, which have separate formulas."""
from __future__ import annotations

from typing import Any

import pytest

MATRICES = {
    "zeros": "torch.zeros(3, 3)",
    "rank 1": "torch.outer(torch.arange(1.0, 4.0), torch.arange(2.0, 5.0))",
    "rank 2": "torch.arange(9.0).reshape(3, 3)",
    "zero column": "torch.tensor([[1.0, 0, 2], [3, 0, 4], [5, 0, 7]])",
    "identity": "torch.eye(3)",
    "mixed batch": "torch.stack([torch.arange(9.0).reshape(3, 3), torch.eye(3) + 1, torch.zeros(3, 3)])",
    "1 x 1": "torch.zeros(1, 1)",
    "empty": "torch.zeros(0, 0)",
    "infinite": "torch.full((2, 2), float('inf'))",
}
FUNCTIONS = {
    "det": "torch.linalg.det(a).abs().sum()",
    "slogdet": "torch.linalg.slogdet(a)[1].sum()",
    "logdet": "torch.logdet(a).real.sum()",
    "inv": "torch.linalg.inv(a).abs().sum()",
    "trace": "torch.trace(a @ a).real",
    "1-norm": "torch.linalg.matrix_norm(a, 1).sum()",
    "frobenius norm": "torch.linalg.matrix_norm(a).sum()",
    "vector norm": "torch.linalg.vector_norm(a)",
    "matrix_exp": "torch.matrix_exp(a).abs().sum()",
    "matrix_power": "torch.linalg.matrix_power(a, 3).abs().sum()",
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("kind", ["float32", "float64", "complex128"])
def test_gradients(both: Any, function: str, matrix: str, kind: str) -> None:
    if (function, matrix) == ("1-norm", "empty"):
        pytest.skip("torch gives a zero without a history")

    def body(torch: Any) -> Any:
        a = eval(MATRICES[matrix], {"torch": torch}).to(getattr(torch, kind)).requires_grad_()
        found = eval(FUNCTIONS[function], {"torch": torch, "a": a})
        (slope,) = torch.autograd.grad(found, a)
        return found, slope

    # Which element of a matrix of rank 1 comes out as zero depends on the processor's kernels.
    both(body, strides=False, rtol=1e-4, atol=1e-4, message="" if (function, matrix) == ("inv", "rank 1") else None)

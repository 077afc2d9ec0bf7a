"""Bools of NumPy, which are floats to torch where a number is expected, and numbers in tensors of one element."""
from __future__ import annotations

import numpy as np
import pytest

TRUE = np.bool_(True)
OPERATIONS = {
    "add": lambda torch, x: x + TRUE, "sub": lambda torch, x: x - TRUE, "rsub": lambda torch, x: TRUE - x, "mul": lambda torch, x: x.mul(TRUE),
    "div": lambda torch, x: x / TRUE, "pow": lambda torch, x: x**TRUE, "eq": lambda torch, x: x == TRUE, "fill_": lambda torch, x: x.clone().fill_(TRUE),
    "add_": lambda torch, x: x.clone().add_(TRUE), "full_like": lambda torch, x: torch.full_like(x, TRUE), "alpha": lambda torch, x: torch.add(x, x, alpha=TRUE),
    "where": lambda torch, x: torch.where(x == x, x, TRUE), "result_type": lambda torch, x: torch.empty(0, dtype=torch.result_type(x, TRUE)),
    "masked_fill": lambda torch, x: x.masked_fill(x == x, TRUE), "full": lambda torch, x: torch.full((2,), TRUE), "tensor": lambda torch, x: torch.tensor(TRUE),
}  # fmt: skip


def _told(function):
    try:
        return function()
    except (RuntimeError, TypeError) as error:
        return type(error).__name__


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "float16", "float32", "float64", "complex64"])
def test_bools_of_numpy(both, dtype):
    def body(torch):
        x = torch.ones(2).to(getattr(torch, dtype))
        return [_told(lambda: operation(torch, x)) for operation in OPERATIONS.values()]

    both(body)


@pytest.mark.parametrize("value", [True, 2, 0.5])
def test_numbers_in_tensors(both, value):
    def body(torch):
        x, m, v = torch.arange(12.0).reshape(3, 4), torch.ones(4, 4), torch.tensor(value)
        return [
            _told(call) for call in (
                lambda: torch.addmm(x, x, m, beta=v), lambda: torch.addmm(x, x, m, alpha=v), lambda: torch.baddbmm(x[None], x[None], m[None], beta=v),
                lambda: torch.addmv(x[:, 0], x, m[0], alpha=v), lambda: torch.nn.functional.threshold(x, v, v), lambda: torch.addcmul(x, x, x, value=v),
                lambda: torch.gradient(x, spacing=v), lambda: torch.gradient(x[0], spacing=[v]),
            )
        ]  # fmt: skip

    both(body)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool", "float32"])
def test_sections_in_tensors(both, dtype):
    def body(torch):
        x = torch.arange(24.0).reshape(2, 3, 4)
        kind = getattr(torch, dtype)
        sections = [torch.tensor(1).to(kind), torch.tensor([1]).to(kind), torch.tensor([1, 2]).to(kind)]
        return [_told(lambda: call(x, one)) for call in (torch.hsplit, torch.vsplit, torch.dsplit) for one in sections]

    both(body)

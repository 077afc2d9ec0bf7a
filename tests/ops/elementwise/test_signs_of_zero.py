"""The sign of zeros, which printed results show."""
from __future__ import annotations

import pytest

CALLS = {
    "softshrink": lambda torch, n: torch.nn.functional.softshrink(torch.tensor([-0.25, -0.0, 0.0, 0.25], dtype=n.dtype)),
    "cumsum": lambda torch, n: torch.tensor([[-0.0, -0.0, 1.0], [-0.0, 2.0, -2.0]], dtype=n.dtype).cumsum(1),
    "cumsum of columns": lambda torch, n: torch.tensor([[-0.0, -0.0], [-0.0, 2.0]], dtype=n.dtype).cumsum(0),
    "mm": lambda torch, n: -n[:1, :1] @ torch.zeros(1, 1, dtype=n.dtype), "mv": lambda torch, n: (-n[:1, :1]).mv(torch.zeros(1, dtype=n.dtype)),
    "bmm": lambda torch, n: torch.bmm(-n[None, :1, :1], torch.zeros(1, 1, 1, dtype=n.dtype)),
    "dot": lambda torch, n: (-n[0, :1]).dot(torch.zeros(1, dtype=n.dtype)), "linear": lambda torch, n: torch.nn.functional.linear(-n[:1, :1], n[:1, :1] * 0),
    "maximum": lambda torch, n: torch.maximum(torch.tensor([0.0, -0.0], dtype=n.dtype), torch.tensor([-0.0, 0.0], dtype=n.dtype)),
    "minimum": lambda torch, n: torch.minimum(torch.tensor([0.0, -0.0], dtype=n.dtype), torch.tensor([-0.0, 0.0], dtype=n.dtype)),
    "cross_entropy": lambda torch, n: torch.nn.functional.cross_entropy(torch.tensor([[200.0, 0.0]], dtype=n.dtype), torch.tensor([0])),
    "cross_entropy, sum": lambda torch, n: torch.nn.functional.cross_entropy(
        torch.tensor([[200.0, 0.0]], dtype=n.dtype), torch.tensor([0]), reduction="sum"
    ),
    "cross_entropy of shares": lambda torch, n: torch.nn.functional.cross_entropy(
        torch.tensor([[200.0, 0.0]], dtype=n.dtype), torch.tensor([[1.0, 0.0]], dtype=n.dtype)
    ),
    "gelu, strided": lambda torch, n: torch.nn.functional.gelu(torch.tensor([[-0.0, 0.0], [1.0, 2.0]], dtype=n.dtype).t()),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_signs(both, name, kind):
    def body(torch):
        found = CALLS[name](torch, torch.ones(2, 2, dtype=getattr(torch, kind)))
        return found, torch.signbit(found), str(found)

    both(body)

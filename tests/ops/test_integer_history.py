"""Integers that a tensor with gradients was written into: what goes on from them, and what torch refuses."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "cumprod_": lambda torch, t: t.cumprod_(-1), "cumsum_": lambda torch, t: t.cumsum_(-1), "cumprod": lambda torch, t: t.cumprod(-1),
    "cumsum": lambda torch, t: t.cumsum(-1), "cumsum as floats": lambda torch, t: t.cumsum(-1, dtype=torch.float32),
    "scattered into itself": lambda torch, t: t.masked_scatter_(t > 0, t), "its view": lambda torch, t: t.masked_scatter_(t > 0, t[:]),
    "scattered into": lambda torch, t: t.masked_scatter_(t > 0, torch.ones(t.shape, dtype=t.dtype)),
    "scattered nowhere": lambda torch, t: t.masked_scatter_(t > 9, t),
    "scattered into others": lambda torch, t: torch.ones(t.shape, dtype=t.dtype).masked_scatter_(t > 0, t),
    "a copy": lambda torch, t: t.masked_scatter(t > 0, t),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("shape", [(2, 3), (2, 0), (), (0,)])
@pytest.mark.parametrize("kind", ["int64", "uint8", "bool", "float32"])
def test_what_goes_on_from_them(both: Both, kind: str, shape: tuple[int, ...], name: str) -> None:
    if name == "its view" and not shape:
        pytest.skip("a number has no slices")

    def body(torch: Any) -> Any:
        t = torch.ones(shape, dtype=getattr(torch, kind))
        t[...] = torch.ones((), requires_grad=True) * 2
        made = OPERATIONS[name](torch, t)
        return made.detach(), made.requires_grad, made.is_leaf, t._version, t.requires_grad

    both(body)

"""Tensors with a history written to views that were made without autograd, or that are one of several outputs: refused as in torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

# To a view t of three numbers, of v (three numbers) and s (one), both with a history, at positions i; n is the library.
WRITES: dict[str, Callable[..., Any]] = {
    "add_": lambda n, t, v, s, i: t.add_(s), "copy_": lambda n, t, v, s, i: t.copy_(v), "fill_": lambda n, t, v, s, i: t.fill_(s),
    "int": lambda n, t, v, s, i: t.__setitem__(1, s), "slice": lambda n, t, v, s, i: t.__setitem__(slice(0, 2), s),
    "mask of one": lambda n, t, v, s, i: t.__setitem__(t > 1, s), "mask": lambda n, t, v, s, i: t.__setitem__(t > -1, v),
    "positions": lambda n, t, v, s, i: t.__setitem__(i, v), "positions of a number": lambda n, t, v, s, i: t.__setitem__(i, 3.0),
    "index_add_": lambda n, t, v, s, i: t.index_add_(0, i, v), "index_copy_": lambda n, t, v, s, i: t.index_copy_(0, i, v),
    "index_fill_": lambda n, t, v, s, i: t.index_fill_(0, i, s), "scatter_": lambda n, t, v, s, i: t.scatter_(0, i, v),
    "scatter_reduce_": lambda n, t, v, s, i: t.scatter_reduce_(0, i, v, "amax"), "put_": lambda n, t, v, s, i: t.put_(i, v),
    "index_put_": lambda n, t, v, s, i: t.index_put_((i,), v), "accumulate": lambda n, t, v, s, i: t.index_put_((i,), v, accumulate=True),
    "masked_fill_": lambda n, t, v, s, i: t.masked_fill_(t > 1, s), "masked_scatter_": lambda n, t, v, s, i: t.masked_scatter_(t > -1, v),
    "lerp_": lambda n, t, v, s, i: t.lerp_(v, 0.5), "clamp_": lambda n, t, v, s, i: t.clamp_(v), "zero_": lambda n, t, v, s, i: t.zero_(),
    "cumsum_": lambda n, t, v, s, i: t.cumsum_(0), "addmv_": lambda n, t, v, s, i: t.addmv_(n.ones(3, 3), v),
}  # fmt: skip


def _without(torch: Any) -> Any:
    with torch.no_grad():
        return torch.arange(3.0)[:]


VIEWS: dict[str, Callable[[Any], Any]] = {
    "without autograd": _without, "of several": lambda torch: torch.arange(6.0).view(2, 3).unbind(0)[0],
    "of several, followed": lambda torch: (torch.arange(6.0, requires_grad=True) * 1).view(2, 3).unbind(0)[0],
}  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", WRITES)
def test_writes(both: Callable[..., Any], name: str, view: str) -> None:
    def body(torch: Any) -> Any:
        t = VIEWS[view](torch)
        WRITES[name](torch, t, torch.ones(3, requires_grad=True), torch.tensor(0.5, requires_grad=True), torch.tensor([2, 0, 1]))
        return t.requires_grad, t.detach()

    both(body)

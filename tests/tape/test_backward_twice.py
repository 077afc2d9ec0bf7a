"""Graphs that support a second backward, as in torch, because their nodes saved nothing."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]

# Functions of a tensor (3, 3), indices, a mask of rows, and the library.
RESULTS: dict[str, Callable[..., Any]] = {
    "index_add": lambda x, i, m, t: x.index_add(0, i, t.ones(2, 3)), "index_add, alpha": lambda x, i, m, t: x.index_add(0, i, t.ones(2, 3), alpha=2),
    "index_add of a source": lambda x, i, m, t: t.zeros(3, 3).index_add(0, i, x[:2]), "index_copy": lambda x, i, m, t: x.index_copy(0, i, t.ones(2, 3)),
    "index_fill": lambda x, i, m, t: x.index_fill(0, i, 2.0), "index": lambda x, i, m, t: x[i], "mask": lambda x, i, m, t: x[m],
    "index_select": lambda x, i, m, t: x.index_select(0, i), "gather": lambda x, i, m, t: x.gather(0, i[:, None]),
    "scatter": lambda x, i, m, t: x.scatter(0, i[:, None], 1.0), "scatter_add": lambda x, i, m, t: x.scatter_add(0, i[:, None], t.ones(2, 1)),
    "take": lambda x, i, m, t: x.take(i), "put": lambda x, i, m, t: x.put(i, t.ones(2)), "put, added": lambda x, i, m, t: x.put(i, t.ones(2), True),
    "index_put": lambda x, i, m, t: x.index_put((i,), t.ones(3)), "index_put, added": lambda x, i, m, t: x.index_put((i,), t.ones(3), True),
    "masked_fill": lambda x, i, m, t: x.masked_fill(m, 2.0), "masked_scatter": lambda x, i, m, t: x.masked_scatter(m, t.ones(9)),
    "where": lambda x, i, m, t: t.where(m, x, 1.0), "cumsum": lambda x, i, m, t: x.cumsum(0), "sort": lambda x, i, m, t: x.sort(0)[0],
    "max": lambda x, i, m, t: x.max(0)[0], "flip": lambda x, i, m, t: x.flip(0), "roll": lambda x, i, m, t: x.roll(1, 0), "tril": lambda x, i, m, t: x.tril(),
    "unfold": lambda x, i, m, t: x.unfold(0, 2, 1), "embedding": lambda x, i, m, t: t.nn.functional.embedding(i, x),
    "avg_pool2d": lambda x, i, m, t: t.nn.functional.avg_pool2d(x[None], 2, ceil_mode=True),
    "adaptive_avg_pool2d": lambda x, i, m, t: t.nn.functional.adaptive_avg_pool2d(x[None], 2),
    "interpolate": lambda x, i, m, t: t.nn.functional.interpolate(x[None], scale_factor=2), "select_scatter": lambda x, i, m, t: x.select_scatter(t.ones(3), 0, 1),
    "slice_scatter": lambda x, i, m, t: x.slice_scatter(t.ones(1, 3), 0, 1, 2), "diagonal_scatter": lambda x, i, m, t: x.diagonal_scatter(t.ones(3)),
    "cdist": lambda x, i, m, t: t.cdist(x, x.detach()), "std": lambda x, i, m, t: x.std(),
}  # fmt: skip
WRITES: dict[str, Callable[..., Any]] = {
    "copy_ of a row": lambda y, i, m, t: y[1].copy_(t.ones(3)), "copy_": lambda y, i, m, t: y.copy_(t.ones(3)), "a number for a row": lambda y, i, m, t: y.__setitem__(1, 2.0),
    "mul_ of a row": lambda y, i, m, t: y[1].mul_(2), "add_ of a row": lambda y, i, m, t: y[1].add_(2), "zero_": lambda y, i, m, t: y[1].zero_(),
    "index_add_": lambda y, i, m, t: y.index_add_(0, i, t.ones(2, 3)), "index_add_, alpha": lambda y, i, m, t: y.index_add_(-1, i, t.ones(3, 2), alpha=2),
    "index_copy_": lambda y, i, m, t: y.index_copy_(0, i, t.ones(2, 3)), "index_fill_": lambda y, i, m, t: y.index_fill_(0, i, 2.0),
    "scatter_": lambda y, i, m, t: y.scatter_(0, i[:, None], 2.0), "scatter_add_": lambda y, i, m, t: y.scatter_add_(0, i[:, None], t.ones(2, 1)),
    "index_put_": lambda y, i, m, t: y.index_put_((i,), t.ones(3)), "put_": lambda y, i, m, t: y.put_(i, t.ones(2), True),
    "masked_fill_": lambda y, i, m, t: y.masked_fill_(m, 2.0), "clamp_": lambda y, i, m, t: y.clamp_(0), "sin_": lambda y, i, m, t: y.sin_(),
    "tril_": lambda y, i, m, t: y.tril_(), "fill_diagonal_": lambda y, i, m, t: y.fill_diagonal_(1), "x[i] = number": lambda y, i, m, t: y.__setitem__(i, 1.0),
}  # fmt: skip


def _twice(torch: Any, function: Callable[..., Any], writes: bool) -> Any:
    x = torch.arange(9.0).reshape(3, 3).requires_grad_()
    positions, mask = torch.tensor([0, 1]), torch.tensor([True, False, True])
    result = x.clone() if writes else x
    returned = function(result, positions, mask, torch)
    result = result if writes else returned
    for _ in range(2):
        result.sum().backward()
    return x.grad


@pytest.mark.parametrize("name", RESULTS)
def test_results(both: Both, name: str) -> None:
    both(lambda torch: _twice(torch, RESULTS[name], False))


@pytest.mark.parametrize("name", WRITES)
def test_writes(both: Both, name: str) -> None:
    both(lambda torch: _twice(torch, WRITES[name], True))

"""Functions that write to a part of what they have computed, in every way, for transformations."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "number at a mask": lambda torch, y, x: y.__setitem__(x > 0.5, 0.25),
    "values at a mask": lambda torch, y, x: y.__setitem__(x > 0.5, x[x > 0.5] ** 2),
    "one value at a mask": lambda torch, y, x: y.__setitem__(x > 0.5, x.sum()),
    "number at indices": lambda torch, y, x: y.__setitem__(torch.tensor([0, 2]), 0.5),
    "values at indices": lambda torch, y, x: y.__setitem__(torch.tensor([0, 2]), x[:2] ** 2),
    "values in order": lambda torch, y, x: y.__setitem__(x.argsort(), x**2),
    "mask of a part": lambda torch, y, x: y[1:].__setitem__(x[1:] > 0.5, x[1:][x[1:] > 0.5] ** 2),
    "indices of a part": lambda torch, y, x: y[1:].__setitem__(torch.tensor([1, 0]), x[:2] ** 2),
    "part": lambda torch, y, x: y.__setitem__(slice(0, 2), x[1:] ** 2),
    "steps": lambda torch, y, x: y.__setitem__(slice(None, None, 2), x[1:] ** 2),
    "element": lambda torch, y, x: y.__setitem__(0, x[1] ** 2),
    "index_put_": lambda torch, y, x: y.index_put_((torch.tensor([2, 1]),), x[:2] ** 2),
    "index_put_ added": lambda torch, y, x: y.index_put_((torch.tensor([2, 2]),), x[:2] ** 2, accumulate=True),
    "index_put_ at a mask": lambda torch, y, x: y.index_put_((x > 0.5,), x.sum()),
    "index_fill_": lambda torch, y, x: y.index_fill_(0, torch.tensor([1]), x.sum()),
    "index_copy_": lambda torch, y, x: y.index_copy_(0, torch.tensor([1, 0]), x[:2] ** 2),
    "index_add_": lambda torch, y, x: y.index_add_(0, torch.tensor([1, 1]), x[:2] ** 2),
    "scatter_": lambda torch, y, x: y.scatter_(0, torch.tensor([1, 0]), x[:2] ** 2),
    "scatter_add_": lambda torch, y, x: y.scatter_add_(0, torch.tensor([1, 0]), x[:2] ** 2),
    "scatter_reduce_": lambda torch, y, x: y.scatter_reduce_(0, torch.tensor([1, 0]), x[:2] ** 2, "sum"),
    "masked_fill_": lambda torch, y, x: y.masked_fill_(x > 0.5, x.sum()),
    "masked_scatter_": lambda torch, y, x: y.masked_scatter_(x > 0.5, x**2),
    "put_": lambda torch, y, x: y.put_(torch.tensor([2, 1]), x[:2] ** 2),
    "put_ added": lambda torch, y, x: y.put_(torch.tensor([2, 1]), x[:2] ** 2, accumulate=True),
    "copy_": lambda torch, y, x: y.copy_(x**2),
    "fill_": lambda torch, y, x: y.fill_(x.sum()),
    "mul_ of a part": lambda torch, y, x: y[1:].mul_(x[:2]),
    "exp_ of a part": lambda torch, y, x: y[1:].exp_(),
    "tril_": lambda torch, y, x: y.view(1, 3).tril_(),
    "cumsum_": lambda torch, y, x: y.cumsum_(0),
    "lerp_": lambda torch, y, x: y.lerp_(x, 0.3),
    "clamp_": lambda torch, y, x: y.clamp_(-0.3, 0.4),
    "pow_": lambda torch, y, x: y.pow_(2),
}


def writing(torch: Any) -> dict[str, Callable[[Any], Any]]:
    """Return functions of one tensor that compute, write, and compute with what they wrote."""

    def with_write(write: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            y = x * 1.5
            write(torch, y, x)
            return y**3

        return function

    return {name: with_write(write) for name, write in WRITES.items()}

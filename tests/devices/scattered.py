"""Scatter reductions on the stand-in device, compared with the CPU: ``python -m tests.devices.scattered`` prints differences."""
from __future__ import annotations

import itertools
from typing import Any

import mstorch as torch
from mstorch._src.backend import cost, fake
from mstorch._src.backend.table import on_fallback

NAN = float("nan")
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((4, 5), (6, 5), 0), ((4, 5), (3, 2), 0), ((4, 5), (4, 9), 1), ((7,), (20,), 0), ((2, 3, 4), (2, 8, 4), 1), ((2, 3, 4), (1, 2, 9), 2),
    ((), (), 0), ((4, 5), (1, 1), 0),
]  # fmt: skip
KINDS = {torch.float32: 1e-5, torch.float16: 4e-2, torch.bfloat16: 2e-1, torch.int32: 0.0, torch.int64: 0.0, torch.uint8: 0.0}
Case = tuple[Any, tuple[int, ...], tuple[int, ...], int, str, bool, bool]


def _given(case: Case, place: str) -> tuple[Any, Any, Any]:
    kind, shape, own, dim, *_ = case
    generator = torch.Generator().manual_seed(7)
    x, source = ((torch.randn(size, generator=generator) * 3).round().abs() for size in (shape, own))
    index = torch.randint(shape[dim] if shape else 1, own, generator=generator)
    x, source = x.to(kind), source.to(kind)
    if kind.is_floating_point and x.numel() > 3 and source.numel() > 5:
        x.view(-1)[1], source.view(-1)[2] = NAN, NAN
    return x.to(place), source.to(place), index.to(place) + 0


def _reduced(case: Case, place: str) -> tuple[list[Any], cost.Cost]:
    """Return the result and the gradients, and the cost of forward and backward."""
    kind, _, _, dim, how, included, rows = case
    x, source, index = _given(case, place)
    leaves = [item.requires_grad_() for item in (x, source)] if kind.is_floating_point else []
    with cost.counted() as counted:
        if rows:
            index = index.select(1 - dim, 0)
            found = x.index_reduce(dim, index, source, how, include_self=included)
        else:
            found = x.scatter_reduce(dim, index, source, how, include_self=included)
        if leaves:
            found.backward(torch.ones_like(found))
    return [item.detach().cpu().double() for item in (found, *(leaf.grad for leaf in leaves))], counted


def differing() -> list[str]:
    """Return the calls whose result or gradients differ from the CPU's, that run on the host, read a value, or send more than a number."""
    wrong: list[str] = []
    told: list[str] = []
    on_fallback.append(told.append)
    for kind, (shape, own, dim), how, included in itertools.product(KINDS, SHAPES, ("sum", "mean", "amax", "amin", "prod"), (True, False)):
        for rows in (False, True):
            if rows and (how == "sum" or len(shape) != 2 or own[1 - dim] != shape[1 - dim]):
                continue
            case: Case = kind, shape, own, dim, how, included, rows
            told.clear()
            here, (there, counted) = _reduced(case, "cpu")[0], _reduced(case, "npu")
            near = KINDS[kind]
            if not all(torch.allclose(a, b, near, near, equal_nan=True) for a, b in zip(here, there)):
                wrong.append(f"{case}: {here}, {there}")
            if told or counted.reads or sum(counted.copied.values()) > 8:
                wrong.append(f"{case}: {told}, {counted.text()}")
    return wrong


def composed() -> list[str]:
    """Return the reductions that the stand-in device does not compute by the device's row."""
    fake.replaced.clear()
    for how in ("sum", "mean", "amax", "amin"):  # the CPU has no kernel for in-place products
        _reduced((torch.float32, (4, 5), (6, 5), 0, how, False, False), "npu")
    return ["scatter_reduce"] * fake.replaced["scatter_reduce"]


if __name__ == "__main__":
    print(composed() + differing())

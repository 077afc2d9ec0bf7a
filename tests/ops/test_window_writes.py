"""Writes by position to windows whose elements share memory, beside torch."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]


def written(torch: Any, seed: int) -> Any:
    """One write to windows of a random tensor: what stands in memory then, and how often it was written."""
    chance = random.Random(seed)
    shape = chance.choice([(6,), (3, 5), (2, 4, 3)])
    kind = getattr(torch, chance.choice(["float32", "float64", "int64", "int32"]))
    count = 1
    for length in shape:
        count *= length
    base = (torch.arange(count) * 7 % 11).to(kind).reshape(shape)
    window = base.unfold(chance.randrange(len(shape)), 2, 1)
    if chance.random() < 0.3:
        window = window.transpose(chance.randrange(window.dim()), -1)
    if chance.random() < 0.2 and window.shape[0] > 1:
        window = window[1:]
    dim, rows = chance.randrange(window.dim()), chance.randrange(1, 4)
    index = torch.tensor([chance.randrange(window.shape[dim]) for _ in range(rows)])
    own = [rows if d == dim else length for d, length in enumerate(window.shape)]
    source = torch.ones(own, dtype=kind).cumsum(0).to(kind)
    every = (torch.arange(source.numel()) * 5 % window.shape[dim]).reshape(own)
    how = chance.choice(["add", "twice", "along", "fill", "combined", "combined along", "flat", "at", "kept"])
    if how == "add":
        window.index_add_(dim, index, source)
    elif how == "twice":
        window.index_add_(dim, index, source, alpha=2)
    elif how == "along":
        window.scatter_add_(dim, every, source)
    elif how == "fill":
        window.scatter_(dim, every, 3)
    elif how == "combined":
        window.index_reduce_(dim, index, source, chance.choice(["prod", "amax", "amin"]))
    elif how == "combined along":
        window.scatter_reduce_(dim, every, source, chance.choice(["sum", "prod", "amax", "amin"]))
    elif how == "flat":
        window.put_(torch.tensor([[0, 1], [window.numel() - 1, 0]]), torch.ones(2, 2, dtype=kind), accumulate=True)
    elif how == "at":
        first = index % window.shape[0]
        window.index_put_((first,), torch.tensor(2).to(kind), accumulate=True)
    else:
        window.index_fill_(dim, index, 9)
    return how, base, base._version


@pytest.mark.parametrize("seed", range(120))
def test_each_value_reaches_its_place(both: Both, seed: int) -> None:
    both(lambda torch: written(torch, seed))


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("write", [
    "w.index_add_(0, i, ones)", "w.index_add_(0, i, ones, alpha=2)", "w.scatter_add_(0, i[:, None], ones[:, :1])",
    "w.index_put_((i,), ones[0], accumulate=True)", "w.put_(i, ones[0], accumulate=True)", "w.scatter_(0, i[:, None], 9.0)",
    "w.index_reduce_(0, i, ones * 2, 'prod')",
])  # fmt: skip
def test_halves_go_by_a_copy_where_they_do_in_torch(both: Both, kind: str, write: str) -> None:
    def body(torch: Any) -> Any:
        base = torch.arange(5).to(getattr(torch, kind))
        names = {"w": base.unfold(0, 2, 1), "i": torch.tensor([0, 0]), "ones": torch.ones(2, 2, dtype=base.dtype)}
        exec(write, names)
        return base

    both(body)


@pytest.mark.parametrize("write", [
    "w.index_add_(0, torch.tensor([9]), torch.ones(1, 2))", "w.index_add_(0, torch.tensor([0]), torch.ones(2, 2))",
    "w.scatter_add_(0, torch.tensor([[9]]), torch.ones(1, 1))", "w.put_(torch.tensor([99]), torch.ones(1), accumulate=True)",
    "w.index_reduce_(0, torch.tensor([0]), torch.ones(1, 2), 'none')",
])  # fmt: skip
def test_a_mistake_writes_nothing(both: Both, write: str) -> None:
    def body(torch: Any) -> Any:
        base = torch.arange(5.0)
        names = {"w": base.unfold(0, 2, 1), "torch": torch}
        try:
            exec(write, names)
        except (RuntimeError, IndexError) as error:
            return type(error).__name__, base, base._version
        return base

    both(body)


@pytest.mark.parametrize("call", [
    "w.div_(0.5)", "w.mul_(s)", "w.add_(1)", "w.exp_()", "w.pow_(2)", "w.clamp_(1, 2)", "torch.neg_(w)", "w.addcmul_(w.detach().clone(), s)",
    "w.sqrt_()", "w.lerp_(torch.ones(()), 0.5)", "w.nan_to_num_()", "w.fmod_(3)", "w.mul_(2).add_(1)",
])  # fmt: skip
@pytest.mark.parametrize("window", ["t.unfold(0, 2, 1)", "t.as_strided((2, 3), (1, 1))", "t.unfold(0, 3, 2)", "t.unfold(0, 2, 1)[1:]"])
def test_overlapping_windows_with_a_history(both: Both, window: str, call: str) -> None:
    def body(torch: Any) -> Any:
        leaf, s = torch.arange(1.0, 6.0).requires_grad_(), torch.tensor(3.0, requires_grad=True)
        t = leaf * 1
        names = {"torch": torch, "t": t, "s": s}
        exec(f"w = {window}; {call}", names)
        (names["w"] * 2).sum().backward()
        return t, names["w"]._version, leaf.grad, s.grad

    both(body)

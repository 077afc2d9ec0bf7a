"""An operation reads all of its operands before it writes, whatever memory they share and however many elements there are."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mstorch as torch

# In-place operations on ``t`` of shape (n, 3) or similar, and the same with operands in separate memory.
PROGRAMS = {
    "t.div_(t[:, :1])": "t.div_(t[:, :1].clone())",
    "t.sub_(t[:1])": "t.sub_(t[:1].clone())",
    "t.mul_(t[-1, -1])": "t.mul_(t[-1, -1].clone())",
    "t.add_(t[0], alpha=2)": "t.add_(t[0].clone(), alpha=2)",
    "t.copy_(t[:, 1:2])": "t.copy_(t[:, 1:2].clone())",
    "t[...] = t[:, 2:]": "t[...] = t[:, 2:].clone()",
    "t[1:] = t[:1]": "t[1:] = t[:1].clone()",
    "t.fill_(t[0, 1])": "t.fill_(t[0, 1].clone())",
    "t /= t[:, 2:]": "t /= t[:, 2:].clone()",
    "t.addcmul_(t[0], t[:, :1])": "t.addcmul_(t[0].clone(), t[:, :1].clone())",
    "t.lerp_(t[:1], 0.25)": "t.lerp_(t[:1].clone(), 0.25)",
    "t.clamp_(max=t[:1])": "t.clamp_(max=t[:1].clone())",
    "t.pow_(t[:, :1])": "t.pow_(t[:, :1].clone())",
    "t.masked_fill_(t > 2, t[0, 0])": "t.masked_fill_(t > 2, t[0, 0].clone())",
    "t[:, 0].sub_(t[0, 0])": "t[:, 0].sub_(t[0, 0].clone())",
    "t[::2, 1:].add_(t[:1, :2])": "t[::2, 1:].add_(t[:1, :2].clone())",
    "torch.mul(t, t[:, :1], out=t)": "torch.mul(t.clone(), t[:, :1].clone(), out=t)",
    "torch.add(t[0], t[:, :1], out=t)": "torch.add(t[0].clone(), t[:, :1].clone(), out=t)",
    "torch.where(t > 3, t[:1], t[:, :1], out=t)": "torch.where(t > 3, t[:1].clone(), t[:, :1].clone(), out=t)",
    "torch.maximum(t, t[:1], out=t)": "torch.maximum(t.clone(), t[:1].clone(), out=t)",
    "torch.clamp(t, t[:1], t[:, 2:], out=t)": "torch.clamp(t.clone(), t[:1].clone(), t[:, 2:].clone(), out=t)",
    "torch.sum(t, 1, out=t[:, 0])": "torch.sum(t.clone(), 1, out=t[:, 0])",
    "torch.amax(t, 0, out=t[0])": "torch.amax(t.clone(), 0, out=t[0])",
    "torch.sqrt(t[:, :1].expand_as(t), out=t)": "torch.sqrt(t[:, :1].expand_as(t).clone(), out=t)",
    "t.masked_scatter_(t > 2, t)": "t.masked_scatter_(t > 2, t.clone())",
}
SIZES = [2, 100, 10_922, 10_923, 333_334]


def result_of(program: str, size: int, columns: bool) -> np.ndarray | None:
    """Return the elements of ``t`` after a program, or None if it raises."""
    memory = (torch.arange(3.0 * size) % 97 + 1) / 16
    t = memory.reshape(3, size).t() if columns else memory.reshape(size, 3)
    before = t.contiguous().numpy().copy()
    try:
        exec(program, {"torch": torch, "t": t})
    except RuntimeError as error:  # torch's own error if both views are dense
        assert "refer to a single memory location" in str(error)
        np.testing.assert_array_equal(before, t.contiguous().numpy())
        return None
    return t.contiguous().numpy()


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_operands_are_read_first(program: str, columns: bool) -> None:
    for size in SIZES:
        found = result_of(program, size, columns)
        if found is not None:
            np.testing.assert_array_equal(found, result_of(PROGRAMS[program], size, columns))


WINDOWS = ["t.unfold(0, 3, 1)", "t.as_strided((4, 5), (2, 1))", "t.as_strided((2, 2, 2), (1, 2, 1))"]
WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda w: w.add_(1), "mul_": lambda w: w.mul_(3), "neg_": lambda w: w.neg_(), "cumsum_": lambda w: w.cumsum_(-1),
}  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("write", WRITES)
def test_a_place_written_several_times_keeps_one_of_the_values(window: str, write: str) -> None:
    t = torch.arange(12.0) + 1
    shown, places = eval(window, {"t": t}), eval(window, {"t": torch.arange(12)})
    apart = shown.clone()
    WRITES[write](apart)
    WRITES[write](shown)
    for place in range(12):
        candidates = apart[places == place].tolist()
        assert t[place].item() in (candidates or [place + 1.0])


@pytest.mark.parametrize("index", [[0, 0, 1], [2, 2, 2]])
def test_added_values_of_one_place_are_summed(index: list[int]) -> None:
    t = torch.zeros(3)
    t.index_put_((torch.tensor(index),), torch.tensor([1.0, 2.0, 4.0]), accumulate=True)
    want = np.zeros(3, np.float32)
    np.add.at(want, index, [1, 2, 4])
    np.testing.assert_array_equal(t.numpy(), want)

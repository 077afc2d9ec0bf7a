"""Device collectives with different sizes per rank and groups in any order, over emulated HCCL in threads instead of processes."""
from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mstorch  # noqa: F401 - before its parts
from mstorch._src.backend import collectives
from mstorch._src.backend.raw import from_numpy
from mstorch.distributed._device_carrier import Begun, Carrier, _Row
from mstorch.distributed._types import ReduceOp

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def members_take_no_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are members here, which wait for each other; processes, which members are otherwise, have a lock each."""
    monkeypatch.setattr(collectives, "LOCK", nullcontext())


class _Native:
    """Emulate two of HCCL's calls for members that are threads and see each other's rows; members are in the order of their ranks."""

    def __init__(self, size: int) -> None:
        self.meet, self.held = threading.Barrier(size, timeout=30), {}
        self.me: dict[int, int] = {}

    def _met(self, mine: Any) -> list[np.ndarray]:
        self.held[self.me[threading.get_ident()]] = mine.asnumpy().copy()
        self.meet.wait()
        rows = [self.held[number] for number in sorted(self.held)]
        self.meet.wait()
        return rows

    def all_gather_into_tensor(self, output: Any, flat: Any, group: Any, async_op: bool) -> Any:
        output.asnumpy()[...] = np.concatenate(self._met(flat))
        return SimpleNamespace(wait=lambda: None)

    def all_gather(self, outputs: Any, flat: Any, group: Any, async_op: bool) -> Any:
        for output, row in zip(outputs, self._met(flat)):
            output.asnumpy()[...] = row
        return SimpleNamespace(wait=lambda: None)

    def reduce_scatter_tensor(self, output: Any, flat: Any, op: str, group: Any, async_op: bool) -> Any:
        rows = self._met(flat)
        output.asnumpy()[...] = np.split(sum(rows), len(rows))[self.me[threading.get_ident()]]
        return SimpleNamespace(wait=lambda: None)


def _row(*values: float, kind: Any = np.float32) -> _Row:
    return _Row(from_numpy(np.array(values, kind)))


def _values(rows: Any) -> list[list[float]]:
    return [row.raw.asnumpy().tolist() for row in rows]


def _each(ranks: list[int], call: Callable[[int, Carrier, Begun], Any]) -> list[Any]:
    """Return the result of each member, in the order of the group."""
    native, found = _Native(len(ranks)), [None] * len(ranks)

    def run(member: int) -> None:
        native.me[threading.get_ident()] = ranks[member]
        begun = Begun()
        give = call(member, Carrier(collectives.Communication(native), ranks, member, "group"), begun)
        begun.finish()
        found[member] = give()

    threads = [threading.Thread(target=run, args=(member,)) for member in range(len(ranks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_pieces_of_different_sizes_are_gathered() -> None:
    def call(me: int, carrier: Carrier, begun: Begun) -> Any:
        into = [[_row(0, 0, 0), _row(0, 0, kind=np.int32), _row(0)], [_row(0, 0), _row(0, kind=np.int32), _row()]]
        given = [[_row(1, 2, 3), _row(4, 5, kind=np.int32), _row(6)], [_row(7, 8), _row(9, kind=np.int32), _row()]][me]
        carrier.all_gather_pieces(begun, into, given)
        return lambda: [_values(rows) for rows in into]

    assert _each([0, 1], call) == [[[[1, 2, 3], [4, 5], [6]], [[7, 8], [9], []]]] * 2


@pytest.mark.parametrize("op", [ReduceOp.SUM, ReduceOp.AVG])
def test_pieces_of_different_sizes_are_reduced(op: ReduceOp) -> None:
    def call(me: int, carrier: Carrier, begun: Begun) -> Any:
        into = [[_row(0, 0, 0), _row(0)], [_row(0, 0), _row()]][me]
        carrier.reduce_scatter_pieces(begun, into, [[_row(1 + me, 2, 3), _row(4)], [_row(5, 6 + me), _row()]], op)
        return lambda: _values(into)

    by = 2 if op is ReduceOp.AVG else 1
    assert _each([0, 1], call) == [[[3 / by, 4 / by, 6 / by], [8 / by]], [[10 / by, 13 / by], []]]


@pytest.mark.parametrize("ranks", [[0, 1, 2], [2, 0, 1]])
def test_members_in_any_order(ranks: list[int]) -> None:
    """MindSpore orders members by rank; rows are passed and returned in the group's order."""

    def gathered(me: int, carrier: Carrier, begun: Begun) -> Any:
        into, whole = [_row(0, 0) for _ in ranks], _row(0, 0, 0)
        carrier.all_gather(begun, into, _row(me, me + 10))
        carrier.all_gather_row(begun, whole, _row(me))
        return lambda: (_values(into), _values([whole]))

    assert _each(ranks, gathered) == [([[0, 10], [1, 11], [2, 12]], [[0, 1, 2]])] * 3

    def reduced(me: int, carrier: Carrier, begun: Begun) -> Any:
        part, other = _row(0), _row(0)
        carrier.reduce_scatter(begun, part, [_row(place * 10 + me) for place in range(3)], ReduceOp.SUM)
        carrier.reduce_scatter_row(begun, other, _row(me, 10 + me, 20 + me), ReduceOp.SUM)
        return lambda: _values([part, other])

    assert _each(ranks, reduced) == [[[place * 30 + 3]] * 2 for place in range(3)]

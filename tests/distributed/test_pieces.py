"""What a device's carrier makes of pieces of different sizes, with HCCL's two calls played for two members in threads."""
from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np

import mstorch  # noqa: F401 - before its parts
from mstorch._backend import collectives
from mstorch._backend.raw import from_numpy
from mstorch.distributed._device_backend import _Carrier
from mstorch.distributed._types import ReduceOp


def _carriers() -> list[Any]:
    meet, held = threading.Barrier(2, timeout=30), {}

    def met(me: int, mine: Any) -> list[np.ndarray]:
        held[me] = mine.asnumpy().copy()
        meet.wait()
        both = [held[0], held[1]]
        meet.wait()
        return both

    def gathered(me: int, output: Any, flat: Any) -> None:
        output.asnumpy()[...] = np.concatenate(met(me, flat))

    def scattered(me: int, output: Any, flat: Any, op: str) -> None:
        output.asnumpy()[...] = np.split(sum(met(me, flat)), 2)[me]

    made = []
    for me in range(2):
        carrier = object.__new__(_Carrier)
        carrier._handle, carrier._ranks = me, [0, 1]
        carrier._native = SimpleNamespace(**{**vars(collectives), "all_gather": gathered, "reduce_scatter": scattered})
        made.append(carrier)
    return made


def _row(*values: float, kind: Any = np.float32) -> Any:
    return SimpleNamespace(flat=from_numpy(np.array(values, kind)))


def _both(call: Any) -> None:
    threads = [threading.Thread(target=call, args=(me, carrier)) for me, carrier in enumerate(_carriers())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_pieces_of_different_sizes_are_gathered() -> None:
    found = {}

    def call(me: int, carrier: Any) -> None:
        into = [[_row(0, 0, 0), _row(0, 0, kind=np.int32), _row(0)], [_row(0, 0), _row(0, kind=np.int32), _row()]]
        given = [[_row(1, 2, 3), _row(4, 5, kind=np.int32), _row(6)], [_row(7, 8), _row(9, kind=np.int32), _row()]][me]
        carrier.all_gather_pieces(None, into, given)
        found[me] = [[row.flat.asnumpy().tolist() for row in rows] for rows in into]

    _both(call)
    assert found == {me: [[[1, 2, 3], [4, 5], [6]], [[7, 8], [9], []]] for me in range(2)}


def test_pieces_of_different_sizes_are_reduced() -> None:
    found = {}

    def call(me: int, carrier: Any) -> None:
        into = [[_row(0, 0, 0), _row(0)], [_row(0, 0), _row()]][me]
        carrier.reduce_scatter_pieces(None, into, [[_row(1 + me, 2, 3), _row(4)], [_row(5, 6 + me), _row()]], ReduceOp.SUM)
        found[me] = [row.flat.asnumpy().tolist() for row in into]

    _both(call)
    assert found == {0: [[3, 4, 6], [8]], 1: [[10, 13], []]}

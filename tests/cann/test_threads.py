"""Threads compute on a device at once. MindSpore's queue of launches is made for one thread: without turns, five of eight such programs aborted, with
"The pointer[task] is null" or at the start of the queue.
"""
from __future__ import annotations

import threading

import pytest

import mstorch as torch
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow
THREADS = 8


@on_plugin(alone=True)
def test_threads_that_begin_at_once():
    start, wrong = threading.Barrier(THREADS), []

    def work(number: int) -> None:
        start.wait()
        try:
            x, one = torch.full((4, 6), float(number), device="npu"), torch.ones(6, device="npu")
            for _ in range(5):
                y = x
                for _ in range(20):
                    y = (y + one) * one
                if y[:, ::2].tolist() != [[number + 20.0] * 3] * 4:
                    wrong.append((number, y.tolist()))
                y[1:3, 1::2] = 0
                if y.sum().item() != 18 * (number + 20):
                    wrong.append((number, y.tolist()))
        except Exception as error:  # noqa: BLE001 - a thread's error does not fail the test by itself
            wrong.append((number, error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong

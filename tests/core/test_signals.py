"""Signals do not disturb native kernels, of sizes at which oneDNN's products use the stack pointer for something else.

Some seconds here; ``python -m tests.signals 60`` runs the whole.
"""
from __future__ import annotations

import threading

import pytest

import mstorch as torch
from mstorch._backend.onednn import signals as stacks
from mstorch._backend.onednn.library import FOUND
from tests import signals

pytestmark = pytest.mark.core


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("instructions", ["AVX2", ""])
def test_kernels_do_not_notice_signals(instructions: str, count: int) -> None:
    assert signals.disturbed(2, instructions, count, "400,700", "product") == ""


def test_other_kernels_do_not_notice_signals() -> None:
    assert signals.disturbed(8, "", 2, "400") == ""


@pytest.mark.skipif(not FOUND, reason="no oneDNN")
def test_each_thread_gives_handlers_a_stack_of_their_own() -> None:
    found = []

    def multiply() -> None:
        before = stacks.has_stack()
        torch.mm(torch.ones(200, 200), torch.ones(200, 200))
        found.append((before, stacks.has_stack()))

    for _ in range(3):  # threads follow one another in the same memory: each one's stack is gone with it
        thread = threading.Thread(target=multiply)
        thread.start()
        thread.join()
    assert stacks.has_stack()
    assert found == [(False, True)] * 3


def test_training_of_wide_layers_goes_on_after_an_interrupt() -> None:
    assert signals.check_interrupts(loops=9, steps=3) == []

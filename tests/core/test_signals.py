"""Signals do not disturb native kernels at sizes for which oneDNN's products use the stack pointer as a general register.

Some seconds here; ``python -m tests.signals 60`` runs the whole.
"""
from __future__ import annotations

import importlib
import inspect
import pkgutil
import threading

import pytest

import mstorch as torch
from mstorch._src.backend import onednn, table
from mstorch._src.backend.onednn import signals as stacks
from mstorch._src.backend.onednn.library import FOUND, FOUND_HALVES
from tests import signals, warm

pytestmark = [pytest.mark.slow, pytest.mark.core]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("instructions", ["AVX2", ""])
def test_kernels_do_not_notice_signals(instructions: str, count: int) -> None:
    told = signals.disturbed(0.2, instructions, count, "400,700", "matrix product")
    assert told.startswith("well: 12 kernels"), told


@pytest.mark.long
def test_other_kernels_do_not_notice_signals() -> None:
    told = signals.disturbed(0.1, "", 2, "400")
    assert told.startswith("well: "), told


# Functions that load or describe the library, or that run on other processors.
_APART = frozenset("_path _load _products_of_halves describe stream _address_by_name _sigaltstack has_stack _place_after".split())
# Functions that are used only for memory of a device, for a MindSpore tensor, or in a captured graph.
_OF_DEVICES = frozenset("expand linear_index select slice storage_gather storage_scatter lexicographic_order view_dtype permute reshape conv conv_transpose".split())


@pytest.mark.skipif(not FOUND or not FOUND_HALVES, reason="no oneDNN with bfloat16")
def test_the_kernels_that_are_disturbed_are_all() -> None:
    """The test's calls reach each function of oneDNN's files and each kernel that does not use NumPy."""
    script = "import mstorch, tests.native_kernels as n; mstorch.set_num_threads(2); print(*[f'{a}:{b}' for a, b in n.reached(400)], sep='\\n')"
    found = set(warm.said("-c", script).split("\n"))
    missing = []
    for part in pkgutil.iter_modules(onednn.__path__):
        module = importlib.import_module(f"{onednn.__name__}.{part.name}")
        for name, item in vars(module).items():
            function = getattr(item, "__wrapped__", item)
            own = inspect.isfunction(function) and function.__module__ == module.__name__ and name not in _APART
            if own and f"onednn/{part.name}.py:{function.__code__.co_name}" not in found:
                missing.append(f"{part.name}.{name}")
    for op, row in table.ROWS.items():
        if op not in table.HOST and op not in _OF_DEVICES and "CPU" in row.functions:
            code = row.functions["CPU"].__code__
            if f"{code.co_filename.rpartition('backend/')[2]}:{code.co_name}" not in found:
                missing.append(op)
    assert missing == []


@pytest.mark.skipif(not FOUND, reason="no oneDNN")
def test_each_thread_gives_handlers_a_stack_of_their_own() -> None:
    found = []

    def multiply() -> None:
        before = stacks.has_stack()
        torch.mm(torch.ones(200, 200), torch.ones(200, 200))
        found.append((before, stacks.has_stack()))

    for _ in range(3):  # later threads reuse the memory: each thread's signal stack must be removed at its end
        thread = threading.Thread(target=multiply)
        thread.start()
        thread.join()
    assert stacks.has_stack()
    assert found == [(False, True)] * 3


def test_training_of_wide_layers_goes_on_after_an_interrupt() -> None:
    assert signals.check_interrupts(loops=9, steps=3) == []

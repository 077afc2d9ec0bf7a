"""Threads beside one that captures graphs (``python -m tests.compile.beside 600`` runs for longer)."""
from __future__ import annotations

import threading

import pytest

import mstorch as torch
from mstorch._backend import trace
from tests.compile import beside


@pytest.mark.slow
def test_sixteen_threads() -> None:
    captures, runs, wrong = beside.run(8)
    assert wrong == [] and captures > 2 and runs > 100


def test_a_capture_belongs_to_its_thread() -> None:
    seen = []

    def other() -> None:
        seen.append((torch.compiler.is_compiling(), trace.current(), torch.rand(4, generator=torch.Generator().manual_seed(3)).tolist()))
        torch.rand(5)

    def body(x: object) -> object:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return x * 2 + torch.rand(3)  # type: ignore[operator]

    torch.manual_seed(0)
    wanted = torch.rand(4, generator=torch.Generator().manual_seed(3)).tolist()
    result = torch.compile(body, backend="mindspore")(torch.ones(3))
    assert result.shape == (3,) and bool((result >= 2).all())
    assert seen and all(one == (False, None, wanted) for one in seen)


def test_a_capture_takes_no_numbers_of_the_common_stream() -> None:
    torch.manual_seed(0)
    first, second = torch.rand(3), torch.rand(3)
    torch.manual_seed(0)
    made = torch.compile(lambda x: x + torch.rand(3), backend="mindspore")
    assert torch.equal(made(torch.zeros(3)), first) and torch.equal(made(torch.zeros(3)), second)

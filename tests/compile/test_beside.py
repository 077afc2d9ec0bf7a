"""Threads beside one that captures graphs (``python -m tests.compile.beside 600`` runs for longer)."""
from __future__ import annotations

import threading

import mindspore
import pytest

import mstorch as torch
from mstorch._src.backend import trace
from tests.compile import beside


@pytest.mark.slow
def test_sixteen_threads() -> None:
    captures, runs, wrong = beside.run(8)
    assert wrong == [] and captures > 2 and runs > 100


def test_a_capture_belongs_to_its_thread() -> None:
    wanted = torch.rand(4, generator=torch.Generator().manual_seed(3)).tolist()
    seen = []

    def other() -> None:
        seen.append((torch.compiler.is_compiling(), trace.current(), torch.rand(4, generator=torch.Generator().manual_seed(3)).tolist()))

    def body(context: trace.Capture) -> list[object]:
        seen.append(torch.compiler.is_compiling())
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return [mindspore.ops.add(raw, raw)]

    raw = mindspore.Tensor([1.0, 2.0])
    graph, context = trace.capture(body, [raw])
    assert seen == [True, (False, None, wanted)] and not context.draws
    assert graph is not None and graph([raw])[0].asnumpy().tolist() == [2.0, 4.0]


def test_a_capture_takes_no_numbers_of_the_common_stream() -> None:
    torch.manual_seed(0)
    first, second = torch.rand(3), torch.rand(3)
    torch.manual_seed(0)
    made = torch.compile(lambda x: x + torch.rand(3), backend="mindspore")
    assert torch.equal(made(torch.zeros(3)), first) and torch.equal(made(torch.zeros(3)), second)

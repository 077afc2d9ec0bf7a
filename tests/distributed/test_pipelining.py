"""Pipelines of two and four processes with one or several stages each, compared with torch's and with one process.
"""
from __future__ import annotations

import importlib

import pytest

from tests.chosen import chosen
from tests.distributed import pipelining_cases, together

pytestmark = pytest.mark.slow

NAMES = [name for name in vars(pipelining_cases) if name.startswith("case_")]
UNBUILT = ["pipeline", "pipe_split", "build_stage", "Pipe", "ScheduleInterleavedZeroBubble", "ScheduleZBVZeroBubble", "ScheduleDualPipeV"]


@pytest.fixture(scope="module")
def of_four(request):
    return [together.run(library, pipelining_cases.__name__, 4, cases=chosen(request)) for library in ("torch", "mstorch")]


def agree(name, want, got, tolerance=1e-5):
    for rank, (one, other) in enumerate(zip(want, got, strict=True)):
        assert not isinstance(one[name], tuple) or one[name][0] != "error", one[name]
        together.same(one[name], other[name], f"rank {rank}", tolerance, tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_as_torch(of_two, name):
    agree(name, *of_two)


@pytest.mark.parametrize("name", NAMES)
def test_four_processes(of_four, name):
    agree(name, *of_four)


@pytest.mark.parametrize("name", UNBUILT)
def test_what_is_not_here_raises_by_name(name):
    found = getattr(importlib.import_module("mstorch.distributed.pipelining"), name)
    with pytest.raises(NotImplementedError, match=rf"pipelining(\.\w+)?\.{name}"):
        found()

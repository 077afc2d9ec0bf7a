"""Pipelines of two stages, and of more, in two processes, beside torch's and beside one process."""
from __future__ import annotations

import importlib

import pytest

from tests.distributed import pipelining_cases, together

pytestmark = pytest.mark.slow

NAMES = [name for name in vars(pipelining_cases) if name.startswith("case_")]


@pytest.mark.parametrize("name", NAMES)
def test_as_torch(of_two, name):
    for rank, (want, got) in enumerate(zip(*of_two)):
        together.same(want[name], got[name], f"rank {rank}", rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["pipeline", "pipe_split", "build_stage", "Pipe", "ScheduleInterleavedZeroBubble", "ScheduleZBVZeroBubble", "ScheduleDualPipeV"])
def test_what_is_not_here_raises_by_name(name):
    found = getattr(importlib.import_module("mstorch.distributed.pipelining"), name)
    with pytest.raises(NotImplementedError, match=rf"pipelining(\.\w+)?\.{name}"):
        found()

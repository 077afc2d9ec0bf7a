"""Meshes, DTensor, fully_shard and tensor parallelism in two processes, beside torch's."""
from __future__ import annotations

import pytest

from tests.distributed import sharded_cases, together

NAMES = [name for name in vars(sharded_cases) if name.startswith("case_")]


@pytest.fixture(scope="module", params=[2])
def results(request):
    return [together.run(library, sharded_cases.__name__, request.param) for library in ("torch", "mstorch")]


@pytest.mark.parametrize("name", NAMES)
def test_as_torch(results, name):
    for rank, (want, got) in enumerate(zip(*results)):
        together.same(want[name], got[name], f"rank {rank}", rtol=1e-4, atol=1e-5)

"""DistributedDataParallel and differentiable collectives in two processes, beside torch's."""
from __future__ import annotations

import pytest

from tests.distributed import parallel_cases, together

NAMES = [name for name in vars(parallel_cases) if name.startswith("case_")]


@pytest.fixture(scope="module", params=[2])
def results(request):
    return [together.run(library, parallel_cases.__name__, request.param) for library in ("torch", "mstorch")]


@pytest.mark.parametrize("name", NAMES)
def test_as_torch(results, name):
    for rank, (want, got) in enumerate(zip(*results)):
        together.same(want[name], got[name], f"rank {rank}", rtol=1e-5, atol=1e-5)

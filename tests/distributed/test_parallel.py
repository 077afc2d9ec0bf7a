"""DistributedDataParallel and differentiable collectives in two processes, compared with torch's."""
from __future__ import annotations

import pytest

from tests.distributed import parallel_cases, together

pytestmark = pytest.mark.slow

NAMES = [name for name in vars(parallel_cases) if name.startswith("case_")]


@pytest.mark.parametrize("name", NAMES)
def test_as_torch(of_two, name):
    for rank, (want, got) in enumerate(zip(*of_two)):
        together.same(want[name], got[name], f"rank {rank}", rtol=1e-5, atol=1e-5)

"""Collectives of two and of four processes, compared with torch's gloo."""
from __future__ import annotations

import pytest

from tests.chosen import chosen
from tests.distributed import collective_cases, together

pytestmark = pytest.mark.slow

NAMES = [name for name in vars(collective_cases) if name.startswith("case_")]


@pytest.fixture(scope="module", params=[2, 4])
def results(request):
    return [together.run(library, collective_cases.__name__, request.param, cases=chosen(request)) for library in ("torch", "mstorch")]


@pytest.mark.parametrize("name", NAMES)
def test_as_gloo(results, name):
    for rank, (want, got) in enumerate(zip(*results)):
        together.same(want[name], got[name], f"rank {rank}")

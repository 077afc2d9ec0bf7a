"""Two processes of mstorch, on the CPU and on the stand-in device: cases that torch refuses on the CPU, and cases that depend on time."""
from __future__ import annotations

import pytest

from tests.chosen import chosen
from tests.distributed import own_cases, together

pytestmark = pytest.mark.slow

NAMES = [name for name in vars(own_cases) if name.startswith("case_")]


@pytest.fixture(scope="module", params=["cpu", "npu"])
def results(request):
    return together.run("mstorch", own_cases.__name__, 2, request.param, cases=chosen(request))


@pytest.mark.parametrize("name", NAMES)
def test_it_holds(results, name):
    assert [one[name] for one in results] == [None, None]

"""Two processes of mstorch, on the CPU and on MindSpore's Ascend plugin: cases that torch refuses on the CPU, and cases that depend on time."""
from __future__ import annotations

import pytest

from tests.cann.build import missing
from tests.chosen import chosen
from tests.distributed import own_cases, together

pytestmark = pytest.mark.slow

NAMES = [name for name in vars(own_cases) if name.startswith("case_")]
FATAL = "case_different_sizes"
"""HCCL refuses it late, and then everything: tests/cann/test_two_devices.py has it."""


@pytest.fixture(scope="module", params=["cpu", pytest.param(together.ON_PLUGIN, marks=pytest.mark.skipif(bool(missing()), reason=missing()))])
def results(request):
    cases = [name for name in chosen(request) if request.param == "cpu" or name != FATAL]
    return together.run("mstorch", own_cases.__name__, 2, request.param, cases=cases)


@pytest.mark.parametrize("name", NAMES)
def test_it_holds(results, name):
    if name == FATAL and name not in results[0]:
        pytest.skip("HCCL ends the processes")
    assert [one[name] for one in results] == [None, None]

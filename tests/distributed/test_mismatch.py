"""Calls of two processes of mstorch that do not match raise torch's error in both (torch's own only at debug level DETAIL)."""
from __future__ import annotations

import pytest

from tests.chosen import chosen
from tests.distributed import mismatch_cases, together

pytestmark = pytest.mark.slow

NAMES = [name for name in vars(mismatch_cases) if name.startswith("case_")]


@pytest.fixture(scope="module")
def results(request):
    return together.run("mstorch", mismatch_cases.__name__, 2, cases=chosen(request))


@pytest.mark.parametrize("name", NAMES)
def test_it_holds(results, name):
    assert [one[name] for one in results] == [None, None]

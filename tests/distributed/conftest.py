"""Results of two processes of torch and of mstorch, which run the cases of several modules in one start."""
from __future__ import annotations

import pytest

from tests.chosen import chosen
from tests.distributed import algorithm_cases, flat_cases, parallel_cases, pipelining_cases, sharded_cases, together

MODULES = (parallel_cases, sharded_cases, flat_cases, algorithm_cases, pipelining_cases)


@pytest.fixture(scope="session")
def of_two(request):
    names = ",".join(module.__name__ for module in MODULES)
    return [together.run(library, names, 2, cases=chosen(request)) for library in ("torch", "mstorch")]

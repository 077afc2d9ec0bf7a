"""``TORCH_DISTRIBUTED_DEBUG=DETAIL``: mismatched calls raise an error that names them, in two processes of torch and of mstorch."""
from __future__ import annotations

import pytest

from tests.chosen import chosen
from tests.distributed import compared_cases, parallel_cases, sharded_cases, together

pytestmark = pytest.mark.slow

NAMES = [name for name in vars(compared_cases) if name.startswith("case_")]


@pytest.fixture(scope="module")
def results(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_DISTRIBUTED_DEBUG", "DETAIL")
        return [together.run(library, compared_cases.__name__, 2, cases=chosen(request)) for library in ("torch", "mstorch")]


@pytest.mark.parametrize("name", NAMES)
def test_as_gloo(results, name):
    for rank, (want, got) in enumerate(zip(*results)):
        together.same(want[name], got[name], f"rank {rank}")
    if name != "case_what_matches":
        assert all(one[name][0] is not None for one in results[1])


@pytest.fixture(scope="module")
def under_detail(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_DISTRIBUTED_DEBUG", "DETAIL")
        return together.run("mstorch", f"{parallel_cases.__name__},{sharded_cases.__name__}", 2, cases=chosen(request))


@pytest.mark.parametrize("name", [name for module in (parallel_cases, sharded_cases) for name in vars(module) if name.startswith("case_")])
def test_training_under_detail_is_training(of_two, under_detail, name):
    """DistributedDataParallel, shards, and collectives with different sizes per process raise nothing."""
    for rank, (want, got) in enumerate(zip(of_two[1], under_detail)):
        together.same(want[name], got[name], f"rank {rank}")

"""``TORCH_DISTRIBUTED_DEBUG=DETAIL``: calls that do not match end in an error that names them, in two processes of torch and of mstorch."""
from __future__ import annotations

import pytest

from tests.distributed import compared_cases, parallel_cases, sharded_cases, together

pytestmark = pytest.mark.slow

NAMES = [name for name in vars(compared_cases) if name.startswith("case_")]


@pytest.fixture(scope="module")
def results():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_DISTRIBUTED_DEBUG", "DETAIL")
        return [together.run(library, compared_cases.__name__, 2) for library in ("torch", "mstorch")]


@pytest.mark.parametrize("name", NAMES)
def test_as_gloo(results, name):
    for rank, (want, got) in enumerate(zip(*results)):
        together.same(want[name], got[name], f"rank {rank}")
    if name != "case_what_matches":
        assert all(one[name][0] is not None for one in results[1])


def test_training_under_detail_is_training(of_two, monkeypatch):
    """DistributedDataParallel, parts of parameters, and what takes pieces of other sizes in each process."""
    names = ",".join(module.__name__ for module in (parallel_cases, sharded_cases))
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "DETAIL")
    for rank, (want, got) in enumerate(zip(of_two[1], together.run("mstorch", names, 2))):
        together.same({name: want[name] for name in got}, got, f"rank {rank}")

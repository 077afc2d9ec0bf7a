"""The cases of tests/distributed between devices of MindSpore's Ascend plugin, over the emulation's HCCL: they agree with the CPU's, and have the
same bits when collectives begin 20 ms late, so that nobody reads a result, or frees its memory, without having waited.
"""
from __future__ import annotations

import pytest

from tests.cann.build import missing
from tests.chosen import chosen
from tests.distributed import (
    algorithm_cases,
    collective_cases,
    flat_cases,
    gpt_cases,
    parallel_cases,
    pipelining_cases,
    placed_cases,
    sharded_cases,
    together,
)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

MODULES = [collective_cases, sharded_cases, flat_cases, placed_cases, parallel_cases, algorithm_cases, gpt_cases, pipelining_cases]
OF_THE_CPU = {  # other names, errors, generators
    "case_meshes", "case_refused_without_an_accelerator", "case_sampler", "case_errors", "case_refused_schedules", "case_chunks", "case_dropout",
}  # fmt: skip
BITS = {name for name in vars(collective_cases) if name.startswith("case_")} | {"case_differentiable", "case_functional"}
NAMES = [name for module in MODULES for name in vars(module) if name.startswith("case_") and name not in OF_THE_CPU]


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.long)])
def of_three(request: pytest.FixtureRequest) -> list[list[dict]]:
    """Return each process's results: on the CPU, on the plugin, and on the plugin with delays."""
    modules, cases = ",".join(module.__name__ for module in MODULES), chosen(request)
    return [
        together.run("mstorch", modules, request.param, place, True, cases, **changes)
        for place, changes in (("cpu", {}), (together.ON_PLUGIN, {}), (together.ON_PLUGIN, {"EMULATED_HCCL_DELAY_MS": 20}))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_as_on_the_cpu(of_three: list[list[dict]], name: str) -> None:
    for rank, (want, got, again) in enumerate(zip(*of_three)):
        assert not isinstance(want[name], tuple) or want[name][0] != "error", want[name]
        together.same(want[name], got[name], f"rank {rank}", *((0, 0) if name in BITS else (1e-4, 1e-5)))
        together.same(got[name], again[name], f"rank {rank}, delayed", 0, 0)


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.long)])
def test_dropout_in_stages_with_the_numbers_of_the_host(size: int) -> None:
    """A device draws a dropout itself; with the host's numbers it is the CPU's."""
    module, cases = pipelining_cases.__name__, ["case_dropout"]
    late = {"MSTORCH_DEVICE_RANDOM": "host", "EMULATED_HCCL_DELAY_MS": 20}
    wanted = together.run("mstorch", module, size, "cpu", True, cases)
    for rank, (want, got) in enumerate(zip(wanted, together.run("mstorch", module, size, together.ON_PLUGIN, True, cases, **late))):
        together.same(want["case_dropout"], got["case_dropout"], f"rank {rank}", 1e-4, 1e-5)

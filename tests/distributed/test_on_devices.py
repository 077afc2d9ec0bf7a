"""All cases with tensors on the stand-in device, over emulated HCCL, in two and in four processes.

Beside gloo on the CPU: what only moves or combines tensors has the same bits; what is computed is as near as kernels are.
Beside the same kernels with gloo's functions as the carrier: all of it has the same bits.
"""
from __future__ import annotations

import pytest

from tests.chosen import chosen
from tests.distributed import (
    algorithm_cases,
    collective_cases,
    flat_cases,
    gpt_cases,
    parallel_cases,
    placed_cases,
    sharded_cases,
    together,
)

pytestmark = pytest.mark.slow

MODULES = [collective_cases, sharded_cases, flat_cases, placed_cases, parallel_cases, algorithm_cases, gpt_cases]
OF_THE_CPU = {"case_meshes", "case_refused_without_an_accelerator", "case_sampler", "case_errors"}  # other names, errors, generators
BITS = {name for name in vars(collective_cases) if name.startswith("case_")} | {"case_differentiable", "case_functional"}
NAMES = [name for module in MODULES for name in vars(module) if name.startswith("case_") and name not in OF_THE_CPU]


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.long)])
def of_three(request: pytest.FixtureRequest) -> list[list[dict]]:
    """Return each process's results: on the CPU, on the device, and on the device with gloo's functions."""
    modules = ",".join(module.__name__ for module in MODULES)
    return [together.run("mstorch", modules, request.param, place, as_hccl=True, cases=chosen(request)) for place in ("cpu", "npu", "npu by gloo")]


@pytest.mark.parametrize("name", NAMES)
def test_as_on_the_cpu(of_three: list[list[dict]], name: str) -> None:
    for rank, (want, got, again) in enumerate(zip(*of_three)):
        assert not isinstance(want[name], tuple) or want[name][0] != "error", want[name]
        exact = name in BITS
        together.same(want[name], got[name], f"rank {rank}", *((0, 0) if exact else (1e-4, 1e-5)))
        together.same(again[name], got[name], f"rank {rank}, by gloo", 0, 0)

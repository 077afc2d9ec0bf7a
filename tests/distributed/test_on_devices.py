"""Data parallelism, sharding, DTensor and checkpoints of tensors on the stand-in device: two processes, beside those of the CPU."""
from __future__ import annotations

import pytest

from tests.distributed import flat_cases, parallel_cases, placed_cases, sharded_cases, together

MODULES = [sharded_cases, flat_cases, placed_cases, parallel_cases]
OF_THE_CPU = {"case_meshes", "case_refused_without_an_accelerator", "case_sampler"}  # whose names or errors differ, or the default generator
NAMES = [name for module in MODULES for name in vars(module) if name.startswith("case_") and name not in OF_THE_CPU]


@pytest.fixture(scope="module")
def of_both() -> tuple[list[dict], list[dict]]:
    """Each process's results, on the CPU and on the device."""
    modules = ",".join(module.__name__ for module in MODULES)
    return together.run("mstorch", modules, 2), together.run("mstorch", modules, 2, "npu")


@pytest.mark.parametrize("name", NAMES)
def test_as_on_the_cpu(of_both: tuple[list[dict], list[dict]], name: str) -> None:
    for rank, (want, got) in enumerate(zip(*of_both)):
        assert not isinstance(want[name], tuple) or want[name][0] != "error", want[name]
        together.same(want[name], got[name], f"rank {rank}", rtol=1e-4, atol=1e-5)

"""The scripts of examples/npu on MindSpore's Ascend plugin, by the commands of their page, print what they print on the CPU."""
from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cann.build import environment, missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "examples" / "npu"
RUN = ("mstorch.distributed.run", "--nproc-per-node", "2")
LAUNCH = ("mstorch", "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--mixed_precision", "no", "--dynamo_backend", "no")
# The commands of the page: the number of NPUs, what stands before the script and after it, and the packages that it needs.
RECIPES = {
    "loop": (1, ("mstorch",), "loop.py", (), ()),
    "ddp": (2, RUN, "ddp.py", (), ()),
    "fsdp": (2, RUN, "ddp.py", ("fsdp",), ()),
    "trainer": (1, ("mstorch",), "trainer.py", (), ("transformers", "accelerate")),
    "generate": (1, ("mstorch",), "generate.py", (), ("transformers",)),
    "accelerate": (1, ("mstorch",), "accelerated.py", (), ("accelerate",)),
    "accelerate launch": (2, LAUNCH, "accelerated.py", (), ("accelerate",)),
    "lightning": (1, ("mstorch", "--cuda-is-npu"), "lightning_fit.py", (), ("lightning",)),
}


def _printed(command: list[str], environment: dict[str, str]) -> list[str]:
    """Return what the lines ``step N: …`` of a program say."""
    folders = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    environment = {**environment, "PYTHONPATH": folders, "GLOG_v": "3"}
    ran = subprocess.run(command, cwd=SCRIPTS, env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    lines = re.findall(r"^step \d+: (.+)$", ran.stdout, re.M)
    assert lines, ran.stdout + ran.stderr[-3000:]
    return lines


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_gives_the_numbers_of_the_cpu(name: str) -> None:
    devices, before, script, after, needed = RECIPES[name]
    for package in needed:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    alone = before[:1] if devices == 1 or before is LAUNCH else before
    on_cpu = _printed([sys.executable, "-m", *alone, script, *after], {**os.environ, "MSTORCH_FAKE_DEVICE": ""})
    several = environment(EMULATED_CANN_DEVICES=devices, EMULATED_CANN_MEMORY_MB=2048, HCCL_EXEC_TIMEOUT=120)
    on_npu = _printed([sys.executable, "-m", *before, script, *after], several)
    if name == "generate":
        assert on_npu == on_cpu
    else:
        assert len(on_cpu) == len(on_npu) == 8
        assert [float(line) for line in on_npu] == pytest.approx([float(line) for line in on_cpu], abs=2e-3)


def test_the_page_lists_every_script() -> None:
    text = (SCRIPTS / "README.md").read_text("utf-8")
    assert set(re.findall(r"\((\w+\.py)\)", text)) == {path.name for path in SCRIPTS.glob("*.py")}

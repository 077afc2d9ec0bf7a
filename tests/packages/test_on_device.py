"""Packages on a device: the stand-in gives the CPU's numbers, job by job (device_jobs.py). A package that is not installed is left out."""
from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.packages.record import FOLDER
from tests.packages.test_packages import PYTHON, _installed

ROOT = FOLDER.parents[1]
PACKAGES = ("accelerate", "diffusers", "lightning", "peft", "timm", "torchmetrics", "transformers", "trl")
MODULE = "tests.packages.device_jobs"
_OFFLINE = {"HF_HUB_OFFLINE": "1", "WANDB_DISABLED": "1", "TOKENIZERS_PARALLELISM": "false", "GLOG_v": "3", "PYTHONWARNINGS": "ignore"}
pytestmark = pytest.mark.slow


def _jobs(place: str, *command: str, **variables: str) -> dict[str, Any]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, **_OFFLINE, "PYTHONPATH": path, **variables}
    environment.pop("MSTORCH_FAKE_DEVICE", None)
    if place == "npu":
        environment |= {"MSTORCH_FAKE_DEVICE": "Ascend", "MSTORCH_FAKE_DEVICES": "2"}
    done = subprocess.run([PYTHON, "-m", "mstorch", *command, place], cwd=ROOT, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("JOB "))


def apart(want: Any, got: Any) -> float:
    """Return the largest difference of two results, relative for numbers above 1; infinite if they differ otherwise."""
    if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        return max((apart(want[key], got[key]) for key in want), default=0.0)
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return max(map(apart, want, got), default=0.0)
    if isinstance(want, float) and isinstance(got, float) and math.isfinite(want) and math.isfinite(got):
        return abs(want - got) / max(1.0, abs(want))
    return 0.0 if want == got else math.inf


def _compare(want: dict[str, Any], got: dict[str, Any]) -> None:
    assert want.keys() == got.keys() and want
    for name, result in want.items():
        assert apart(result, got[name]) <= (1e-2 if name.endswith("bf16") else 1e-5), name


@pytest.mark.parametrize("package", PACKAGES)
def test_as_on_the_cpu(package: str) -> None:
    if not _installed(package):
        pytest.skip(f"{package} is not installed")
    _compare(_jobs("cpu", "-m", MODULE, package), _jobs("npu", "-m", MODULE, package))


def test_lightning_chooses_the_device_that_cuda_names() -> None:
    if not _installed("lightning"):
        pytest.skip("lightning is not installed")
    _compare(_jobs("cpu", "-m", MODULE, "lightning"), _jobs("npu", "--cuda-is-npu", "-m", MODULE, "lightning"))


def test_accelerate_launches_two_processes() -> None:
    if not _installed("accelerate"):
        pytest.skip("accelerate is not installed")
    options = ("--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--module", MODULE, "accelerate")
    launch = ("-m", "accelerate.commands.launch")
    want = _jobs("cpu", *launch, "--multi_gpu", *options, ACCELERATE_USE_CPU="true")
    assert want["accelerate_training"][1] == 2
    _compare(want, _jobs("npu", *launch, *options))


@pytest.mark.long
def test_examples_of_transformers_in_two_processes() -> None:
    if not _installed("transformers") or not _installed("accelerate"):
        pytest.skip("transformers or accelerate is not installed")
    command = ("-m", "mstorch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "tests.packages.two_jobs")
    want = _jobs("cpu", *command)
    assert len(want) == 3 and want["language_model"][-1] == 2
    _compare(want, _jobs("npu", *command))


def test_comparison_sees_differences() -> None:
    assert apart({"a": [1.0, 2.0]}, {"a": [1.0, 2.5]}) == 0.25 and apart([1], [2]) == apart([1.0], []) == apart(1.0, math.nan) == math.inf


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PACKAGES:
        first, second = (_jobs(place, "-m", MODULE, chosen) for place in ("cpu", "npu"))
        print(chosen, {name: apart(first[name], second[name]) for name in first})

"""Jobs of packages on MindSpore's own Ascend plugin, with CANN emulated below it, beside the same jobs on the CPU.

    MSTORCH_DEVICE_RANDOM=host python -m tests.cann python -m tests.packages.on_plugin [--path SITE_PACKAGES] [PACKAGE …]

Each package has a process of its own. A job of ``jobs/`` makes its tensors on the device by ``torch.set_default_device``; those of
``device_jobs.py`` move what they need. Random numbers are the CPU's. A job counts if operators were called on the device for it. Jobs that
name the CPU themselves (they call ``numpy()``, or mix devices) raise what torch raises for another device; they are told apart.
"""
from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 200
MODULES = {"tensorboard_": "tensorboard", "torchvision_detection": "torchvision", "torchvision_io": "torchvision", "torch_geometric_examples": "torch_geometric", "optimum_quanto": "optimum"}
NAMES_THE_CPU = (
    "device type tensor to numpy", "on the same device", "device type for generator", "indices should be either on", "same device as the",
    "only CPU", "must be on the CPU", "should be on CPU", "on different devices", "Expected all tensors", "to be on cpu", "expected cpu",
)  # fmt: skip
"""What torch says to a program whose tensors are partly on the CPU."""
EXPLAINED = {
    "timm.timm_training (moved)": "one of 16,384 inputs of a ReLU is 1.9e-6 and rounds to the other side of 0, in a layer whose results are as near to "
    "float64's as the CPU's (1.1e-6): its gradient is that of a kink",
    "torchvision.transforms_v2": "torchvision resizes bytes in single precision but on a CPU, whose kernel rounds twice: 298 of 1,728 differ by 1, as on CUDA",
}  # fmt: skip
"""Why results of a job cannot be the CPU's."""


def _jobs(package: str) -> dict[str, tuple[Callable[..., Any], bool]]:
    """Return the jobs of a package by name, and whether they take the device."""
    from tests.packages import device_jobs
    from tests.packages.run import jobs

    known: dict[str, tuple[Callable[..., Any], bool]] = {}
    if importlib.util.find_spec(f"tests.packages.jobs.{package}"):
        known |= {name: (job, False) for name, job in jobs(package).items()}  # type: ignore[misc]
    known |= {f"{name} (moved)": (job, True) for name, job in vars(device_jobs).items() if name.startswith(f"{package}_") and callable(job)}
    return known


def _constants_moved(job: Callable[..., Any], place: str) -> dict[str, Any]:
    """Move the tensors that a job's module has as constants, made at its import, to a place. Return them as they were."""
    import torch

    names = vars(sys.modules[job.__module__])
    constants = {name: value for name, value in names.items() if isinstance(value, torch.Tensor)}
    names.update({name: value.to(place) for name, value in constants.items()})
    return constants


def _outcome(job: Callable[..., Any], moved: bool, place: str) -> Any:
    """Return a job's report in an empty folder, with fixed seeds."""
    import numpy as np
    import torch

    from tests.packages.reports import told

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        constants: dict[str, Any] = {}
        if not moved and place != "cpu":
            constants = _constants_moved(job, place)
            torch.set_default_device(place)
        try:
            return told(job(place) if moved else job())
        finally:
            torch.set_default_device(None)
            vars(sys.modules[job.__module__]).update(constants)
            os.chdir("/")


def _told(error: BaseException) -> str:
    """Return an error and what caused it: libraries put errors of their own around torch's."""
    told = f"{type(error).__name__}: {error}"
    return told if error.__cause__ is None else f"{told} <- {_told(error.__cause__)}"


def _called() -> int:
    with open(os.environ["EMULATED_CANN_CALLS"], "rb") as file:
        return sum(1 for _ in file)


def run_package(package: str) -> None:
    """Print a line for each job of a package: what became of it, its calls of ACLNN, and how it differs."""
    from tests.packages.reports import differences

    warnings.simplefilter("ignore")
    for name, (job, moved) in _jobs(package).items():
        try:
            want = _outcome(job, moved, "cpu")
        except Exception as error:  # noqa: BLE001 - it is no program for a device then
            print(f"JOB cpu {package}.{name}: {type(error).__name__}: {str(error)[:200]!r}", flush=True)
            continue
        before, told = _called(), ""
        try:
            apart = differences(want, _outcome(job, moved, "npu"), tolerance=1e-2 if "bf16" in name else 1e-4)
            why = EXPLAINED.get(f"{package}.{name}", "")
            kind = "same" if not apart else "explained" if why else "differs"
            told = "; ".join([*apart[:2], why])[:500]
        except Exception as error:  # noqa: BLE001 - it is told
            text = _told(error)
            kind, told = ("names-cpu" if any(words in text for words in NAMES_THE_CPU) else "raises"), repr(text[:300])
            if os.environ.get("TRACEBACK"):
                traceback.print_exc()
        calls = _called() - before
        print(f"JOB {'idle' if kind == 'same' and not calls else kind} {package}.{name}: {calls} calls {told}", flush=True)


def main() -> int:
    """Run packages, and print how many jobs became what."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--path")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for the jobs of one package")
    parser.add_argument("--one", action="store_true", help="in this process")
    parser.add_argument("packages", nargs="*")
    options = parser.parse_args()
    if options.one:
        run_package(options.packages[0])
        return 0
    if options.path:
        sys.path.append(options.path)
    paths = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), options.path)))
    everything = sorted(path.stem for path in (ROOT / "tests/packages/jobs").glob("*.py") if path.stem != "__init__")
    totals: Counter[str] = Counter()
    for package in options.packages or everything:
        if importlib.util.find_spec(MODULES.get(package, package)) is None:
            continue
        began = time.monotonic()
        with tempfile.NamedTemporaryFile() as calls:
            offline = dict.fromkeys(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "WANDB_DISABLED"), "1") | {"TOKENIZERS_PARALLELISM": "false"}
            variables = {**os.environ, **offline, "PYTHONPATH": paths, "EMULATED_CANN_CALLS": calls.name}
            command = [sys.executable, "-W", "ignore", "-m", "mstorch", "-m", "tests.packages.on_plugin", "--one", package]
            with tempfile.TemporaryFile("w+") as said:
                try:
                    code: Any = subprocess.run(command, env=variables, stdout=said, stderr=subprocess.STDOUT, timeout=options.seconds, check=False).returncode
                except subprocess.TimeoutExpired:
                    code = f"{options.seconds} s"
                said.seek(0)
                lines = said.read().splitlines()
        for line in lines:
            if line.startswith("JOB "):
                totals[line.split()[1]] += 1
                print(line[4:], flush=True)
        if code:
            totals["ended"] += 1
            print(f"ended {package}: {code} {' | '.join(lines[-3:])[-400:]}", flush=True)
        print(f"# {package}: {time.monotonic() - began:.0f} s", flush=True)
    print(", ".join(f"{number} {kind}" for kind, number in totals.most_common()))
    return int(bool(totals["differs"] + totals["raises"] + totals["ended"]))


if __name__ == "__main__":
    sys.exit(main())

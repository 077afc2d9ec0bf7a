"""Run one job with the torch of this process and print its report as JSON: ``run.py <package> <job>``; ``run.py <package>`` lists jobs."""
from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


OF_LIBRARY = {"torchvision_detection", "torchvision_io"}
"""Jobs recorded with a torch that torchvision's library was compiled for."""


def jobs(package: str) -> dict[str, object]:
    """Return the jobs of a package by name."""
    module = importlib.import_module(f"tests.packages.jobs.{package}")
    return {name.removeprefix("job_"): value for name, value in vars(module).items() if name.startswith("job_")}


def _declare_torchvision(torch: object) -> None:
    """Declare the operators that torchvision requires, so that it can be imported with a torch that its compiled part was not built for."""
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[attr-defined]
    for name in ("nms", "qnms"):
        with contextlib.suppress(RuntimeError):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _kept.append(library)


_kept: list[object] = []


def main(package: str, name: str | None = None) -> None:
    """Run the job, in an empty folder, with fixed seeds."""
    sys.path[0] = str(ROOT)  # in place of this folder
    warnings.simplefilter("ignore")
    for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "WANDB_DISABLED", "TOKENIZERS_PARALLELISM"):
        os.environ.setdefault(variable, "false" if variable.startswith("TOK") else "1")
    if name is None:
        print("\n".join(jobs(package)))
        return
    import random

    import numpy as np
    import torch

    from tests.packages.reports import told

    if not hasattr(torch.version, "mstorch") and package not in OF_LIBRARY:
        _declare_torchvision(torch)

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        report = told(jobs(package)[name]())  # type: ignore[operator]
        os.chdir("/")
    print("REPORT " + json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])

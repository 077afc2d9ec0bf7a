"""Jobs of packages that people use with torch return real torch's numbers with mstorch (recorded by record.py).

``pytest tests/packages`` runs all, in the Python that MSTORCH_PACKAGES_PYTHON names or in this one; a plain ``pytest`` runs a sample. A
package that is not installed there is left out.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.packages import record
from tests.packages.reports import differences

PYTHON = os.environ.get("MSTORCH_PACKAGES_PYTHON", sys.executable)
SAMPLE = {("einops", "layers"), ("safetensors", "files")}
MODULES = {
    "tensorboard_": "tensorboard", "torchvision_detection": "torchvision", "torchvision_io": "torchvision",
    "optimum_quanto": "optimum.quanto", "torch_geometric_examples": "torch_geometric",
}  # fmt: skip
NOT_EQUAL = {("optimum_quanto", "int4"): "the package compiles a function in C++ against torch"}


def _jobs() -> list[tuple[str, str]]:
    return [(package, job) for package in record.packages() for job in record.names(package)]


def _installed(package: str) -> bool:
    module = MODULES.get(package, package)
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([PYTHON, "-c", code], capture_output=True, check=False).returncode == 0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "job" not in metafunc.fixturenames:
        return
    whole = any("packages" in str(argument) for argument in metafunc.config.invocation_params.args)
    chosen = [pair for pair in _jobs() if whole or pair in SAMPLE]
    metafunc.parametrize("package, job", chosen, ids=["-".join(pair) for pair in chosen])


def test_job(package: str, job: str) -> None:
    if not _installed(package):
        pytest.skip(f"{package} is not installed")
    if (package, job) in NOT_EQUAL:
        pytest.xfail(NOT_EQUAL[package, job])
    want = json.loads((record.FOLDER / "recorded" / f"{package}.json").read_text())[job]
    assert want is not None, "real torch fails at this job"
    got, text = record.report([PYTHON, "-W", "ignore", "-m", "mstorch"], package, job, 900)
    assert got is not None, text
    assert differences(want, got) == []


def test_comparison_sees_differences() -> None:
    report = {"shape": [2], "dtype": "torch.float32", "sum": 3.0, "abs": 3.0, "head": [1.0, 2.0]}
    assert differences(report, json.loads(json.dumps(report))) == []
    for key, value in {"shape": [3], "dtype": "torch.float64", "sum": 3.1, "head": [1.0, 2.001]}.items():
        assert differences(report, {**report, key: value})
    assert differences({"a": 1}, {"b": 1}) and differences([1], [1, 2]) and differences("ab", "ac") and differences(True, 1)

"""Jobs of packages alone and among others: ``python -m tests.packages.company SITE_PACKAGES [package…]``, with MSTORCH_PACKAGES_PYTHON or
this Python.

Alone: a folder of links to the package, to what its metadata asks for, and to what its jobs import. In company: the whole folder. An
import that succeeds only where something else is installed, or that takes another way there, shows as a difference between the two.
"""
from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from tests.packages import record
from tests.packages.reports import differences
from tests.packages.table import distribution_name
from tests.packages.test_packages import NOT_EQUAL, PYTHON

# Packages needed in addition to those in the metadata: an extra, those named in the documentation, or a dependency of torch (jinja2).
ALSO = {
    "lm_eval": ["accelerate", "transformers"], "neuralforecast": ["ray", "fsspec", "pandas", "pyarrow", "pydantic", "requests"],
    "peft": ["jinja2"], "segment_anything": ["torchvision"], "setfit": ["accelerate"], "transformers": ["accelerate"],
}  # fmt: skip


def _key(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def _asked(found: Distribution) -> Iterator[str]:
    """Return the distributions that one requires, without extras."""
    for text in found.requires or ():
        try:
            asked = Requirement(text)
        except InvalidRequirement:
            continue
        if asked.marker is None or asked.marker.evaluate({"extra": ""}):
            yield _key(asked.name)


def _modules(found: dict[str, Distribution]) -> dict[str, str]:
    """Return the distribution of each top-level module."""
    return {str(file).split("/")[0].removesuffix(".py"): name for name, one in found.items() for file in one.files or ()}


def wanted(package: str, found: dict[str, Distribution]) -> list[str]:
    """Return the distributions that a package's jobs need: its own, its requirements, and other imports of the jobs."""
    tree = ast.parse((record.FOLDER / "jobs" / f"{package}.py").read_text())
    imported = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {(node.module or "").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    homes = _modules(found)
    queue = [distribution_name(package), *ALSO.get(package, ()), *(homes[name] for name in imported if name in homes)]
    taken: list[str] = []
    while queue:
        name = queue.pop()
        if name in found and name not in taken:
            taken.append(name)
            queue += _asked(found[name])
    return taken


def link(site: Path, names: list[str], found: dict[str, Distribution], folder: Path) -> None:
    """Link the files of distributions: a folder as a whole, unless other distributions have files in it, too."""
    owners: dict[str, set[str]] = {}
    for name, one in found.items():
        for file in one.files or ():
            parts = file.parts
            for depth in range(1, len(parts) + 1):
                owners.setdefault("/".join(parts[:depth]), set()).add(name)
    for name in names:
        for file in found[name].files or ():
            parts = file.parts
            if ".." in parts or "__pycache__" in parts:
                continue
            place = next("/".join(parts[:depth]) for depth in range(1, len(parts) + 1) if depth == len(parts) or owners["/".join(parts[:depth])] <= {name})
            there = folder / place
            if not there.exists() and (site / place).exists():
                there.parent.mkdir(parents=True, exist_ok=True)
                there.symlink_to(site / place)


def run(package: str, job: str, folder: Path) -> list[str]:
    """Return the differences of a job's report from torch's, with the packages of a folder."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(folder)
    try:
        got, text = record.report([PYTHON, "-W", "ignore", "-m", "mstorch"], package, job, 900)
    except subprocess.TimeoutExpired:
        return ["it takes longer than 15 minutes"]
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before
    if got is None:
        return [text]
    return differences(json.loads((record.FOLDER / "recorded" / f"{package}.json").read_text())[job], got)


def main(site: str, *chosen: str) -> int:
    """Run the jobs both ways; print differences, and return the number of jobs that differ."""
    found = {_key(one.metadata["Name"]): one for one in distributions(path=[site]) if one.metadata["Name"]}
    jobs = equal_alone = equal_in_company = 0
    for package in chosen or record.packages():
        with tempfile.TemporaryDirectory() as name:
            names = wanted(package, found)
            link(Path(site), names, found, Path(name))
            for job in record.names(package):
                if (package, job) in NOT_EQUAL:
                    continue
                alone, company = run(package, job, Path(name)), run(package, job, Path(site))
                jobs, equal_alone, equal_in_company = jobs + 1, equal_alone + (not alone), equal_in_company + (not company)
                print(f"{package} {job}: {'differs' if alone else 'equal'} alone ({len(names)} packages), {'differs' if company else 'equal'} in company ({len(found)})", flush=True)
                for where, what in (("alone", alone), ("in company", company)):
                    if what:
                        print(f"  {where}:", *what[:8], sep="\n    ", flush=True)
    print(f"{jobs} jobs: {equal_alone} equal alone, {equal_in_company} in company")
    return min(2 * jobs - equal_alone - equal_in_company, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

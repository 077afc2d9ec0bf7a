"""Write the table of docs/packages.md from the jobs, with the versions in a folder of packages: ``python -m tests.packages.table SITE_PACKAGES``."""
from __future__ import annotations

import re
import sys
from importlib.metadata import distributions

from tests.packages import record
from tests.packages.test_packages import MODULES, NOT_EQUAL

PAGE = record.FOLDER.parents[1] / "docs" / "packages.md"
HEAD = "| package | version | jobs |\n|---|---|---|\n"
# Names of distributions that differ from the module's name.
CALLED = {
    "backpack": "backpack-for-pytorch", "chronos": "chronos-forecasting", "ignite": "pytorch-ignite", "laplace": "laplace-torch",
    "neuralop": "neuraloperator", "nnAudio": "nnaudio", "open_clip": "open-clip-torch", "ot": "pot", "pyro": "pyro-ppl", "rsl_rl": "rsl-rl-lib",
    "tltorch": "tensorly-torch", "torch_frame": "pytorch-frame", "torchcrf": "pytorch-crf", "torchmin": "pytorch-minimize", "unfoldNd": "unfoldnd",
    "whisper": "openai-whisper",
}  # fmt: skip


def distribution_name(package: str) -> str:
    """Return the name of the distribution that a package's jobs use."""
    return CALLED.get(package, MODULES.get(package, package)).replace("_", "-").replace(".", "-")


def rows(site: str) -> str:
    """Return the table, a line per package."""
    versions = {re.sub("[-_.]+", "-", found.metadata["Name"]).lower(): found.version for found in distributions(path=[site])}
    lines = []
    for package in record.packages():
        name = distribution_name(package)
        jobs = [job for job in record.names(package) if (package, job) not in NOT_EQUAL]
        lines.append((name, f"| {name} | {versions.get(name, '-')} | {', '.join(job.replace('_', ' ') for job in jobs)} |\n"))
    return "".join(line for _, line in sorted(lines))


def main(site: str) -> None:
    """Replace the table."""
    page = PAGE.read_text()
    before, _, rest = page.partition(HEAD)
    after = rest[re.search(r"^(?!\|)", rest, re.MULTILINE).start() :]  # type: ignore[union-attr]
    PAGE.write_text(before + HEAD + rows(site) + after)


if __name__ == "__main__":
    main(*sys.argv[1:])

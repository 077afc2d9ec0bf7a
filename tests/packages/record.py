"""Record real torch's results: ``python tests/packages/record.py [package…]``, where torch and the packages are installed."""
from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def names(package: str) -> list[str]:
    """Return the jobs of a package, from its text: its imports need not be installed."""
    tree = ast.parse((FOLDER / "jobs" / f"{package}.py").read_text())
    return [node.name.removeprefix("job_") for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("job_")]


def packages() -> list[str]:
    """Return the packages that have jobs."""
    return sorted(path.stem for path in (FOLDER / "jobs").glob("[a-z]*.py"))


def report(command: list[str], package: str, job: str, timeout: float) -> tuple[object, str]:
    """Return a job's report, or None, and the end of its output."""
    done = subprocess.run(
        [*command, str(FOLDER / "run.py"), package, job], capture_output=True, text=True, timeout=timeout, cwd=FOLDER.parents[1]
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
    return (json.loads(found[-1][7:]) if found else None), (done.stdout + done.stderr)[-3000:]


def main(chosen: list[str]) -> int:
    """Record the packages named, or all."""
    failed = 0
    for package in chosen or packages():
        results = {}
        for job in names(package):
            results[job], text = report([sys.executable, "-W", "ignore"], package, job, 900)
            if results[job] is None:
                failed += 1
                print(f"{package} {job} fails with torch itself:\n{text}")
        (FOLDER / "recorded" / f"{package}.json").write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        print(package, len(results))
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

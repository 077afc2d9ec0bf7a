"""The suites of packages compiled for torch, run with mstorch's own: ``python -m tests.companions.suites PACKAGE FOLDER [pytest's options and files]``.

FOLDER is a copy of the package's repository; of it, the tests and the file ``testing.py`` are used, which the wheels leave in and mstorch leaves out.
"""
from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def pytest_configure(config: object) -> None:
    """Load the repository's ``testing.py`` as a module of the package."""
    package, folder = os.environ["SUITE_OF"].split(":", 1)
    path = Path(folder, package, "testing.py")
    if path.exists():
        spec = importlib.util.spec_from_file_location(f"{package}.testing", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)


def main(package: str, folder: str, *options: str) -> int:
    """Run the suite in a process of the hook: the files among the options, or all."""
    tests = Path(folder, "test").resolve()
    places = () if any((tests / option.partition("::")[0]).is_file() for option in options) else (".",)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}", "SUITE_OF": f"{package}:{Path(folder).resolve()}"}
    plain = ["-q", "-n", "0", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "-p", "tests.companions.suites"]
    return subprocess.run([sys.executable, "-m", "mstorch", "-m", "pytest", *plain, *options, *places], cwd=tests, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

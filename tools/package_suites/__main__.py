"""Packages' own tests, on torch and then on mstorch those that torch passes.

    python -m tools.package_suites run NAME FOLDER [FILE…] --path SITE_PACKAGES --sample 300    # FOLDER: a repository or an unpacked sdist
    python -m tools.package_suites report [NAME…] [--examples 2]                                # the table, and the causes by count

No line of a suite is in this repository. Tests are selected by a hash of their names (at most ``--sample`` tests, ``--variants`` parameters
of each). Each has a limit of processor time; after a crash or a hang a new process continues. A test with a result in ``--out`` is not run
again, unless its "status: message" matches ``--redo``.
"""
from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tools.package_suites import report
from tools.package_suites.runner import Suite, collect, forget, read, run


def main(arguments: list[str] | None = None) -> None:
    """Run the command given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("name")
    runs.add_argument("folder", type=Path)
    runs.add_argument("files", nargs="*")
    runs.add_argument("--python", default=sys.executable)
    runs.add_argument("--path", action="append", default=[], help="a folder of installed packages")
    runs.add_argument("--sample", type=int, default=0)
    runs.add_argument("--variants", type=int, default=0)
    runs.add_argument("--limit", type=float, default=20)
    runs.add_argument("--whole", type=float, default=3600)
    runs.add_argument("--library", choices=["torch", "mstorch"], action="append")
    runs.add_argument("--redo", metavar="REGEX", help="forget mstorch's results that match")
    reports = commands.add_parser("report")
    reports.add_argument("names", nargs="*")
    reports.add_argument("--examples", type=int, default=1)
    for each in (runs, reports):
        each.add_argument("--out", type=Path, default=Path("package-suites"))
    options = parser.parse_args(arguments)
    if options.command == "report":
        names = options.names or sorted(path.parent.name for path in options.out.glob("*/mstorch.jsonl"))
        rows = [report.row(options.out / name) for name in names]
        print(report.table(rows))
        print(report.details(rows, options.examples))
        return
    suite = Suite(
        options.name, options.folder.resolve(), options.out.resolve(), options.python, tuple(options.files), tuple(options.path),
        options.sample, options.variants, options.limit, options.whole,
    )  # fmt: skip
    tests = collect(suite)
    if options.redo:
        forget(suite, "mstorch", options.redo)
    for library in options.library or ("torch", "mstorch"):
        if library == "mstorch":
            reference = read(suite.records("torch"))
            tests = [test for test in tests if reference.get(test, {}).get("status") == "pass"]
        began = time.monotonic()
        run(suite, library, tests)
        results = read(suite.records(library))
        passed = sum(results.get(test, {}).get("status") == "pass" for test in tests)
        print(f"{suite.name} {library}: {passed} of {len(tests)} pass, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()

"""``python -m mstorch scan``: reports which of a program's uses of torch mstorch supports, by static analysis.

    python -m mstorch scan my_project/ train.py timm       # files, folders, installed packages
    python -m mstorch scan my_project/ --device ascend     # also operations without a kernel, or that read the device's memory
    python -m mstorch scan timm --json found.json --html found.html

The exit status is 0 if everything is supported, 1 if not, 2 if the command line is invalid.
"""
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..._src.progress import Progress
from . import report
from .devices import DEVICES
from .findings import KINDS, Finding, beside, scan
from .sources import Source, Unread, files_below, read, resolve
from .verdict import Verdict, verdict_on


def main(arguments: list[str]) -> int:
    """Scan the given files, print the findings, and return the exit status."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m mstorch scan", description=__doc__, formatter_class=layout)
    parser.add_argument("targets", nargs="+", metavar="PATH|PACKAGE")
    parser.add_argument("--device", choices=sorted(DEVICES), help="say what has no kernel on this device, and what waits for it")
    parser.add_argument("--json", metavar="FILE", help="write all of it as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page")
    options = parser.parse_args(arguments)
    sources: list[Source] = []
    unread: list[Unread] = []
    verdicts: list[Verdict] = []
    others: list[Finding] = []
    for target in options.targets:
        place = resolve(target)
        if place is None:
            print(f"scan: {target}: no such file, folder or installed package", file=sys.stderr)
            return 2
        path, package = place
        for item in map(read, files_below(path)):
            (sources if isinstance(item, Source) else unread).append(item)  # type: ignore[arg-type]
        if not package or Path(target).exists():
            others += [] if path.suffix == ".py" else beside(path)
        if package:
            verdicts.append(verdict_on(package, path if path.is_dir() and "." not in package else None))
    progress = Progress("looking at the files", len(sources))
    try:
        scanned = scan(sources, DEVICES[options.device] if options.device else None, progress)
    finally:
        progress.end()
    scanned.findings.extend(others)
    scanned.findings.sort(key=lambda item: (item.file, item.line, KINDS.index(item.kind), item.name))
    result = report.Result(scanned, len(sources), unread, verdicts, options.device)
    print(result.text())
    if options.json:
        Path(options.json).write_text(json.dumps(result.plain(), indent=1) + "\n", "utf-8")
    if options.html:
        Path(options.html).write_text(result.page(), "utf-8")
    return 0 if result.fine() else 1

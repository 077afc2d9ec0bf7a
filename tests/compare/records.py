"""Records of runs of one script with planted faults, and their first difference from a run of real torch."""
from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

from mstorch._commands import compare as _compare
from mstorch._commands.compare.align import Alignment, Found
from tests import warm


def options(*arguments: str) -> Any:
    """Return the parsed options of a command line."""
    return _compare._parser().parse_args(arguments)


def planted(script: str, faults: list[str], folder: Path) -> Path:
    """Return a folder with a record of a run with each fault. One process imports the library for all of them (forked.py)."""
    settings = json.dumps({"seed": 0, "steps": 50, "checkpoint": None, "device": None, "default": True})
    command = ["-m", "mstorch", str(Path(__file__).with_name("forked.py")), script, str(folder), settings, *faults]
    warm.said(*command, environment=_compare._environment(True, options(script)))
    return folder


def found_in(file: Path, want: list[dict[str, Any]]) -> Found | None:
    """Return the first difference of a record."""
    record = pickle.loads(file.read_bytes())
    assert "mstorch" in record["version"] and record["error"] is None
    return Alignment(want, record["events"]).found

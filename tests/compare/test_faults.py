"""The faults of faults.py that need no device are named, each in a child of one process; the command runs them as a user does."""
from __future__ import annotations

from pathlib import Path

import pytest

from mstorch._commands import compare as _compare
from tests.chosen import chosen
from tests.compare.faults import EVALUATED, GROUPS, KEYWORDS, PORTED, PROGRAMS, Expected, ported
from tests.compare.records import found_in, options, planted

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("library_imported_once")]

CASES = [f"{group}: {plant}" for group, faults in (("keywords", KEYWORDS), ("evaluated", EVALUATED), ("ported", PORTED)) for plant in ("", *faults)]


@pytest.fixture(scope="module")
def records(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, list[dict[str, object]]]]:
    """Return, by group, the folder of the runs with faults, and the events of real torch."""
    runs = {}
    cases = [case.split(": ") for case in chosen(request, "case")]
    for group in dict(cases):
        folder = tmp_path_factory.mktemp(group)
        script = ported(str(folder)) if group == "ported" else str(PROGRAMS / f"{group}.py")
        record = _compare._run(options(script), False)
        assert record is not None and record["error"] is None, record
        runs[group] = planted(script, [plant for name, plant in cases if name == group and plant] + ["nothing"], folder), record["events"]
    return runs


@pytest.mark.parametrize("case", CASES)
def test_a_fault_is_named(case: str, records: dict[str, tuple[Path, list[dict[str, object]]]]) -> None:
    group, plant = case.split(": ")
    folder, want = records[group]
    difference = found_in(folder / (plant or "nothing"), want)
    if not plant:
        assert difference is None
        return
    expected: Expected = GROUPS[group][plant]
    assert difference is not None and difference.phase == expected.phase and expected.words in difference.what
    assert difference.where == expected.where or difference.phase == "reading" and difference.where.startswith(f"{expected.where}:")

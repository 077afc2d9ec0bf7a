"""The guides' steps with torch's layers on the device of the first argument; prints a line for each that fails, and their number."""
from __future__ import annotations

import sys
import tempfile
import traceback

import pytest

from tests.interop.guides import STEPS
from tests.interop.test_guides import FORMS, compare


def main(device: str) -> int:
    wrong = 0
    for step in STEPS:
        for form in FORMS:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    compare(step, form, folder, device)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - one step says nothing of the next
                    wrong += 1
                    print(f"{step}, {form.__name__}: {traceback.format_exception_only(error)[-1]}", file=sys.stderr)
    print(f"{len(STEPS) * len(FORMS)} steps, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    raise SystemExit(bool(main(sys.argv[1])))

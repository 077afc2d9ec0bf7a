"""Runs of one script with planted faults, as ``mstorch compare`` starts them, in children of one process that has imported mstorch.

    python -m mstorch tests/compare/forked.py SCRIPT FOLDER SETTINGS FAULT…    # a record for each fault in the folder, under its name
"""
from __future__ import annotations

import os
import runpy
import sys
import traceback

from mstorch._commands import compare as _compare


def main(script: str, folder: str, settings: str, *faults: str) -> None:
    """Fork a process for each fault; a process whose run raises leaves no record."""
    for fault in faults:
        child = os.fork()
        if not child:
            os.environ["PLANT"] = fault
            sys.argv = [_compare._RECORDER, os.path.join(folder, fault), settings, script]
            sys.path[0] = os.path.dirname(_compare._RECORDER)
            try:
                runpy.run_path(_compare._RECORDER, run_name="__main__")
            except BaseException:  # noqa: BLE001 - the child ends here, whatever is raised
                traceback.print_exc()
            sys.stderr.flush()
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])

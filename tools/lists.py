"""Make all lists and pages that come from torch anew, for the torch that is installed and, on request, for a newer one.

    python -m tools.lists                    # after another torch has been installed
    python -m tools.lists --newer PYTHON     # and what the torch of another Python adds

A newer torch may stand in an environment of its own: only its modules and names are asked for. The steps run one after another, because
some read what others write; the first that fails ends the run.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
import time

STEPS = (
    ("tools.public_types",), ("tools.homes",), ("tools.modules",), ("tools.aten_overloads",), ("tests.overloads", "--page"),
    ("tools.api_map",), ("tools.raising",), ("tools.figures",),
)  # fmt: skip


def steps(newer: str | None) -> list[tuple[str, ...]]:
    """Return the commands in their order."""
    found = list(STEPS)
    if newer is not None:
        found.insert(found.index(("tools.modules",)) + 1, ("tools.modules", "--newer", newer))
    return found


def main() -> int:
    """Run the steps; return the first exit code that is not zero."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--newer", metavar="PYTHON", help="a Python with a newer torch")
    for step in steps(parser.parse_args().newer):
        began = time.monotonic()
        code = subprocess.run([sys.executable, "-m", *step]).returncode
        print(f"python -m {' '.join(step)}: {'done' if not code else f'exit code {code}'}, {time.monotonic() - began:.0f} s", flush=True)
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())

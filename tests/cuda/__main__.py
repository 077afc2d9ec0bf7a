"""``python -m tests.cuda [NAME=VALUE …] COMMAND …`` runs a command on MindSpore's own CUDA plugin, with the CUDA runtime emulated below it.

    python -m tests.cuda python -m mstorch check --only rows
"""
from __future__ import annotations

import os
import sys

from .build import environment, missing


def main(arguments: list[str]) -> None:
    """Replace this process by the command."""
    changes: dict[str, object] = {}
    while arguments and "=" in arguments[0]:
        name, _, value = arguments.pop(0).partition("=")
        changes[name] = value
    if not arguments:
        sys.exit(__doc__)
    if missing():
        sys.exit(missing())
    os.execvpe(arguments[0], arguments, environment(**changes))


if __name__ == "__main__":
    main(sys.argv[1:])

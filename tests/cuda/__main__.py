"""``python -m tests.cuda [NAME=VALUE …] COMMAND …`` runs a command on MindSpore's own CUDA plugin, with the CUDA runtime emulated below it.

    python -m tests.cuda python -m mstorch check --only rows
"""
from __future__ import annotations

import sys

from tests import emulated

from . import build

if __name__ == "__main__":
    emulated.run(sys.argv[1:], {}, build, __doc__)

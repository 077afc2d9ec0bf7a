"""``python -m tests.cann [--devices N] [NAME=VALUE …] COMMAND …`` runs a command on MindSpore's own Ascend plugin, with CANN emulated below it.

    python -m tests.cann python examples/digits_cnn.py --device npu
    python -m tests.cann --devices 2 python -m mstorch.distributed.run --nproc-per-node 2 script.py
    python -m tests.cann pytest -p tests.cann.suite tests/core
"""
from __future__ import annotations

import sys

from tests import emulated

from . import build


def main(arguments: list[str]) -> None:
    """Replace this process by the command."""
    changes: dict[str, object] = {}
    if arguments[:1] == ["--devices"]:
        changes |= {"EMULATED_CANN_DEVICES": arguments[1], "EMULATED_CANN_MEMORY_MB": 2048, "HCCL_EXEC_TIMEOUT": 60}
        arguments = arguments[2:]
    emulated.run(arguments, changes, build, __doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

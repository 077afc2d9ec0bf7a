"""torch.utils.data._utils: the internals of DataLoader that packages import."""

import sys

from .._worker import CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL
from . import collate, fetch, pin_memory, signal_handling, worker

HAS_NUMPY = True
IS_WINDOWS = sys.platform == "win32"
python_exit_status = False

__all__ = [
    "HAS_NUMPY", "IS_WINDOWS", "MP_STATUS_CHECK_INTERVAL", "collate", "fetch", "pin_memory", "python_exit_status",
    "signal_handling", "worker",
]  # fmt: skip

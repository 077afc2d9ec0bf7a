"""torch.utils.data._utils.worker: a worker's information about itself, and the messages to workers that packages' loaders use."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from .._worker import CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL
from .._worker import WorkerInfo, get_worker_info
from .._worker import numpy_seed as _generate_state

__all__ = [
    "MP_STATUS_CHECK_INTERVAL", "ManagerWatchdog", "WorkerInfo", "_IterableDatasetStopIteration", "_ResumeIteration", "_generate_state",
    "get_worker_info",
]  # fmt: skip


class ManagerWatchdog:
    """Tells a worker whether its parent process is alive."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()
        self.manager_dead = False

    def is_alive(self) -> bool:
        """Return whether the parent process is alive; once it is not, the result stays False."""
        if not self.manager_dead:
            self.manager_dead = os.getppid() != self.manager_pid
        return not self.manager_dead


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """Tells the main process that a worker's dataset is exhausted."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Tells persistent workers to restart, with a shared seed."""

    seed: int | None = None


def __getattr__(name: str) -> Any:
    if name == "_worker_info":
        return get_worker_info()
    raise AttributeError(f"module 'torch.utils.data._utils.worker' has no attribute {name!r}")

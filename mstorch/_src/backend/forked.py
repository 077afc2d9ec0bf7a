"""Detects that this process was forked after MindSpore was loaded: MindSpore's worker threads do not exist in the child and its kernels
would hang, so operations that need them raise RuntimeError.
"""
from __future__ import annotations

import os
from collections.abc import Callable

from . import runtime


class _Forked:
    """State of a forked process: ``here`` is True in a child, ``told`` lists the functions that are called after a fork."""

    def __init__(self) -> None:
        self.here = False
        self.told: list[Callable[[], None]] = []

    def note(self) -> None:
        """Mark this process as forked."""
        self.here = True
        for function in self.told:
            function()

    def refuse(self, op: str, device: str = "CPU") -> None:
        """Raise RuntimeError in a forked process for an operation without a host kernel, or on a device."""
        if device != "CPU":
            self.refuse_device()
        if self.here:
            raise RuntimeError(
                f"mstorch: {op} has no host kernel, and MindSpore's cannot run in a forked process (its threads are missing there): "
                "start the process with 'spawn' (DataLoader(multiprocessing_context='spawn'))"
            )

    def refuse_device(self) -> None:
        """Raise torch's RuntimeError for device work in a forked process."""
        if self.here:
            kind = "CUDA" if runtime.DEVICE_TARGET == "GPU" else "NPU"
            raise RuntimeError(
                f"Cannot re-initialize {kind} in forked subprocess. To use {kind} with multiprocessing, "
                "you must use the 'spawn' start method"
            )


forked = _Forked()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forked.note)

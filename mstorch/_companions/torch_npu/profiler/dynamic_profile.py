"""torch_npu.profiler.dynamic_profile: profiles that a file switches on while a program runs. The file is not looked at."""
from __future__ import annotations

from ...._src.core.warned import warn_once


def _say() -> None:
    warn_once("torch_npu.profiler.dynamic_profile has no effect: torch_npu.profiler.profile times a block")


def init(path: str) -> None:
    """Take the folder of the file, and say once that it has no effect."""
    _say()


def start(config_path: str | None = None) -> None:
    """Take a file, and say once that it has no effect."""
    _say()


def step() -> None:
    """Do nothing."""


def stop() -> None:
    """Do nothing."""


__all__ = ["init", "start", "step", "stop"]

"""torch.jit._state: the switch ``PYTORCH_JIT`` of the environment, which leaves functions and modules as they are."""
from __future__ import annotations

import os

_VALUES = {"1": True, "true": True, "yes": True, "1v": True, "0": False, "false": False, "no": False, "0v": False}
_SAID = {"1v": "> Using PyTorch JIT", "0v": "> PyTorch JIT DISABLED"}


class EnabledProxy:
    """Truth value: whether ``script`` and ``trace`` have an effect. Raise ValueError for a setting that is neither 0 nor 1."""

    def __init__(self) -> None:
        setting = os.environ.get("PYTORCH_JIT", "1").lower()
        if setting not in _VALUES:
            raise ValueError("Unknown setting of PYTORCH_JIT. Try using 0 or 1.")
        self.enabled = _VALUES[setting]
        if setting in _SAID:
            print(_SAID[setting])

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()


def disable() -> None:
    """Let ``script`` and ``trace`` return their argument unchanged."""
    _enabled.enabled = False


def enable() -> None:
    """Let ``script`` and ``trace`` have their effect again."""
    _enabled.enabled = True


__all__ = ["EnabledProxy", "disable", "enable"]

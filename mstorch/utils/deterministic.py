"""torch.utils.deterministic: settings of deterministic results.

``fill_uninitialized_memory`` says whether uninitialized memory is filled, with NaN or the largest integer, under
``use_deterministic_algorithms``; without that it holds zeros.
"""
from __future__ import annotations

import sys
from types import ModuleType

from .._src.core.determinism import state


class _Deterministic(ModuleType):
    """The module's class, which makes the setting a checked property."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """True if uninitialized memory is filled."""
        return state["fill"]

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        state["fill"] = mode


sys.modules[__name__].__class__ = _Deterministic

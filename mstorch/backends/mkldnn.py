"""torch.backends.mkldnn: oneDNN, on which MindSpore's CPU kernels are built; the options are stored without effect."""
from __future__ import annotations

import contextlib
from typing import Any

from .._src.devices.flags import as_flags, switched

enabled: bool = True
deterministic: bool = False
allow_tf32: bool = False
fp32_precision: str = "none"
_kinds = {"enabled": bool, "deterministic": bool, "allow_tf32": bool}
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


def is_available() -> bool:
    """Return True: MindSpore uses oneDNN."""
    return True


def is_acl_available() -> bool:
    """Return False: mstorch does not use the Arm Compute Library."""
    return False


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> contextlib.AbstractContextManager[None]:
    """Context manager that sets options."""
    return switched(__name__, enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)


def set_flags(
    _enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None, _fp32_precision: str = "none"
) -> tuple[Any, ...]:
    """Set several options; return their previous values."""
    before = (enabled, deterministic, allow_tf32, fp32_precision)
    for name, value in zip(("enabled", "deterministic", "allow_tf32"), (_enabled, _deterministic, _allow_tf32)):
        if value is not None:
            globals()[name] = value
    return before


class verbose:
    """Context manager for oneDNN's verbose mode, which only ``ONEDNN_VERBOSE`` before the start can set."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> verbose:
        if self.level != VERBOSE_OFF:
            raise RuntimeError("mstorch: set ONEDNN_VERBOSE=1 before the start to see oneDNN's messages")
        return self

    def __exit__(self, *error: object) -> None:
        return None


as_flags(__name__)

"""Warn once per operation if the device has no kernel for it and the CPU computes it."""
from __future__ import annotations

from ..backend.table import on_fallback, refuse_fallback
from .warned import warn_once


def _warn(op: str) -> None:
    warn_once(
        f"mstorch: torch.{op} has no kernel on this device for this dtype and is computed on the CPU: its operands go there and its "
        "results come back, which is slow. MSTORCH_FALLBACK=0 makes it an error.",
        key=f"fallback of {op}",
    )


def warn_of_cpu(op: str, dtype: str) -> None:
    """Warn that an operation without a kernel on the device is computed on the CPU. Raise NotImplementedError if that is an error."""
    refuse_fallback(op, dtype)
    _warn(op)


on_fallback.append(_warn)

"""The exceptions of TorchScript's programs."""

from __future__ import annotations


class Error(Exception):
    """Raised where scripted code of an archive raises: the message ends with the exception that the code names."""


HEAD = (
    "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript, serialized code (most recent call last):\n"
)


def raised(message: str, kind: str | None = None) -> Error:
    """Return the exception of ``ops.prim.RaiseException``."""
    return Error(f"{HEAD}{kind}: {message}" if kind else f"{HEAD}RuntimeError: {message}")

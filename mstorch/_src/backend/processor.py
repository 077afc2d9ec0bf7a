"""Instruction sets of the processor, by Linux's names."""
from __future__ import annotations

import ctypes
import functools
import platform
from pathlib import Path


def is_arm() -> bool:
    """Return whether this is a 64-bit ARM processor, as in most hosts of Ascends."""
    return platform.machine() in ("aarch64", "arm64")


@functools.cache
def flags() -> frozenset[str]:
    """Return the names of the processor's features; empty if the system does not report them."""
    try:
        return frozenset(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return frozenset()


_PR_SVE_GET_VL, _LENGTH = 51, 0xFFFF


def vector_bits() -> int:
    """Return the length of an ARM processor's scalable vectors in bits; 0 if it has none."""
    if not is_arm() or "sve" not in flags():
        return 0
    answer = ctypes.CDLL(None).prctl(_PR_SVE_GET_VL)
    return 8 * (answer & _LENGTH) if answer > 0 else 0

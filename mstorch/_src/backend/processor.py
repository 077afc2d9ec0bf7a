"""Instruction sets of the processor, by Linux's names."""
from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def flags() -> frozenset[str]:
    """Return the names of the processor's features; empty if the system does not report them."""
    try:
        return frozenset(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return frozenset()

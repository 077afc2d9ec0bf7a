"""The instruction sets of the processor, by the names that Linux gives them."""
from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def flags() -> frozenset[str]:
    """Return the names; none where the system does not tell."""
    try:
        return frozenset(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return frozenset()

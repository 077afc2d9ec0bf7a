"""Tells whether this version of mmcv's Python converts arguments for an NPU before it calls the compiled function."""
from __future__ import annotations

import sys


def prepares_for_npu(module: str, function: str) -> bool:
    """Return whether ``mmcv.ops.module.function`` has lines of its own for NPUs, which change what it gives: degrees for radians, or the
    middle of a box for its bottom. Versions of one number differ in that, so that the function's own code is asked."""
    own = getattr(sys.modules.get(f"mmcv.ops.{module}"), function, None)
    code = getattr(own, "__code__", None)
    return code is not None and "npu" in code.co_consts


__all__ = ["prepares_for_npu"]

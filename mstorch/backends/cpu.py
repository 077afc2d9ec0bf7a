"""torch.backends.cpu: what the CPU can do."""
from __future__ import annotations

from pathlib import Path

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """``AVX512``, ``AVX2``, ``NO AVX`` or ``DEFAULT``: the widest instructions of this machine."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return "DEFAULT"
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        return "AVX512"
    return "AVX2" if "avx2" in flags else "NO AVX"

"""torch.backends.cpu: capabilities of the CPU."""
from __future__ import annotations

from .._src.backend.processor import flags, is_arm, vector_bits

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """Return the widest instruction set of the machine: ``AVX512``, ``AVX2`` or ``NO AVX``; of an ARM ``SVE256`` or ``DEFAULT``."""
    if is_arm():
        return "SVE256" if vector_bits() == 256 else "DEFAULT"
    found = flags()
    if not found:
        return "DEFAULT"
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= found:
        return "AVX512"
    return "AVX2" if "avx2" in found else "NO AVX"

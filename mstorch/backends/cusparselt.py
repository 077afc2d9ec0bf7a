"""torch.backends.cusparselt: NVIDIA's library of sparse matrix products."""
from __future__ import annotations

__all__ = ["get_max_alg_id", "is_available", "version"]


def is_available() -> bool:
    """Return False: MindSpore does not use it."""
    return False


def version() -> int | None:
    """Return None: mstorch does not use cuSPARSELt."""
    return None


def get_max_alg_id() -> int | None:
    """Return None: mstorch does not use cuSPARSELt."""
    return None

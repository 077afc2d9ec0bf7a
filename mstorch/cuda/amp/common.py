"""Query for the availability of mixed precision."""
from __future__ import annotations

from ..._src.core import cuda_names


def amp_definitely_not_available() -> bool:
    """Return True without a GPU, unless "cuda" is an alias of another device."""
    return not cuda_names.is_there()


__all__ = ["amp_definitely_not_available"]

"""Whether mixed precision is available."""
from __future__ import annotations

from ..._core import cuda_names


def amp_definitely_not_available() -> bool:
    """Return whether there is no GPU, and "cuda" is no alias of another device."""
    return not cuda_names.is_there()


__all__ = ["amp_definitely_not_available"]

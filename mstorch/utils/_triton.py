"""torch.utils._triton: whether Triton is available, which it is not."""
from __future__ import annotations

__all__ = ["has_triton", "has_triton_package"]


def has_triton_package() -> bool:
    """Return False: Triton cannot be used, even if it is installed."""
    return False


def has_triton() -> bool:
    """Return False: no device runs Triton kernels."""
    return False

"""torch.utils._triton: whether Triton's kernels can be used. They cannot."""
from __future__ import annotations

__all__ = ["has_triton", "has_triton_package"]


def has_triton_package() -> bool:
    """Return whether the package is installed and can be used: False, whichever packages are there."""
    return False


def has_triton() -> bool:
    """Return whether a device runs Triton's kernels: False."""
    return False

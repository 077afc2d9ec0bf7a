"""torch.version: the version of this torch and its build properties."""
from __future__ import annotations

from ._src.version import TORCH_API
from ._src.version import __version__ as mstorch

__all__ = ["__version__", "debug", "cuda", "git_version", "hip", "rocm", "xpu"]
__version__ = f"{TORCH_API}+mstorch{mstorch}"
debug = False
cuda: str | None = None
git_version: str = "unknown"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None

"""torch.version: the version of this torch and its build properties."""
from __future__ import annotations

from typing import Any

from ._src.backend import cuda_versions as _cuda_versions
from ._src.backend import runtime as _runtime
from ._src.hook import missing_attribute as _missing_attribute
from ._src.version import TORCH_API
from ._src.version import __version__ as mstorch

__all__ = ["__version__", "debug", "cuda", "git_version", "hip", "rocm", "xpu"]
__version__ = f"{TORCH_API}+mstorch{mstorch}"
debug = False
cuda: str | None
git_version: str = "unknown"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None


def __getattr__(name: str) -> Any:
    if name == "cuda":  # asked when it is read, because MindSpore's plugin is loaded later than this module
        return _cuda_versions.runtime_version() if _runtime.device_type() == "cuda" else None
    raise _missing_attribute("mstorch.version", name)

"""torch.utils.cpp_extension: building raises RuntimeError, because mstorch does not have torch's C++ library."""
from __future__ import annotations

import os
import shutil
from typing import Any, NoReturn

from .._src.hook import missing as _missing

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
IS_HIP_EXTENSION = False
IS_WINDOWS = False


def _no_building(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: C++ extensions need torch's C++ library, which mstorch does not have."""
    raise RuntimeError("mstorch: extensions in C++ or CUDA are written against torch's own library, and cannot be built or loaded here")


load = load_inline = CppExtension = CUDAExtension = SyclExtension = include_paths = library_paths = _no_building


class BuildExtension:
    """The setuptools command of extensions. Raises RuntimeError when instantiated."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_building()

    @classmethod
    def with_options(cls, **options: Any) -> type:
        """Return the class, which raises when instantiated."""
        return cls


def is_ninja_available() -> bool:
    """Return whether ninja is installed."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """Raise RuntimeError if ninja is not installed."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def get_default_build_root() -> str:
    """Return the folder in which torch builds extensions."""
    return os.path.join(os.path.expanduser(os.getenv("XDG_CACHE_HOME", "~/.cache")), "torch_extensions")


__all__ = [
    "BuildExtension", "CppExtension", "CUDAExtension", "get_default_build_root", "include_paths", "is_ninja_available",
    "library_paths", "load", "load_inline", "verify_ninja_availability",
]  # fmt: skip

__getattr__ = _missing(__name__)

"""torch.utils.cpp_extension: extensions in C++ or CUDA are not built, because mstorch does not have torch's C++ library.

In a ``setup.py`` they are left out with a warning, and the rest of the project is installed; ``load`` and ``load_inline`` raise.
"""
from __future__ import annotations

import functools
import os
import shutil
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from .._library.instead import INSTEAD
from .._src.hook import missing as _missing

CUDA_HOME: str | None = None
CUDNN_HOME: str | None = None
ROCM_HOME: str | None = None
HIP_HOME: str | None = None
ROCM_VERSION: tuple[int, int] | None = None
SYCL_HOME: str | None = None
IS_HIP_EXTENSION = False
IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
IS_LINUX = sys.platform.startswith("linux")
_OPTIONS = frozenset(("depends", "define_macros", "undef_macros", "language", "py_limited_api"))  # of an extension that is not compiled


def _listed(sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> str:
    """Return the names of source files, as a sentence lists them."""
    files = [sources] if isinstance(sources, (str, os.PathLike)) else sources
    return ", ".join(os.fspath(file) for file in files)


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(f"mstorch: {what} is written against torch's C++ library and cannot be built here; {INSTEAD}")


def load(name: str, sources: str | list[str], *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError, which names the source files: they need torch's C++ library."""
    _refuse(f"the extension {name!r} of {_listed(sources)}")


def load_inline(
    name: str, cpp_sources: str | list[str], cuda_sources: str | list[str] | None = None, sycl_sources: str | list[str] | None = None,
    functions: Any = None, *args: Any, **kwargs: Any,
) -> NoReturn:  # fmt: skip
    """Raise RuntimeError, which names the functions: their sources need torch's C++ library."""
    names = f" with the functions {_listed(list(functions))}" if functions else ""
    _refuse(f"the extension {name!r}{names} of sources given as text")


@functools.cache
def _extension_class() -> type:
    """Return the class of extensions that are not built. (setuptools takes a second and need not be there.)"""
    from setuptools import Extension

    class TorchExtension(Extension):
        """An extension against torch's library, left out by BuildExtension. Setuptools' own command may fail to build it."""

        def __init__(self, name: str, sources: list[str], **options: Any) -> None:
            super().__init__(name, sources, **options, optional=True)

    return TorchExtension


def CppExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> Any:
    """Return a setuptools.Extension that BuildExtension leaves out."""
    return _extension_class()(name, list(sources), **{key: value for key, value in kwargs.items() if key in _OPTIONS})


def CUDAExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> Any:
    """Return a setuptools.Extension that BuildExtension leaves out."""
    return CppExtension(name, sources, *args, **kwargs)


def SyclExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> Any:
    """Return a setuptools.Extension that BuildExtension leaves out."""
    return CppExtension(name, sources, *args, **kwargs)


@functools.cache
def _build_extension() -> type:
    """Return BuildExtension, which derives from setuptools' command. (setuptools takes a second and need not be there.)"""
    from setuptools.command.build_ext import build_ext

    class BuildExtension(build_ext):
        """The setuptools command of extensions: those against torch's library are left out with a warning, and the others are built."""

        def __init__(self, *args: Any, use_ninja: bool = True, no_python_abi_suffix: bool = False, **options: Any) -> None:
            super().__init__(*args, **options)

        @classmethod
        def with_options(cls, **options: Any) -> type:
            """Return a subclass with keyword arguments of ``__init__``."""

            class WithOptions(cls):  # type: ignore[valid-type]
                def __init__(self, *args: Any, **kwargs: Any) -> None:
                    super().__init__(*args, **{**kwargs, **options})

            return WithOptions

        def finalize_options(self) -> None:
            # They leave the distribution, too: the commands that install its files ask there which libraries were built.
            modules = self.distribution.ext_modules or []
            left_out: list[Any] = [module for module in modules if isinstance(module, _extension_class())]
            if left_out:
                self.distribution.ext_modules = [module for module in modules if module not in left_out]
                texts = "; ".join(f"{module.name} ({_listed(module.sources)})" for module in left_out)
                warnings.warn(
                    "mstorch: not built, and left out of the installation, because they are written against torch's C++ library: "
                    f"{texts}; {INSTEAD}",
                    stacklevel=2,
                )
            super().finalize_options()

    BuildExtension.__module__, BuildExtension.__qualname__ = __name__, "BuildExtension"
    return BuildExtension


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> NoReturn:
    """Raise RuntimeError: there are no headers of torch's library."""
    _refuse("what includes torch's headers")


def library_paths(device_type: str = "cpu", torch_include_dirs: bool = True, cross_target_platform: str | None = None) -> NoReturn:
    """Raise RuntimeError: there is no library of torch's."""
    _refuse("what is linked with torch's libraries")


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


__all__ = [  # noqa: F822 (BuildExtension comes from __getattr__)
    "BuildExtension", "CppExtension", "CUDAExtension", "SyclExtension", "get_default_build_root", "include_paths", "is_ninja_available",
    "library_paths", "load", "load_inline", "verify_ninja_availability",
]  # fmt: skip

_unknown = _missing(__name__)


def __getattr__(name: str) -> Any:
    return _build_extension() if name == "BuildExtension" else _unknown(name)

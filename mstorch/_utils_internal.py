"""torch._utils_internal: file paths."""
from __future__ import annotations

import os
import tempfile

from ._src.namespace.process import get_file_path, prepare_multiprocessing_environment


def get_file_path_2(*path_components: str) -> str:
    """Join the components of a path."""
    return os.path.join(*path_components)


def get_writable_path(path: str) -> str:
    """Return the folder if it is writable, else a new temporary one."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=os.path.basename(path))


def resolve_library_path(path: str) -> str:
    """Return the path with symbolic links resolved."""
    return os.path.realpath(path)


__all__ = ["get_file_path", "get_file_path_2", "get_writable_path", "prepare_multiprocessing_environment", "resolve_library_path"]

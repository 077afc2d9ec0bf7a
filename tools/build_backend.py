"""The build backend of mstorch: setuptools, plus one file that is added to the finished wheel.

The file, `mstorch_hook.pth`, is installed beside the package. In a process started with MSTORCH_HOOK=1 it makes ``import torch`` find
mstorch. setuptools has no option for a file beside a package, and editable wheels contain no files of the project.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

PTH = Path(__file__).with_name("mstorch_hook.pth")

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]  # fmt: skip


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build the wheel and return its file name."""
    return _with_pth(wheel_directory, build_meta.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build the wheel of `pip install -e` and return its file name.

    By default it names the project's folder: what setuptools would write instead finds modules as they are imported, and type
    checkers and editors, which import nothing, find none.
    """
    settings = {"editable_mode": "compat", **(config_settings or {})}
    return _with_pth(wheel_directory, build_meta.build_editable(wheel_directory, settings, metadata_directory))


def _with_pth(folder: str, name: str) -> str:
    path = Path(folder, name)
    with zipfile.ZipFile(path) as wheel:
        files = [(info, wheel.read(info)) for info in wheel.infolist()]
    content = PTH.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(PTH.name, content)
        for info, data in files:
            if info.filename.endswith(".dist-info/RECORD"):
                data = f"{PTH.name},sha256={digest},{len(content)}\n".encode() + data
            wheel.writestr(info, data)
    return name

"""Modules under the names that they had until version 0.3: pickles name the module of a class or a function."""
from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import Any

_PACKAGE = __name__.partition(".")[0]
_MOVED = {f"_{room}": f"_src.{room}" for room in (
    "aten", "backend", "core", "tape", "namespace", "mt19937", "serialization", "sparse", "quantized", "unbuilt", "frames", "leaving",
    "methods", "patched_settings", "progress", "quiet", "storage_checks", "storage_forms", "hook", "devices",
)}  # fmt: skip
_MOVED |= {f"_{command}": f"_commands.{command}" for command in ("scan", "compare", "port", "profile", "debug", "environment")}
_MOVED |= {"_torch_npu": "_companions.torch_npu", "_compile.compiled": "_src.compile.compiled", "_ops.": "_src.ops."}


def _present_name(name: str) -> str | None:
    """Return the name of the module that had another until 0.3; None for other names."""
    rest = name.removeprefix(f"{_PACKAGE}.")
    if rest == name:
        return None
    for former, present in _MOVED.items():
        if rest == former or rest.startswith(former if former[-1] == "." else former + "."):
            return f"{_PACKAGE}.{present}{rest[len(former):]}"
    return None


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


class _Forwarding(ModuleType):
    """A module whose names are those of another."""

    def __init__(self, name: str, present: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []  # modules below it are found by ``_Finder`` too
        self._present = present

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._present), name)


class _Loader(Loader):
    def __init__(self, present: str) -> None:
        self._present = present

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        importlib.import_module(self._present)
        return _Forwarding(spec.name, self._present)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the other module has been executed."""


class _Finder(MetaPathFinder):
    """Finds modules by their former names; asked last, so that it costs nothing where a module exists."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        present = _present_name(fullname)
        if present is None or not _is_there(present):  # what there is no more has torch's error for a name that is unknown
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(present), is_package=True)


sys.meta_path.append(_Finder())

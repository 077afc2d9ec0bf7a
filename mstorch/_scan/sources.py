"""The files that a scan reads: of paths as they are, of an installed package by its name, which is not imported."""
from __future__ import annotations

import ast
import functools
import importlib.machinery
import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages", ".git", ".venv", "venv", ".tox"))

STANDARD = frozenset(sys.stdlib_module_names) | {"torch", "functorch", "mstorch", "mindspore", "numpy", "torchgen", "torch_npu"}
"""Modules that are there, or that the hook answers for."""


class Source(NamedTuple):
    """A file that could be parsed."""

    path: Path
    tree: ast.Module


class Unread(NamedTuple):
    """A file that could not be parsed."""

    path: Path
    reason: str


def located(name: str) -> Path | None:
    """Return where the module or package of a dotted name lies on ``sys.path``: a folder, a .py file or an extension; None if nowhere."""
    places = sys.path
    found: Path | None = None
    for part in name.split("."):
        spec = importlib.machinery.PathFinder.find_spec(part, places)
        if spec is None:
            return None
        if spec.submodule_search_locations is not None:
            places = list(spec.submodule_search_locations)
            found = Path(places[0]) if places else None
        else:
            found = Path(spec.origin) if spec.origin else None
            places = []
    return found


@functools.cache
def requirements() -> dict[str, list[str]]:
    """By top-level module, what the installed distributions that it belongs to say they require."""
    found: dict[str, list[str]] = {}
    for module, distributions in importlib.metadata.packages_distributions().items():
        for name in distributions:
            try:
                required = importlib.metadata.requires(name) or []
            except importlib.metadata.PackageNotFoundError:
                continue
            found.setdefault(module, []).extend(required)
    return found


def resolve(argument: str) -> tuple[Path, str] | None:
    """Return what an argument of the command line means: a path, with the name of the package that it is, if it is one."""
    path = Path(argument)
    if path.exists():
        return path, path.resolve().name if (path / "__init__.py").is_file() else ""
    if all(part.isidentifier() for part in argument.split(".")):
        found = located(argument)
        return None if found is None else (found, argument)
    return None


def files_below(path: Path) -> Iterator[Path]:
    """The Python files of a folder, or the file itself."""
    if not path.is_dir():
        yield path
        return
    for file in sorted(path.rglob("*.py")):
        if not _SKIPPED.intersection(file.relative_to(path).parts[:-1]):
            yield file


@functools.cache
def read(path: Path) -> Source | Unread:
    """Parse a file, once."""
    try:
        return Source(path, ast.parse(path.read_bytes(), str(path)))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        return Unread(path, str(error))

"""Predict whether a package can be imported: the modules that an import would load are followed, without running any code."""
from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..._src.hook import is_linked_to_torch
from . import names
from .guards import AT_IMPORT
from .sources import STANDARD, Source, located, read, requirements
from .walk import Walk, walk_of


class Verdict(NamedTuple):
    """The reasons why a package cannot be imported, each with file and line; none if it can be imported."""

    package: str
    reasons: tuple[tuple[Path, int, str], ...]
    modules: int


class _Module(NamedTuple):
    """A module that an import loads: its file and, if the file is Python, the code that runs at import and the names that it binds."""

    path: Path
    walk: Walk | None
    bound: frozenset[str] | None  # None if names may come from anywhere


def verdict_on(package: str, place: Path | None) -> Verdict:
    """Analyse the modules that ``import package`` loads; ``place`` is the package's location if it is not on ``sys.path``."""
    following = _Following(package, place)
    following.load(package)
    return Verdict(package, tuple(dict.fromkeys(following.reasons)), len(following.loaded))


class _Following:
    def __init__(self, package: str, place: Path | None) -> None:
        self.root = package.partition(".")[0]
        self.place = place
        self.loaded: set[str] = set()
        self.reasons: list[tuple[Path, int, str]] = []

    def file_of(self, module: str) -> Path | None:
        """Return the file from which a module is loaded, or the folder of a package without a file."""
        path: Path | None
        if self.place is not None and module.partition(".")[0] == self.root:
            inside = self.place.joinpath(*module.split(".")[1:])
            files = (inside, inside.with_suffix(".py"), *inside.parent.glob(f"{inside.name}.*.so"))
            path = next((file for file in files if file.exists()), None)
        else:
            path = located(module)
        if path is not None and path.is_dir() and (path / "__init__.py").is_file():
            return path / "__init__.py"
        return path

    def load(self, module: str, asked: tuple[Path, int] | None = None) -> bool:
        """Follow a module and its parent packages; return whether the module exists."""
        parts = module.split(".")
        for number in range(1, len(parts) + 1):
            name = ".".join(parts[:number])
            if name in self.loaded:
                continue
            path = self.file_of(name)
            if path is None:
                if number == 1 and asked is not None:
                    self.reasons.append((*asked, f"needs {name}, which is not installed"))
                return False
            self.loaded.add(name)
            if path.suffix != ".py":
                if path.is_file() and is_linked_to_torch(str(path)) and asked is not None:
                    self.reasons.append((*asked, f"{name} is compiled for torch's library"))
                continue
            if name.partition(".")[0] == self.root or _uses_torch(name.partition(".")[0]):
                self.follow(name, path)
        return True

    def follow(self, module: str, path: Path) -> None:
        """Follow the code that a module runs at import."""
        found = _module(path)
        if found.walk is None:
            return
        for use in found.walk.uses:
            if use.state == AT_IMPORT and use.what in ("import", "name", "call"):
                lack = names.lack_of(use.name, importing=use.what != "call")
                if lack is not None and lack.name not in found.walk.sets:
                    self.reasons.append((path, use.line, f"{lack.name} is missing"))
                wanted = names.package_for(use.name) if lack is None and use.what == "import" else None
                if wanted is not None:
                    self.reasons.append((path, use.line, f"needs {wanted}, which is not installed"))
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for item in found.walk.imports:
            if item.state != AT_IMPORT:
                continue
            above = package.split(".")[: len(package.split(".")) - item.level + 1] if item.level else []
            target = ".".join([*above, item.module] if item.module else above)
            if target and target.partition(".")[0] not in STANDARD:
                self.take(target, item.names, (path, item.line))

    def take(self, module: str, wanted: tuple[str, ...], asked: tuple[Path, int]) -> None:
        """Follow ``from module import wanted`` as an import would."""
        if not self.load(module, asked):
            return
        path = self.file_of(module)
        bound = _module(path).bound if path is not None and path.suffix == ".py" else None
        for name in wanted:
            below = f"{module}.{name}"
            if name == "*":
                continue
            if self.file_of(below) is not None:
                self.load(below, asked)
            elif bound is not None and name not in bound:
                self.reasons.append((*asked, f"{module} has no {name}"))


@functools.cache
def _module(path: Path) -> _Module:
    source = read(path)
    if not isinstance(source, Source):
        return _Module(path, None, None)
    return _Module(path, walk_of(source), _bound(source.tree))


def _bound(tree: ast.Module) -> frozenset[str] | None:
    found: set[str] = {"__version__", "__name__", "__file__", "__path__", "__doc__", "__all__", "__spec__"}
    for node in _outside_of_functions(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name == "__getattr__":
                return None
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if any(alias.name == "*" for alias in node.names):
                return None
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            if isinstance(node, ast.ImportFrom) and node.level and node.module:  # the submodule, too
                found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("globals", "locals", "vars", "setattr", "exec"):
            return None
        elif isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.modules":
            return None
    return frozenset(found)


def _outside_of_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _outside_of_functions(child)


@functools.cache
def _uses_torch(root: str) -> bool:
    """Return whether a package declares torch as a requirement, or imports it near its top level without declaring it."""
    required = requirements().get(root)
    if required is None or any(name.startswith("torch") for name in required):
        return True
    path = located(root)
    files = [*path.glob("*.py"), *path.glob("*/*.py")] if path is not None and path.is_dir() else []
    return any(b"import torch" in file.read_bytes() for file in files[:100])

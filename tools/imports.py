"""List the names of torch that packages import unguarded and that mstorch lacks.

    python -m tools.imports SITE_PACKAGES…    # a line for each name: how many packages, and which; fails if there is any

Unguarded: in an ``import`` statement outside of functions and ``try``, so that a missing name makes the package's import fail. Statements
under ``if`` count too, and those under ``except`` where the guarded ones fail. Only the sources are read; nothing of the packages runs.
"""
from __future__ import annotations

import ast
import importlib
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import mstorch

_OWN = {"torch", "mstorch", "functorch", "torchgen", "tests", "mindspore"}


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run at import, those in classes, ``with`` and ``if`` included, except under ``if TYPE_CHECKING`` and ``if
    __name__ == "__main__"``."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If):
            if not any(word in ast.unparse(statement.test) for word in ("TYPE_CHECKING", "__main__", "False")):
                yield from _statements(statement.body)
            yield from _statements(statement.orelse)
        elif isinstance(statement, ast.Try) and not all(has(mstorch.__name__, name) for name in _names(statement.body)):
            for handler in statement.handlers:
                yield from _statements(handler.body)
        elif isinstance(statement, (ast.ClassDef, ast.With)):
            yield from _statements(statement.body)


def imported(source: str) -> set[str]:
    """Return the dotted names below torch that a module's source imports unguarded, such as ``nn.init.normal_``; "" is torch itself."""
    return _names(ast.parse(source).body)


def _names(body: list[ast.stmt]) -> set[str]:
    found = set()
    for statement in _statements(body):
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            found |= {f"{statement.module}.{alias.name}" for alias in statement.names if alias.name != "*"}
    return {name.partition(".")[2] for name in found if name.partition(".")[0] == "torch"}


@cache
def has(root: str, name: str) -> bool:
    """Return whether a package has a dotted name: an attribute, or a module that can be imported."""
    if not name:
        return True
    home, _, last = name.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            importlib.import_module(f"{root}.{name}")
        except Exception:  # noqa: BLE001  # a module of torch's may need what is not installed
            try:
                return hasattr(importlib.import_module(f"{root}.{home}" if home else root), last)
            except Exception:  # noqa: BLE001
                return home != "" and "." not in home and has(root, home) and hasattr(getattr(sys.modules[root], home, None), last)
    return True


def wanted(site: Path) -> dict[str, set[str]]:
    """Return the names that the packages in a folder import from torch, each with the packages that import it."""
    found: dict[str, set[str]] = {}
    for path in site.rglob("*.py"):
        package = path.relative_to(site).parts[0]
        if package.removesuffix(".py") in _OWN or "tests" in path.parts or "test" in path.parts:
            continue
        try:
            names = imported(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        for name in names:
            found.setdefault(name, set()).add(package.removesuffix(".py"))
    return found


def missing(names: dict[str, set[str]], oracle: str = "torch") -> dict[str, set[str]]:
    """Return the names that torch has and mstorch lacks."""
    return {name: packages for name, packages in names.items() if not has(mstorch.__name__, name) and has(oracle, name)}


def main(sites: list[str]) -> int:
    """Print the missing names; return 1 if there are any, else 0."""
    names: dict[str, set[str]] = {}
    for site in sites:
        for name, packages in wanted(Path(site)).items():
            names.setdefault(name, set()).update(packages)
    lacking: dict[str, Any] = missing(names)
    for name, packages in sorted(lacking.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"{len(packages):3} torch.{name}: {', '.join(sorted(packages)[:6])}")
    print(f"{len(lacking)} of {len(names)} names of {len(set().union(*names.values()))} packages are missing")
    return min(len(lacking), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Files that a scan reads: paths, or the files of an installed package, which is not imported."""
from __future__ import annotations

import ast
import functools
import importlib.machinery
import importlib.metadata
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .notebooks import code_of, renumbered

SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages", ".git", ".venv", "venv", ".tox", ".ipynb_checkpoints"))

STANDARD = frozenset(sys.stdlib_module_names) | {"torch", "functorch", "mstorch", "mindspore", "numpy", "torchgen", "torch_npu"}
"""Modules that always exist, or that the hook provides."""


class Source(NamedTuple):
    """File that could be parsed."""

    path: Path
    tree: ast.Module


class Unread(NamedTuple):
    """File that could not be parsed."""

    path: Path
    reason: str


def located(name: str) -> Path | None:
    """Return the location of a module or package on ``sys.path``: a folder, a .py file or an extension; None if there is none."""
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
    """Return by top-level module the declared requirements of its distributions."""
    found: dict[str, list[str]] = {}
    for module, distributions in importlib.metadata.packages_distributions().items():
        for name in distributions:
            try:
                required = importlib.metadata.requires(name) or []
            except importlib.metadata.PackageNotFoundError:
                continue
            found.setdefault(module, []).extend(required)
    return found


_OTHERWISE = {
    "hydra": "hydra-core", "cv2": "opencv-python", "PIL": "pillow", "sklearn": "scikit-learn", "skimage": "scikit-image", "yaml": "PyYAML",
    "google": "protobuf", "attr": "attrs", "dateutil": "python-dateutil", "Bio": "biopython", "git": "GitPython",
    "dotenv": "python-dotenv",
    "pl_bolts": "lightning-bolts", "pytorch_lightning": "pytorch-lightning", "faiss": "faiss-cpu", "serial": "pyserial",
    "bs4": "beautifulsoup4", "umap": "umap-learn", "fitz": "PyMuPDF", "slugify": "python-slugify", "kornia_rs": "kornia-rs",
}  # fmt: skip
"""Packages whose name on the index is another than the module's, where no metadata on this machine tells."""


@functools.cache
def _required() -> dict[str, str]:
    """Return by module-like name the names by which the installed distributions ask for others: pytorch_lightning → pytorch-lightning."""
    asked = {re.match(r"[\w.-]+", text) for item in importlib.metadata.distributions() for text in item.requires or ()}
    return {match[0].replace("-", "_").lower(): match[0] for match in asked if match}


def distribution_of(module: str) -> str:
    """Return the name by which a module that is not installed can be installed, followed by the module's if it is another."""
    named = _OTHERWISE.get(module) or _required().get(module.lower(), module)
    return module if named == module else f"{named} (for {module})"


def resolve(argument: str) -> tuple[Path, str] | None:
    """Resolve an argument of the command line to a path, and the package's name if the argument is a package."""
    path = Path(argument)
    if path.exists():
        return path, path.resolve().name if (path / "__init__.py").is_file() else ""
    if all(part.isidentifier() for part in argument.split(".")):
        found = located(argument)
        return None if found is None else (found, argument)
    return None


def files_below(path: Path) -> Iterator[Path]:
    """Yield the Python files and notebooks of a folder, or the file itself."""
    if not path.is_dir():
        yield path
        return
    for file in sorted((*path.rglob("*.py"), *path.rglob("*.ipynb"))):
        if not SKIPPED.intersection(file.relative_to(path).parts[:-1]):
            yield file


@functools.cache
def read(path: Path) -> Source | Unread:
    """Parse a file or the code of a notebook, whose lines are the file's; cached."""
    try:
        content = path.read_bytes()
        if path.suffix == ".ipynb":
            code = code_of(content)
            return Source(path, renumbered(ast.parse(code.text, str(path)), code.lines))
        return Source(path, ast.parse(content, str(path)))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        return Unread(path, str(error))

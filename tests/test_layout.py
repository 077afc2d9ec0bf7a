"""The rooms of the package: who imports whom, how long files are, what names may appear where."""
from __future__ import annotations

import ast
import importlib
import pathlib

import pytest

import mstorch

pytestmark = pytest.mark.core

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "mstorch"
FILES = sorted(PACKAGE.rglob("*.py"))
ALL_FILES = FILES + sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))

# Each room may import from itself and from the rooms before it.
ROOMS = ["_version", "_mt19937", "_backend", "_core", "_tape", "return_types", "_ops", "_tensor_str", "_methods", "_tensor", "autograd"]

# Methods that give or take what a room above makes import it when they are called.
UPWARD = {
    "_core/generator.py": "_ops",  # get_state() gives a tensor
    "_ops/creation.py": "_sparse",  # layout=torch.sparse_*
    "_ops/_storages.py": "storage",  # storage() gives one, set_() takes one
    "_tensor.py": "autograd",  # backward(), register_hook(), retain_grad()
}


def _room(path: pathlib.Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports(path: pathlib.Path) -> list[tuple[str, int, bool]]:
    """Rooms of the package that a file imports, with the line and whether that is at the top, not in a function."""
    tree = ast.parse(path.read_text())
    depth = len(path.relative_to(PACKAGE).parts) - 1
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            up = node.level - 1
            base = list(path.relative_to(PACKAGE).parts[:-1])[: depth - up]
            parts = base + (node.module.split(".") if node.module else [])
            for alias in node.names:
                target = parts or [alias.name]
                found.append((target[0], node.lineno, node in tree.body))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_one_way(path: pathlib.Path) -> None:
    room = _room(path)
    if room not in ROOMS:
        return
    allowed = UPWARD.get(path.relative_to(PACKAGE).as_posix())
    for target, line, at_the_top in _imports(path):
        if target == "_methods" and room == "_tensor" or target == allowed and not at_the_top:
            continue
        assert target in ROOMS, f"line {line}: {room} imports {target}, which stands above it"
        assert ROOMS.index(target) <= ROOMS.index(room), f"line {line}: {room} imports {target}, which stands above it"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_backend_imports_mindspore(path: pathlib.Path) -> None:
    if _room(path) == "_backend":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        assert not any(name.split(".")[0] in ("mindspore", "torch") for name in names), f"line {node.lineno}: {names}"


@pytest.mark.parametrize("path", ALL_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_short_and_plain(path: pathlib.Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 600, "over 600 lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            assert all(alias.name != "*" for alias in node.names), f"line {node.lineno}: star import"
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"line {node.lineno}: bare except"


def test_private_names_of_mindspore_stay_in_the_tape() -> None:
    for path in FILES:
        if "_pynative_executor" in path.read_text() or "_c_expression" in path.read_text():
            assert _room(path) == "_backend", path


@pytest.mark.parametrize("path", sorted((PACKAGE / "_ops").glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_functions_of_families_stand_in_the_torch_namespace(path: pathlib.Path) -> None:
    family = importlib.import_module(f"mstorch._ops.{path.stem}")
    missing = [name for name in getattr(family, "FUNCTIONS", ()) if name not in vars(mstorch)]
    assert not missing, f"import them from ._ops.{path.stem} in mstorch/__init__.py"

"""The stubs equal the output of tools.public_types, and declare names that the package has."""
from __future__ import annotations

import ast
import pathlib
import types
from typing import Any

import pytest

import mstorch
from tools.public_types.forms import PREFIXES, STUBS
from tools.public_types.writing import ROOT, files


def test_the_stubs_are_current() -> None:
    old = [path.relative_to(ROOT).as_posix() for path, text in files().items() if not path.exists() or path.read_text() != text]
    assert not old, "run python -m tools.public_types"


@pytest.mark.parametrize("path", sorted((ROOT / "mstorch").rglob("*.pyi")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_stubs_are_short(path: pathlib.Path) -> None:
    assert len(path.read_text().splitlines()) <= 600


def _named(path: pathlib.Path) -> set[str]:
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            found |= {ast.unparse(target) for target in node.targets}
        elif isinstance(node, ast.AnnAssign):
            found.add(ast.unparse(node.target))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
    return found


@pytest.mark.parametrize("face", PREFIXES)
def test_a_namespace_and_its_stub_have_the_same_names(face: str) -> None:
    module: Any = mstorch
    for part in face.split(".") if face else ():
        module = getattr(module, part)
    stub = _named(ROOT / "mstorch" / f"{face.replace('.', '/') or '__init__'}.pyi")
    known = {name for name in vars(module) if not name.startswith("_")}
    known -= {name for name in known if isinstance(getattr(module, name), types.ModuleType)}
    assert known - stub <= {"annotations", "TYPE_CHECKING", "ao"}
    assert not {name for name in stub if not hasattr(module, name) and not name.startswith("_")}


def test_every_method_of_tensor_is_in_a_stub() -> None:
    classes = [
        node for path in STUBS.glob("methods*.pyi") for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)
    ]
    (own,) = (
        node for node in ast.parse((ROOT / "mstorch" / "_tensor.py").read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == "Tensor"
    )  # fmt: skip
    named = set()
    for node in (node for cls in [*classes, own] for node in cls.body):
        if isinstance(node, ast.FunctionDef):
            named.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named |= {ast.unparse(target) for target in targets}
    public = {name for name in vars(mstorch.Tensor) if not name.startswith("_")}
    assert not public - named

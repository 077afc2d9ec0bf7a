"""The kernel table uses kernels that MindSpore has, and gives a reason where it does not use them."""
from __future__ import annotations

import ast
import pathlib

import mindspore
import pytest

import mstorch
from mstorch._src.backend.table import ROWS

KERNELS = pathlib.Path(mstorch.__file__).parent / "_src" / "backend" / "kernels"
LIMIT = 60


def _names(tree: ast.AST, room: str) -> set[str]:
    """Return the names that a file uses of ``mindspore.mint`` or ``mindspore.ops``, without those that it tests by ``hasattr``."""
    asked = {
        node.args[1].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr"
        and isinstance(node.args[0], ast.Name) and node.args[0].id == room and isinstance(node.args[1], ast.Constant)
    }  # fmt: skip
    taken = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == room
    }
    return taken - asked


@pytest.mark.parametrize("room", ["mint", "ops"])
def test_mindspore_has_the_names_of_the_rows(room: str) -> None:
    module = getattr(mindspore, room)
    missing = {
        f"{path.name}: {room}.{name}"
        for path in KERNELS.glob("*.py")
        for name in _names(ast.parse(path.read_text()), room)
        if not hasattr(module, name)
    }
    assert not missing


def test_rows_of_numpy_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {op: row.numpy_reason for op, row in ROWS.items() if row.numpy_reason and row.numpy_reason != "only a device uses it"}
    with capsys.disabled():
        print(f"\n{len(rows)} of {len(ROWS)} operations leave MindSpore for NumPy or SciPy on the CPU:")
        for op, reason in rows.items():
            print(f"  {op}: {reason}")
    assert len(rows) <= LIMIT
    assert all(len(reason) > 20 for reason in rows.values())
    assert all("CPU" in ROWS[op].functions for op in rows)

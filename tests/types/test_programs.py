"""A type checker infers the same types of a program with mstorch as with torch."""
from __future__ import annotations

import pathlib
import runpy

import pytest

from tests.types.checker import renamed, revealed

pytestmark = pytest.mark.sweep

pytest.importorskip("mypy")

PROGRAM = pathlib.Path(__file__).with_name("program.py")
# Lines whose types torch's own annotations leave open: the line's code → the types that mypy reveals with mstorch.
MORE = {
    "first, *rest = x.split(2)": [],  # an untyped method in torch
    "reveal_type(first)": ["Tensor"],
    "reveal_type(row)": ["Tensor"],  # Tensor.__iter__ is untyped there
    "reveal_type(x.norm())": ["Tensor"],
    "reveal_type(loss.backward())": ["None"],
    "reveal_type(model.body[:1])": ["Sequential"],
    "reveal_type(dict(model.named_modules()))": ["dict[str, Module]"],
    "reveal_type(torch.linalg.norm(loss))": ["Tensor"],  # functions of these three namespaces have no stubs there
    "reveal_type(torch.fft.fft(loss))": ["Tensor"],
    "reveal_type(torch.special.erf(loss))": ["Tensor"],
}


def test_types_of_a_program(tmp_path: pathlib.Path) -> None:
    source = PROGRAM.read_text()
    ours, theirs = (revealed(source, tmp_path, library) for library in ("mstorch", "torch"))
    lines = source.splitlines()
    assert len(theirs) > 180
    for number in sorted(ours.keys() | theirs.keys()):
        code = lines[number - 1].strip()
        expected = MORE.get(code, theirs.get(number, []))
        assert ours.get(number, []) == expected, f"line {number}: {code}"


def test_the_program_runs(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(renamed(PROGRAM.read_text()))
    assert runpy.run_path(str(path))["train"](1) > 0

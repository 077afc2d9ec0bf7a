"""docs/api and docs/pictures equal the output of their tools."""
from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import databases
from tests.against_torch import of_cpu_build
from tools import pictures
from tools.api_map import calls
from tools.api_map.__main__ import FOLDER
from tools.api_map.names import Name
from tools.api_map.pages import Seen, pages


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pages()


@of_cpu_build
def test_pages_are_current(written: dict[str, str]) -> None:
    found = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    stale = [name for name in sorted(written.keys() | found.keys()) if written.get(name) != found.get(name)]
    assert not stale, "python -m tools.api_map"


def test_what_pages_say(written: dict[str, str]) -> None:
    lines = {line.split("`")[1]: line for line in written["mathematics.md"].splitlines() if line.startswith("| `")}
    assert "| there | CPU: linalg\\_solve |" in lines["inv"] and "database, forms" in lines["inv"]
    assert "| there | kernels |" in next(line for line in written["functional.md"].splitlines() if line.startswith("| `softmax`"))
    assert "| absent |" in next(line for line in written["tensor.md"].splitlines() if line.startswith("| `index`"))
    assert "| raises |" in next(line for line in written["functional.md"].splitlines() if line.startswith("| `scaled_grouped_mm`"))


def test_every_entry_of_the_databases_ran() -> None:
    seen = set(json.loads(calls.PATH.read_text()))
    assert seen == {f"{kind} {name}" for kind in calls.KINDS for name in databases.items(kind)}, "python -m tools.api_map.calls"


def test_methods_and_in_place_forms_have_the_entries_of_their_function() -> None:
    seen = Seen()
    of_exp = seen.of(Name("torch", "exp", "there", ()))
    assert of_exp and seen.of(Name("torch.Tensor", "exp_", "there", ())) == of_exp == seen.of(Name("torch.Tensor", "exp", "there", ()))
    assert not seen.of(Name("torch.utils.data", "exp", "there", ()))


@pytest.mark.parametrize("draw", [pictures.speed, pictures.rooms])
def test_pictures_are_current(draw: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, kept = f"{draw.__name__}.svg", pictures.FOLDER
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    draw()
    assert (tmp_path / name).read_text("utf-8") == (kept / name).read_text("utf-8"), f"python -m tools.pictures {draw.__name__}"

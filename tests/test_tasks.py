"""The scripts of examples/tasks print the same numbers on mstorch, on the stand-in device and on real torch."""
from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import pytest

from tests import warm

ROOT = Path(__file__).resolve().parents[1]
TASKS = ROOT / "examples" / "tasks"
NEEDED = {"classify_images": ("timm",), "tune_bert": ("transformers", "peft"), "diffuse": ("diffusers",)}
SCRIPTS = sorted(path.stem for path in TASKS.glob("*.py"))


def _numbers(script: str, *words: str, options: tuple[str, ...] = (), **variables: str) -> list[float]:
    environment = {**os.environ, "GLOG_v": "3", "MSTORCH_FAKE_DEVICE": "", **variables}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    command = ["-W", "ignore", *words, str(TASKS / f"{script}.py"), "--steps", "8", *options]
    said = warm.said(*command, environment=environment, library="mstorch" if words else "torch", seconds=600)
    lines = re.findall(r"^step \d+: .*?([-\d.]+)$", said, re.MULTILINE)
    assert len(lines) == 8, said
    return [float(line) for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("script", [pytest.param(script, marks=pytest.mark.long if script == "speech" else ()) for script in SCRIPTS])
def test_numbers(script: str) -> None:
    needed = NEEDED.get(script, ())
    for module in needed:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    found = _numbers(script, "-m", "mstorch")
    assert found[-1] != found[0]
    on_device = _numbers(script, "-m", "mstorch", options=("--device", "npu"), MSTORCH_FAKE_DEVICE="Ascend")
    assert on_device == pytest.approx(found, abs=1e-3)
    if not needed:  # torch's own build of the packages may not be there
        assert _numbers(script) == pytest.approx(found, abs=1e-3)


def test_the_page_lists_every_script() -> None:
    text = (TASKS / "README.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| `(\w+)\.py`", text, re.MULTILINE)) == SCRIPTS

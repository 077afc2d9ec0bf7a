"""Each code block in the README and in docs/ runs: commands in a reader's folder, the Python of a page in one process, without torch."""
from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm
from tests.documents import LANGUAGES, PAGES, ROOT, Block, blocks, readers_folder, unfenced

BLOCKS = [block for page in PAGES for block in blocks(page)]

# Commands that are not run here, how many blocks have them, and why.
LEFT_OUT = {
    r"pip install .*": (10, "changes what is installed; tests/test_release.py installs the wheel into one of its own"),
    r"python -m mstorch check": (4, "takes minutes; tests/devices/checked.py runs its groups, with planted faults"),
    r"python -m tests\.distributed\.\w+ .*": (4, "takes minutes; tests/distributed runs the same cases"),
    r"torchrun .*train\.py.*": (2, "torch's own launcher, where both libraries are installed: its processes sometimes abort as they end"),
    r"MSTORCH_FAKE_DEVICE=Ascend python -m pytest tests/core .*": (1, "takes minutes; the job stand-in of ci.yml runs these files and more"),
}

# The output of a command: a line that it prints, or a file that it writes.
SAYS = {
    r"python -m mstorch scan .*": r"100 % of \d+ uses",
    r"python -m mstorch compare .*": r"all modules, gradients and steps agree",
    r"python -m mstorch profile .*": r"the costliest lines:\n +\d",
    r"python -m mstorch port my_project/": r"\+import mstorch as torch",
    r"python -m mstorch port .* --write": r"",
    r"python -m mstorch env": r"MindSpore version: +2\.",
    r"pytest .*": r"1 passed",
    r"python -m mstorch --cuda-is-npu train\.py": r"epoch 1 on npu: loss \d",
    r".*python -m mstorch examples/digits_mlp\.py --device npu": r"test accuracy +9\d",
    r"python -m mstorch examples/digits_cnn\.py": r"test accuracy +9\d",
    r"python (-m mstorch )?examples/tasks/speech\.py.*": r"step 20: loss \d",
    r"MSTORCH_FAKE_DEVICE=Ascend python -m tools\.device_cost script\.py --device npu": r"step 2: .*kernels [1-9]",
    r"python -m mstorch\.distributed\.run .*": r"(?s)epoch 1 on cpu.*epoch 1 on cpu",
    r"(MSTORCH_DEBUG=compare )?python -m mstorch (-m my_project\.train|your_script\.py|train\.py( --epochs 1)?)": r"epoch 0 on cpu: loss \d",
}


def reason(command: str) -> str | None:
    """Return why a command is not run, or None."""
    return next((why for pattern, (_, why) in LEFT_OUT.items() if re.fullmatch(pattern, command)), None)


SHELL = [(command, block) for block in BLOCKS if block.language == "sh" for command in block.commands()]
RUN = {(command, *block.variables.items()): block for command, block in SHELL if reason(command) is None}
PYTHON = {block.page: [other for other in BLOCKS if other.page == block.page and other.language == "python"] for block in BLOCKS if block.language == "python"}


def environment(**variables: str) -> dict[str, str]:
    """Return a reader's environment: this Python first, and mstorch importable."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MSTORCH_", "PYTEST_"))}
    path = os.pathsep.join((os.path.dirname(sys.executable), kept.get("PATH", "")))
    python_path = os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH"))))
    return {**kept, "PATH": path, "PYTHONPATH": python_path, "GLOG_v": "3", "COLUMNS": "100", **variables}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_names_its_language(page: Path) -> None:
    assert not unfenced(page)
    assert page.read_text("utf-8").count("\n```") == 2 * len(blocks(page))
    for block in blocks(page):
        assert block.language in LANGUAGES, (block.page, block.line)


def test_commands_that_are_not_run_are_counted() -> None:
    for pattern, (count, _) in LEFT_OUT.items():
        assert len([1 for command, _ in SHELL if re.fullmatch(pattern, command)]) == count, pattern
    assert len(SHELL) - len([1 for command, _ in SHELL if reason(command)]) > 40


@pytest.mark.slow
@pytest.mark.parametrize("key", [pytest.param(key, marks=pytest.mark.long if "speech.py" in key[0] else ()) for key in RUN], ids=lambda key: " ".join((*("=".join(pair) for pair in key[1:]), key[0])))
def test_commands_run(key: tuple[str], tmp_path: Path) -> None:
    command, block = key[0], RUN[key]
    folder = readers_folder(tmp_path)
    done = subprocess.run(command, shell=True, cwd=folder, env=environment(**block.variables), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{block.page}:{block.line}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    (words,) = [words for pattern, words in SAYS.items() if re.fullmatch(pattern, command)]
    assert re.search(words, done.stderr if "tools.device_cost" in command else done.stdout), f"{block.page}:{block.line}\n{done.stdout}"
    assert "Traceback" not in done.stderr
    if command.endswith("--write"):
        assert "import mstorch as torch" in (folder / "my_project" / "train.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("page", PYTHON)
def test_python_runs(page: str, tmp_path: Path) -> None:
    """The blocks of a page run in one session, in order."""
    script = readers_folder(tmp_path) / "page.py"
    there = [block for block in PYTHON[page] if all(importlib.util.find_spec(name) for name in block.needs)]
    if not there:
        pytest.skip(f"{page} needs packages that are not installed")
    script.write_text("import torch\n" + "".join(map(_text, there)) + "assert hasattr(torch.version, 'mstorch')\nprint('all of the page ran')\n")
    variables = {name: value for block in there for name, value in block.variables.items()}
    command = ["-m", "mstorch", str(script)]
    done = warm.done(*command, environment=environment(**variables), folder=tmp_path, seconds=600)
    assert done.returncode == 0 and "all of the page ran" in done.stdout, done.stderr[-3000:]


def _text(block: Block) -> str:
    return f"{block.setup}# {block.page}:{block.line}\n{block.code}\n"

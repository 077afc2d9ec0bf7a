"""Ask mypy what it reveals in a program, with torch or with mstorch under torch's name."""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SETTINGS = """
[mypy]
strict = True
[mypy-mstorch.*]
follow_imports = silent
[mypy-torch.*]
follow_imports = silent
[mypy-mindspore.*]
follow_imports = skip
"""


def renamed(source: str) -> str:
    """Return a program for torch as one for mstorch."""
    source = re.sub(r"^import torch$", "import mstorch as torch", source, flags=re.M)
    return re.sub(r"^(import|from) torch\b", r"\1 mstorch", source, flags=re.M)


def revealed(source: str, folder: pathlib.Path, library: str) -> dict[int, list[str]]:
    """Return the types that mypy --strict reveals in each line, without module names."""
    path = folder / f"with_{library}.py"
    path.write_text(renamed(source) if library == "mstorch" else source)
    settings = folder / "mypy.ini"
    settings.write_text(SETTINGS)
    cache = ROOT / ".mypy_cache" / f"of_{library}"  # shared by all tests: unchanged files are read once
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings), "--cache-dir", str(cache), str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env={"MYPYPATH": str(ROOT), "PATH": ""}, check=False
    )  # fmt: skip
    assert not done.stderr, done.stderr
    found: dict[int, list[str]] = {}
    for line in done.stdout.splitlines():
        said = re.match(rf"{path.name}:(\d+): (?:note|error): (.*)", line)
        if said:
            found.setdefault(int(said[1]), []).append(plain(said[2]))
    return found


def plain(said: str) -> str:
    """Return the types without modules, and without the tuple that a named tuple is."""
    said = re.sub(r"\b(?:\w+\.)+(?=\w)", "", said.removeprefix("Revealed type is ").strip('"'))
    return re.sub(r"tuple\[Tensor(?:, Tensor)*, fallback=(\w+)\]", r"\1", said)

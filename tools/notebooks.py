"""Writes the notebooks of examples/notebooks from the scripts there: ``# %%`` begins a cell, ``# %% [markdown]`` one of text.

    python -m tools.notebooks              # after a script has changed; tests/test_example_notebooks.py says when
"""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "notebooks"
_MARK = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)


def cells(script: str) -> list[tuple[bool, str]]:
    """Yield the cells of a script: whether the cell is Markdown, and its text."""
    parts = _MARK.split(script)
    if parts[0].strip():
        raise ValueError("something stands before the first cell")
    found = []
    for mark, text in zip(parts[1::2], parts[2::2]):
        text = text.strip("\n")
        found.append((mark is not None, re.sub(r"^# ?", "", text, flags=re.MULTILINE) if mark else text))
    return found


def notebook(script: str) -> str:
    """Return the JSON text of a script's notebook, without outputs."""
    made: list[dict[str, Any]] = []
    for number, (is_text, text) in enumerate(cells(script)):
        kind, lines = "markdown" if is_text else "code", text.splitlines(keepends=True)
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines}
        made.append(cell if is_text else {**cell, "execution_count": None, "outputs": []})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False, indent=1) + "\n"


def main() -> None:
    """Write all notebooks."""
    for script in sorted(FOLDER.glob("*.py")):
        script.with_suffix(".ipynb").write_text(notebook(script.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

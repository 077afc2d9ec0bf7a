"""The public functions and methods of torch, and which of them are written in Python, as listed in ``public_names.txt``."""
from __future__ import annotations

import pathlib


def _read() -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    for line in pathlib.Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith("["):
            names = found[line.strip("[]")] = {}
        elif line and not line.startswith("#"):
            names.update((name.rstrip("*"), name.endswith("*")) for name in line.split())
    return found


IN_PYTHON = _read()
"""Place ("" for torch itself, "linalg", "Tensor", …) → name → whether torch writes it in Python."""

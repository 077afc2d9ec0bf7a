"""The public functions and methods of torch, and which of them are written in Python, as listed in ``public_names.txt``."""
from __future__ import annotations

import pathlib


def _read() -> tuple[dict[str, dict[str, bool]], dict[str, dict[str, tuple[str, bool]]]]:
    found: dict[str, dict[str, bool]] = {}
    handed_on: dict[str, dict[str, tuple[str, bool]]] = {}
    for line in pathlib.Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith("["):
            names = found[line.strip("[]")] = {}
            called = handed_on[line.strip("[]")] = {}
        elif line and not line.startswith("#"):
            for word in line.split():
                name, star, other = word.rstrip("!").partition("*")
                names[name] = bool(star)
                if other:
                    called[name] = (name if other == "*" else other), word.endswith("!")
    return found, handed_on


IN_PYTHON, HANDED_ON = _read()
"""Namespace ("" for torch itself, "linalg", "Tensor", …) → name → True if torch implements it in Python."""
# HANDED_ON: functions that torch implements in Python and that pass their arguments unchanged to a compiled function: namespace → name →
# (that function, whether the Python function checks numbers first).

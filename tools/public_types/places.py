"""Text of ``mstorch/_core/public_names.txt``: which public names torch has, where, and which of them it writes in Python."""
from __future__ import annotations

import inspect
import textwrap
import types
from typing import Any

import torch
import torch.sparse

PLACES: dict[str, Any] = {
    "": torch, "linalg": torch.linalg, "fft": torch.fft, "special": torch.special, "nn.functional": torch.nn.functional,
    "sparse": torch.sparse, "nn.init": torch.nn.init, "Tensor": torch.Tensor,
}  # fmt: skip
HEAD = f"""\
# Written by `python -m tools.public_types` from torch {torch.__version__.partition('+')[0]}:
# the functions of each namespace and the methods of Tensor. A star marks what torch writes in Python; the rest it writes in C++.
"""
_IN_PYTHON = (types.FunctionType, staticmethod, classmethod)


def _marked(place: Any) -> list[str]:
    found = []
    for name in sorted(dir(place)):
        value = inspect.getattr_static(place, name, None)
        if name.startswith("__") or inspect.isclass(value) or not callable(getattr(place, name)):
            continue
        if inspect.ismodule(value) or isinstance(value, property):
            continue
        in_python = isinstance(value, _IN_PYTHON) and not name.startswith("_")
        found.append(name + "*" * in_python)
    return found


def text() -> str:
    """One paragraph a place."""
    names = {place: textwrap.wrap(" ".join(_marked(at)), 140, break_on_hyphens=False) for place, at in PLACES.items()}
    return HEAD + "".join("\n".join((f"\n[{place}]", *lines, "")) for place, lines in names.items())

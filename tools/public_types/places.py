"""The text of ``mstorch/_src/core/public_names.txt``: torch's public names, their namespaces, and which of them are written in Python."""
from __future__ import annotations

import inspect
import re
import textwrap
import types
import warnings
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
# Two stars: which hands its arguments on to a compiled function at once, of its own name or the one behind a single star;
# with an exclamation mark, it looks at what stands behind a tensor first.
"""
_IN_PYTHON = (types.FunctionType, staticmethod, classmethod)


def _marked(place: Any) -> list[str]:
    found = []
    for name in sorted(dir(place)):
        value = inspect.getattr_static(place, name, None)
        if name.startswith("__") or inspect.isclass(value) or not callable(getattr(place, name)):
            continue
        if inspect.ismodule(value) or isinstance(value, property) or value is Any:  # a class since Python 3.11
            continue
        in_python = isinstance(value, _IN_PYTHON) and not name.startswith("_")
        called, looks = _called(name, value) if in_python and place in (torch, torch.nn.functional) else ("", "")
        found.append(name + "*" * in_python + ("*" if called == name else called) + looks)
    return found


class _Nothing:
    """A value that no parameter accepts."""


def _called(name: str, function: Any) -> tuple[str, str]:
    """Return the name of the compiled function that rejects wrong arguments of a function written in Python, "" if the function checks them
    itself; and "!" if that compiled function also checks the arguments after a tensor, else ""."""
    if not inspect.isfunction(function) or function.__module__ not in ("torch.nn.functional", "torch.functional", "torch._jit_internal"):
        return "", ""
    parameters = inspect.signature(function).parameters.values()
    least = sum(one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters)
    nothing = [_Nothing() for _ in range(3)]
    called = next(filter(None, (_refuser(name, function, *nothing[:count]) for count in range(max(least, 1), 4))), "")
    behind = _refuser(name, function, torch.ones(2, 3), *nothing[: max(least - 1, 1)]) if called else ""
    return called, "!" if called and not behind else ""


def _refuser(name: str, function: Any, *given: Any) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*given)
    except Exception as error:  # noqa: BLE001 - whichever it is, it is looked at
        said = re.match(r"(\w+)\(\): argument '|expected Tensor as element . in argument 0", str(error))
        return "" if said is None else said[1] or name
    return ""


def text() -> str:
    """Return the text of the file, one paragraph per namespace."""
    names = {place: textwrap.wrap(" ".join(_marked(at)), 140, break_on_hyphens=False) for place, at in PLACES.items()}
    return HEAD + "".join("\n".join((f"\n[{place}]", *lines, "")) for place, lines in names.items())

"""The module and name that torch gives to each class and function of mstorch.

A class or function in ``mstorch.x`` is one of ``torch.x``; ``homes.txt`` lists the exceptions (``torch.special.digamma`` reports
``special_digamma`` of ``torch._C._special``), and the private files that torch has too. ``python -m tools.homes`` generates it from torch's
own attributes.
"""
from __future__ import annotations

from functools import cache
from pathlib import Path

_HOME = __name__.partition(".")[0]
_SHARED = "="  # marks the line of private files that torch has too


@cache
def _read() -> tuple[dict[tuple[str, str], tuple[str, str]], frozenset[str]]:
    """Read the table homes.txt: a mapping from mstorch's module and name to torch's, and the set of private files that exist in torch too.
    """
    told: dict[tuple[str, str], tuple[str, str]] = {}
    shared: frozenset[str] = frozenset()
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        places, _, words = line.partition(": ")
        if places == _SHARED:
            shared = frozenset(map(_full, words.split()))
            continue
        own, _, torchs = places.partition(" > ")
        home = _full(torchs)
        for word in words.split():
            name, _, other = word.partition("=")
            told[_full(own), name] = home, other or name
    return told, shared


def _full(place: str) -> str:
    return _HOME if place == "." else f"{_HOME}.{place}"


def home(module: str, name: str) -> tuple[str, str]:
    """Return torch's module and name for an mstorch class or function; the module is prefixed with mstorch's name.

    Objects that torch lacks keep their own.
    """
    told = _read()[0].get((module, name))
    if told is not None:
        return told
    outer, _, inner = name.partition(".")
    if inner:
        if (module, outer) == (_HOME, "Tensor"):  # methods that torch implements in C; the table lists those in Python
            return f"{_HOME}._C", f"TensorBase.{inner}"
        told = _read()[0].get((module, outer))
        if told is not None:
            return told[0], f"{told[1]}.{inner}"
    return module, name


@cache
def elsewhere() -> dict[str, dict[str, tuple[str, str]]]:
    """Return {torch's module: {name: (module, name in mstorch)}} for the names that mstorch defines in a module of another path."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for own, (module, name) in _read()[0].items():
        if "." not in own[1] and (module, name) != own:
            found.setdefault(module, {}).setdefault(name, own)
    return found


def is_torchs(module: str) -> bool:
    """Return True if torch has a module with this name, public or among the private ones in the table."""
    return "._" not in module or module in _read()[1] or module in elsewhere()


def with_link(doc: str | None, path: str) -> str | None:
    """Return the docstring of a public function, ``path`` after "torch", with a link to torch's documentation."""
    if not doc or "/docs.pytorch.org/" in doc or any(part.startswith("_") for part in path.split(".")):
        return doc
    return f"{doc}\n\nhttps://docs.pytorch.org/docs/stable/search.html?q=torch{path}"

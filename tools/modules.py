"""Write the lists of ``mstorch/_src/unbuilt``: ``modules.txt``, the modules of torch that mstorch has no file for, so that they can be
imported; ``newer.txt``, the same of a newer torch, as far as the torch that is installed lacks them; and ``absent.txt``, what torch has and
mstorch lacks, so that an error can tell it from a misspelt name.

    python -m tools.modules                     # with real torch installed
    python -m tools.modules --newer PYTHON      # newer.txt alone, from the torch of another Python

Each line of ``modules.txt`` and ``newer.txt`` has a module and its names: classes, functions with (), and those that mstorch has in
another module (``name=module``). Of private modules they are the names that are defined there. Each line of ``absent.txt`` has a module and
the names that it has in torch alone, private ones too.
"""
from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

_FOLDER = Path(__file__).parents[1] / "mstorch/_src/unbuilt"
FILE = _FOLDER / "modules.txt"
NEWER = _FOLDER / "newer.txt"
ABSENT = _FOLDER / "absent.txt"
HEAD = "# Modules that torch has and mstorch has no file for, and their names. Written by python -m tools.modules.\n"
HEAD_OF_NEWER = "# The same of a newer torch, and its new names in modules that are here. Written by python -m tools.modules --newer.\n"
HEAD_OF_ABSENT = "# Modules of torch, and their names that mstorch lacks; a module alone is lacking. Written by python -m tools.modules.\n"
LEFT_OUT = {
    "testing._internal": "PyTorch's own tests; those parts that packages import are in mstorch.testing._internal",
    "utils.benchmark.examples": "programs, which run when they are imported",
    "__main__": "programs, which run when they are imported",
    "utils.bottleneck": "a program, which torch itself removes",
    "_vendor.packaging": "another project's package, of which torch has a copy",
}
"""Parts of the names of modules that can be imported from torch and not from mstorch, each with the reason."""
_REFERENCES = {"torch._refs": "torch"} | {f"torch._refs.{room}": f"torch.{room}" for room in ("fft", "linalg", "nn.functional", "special")}
"""Modules in which torch writes its functions once more, in Python: here they are the functions themselves."""
Facts = dict[str, dict[str, tuple[str, str]]]


def left_out(name: str) -> bool:
    """Return whether a module of torch is one of those that mstorch leaves out."""
    return any(f".{part}." in f"{name}." for part in LEFT_OUT)


def modules(package: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """Yield the modules of a package that can be imported, private ones too, with their names: some put another in their place."""
    for item in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if left_out(item.name):
            continue
        try:
            module = importlib.import_module(item.name)
        except BaseException:  # noqa: BLE001 - torch's own import fails here, or ends the program: an optional package, another device
            continue
        yield item.name, module
        if item.ispkg and hasattr(module, "__path__"):
            yield from modules(module)


def facts() -> Facts:
    """Return of each module of the torch that is installed the names of its classes and functions, with their kinds and homes."""
    import torch

    told: Facts = {}
    for own, module in [("torch", torch), *modules(torch)]:
        home = told[own] = {}
        for name, value in sorted(vars(module).items()):
            if inspect.isclass(value) or inspect.isroutine(value):
                place = getattr(value, "__module__", None) or own
                home[name] = ("class" if inspect.isclass(value) else "function", place if isinstance(place, str) else "")
            elif name in getattr(module, "__all__", ()):
                home[name] = ("module" if inspect.ismodule(value) else "value", own)
    return told


def told_by(python: str) -> Facts:
    """Return the facts of another Python's torch."""
    done = subprocess.run([python, __file__, "--facts"], capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": ""})
    return json.loads(done.stdout)


def is_private(name: str) -> bool:
    """Return whether a module is private or below a private one."""
    return any(part.startswith("_") for part in name.split(".")[1:])


def _ours(name: str) -> Any:
    from mstorch._src import unbuilt

    try:
        module = importlib.import_module(f"mstorch{name.removeprefix('torch')}")
    except Exception:  # noqa: BLE001 - whatever keeps it from being imported, it is not there
        return None
    return None if unbuilt.is_unbuilt(module) else module


def _word(told: Facts, module: str, name: str) -> str | None:
    from mstorch._src import unbuilt

    kind, home = told[module][name]
    if kind not in ("class", "function") or not home.startswith("torch") or name.startswith("__"):
        return None
    if module in _REFERENCES:
        there, home = _ours(_REFERENCES[module]), _REFERENCES[module]
        if there is None or not callable(getattr(there, name, None)) or unbuilt.is_unbuilt(getattr(there, name)):
            return f"{name}()"
        return f"{name}={home}"
    if home != module:
        if is_private(module):
            return None
        there = _ours(home)
        found = getattr(there, name, None) if there is not None else None
        if found is not None and not unbuilt.is_unbuilt(found):
            return f"{name}={home}"
        listed = home in told and tuple(told[home].get(name, ())) == (kind, home) and there is None and not left_out(home)
        return f"{name}={home}" if listed and (is_private(home) or not name.startswith("_")) else None
    if name.startswith("_") and not is_private(module):
        return None
    return name if kind == "class" else f"{name}()"


def _line(told: Facts, name: str, names: Iterable[str]) -> str:
    words = (_word(told, name, key) for key in sorted(names))
    return f"{name}: {' '.join(word for word in words if word)}".rstrip()


def text(told: Facts) -> str:
    """Return the file's text."""
    return HEAD + "".join(_line(told, name, told[name]) + "\n" for name in sorted(told) if _ours(name) is None)


def text_of_newer(told: Facts, known: Facts) -> str:
    """Return the text of ``newer.txt``: modules that the torch that is installed lacks, and public names of others."""
    lines = []
    for name in sorted(told):
        ours = _ours(name)
        if ours is None:
            names = [key for key in told[name] if key not in known.get(name, ())]
            if name not in known or names:
                lines.append(_line(told, name, names))
        elif not is_private(name) and "__getattr__" in vars(ours):
            line = _line(told, name, [key for key in told[name] if key not in known.get(name, ()) and _lacks(ours, key)])
            lines += [line] if not line.endswith(":") else []
    return HEAD_OF_NEWER + "".join(line + "\n" for line in lines if not line.endswith(":") or line[:-1] not in known)


def _is_torchs(module: ModuleType, name: str) -> bool:
    """Return whether a name of a module is torch's own: no dunder, no module, nothing of another package."""
    value = vars(module)[name]
    if name.startswith("__") or inspect.ismodule(value):
        return False
    if inspect.isclass(value) or inspect.isroutine(value):
        return str(getattr(value, "__module__", None) or module.__name__).startswith("torch")
    return name in getattr(module, "__all__", ()) or name.startswith("_")


def _lacks(ours: ModuleType, name: str) -> bool:
    try:
        getattr(ours, name)
    except AttributeError:
        return True
    except Exception:  # noqa: BLE001 - it is there, and what it needs is not
        return False
    return False


def text_of_absent() -> str:
    """Return the text of ``absent.txt``."""
    import torch

    lines = []
    for own, module in [("torch", torch), *modules(torch)]:
        ours = _ours(own)
        if ours is not None and not is_private(own):
            names = [key for key in sorted(vars(module)) if _is_torchs(module, key) and _lacks(ours, key)]
            lines += [f"{own}: {' '.join(names)}"] if names else []
    return HEAD_OF_ABSENT + "".join(line + "\n" for line in sorted(lines))


def main(words: list[str]) -> None:
    """Write the lists, or print the facts of the torch that is installed."""
    warnings.simplefilter("ignore")
    if words == ["--facts"]:
        with contextlib.redirect_stdout(sys.stderr):  # modules of torch's print while they are imported
            told = facts()
        json.dump(told, sys.stdout)
        sys.stdout.flush()
        os._exit(0)  # what torch's modules start when they are imported must not keep the process
    known = told_by(sys.executable)
    if words[:1] == ["--newer"]:
        newer = told_by(words[1])
        NEWER.write_text(HEAD_OF_NEWER)
        NEWER.write_text(text_of_newer(newer, known))
        return
    FILE.write_text(HEAD)  # what an earlier run wrote must not count as there
    FILE.write_text(text(known))
    ABSENT.write_text(HEAD_OF_ABSENT)
    ABSENT.write_text(text_of_absent())


if __name__ == "__main__":
    main(sys.argv[1:])

"""Write ``mstorch/_src/core/homes.txt``: the module and name that torch gives a class or function, where mstorch's own differ from them.

    python -m tools.homes            # writes the file anew
    python -m tools.homes --check    # fails where it is stale

For each module that both libraries have, every class and function of mstorch is looked up in torch under the same name, and its
``__module__`` and qualified name there are read. An entry is left out if mstorch has another object under torch's module and name,
because a pickle that names them would find the wrong object.
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import types
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "mstorch" / "_src" / "core" / "homes.txt"
_HEAD = "# Where torch has what stands in our modules: ours > torch's: name, or name=its name there. Written by python -m tools.homes.\n"
_NOT_WALKED = ("torch.testing._internal", "torch.utils._sympy", "torch._vendor")
ROOMS = ("_special", "_linalg", "_fft", "_nn", "_sparse", "_monitor", "_profiler", "_autograd", "_functorch", "_distributed_c10d", "_onnx")
Key = tuple[str, str]


def modules(root: str) -> Iterator[str]:
    """Yield the name in torch of a package and of each importable module below it."""
    waiting = [root]
    while waiting:
        name = waiting.pop()
        try:
            module = importlib.import_module(name)
        except BaseException:  # noqa: BLE001  # a part of torch that needs what is not installed, or ends the process
            continue
        yield "torch" + name.removeprefix(root)
        for item in pkgutil.iter_modules(getattr(module, "__path__", [])):
            full = f"{name}.{item.name}"
            if item.name != "__main__" and not ("torch" + full.removeprefix(root)).startswith(_NOT_WALKED):
                waiting.append(full)


def named(value: Any) -> bool:
    """Return whether a value is a class, a function, or a callable of such a type, so that it has a module and a name of its own."""
    return issubclass(type(value), (type, types.FunctionType, types.BuiltinFunctionType, type(told_by_torch)))


def says(value: Any) -> Key:
    """Return a class's or function's own ``__module__`` and qualified name."""
    return str(value.__module__), value.__name__ if isinstance(value, types.BuiltinFunctionType) else value.__qualname__


def lazily(module: Any) -> list[str]:
    """Return the names that a module of mstorch resolves on access, because torch defines them in the corresponding module."""
    from mstorch._src.core.homes import elsewhere

    return list(elsewhere().get("mstorch" + module.__spec__.name.removeprefix("torch").removeprefix("mstorch"), ()))


def _members(place: str) -> Iterator[tuple[str, Any]]:
    """Yield the classes and functions of a module and the methods of its classes, with their names."""
    for name, value in list(vars(importlib.import_module(place)).items()):
        if not name.startswith("__") and named(value):
            yield name, value
        if isinstance(value, type) and _ours_or_torchs(value) and ("._" not in place or value.__module__ in (place, "torch")):
            for word in dir(value):
                method = inspect.getattr_static(value, word, None)
                method = getattr(method, "__func__", method)
                if isinstance(method, types.FunctionType) and _ours_or_torchs(method):
                    yield f"{name}.{word}", method


def _ours_or_torchs(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).partition(".")[0] in ("torch", "mstorch")


@functools.cache
def told_by_torch() -> dict[str, dict[str, Key]]:
    """Return for each torch module the ``__module__`` and qualified name of each class and function in it."""
    warnings.simplefilter("ignore")
    places = list(modules("torch")) + [f"torch._C.{room}" for room in ROOMS if f"torch._C.{room}" in sys.modules]
    found: dict[str, dict[str, Key]] = {}
    for place in places:
        home = found[place] = {}
        for name, value in _members(place):
            told = says(value)
            if finds(*told) is value:
                home[name] = told
    return found


def finds(module: str, name: str) -> Any:
    """Return the object that pickle finds for a module and a qualified name."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = inspect.getattr_static(found, part, None) if isinstance(found, type) else getattr(found, part, None)
    return getattr(found, "__func__", found)


def told_here() -> tuple[list[str], list[tuple[str, str, list[str]]]]:
    """Return the modules of mstorch, and for each module and name the key of the object there and all places of that object."""
    warnings.simplefilter("ignore")
    here = list(modules("mstorch"))
    objects: dict[int, tuple[Any, list[str]]] = {}
    rows = []
    for place in here:
        for name, value in _members("mstorch" + place.removeprefix("torch")):
            objects.setdefault(id(value), (value, []))[1].append(f"{place}:{name}")
    for value, places in objects.values():
        key = _key(value, places)
        if key is not None:
            rows.append((*key, places))
    # Two objects may have one name, one made of the other: that which users reach by the shortest way is meant.
    first: dict[Key, tuple[str, str, list[str]]] = {}
    for row in rows:
        known = first.get(row[:2])
        if known is None or _way(row[2]) < _way(known[2]):
            first[row[:2]] = row
    return here, list(first.values())


def _way(places: list[str]) -> tuple[bool, int]:
    """Return a sort key that puts places with public names first, then places with few parts."""
    return min(("._" in place or ":_" in place, place.count(".")) for place in places)


def _key(value: Any, places: list[str]) -> Key | None:
    """Return the module and name under which the table lists an object; None for an object that it does not list."""
    from mstorch._src.core.built_in import written

    behind = written(value)
    spoken = getattr(behind, "__dict__", {}).get("spoken")
    if isinstance(spoken, str):  # a public form: as it was entered
        face, _, name = spoken.rpartition(".")
        if face == "torch.Tensor":
            face, name = "torch", f"Tensor.{name}"
        return "mstorch" + face.removeprefix("torch"), name
    if behind is not value:  # built in without being one
        face, _, name = next((place for place in places if place.startswith(("torch:", "torch.sparse:"))), places[0]).rpartition(":")
        return "mstorch" + face.removeprefix("torch"), name
    module = getattr(value, "__module__", None)
    if isinstance(value, types.BuiltinFunctionType) or not str(module).startswith("mstorch") or "<" in value.__qualname__:
        return None
    return str(module), value.__qualname__


def table(theirs: dict[str, dict[str, Key]], here: list[str], rows: list[tuple[str, str, list[str]]]) -> str:
    """Return the text of the file."""
    has = {place: set(names) for place, names in ((module, ()) for module in here)}
    for _, _, places in rows:
        for place in places:
            module, _, name = place.partition(":")
            has.setdefault(module, set()).add(name)
    shared = sorted(place.removeprefix("torch.") for place in here if "._" in place and place in theirs)
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    said: dict[Key, Key] = {}
    for own, name, places in sorted(rows, key=lambda row: "." in row[1]):  # classes before their methods
        found, plain = Counter(), _plain(own, name, said)
        for place in places:
            module, _, known = place.partition(":")
            told = theirs.get(module, {}).get(known)
            if told is not None and told[0].partition(".")[0] == "torch" and told != (plain[0], f"_{plain[1]}"):
                found[told] += 1
        if not found:
            continue
        there = [told for told in found if _can_be_there(told, places)]
        if plain in there or not there:
            continue
        home, word = said[own, name] = max(there, key=lambda told: (
            told[1] == name, ("." in told[1]) == ("." in name), f"{told[0]}:{told[1]}" in places, found[told], told,
        ))  # fmt: skip
        lines[own.removeprefix("mstorch").removeprefix(".") or ".", home.removeprefix("torch").removeprefix(".") or "."].append(
            name if word == name else f"{name}={word}"
        )
    text = _HEAD + f"=: {' '.join(shared)}\n"
    return text + "".join(f"{own} > {home}: {' '.join(sorted(names))}\n" for (own, home), names in sorted(lines.items()))


def _plain(own: str, name: str, said: dict[Key, Key]) -> Key:
    """Return the module and name that the reader of the file assumes for a name without a row."""
    outer, _, inner = name.partition(".")
    if inner and (own, outer) == ("mstorch", "Tensor"):
        return "torch._C", f"TensorBase.{inner}"
    if inner and (own, outer) in said:
        module, outer = said[own, outer]
        return module, f"{outer}.{inner}"
    return "torch" + own.removeprefix("mstorch"), name


def _can_be_there(told: Key, places: list[str]) -> bool:
    """Return whether torch's module holds the same object in mstorch, or lacks the name, so that ``_unbuilt`` can resolve it."""
    if "." in told[1] or f"{told[0]}:{told[1]}" in places:
        return f"{told[0]}:{told[1]}" in places
    try:
        found: Any = importlib.import_module("mstorch" + told[0].removeprefix("torch"))
    except ImportError:
        return True
    return told[1] not in vars(found) and "__getattr__" in vars(found)


def main(words: list[str]) -> None:
    """Write the file or, with ``--check``, compare it."""
    if words == ["--told"]:
        with contextlib.redirect_stdout(sys.stderr):  # modules of torch's print while they are imported
            told = told_by_torch()
        json.dump(told, sys.stdout)
        return
    done = subprocess.run([sys.executable, "-m", "tools.homes", "--told"], capture_output=True, text=True, check=True, env={**os.environ})
    theirs = json.loads(done.stdout)
    theirs = {place: {name: tuple(told) for name, told in names.items()} for place, names in theirs.items()}
    here, rows = told_here()
    text = table(theirs, here, rows)
    if words == ["--check"]:
        sys.exit(text != FILE.read_text("utf-8"))
    FILE.write_text(text, "utf-8")
    print(FILE, len(text.splitlines()), "lines")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Names of torch's that packages import at once and that mstorch does not build: they can be imported, and raise when they are used.

``names.txt`` lists them, a module of torch's a line. A module that mstorch lacks is made of its line alone; a module that is there
answers for the names of its line through the ``__getattr__`` that ``_hook.missing`` gives. What torch has in another module than mstorch
(``_core/homes.txt``) is found in torch's in the same way, and works.
"""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from .._core.homes import elsewhere
from .._hook import missing_attribute, not_yet, ours, theirs

_ROOT = __name__.partition(".")[0]


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"{name} can be imported, and no more {not_yet()}")


class UnbuiltClass(type):
    """The type of classes that stand for torch's: they can be named, inherited from and asked about; objects of them cannot be made."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        first: type = next(base for base in cls.__mro__ if "_unbuilt" in vars(base))
        _refuse(first.__dict__["_unbuilt"])

    def __getattr__(cls, name: str) -> NoReturn:
        raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}' {not_yet()}", name=name)


@cache
def _class(module: str, name: str) -> type:
    full = f"{theirs(module)}.{name}"
    return UnbuiltClass(name, (), {"__module__": theirs(module), "__doc__": f"Stands for {full}, which is not built.", "_unbuilt": full})


@cache
def _function(module: str, name: str) -> Any:
    full = f"{theirs(module)}.{name}"

    def unbuilt(*args: Any, **kwargs: Any) -> NoReturn:
        _refuse(full)

    vars(unbuilt)["_unbuilt"] = full
    unbuilt.__name__ = unbuilt.__qualname__ = name
    unbuilt.__module__ = theirs(module)
    unbuilt.__doc__ = f"Raise NotImplementedError: {full} is not built."
    return unbuilt


@cache
def names() -> dict[str, dict[str, str]]:
    """By module of ours: the names that stand for torch's, each with what it is: "class", "function" or "module"."""
    found: dict[str, dict[str, str]] = {}
    for line in Path(__file__).with_name("names.txt").read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        name, _, rest = line.partition(":")
        module = ours(name)
        home = found.setdefault(module, {})
        for word in rest.split():
            home[word.removesuffix("()")] = "function" if word.endswith("()") else "class"
    for module in [*found, *elsewhere()]:
        found.setdefault(module, {})
        while "." in module:  # each package on the way is there, too
            module, _, last = module.rpartition(".")
            found.setdefault(module, {}).setdefault(last, "module")
    return found


def attribute(module: str, name: str) -> Any:
    """Return the object that stands for a name of torch's in a module of ours; raise ``missing_attribute`` where there is none."""
    place = elsewhere().get(module, {}).get(name)
    if place is not None:
        return getattr(importlib.import_module(place[0]), place[1])
    kind = names().get(module, {}).get(name)
    if kind is None:
        raise missing_attribute(module, name)
    if kind == "module":
        return importlib.import_module(f"{module}.{name}")
    return (_class if kind == "class" else _function)(module, name)


def is_unbuilt(value: Any) -> bool:
    """Return whether a value stands for a name of torch's that is not built: a class, a function or a module of such names alone."""
    if isinstance(value, ModuleType):
        return isinstance(getattr(value.__spec__, "loader", None), _Loader) and value.__spec__.name not in elsewhere()  # type: ignore[union-attr]
    return "_unbuilt" in getattr(value, "__dict__", {})


def operator(namespace: str, name: str, known: bool = False) -> Any:
    """Return the function that stands for an operator, ``torch.ops.<namespace>.<name>``; None where torch is not ``known`` to have it."""
    home = f"{_ROOT}.ops.{namespace}"
    return _function(home, name) if known or name in names().get(home, {}) else None


class _Loader(importlib.abc.Loader):
    """Make a module of its lines in ``names.txt`` and ``homes.txt``."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        own = module.__name__
        kind = "names that stand in other modules here"
        if own not in elsewhere():
            kind = "names that can be imported, and raise NotImplementedError when they are used"
        module.__doc__ = f"{theirs(own)}: {kind}."
        vars(module)["__getattr__"] = lambda name: attribute(own, name)
        vars(module)["__dir__"] = lambda: [*vars(module), *elsewhere().get(own, ()), *names().get(own, ())]


class _Finder(importlib.abc.MetaPathFinder):
    """Find the modules that ``names.txt`` alone has; asked last, when no file was found."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_ROOT + ".") or fullname not in names():
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)


def find() -> None:
    """Let imports find these modules."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


__all__ = ["UnbuiltClass", "attribute", "find", "is_unbuilt", "names", "operator"]

"""Names that packages import from torch and that mstorch does not implement: they can be imported, and raise when used.

``names.txt`` lists them, one torch module per line; ``modules.txt``, which a tool writes, has all other modules of torch, ``newer.txt``
what a newer torch adds, and ``absent.txt`` the names that can't be imported, by which an error tells what is lacking from what is misspelt.
A module that mstorch lacks is created from its line alone; an existing module resolves the names of its line through the ``__getattr__`` of
``hook.missing``.
Objects that torch has in another module than mstorch (``_src/core/homes.txt``) are found in torch's module in the same way, and work.
"""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from ..core.homes import elsewhere
from ..hook import missing_attribute, not_yet, ours, theirs

_ROOT = __name__.partition(".")[0]


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"{name} can be imported, and no more {not_yet()}")


class UnbuiltClass(type):
    """Metaclass of placeholders for torch's classes: they can be named, subclassed and inspected, but not instantiated."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        first: type = next(base for base in cls.__mro__ if "_unbuilt" in vars(base))
        _refuse(first.__dict__["_unbuilt"])

    def __getattr__(cls, name: str) -> NoReturn:
        raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}' {not_yet()}", name=name)


@cache
def _class(module: str, name: str) -> type:
    full = f"{theirs(module)}.{name}"
    bases = (Exception,) if name.endswith(("Error", "Exception")) else ()  # those that stand in except clauses
    return UnbuiltClass(name, bases, {"__module__": theirs(module), "__doc__": f"Stands for {full}, which is not built.", "_unbuilt": full})


@cache
def _function(module: str, name: str) -> Any:
    full = f"{theirs(module)}.{name}"

    def unbuilt(*args: Any, **kwargs: Any) -> NoReturn:
        _refuse(full)

    vars(unbuilt)["_unbuilt"] = full
    unbuilt.__name__ = unbuilt.__qualname__ = name
    unbuilt.__module__ = theirs(module)
    unbuilt.__doc__ = f"Raise NotImplementedError: {full} is not implemented."
    return unbuilt


@cache
def _lines() -> dict[str, list[str]]:
    """Return the lines of each mstorch module, without its name: half a megabyte, of which an import wants a few modules."""
    lines: dict[str, list[str]] = {}
    for file in ("modules.txt", "newer.txt", "names.txt"):
        for line in Path(__file__).with_name(file).read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                name, _, rest = line.partition(":")
                lines.setdefault(ours(name), []).append(rest)
    return lines


@cache
def _children() -> dict[str, set[str]]:
    """Return the modules in each package, of all that have a line or an object that mstorch has elsewhere."""
    children: dict[str, set[str]] = {}
    for module in (*_lines(), *elsewhere()):
        children.setdefault(module, set())
        while "." in module:
            module, _, last = module.rpartition(".")
            children.setdefault(module, set()).add(last)
    return children


@cache
def names_in(module: str) -> dict[str, str]:
    """Return the placeholder names of an mstorch module, each with "class", "function", "module", or the module that has it here behind an
    equals sign."""
    names: dict[str, str] = {}
    for rest in _lines().get(module, ()):
        for word in rest.split():
            own, there, place = word.partition("=")
            name = own.removesuffix("()")
            if not there and names.get(name, " ")[0] == "=":
                continue  # a tool knows where torch defines it
            names[name] = there + place or ("class" if name == own else "function")
    for name in _children().get(module, ()):
        names.setdefault(name, "module")
    return names


def names() -> dict[str, dict[str, str]]:
    """Return the placeholder names of all mstorch modules, as ``names_in``."""
    return {module: names_in(module) for module in _children()}


def attribute(module: str, name: str) -> Any:
    """Return the placeholder for a torch name in a module of mstorch; raise ``missing_attribute`` if there is none."""
    place = elsewhere().get(module, {}).get(name)
    if place is not None:
        return getattr(importlib.import_module(place[0]), place[1])
    kind = names_in(module).get(name)
    if kind is None:
        raise missing_attribute(module, name)
    if kind[0] == "=":
        return getattr(importlib.import_module(ours(kind[1:])), name)
    if kind == "module":
        return importlib.import_module(f"{module}.{name}")
    return (_class if kind == "class" else _function)(module, name)


def is_unbuilt(value: Any) -> bool:
    """Return whether a value is a placeholder: a class, a function, or a module of placeholders only."""
    if isinstance(value, ModuleType):
        return isinstance(getattr(value.__spec__, "loader", None), _Loader) and value.__spec__.name not in elsewhere()  # type: ignore[union-attr]
    return "_unbuilt" in getattr(value, "__dict__", {})


def operator(namespace: str, name: str, known: bool = False) -> Any:
    """Return the placeholder for an operator ``torch.ops.<namespace>.<name>``; None unless ``known`` says that torch has it."""
    home = f"{_ROOT}.ops.{namespace}"
    return _function(home, name) if known or name in names_in(home) else None


class _ModuleAndFunction(ModuleType):
    """A module that torch hides behind a function of the same name: its import puts it in the function's place, so it refuses calls."""

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse(theirs(self.__name__))


class _Loader(importlib.abc.Loader):
    """Loader that creates a module from its lines in ``names.txt`` and ``homes.txt``."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        own = module.__name__
        what = "names that are in other modules here"
        if own not in elsewhere():
            what = "names that can be imported, and raise NotImplementedError when used"
        module.__doc__ = f"{theirs(own)}: {what}."
        vars(module)["__getattr__"] = lambda name: attribute(own, name)
        package, _, last = own.rpartition(".")
        kind = names_in(package).get(last, "module")
        if kind == "function" or kind[0] == "=":
            module.__class__ = _ModuleAndFunction
        vars(module)["__dir__"] = lambda: [*vars(module), *elsewhere().get(own, ()), *names_in(own)]


class _Finder(importlib.abc.MetaPathFinder):
    """Finder of the modules that exist only in ``names.txt``; it comes last, after all finders of files."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_ROOT + ".") or fullname not in _children():
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)


def find() -> None:
    """Make the placeholder modules importable."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


__all__ = ["UnbuiltClass", "attribute", "find", "is_unbuilt", "names", "names_in", "operator"]

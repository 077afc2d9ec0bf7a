"""The public functions of this package: those that torch has under the same name (``_src/core/public_names.py``).

A family is a module, without a leading underscore, in one of this package's subpackages. Its functions are functions of torch and methods
of Tensor, unless it declares otherwise: ``PUBLIC_IN`` names another namespace ("linalg"), ``NAMED_METHODS`` maps methods to other
functions. Where torch has an in-place form (``exp_``) that the family does not define, it is derived from the function.
"""
from __future__ import annotations

import functools
import importlib
import pkgutil
import types
from collections.abc import Callable
from typing import Any

from ..core.public_names import IN_PYTHON
from . import __name__ as _room
from . import __path__ as _path
from ._in_place import in_place_form

Function = Callable[..., Any]
_in_place_form = functools.cache(in_place_form)


@functools.cache
def families() -> tuple[types.ModuleType, ...]:
    """Return the families in alphabetical order; families with methods only come last."""
    names = (found.name for found in pkgutil.walk_packages(_path, f"{_room}.") if not found.ispkg)
    modules = [importlib.import_module(name) for name in sorted(names) if not name.rpartition(".")[2].startswith("_")]
    return tuple(sorted(modules, key=lambda family: namespace(family) == "Tensor"))


def namespace(family: types.ModuleType) -> str:
    """Return the torch namespace of the family's functions, "" for torch itself."""
    return getattr(family, "PUBLIC_IN", "")


def defined(family: types.ModuleType) -> dict[str, Function]:
    """Return the family's own functions by name, including aliases (``absolute = abs``)."""
    return {
        name: value for name, value in vars(family).items()
        if isinstance(value, types.FunctionType) and value.__module__ == family.__name__ and not name.startswith("_")
    }  # fmt: skip


def _public(place: str, home: str) -> dict[str, Function]:
    found: dict[str, Function] = {}
    for family in families():
        if namespace(family) == home:
            found.update((name, function) for name, function in defined(family).items() if name in IN_PYTHON[place])
    return found


def _with_in_place(found: dict[str, Function], place: str) -> dict[str, Function]:
    for name in IN_PYTHON[place]:
        function = found.get(name[:-1])
        if name.endswith("_") and name not in found and function is not None:
            found[name] = _in_place_form(function, name)
    return found


def functions() -> dict[str, Function]:
    """Return a dict of torch's functions that this package defines."""
    return _with_in_place(_public("", ""), "")


def methods() -> dict[str, Function]:
    """Return a dict of Tensor's methods that this package defines."""
    found = _with_in_place(_public("Tensor", ""), "Tensor")
    for family in families():
        found.update(getattr(family, "NAMED_METHODS", {}))
    return found | _public("Tensor", "Tensor")

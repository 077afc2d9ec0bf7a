"""Origin of code, modules and classes: this package and its dependencies, Python's standard library, or the user."""
from __future__ import annotations

import enum
import os
import sys
import sysconfig
import types
from typing import Any

import numpy as np

from ..backend.trace import MINDSPORE

_HOME = __name__.partition(".")[0]


class Origin(enum.Enum):
    """OWN code is trusted not to change; PYTHON's standard library is allowed by name; everything else is the USER's."""

    OWN = 1
    PYTHON = 2
    USER = 3


OWN, PYTHON, USER = Origin.OWN, Origin.PYTHON, Origin.USER


def _folders(*paths: str | None) -> tuple[str, ...]:
    found = [path for path in paths if path and len(path) > 4]
    return tuple({os.path.join(one, "") for path in found for one in (os.path.abspath(path), os.path.realpath(path))})


# Functions with which MindSpore reads source code and files.
_READS = ("asttokens", "astunparse", "dill", "google", "packaging", "safetensors", "scipy", "six.py", "typing_extensions.py")
_OWN = _folders(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), MINDSPORE, os.path.dirname(np.__file__)
) + tuple(os.path.join(os.path.dirname(MINDSPORE), name) for name in _READS)
_PYTHON = _folders(sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")
_of_file: dict[str, Origin] = {}


def _origin_of_file(path: str) -> Origin:
    found = _of_file.get(path)
    if found is None:
        if path.startswith(("<frozen", "<__array_function__")):
            found = PYTHON if path.startswith("<frozen") else OWN
        elif path.startswith(_OWN):
            found = OWN
        elif path.startswith(_PYTHON) and not any(f"{os.sep}{name}{os.sep}" in path for name in _INSTALLED):
            found = PYTHON
        else:
            found = USER
        _of_file[path] = found
    return found


def origin_of_code(code: types.CodeType, namespace: dict[str, Any]) -> Origin:
    """Return the origin of a function's code; code compiled from a string belongs to the module of its globals."""
    if code.co_filename.startswith("<") and not code.co_filename.startswith(("<frozen", "<__array_function__")):
        name = namespace.get("__name__")
        if "_tuple_new" in namespace and str(name).startswith(NAMED_TUPLE):  # a class made by ``collections.namedtuple``
            return PYTHON
        return OWN if isinstance(name, str) and name.partition(".")[0] in (_HOME, "mindspore", "numpy") else USER
    return _origin_of_file(code.co_filename)


def origin_of_module(module: types.ModuleType) -> Origin:
    """Return the origin of a module. A module without a file is the user's unless it is built in."""
    path = vars(module).get("__file__")
    if isinstance(path, str):
        return _origin_of_file(os.path.abspath(path))
    origin = getattr(vars(module).get("__spec__"), "origin", None)
    return PYTHON if vars(module).get("__name__") in sys.builtin_module_names or origin in ("built-in", "frozen") else USER


NAMED_TUPLE = "namedtuple_"
HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: other classes cannot be changed


def origin_of_class(cls: type) -> Origin:
    """Return the origin of a class, which is that of the module in which the class's name refers to it."""
    if not cls.__flags__ & HEAP:
        return PYTHON
    module = sys.modules.get(cls.__module__)
    if not isinstance(module, types.ModuleType):
        return USER
    found = origin_of_module(module)
    if found is USER:
        return USER
    value: Any = module
    for part in cls.__qualname__.split("."):
        value = vars(value).get(part) if isinstance(value, (type, types.ModuleType)) else None
    if value is cls:
        return found
    functions = [getattr(member, "__func__", member) for member in vars(cls).values()]
    own = [one for one in functions if isinstance(one, types.FunctionType)]
    return USER if not own or any(origin_of_code(one.__code__, one.__globals__) is USER for one in own) else found

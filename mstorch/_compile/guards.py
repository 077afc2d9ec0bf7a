"""What a captured function depends on besides its arguments: modules, closures, globals. Checked before each run."""
from __future__ import annotations

import os
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .._backend.cell import is_cell, is_raw
from .._core.device import device
from .._core.dtype import dtype, get_default_dtype
from .._core.formats import layout, memory_format
from .._core.size import Size
from .._core.tensor_base import TensorBase, is_tracked
from .._settings import are_deterministic_algorithms_enabled
from .._tape.node import is_leaf
from ..autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from ..nn.modules._cell_names import STATE_OF_CELLS
from ..nn.modules.module import Module

# Compared by value; everything else is compared by identity and, where it has parts, looked into.
PLAIN = (bool, int, float, complex, str, bytes, type(None), dtype, device, layout, memory_format, Size, range, np.generic)
_LIMIT = 50_000
MISSING = object()
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARIES = tuple(
    {os.path.abspath(path) for path in (*sysconfig.get_paths().values(), _PACKAGE) if path and len(path) > 4}
)


def setting_key() -> tuple[Any, ...]:
    """The process-wide settings that a captured function is valid for."""
    return is_grad_enabled(), is_inference_mode_enabled(), get_default_dtype(), are_deterministic_algorithms_enabled()


def same_plain(first: Any, second: Any) -> bool:
    """Equality of two plain values: of one type, NaN equal to NaN."""
    return first is second or (type(first) is type(second) and bool(first == second or (first != first and second != second)))


def is_plain(value: Any) -> bool:
    """Whether a value has no identity that matters: a number, a string, a dtype, a tuple of such."""
    return isinstance(value, PLAIN) or (type(value) is tuple and all(is_plain(item) for item in value))


def is_library(code: types.CodeType) -> bool:
    """Whether the code belongs to an installed package, whose globals do not change."""
    return code.co_filename.startswith(_LIBRARIES) or code.co_filename.startswith("<frozen")


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


class Guards:
    """The values that a function can reach, as they are now: ``holds()`` says whether they still are."""

    def __init__(self, function: Callable[..., Any], arguments: Iterable[Any] = ()) -> None:
        self.dicts: list[tuple[dict[str, Any], list[tuple[str, Any, bool]], str]] = []
        self.sizes: list[tuple[Any, Any, str]] = []  # lists and dictionaries with copies of them
        self.items: list[tuple[Any, Any, Any, bool, str]] = []
        self.cells: list[tuple[Any, Any, bool, str]] = []
        self.tensors: list[tuple[Any, Any, bool, bool, str, tuple[Any, ...]]] = []
        self.modules: list[Any] = []
        self.natives: list[Any] = []
        self.keys: list[tuple[dict[str, Any], frozenset[str], str]] = []
        self._alive: list[Any] = []  # ids are of living objects
        self._seen: set[int] = set()
        self._by_dict: dict[int, list[tuple[str, Any, bool]]] = {}
        self._function(function, getattr(function, "__qualname__", type(function).__name__))
        for value in arguments:
            self.look(value, type(value).__name__)
        self._seen.clear()
        self._by_dict.clear()
        self._alive.clear()

    # Collecting

    def look(self, value: Any, path: str) -> None:
        """Take in what can be reached from a value."""
        if is_plain(value) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        self._alive.append(value)
        if len(self._seen) > _LIMIT:
            return
        if isinstance(value, TensorBase):
            shown = tuple(getattr(value, name) for name in _SHOWN)
            self.tensors.append((value, value._storage, is_tracked(value), is_leaf(value), path, shown))
        elif isinstance(value, Module):
            self._module(value, path)
        elif is_raw(value):
            return
        elif is_cell(value):
            self.natives.append(value)
        elif isinstance(value, (list, tuple)):
            if isinstance(value, list):
                self.sizes.append((value, list(value), path))
            for i, item in enumerate(value):
                if isinstance(value, list):
                    self.items.append((value, i, item, is_plain(item), f"{path}[{i}]"))
                self.look(item, f"{path}[{i}]")
        elif isinstance(value, dict):
            self._dict(value, path, lambda key: f"{path}[{key!r}]")
        elif isinstance(value, (types.FunctionType, types.MethodType)):
            self._function(value, path)
        elif isinstance(value, types.ModuleType) or isinstance(value, (type, types.BuiltinFunctionType, np.ndarray)):
            return
        elif getattr(value, "__wrapped__", None) is not None:
            self.look(value.__wrapped__, path)
        else:
            self._object(value, path)

    def _put(self, members: dict[str, Any], key: Any, value: Any, path: str) -> None:
        checks = self._by_dict.get(id(members))
        if checks is None:
            checks = self._by_dict[id(members)] = []
            self.dicts.append((members, checks, path))
        checks.append((key, value, is_plain(value)))

    def _dict(self, members: dict[Any, Any], path: str, name: Callable[[Any], str]) -> None:
        self.sizes.append((members, dict(members), path))
        for key, value in list(members.items()):
            self._put(members, key, value, path)
            self.look(value, name(key))

    def _object(self, value: Any, path: str) -> None:
        members = getattr(value, "__dict__", None)
        if isinstance(members, dict):
            self.keys.append((members, frozenset(members), path))
            for key, item in list(members.items()):
                self._put(members, key, item, path)
                self.look(item, f"{path}.{key}")
        self._class(type(value))

    def _module(self, module: Any, path: str) -> None:
        self.modules.append(module)
        members = module.__dict__
        self.keys.append((members, frozenset(members), path))
        for key, value in list(members.items()):
            if key in STATE_OF_CELLS or key in ("_compiled_call_impl", "_graphs", "_compiled", "_native_members"):
                continue
            if key in ("_parameters", "_buffers", "_modules"):
                self._dict(value, f"{path}.{key}", lambda name: f"{path}.{name}")
                continue
            self._put(members, key, value, path)
            self.look(value, f"{path}.{key}")
        self._class(type(module))

    def _class(self, cls: type) -> None:
        """The globals that the methods of a user's class name."""
        for base in cls.__mro__:
            if id(base) in self._seen or base.__module__ == "builtins":
                continue
            self._seen.add(id(base))
            for name, member in vars(base).items():
                function = getattr(member, "__func__", member)
                if isinstance(function, property):
                    function = function.fget
                if isinstance(function, types.FunctionType):
                    if is_library(function.__code__):
                        break
                    self._function(function, f"{base.__qualname__}.{name}")

    def _function(self, function: Any, path: str) -> None:
        if isinstance(function, types.MethodType):
            self.look(function.__self__, f"{path}.__self__")
            function = function.__func__
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self.look(wrapped, path)
        if not isinstance(function, types.FunctionType):
            if isinstance(function, Module):
                self.look(function, path)
            elif wrapped is None:
                self._object(function, path)
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self.cells.append((cell, value, is_plain(value), name))
            self.look(value, name)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.look(value, path)
        if is_library(function.__code__):
            return
        known = function.__globals__
        named = set(_names(function.__code__))
        for name in named:
            value = known.get(name, MISSING)
            if value is MISSING:
                continue
            self._put(known, name, value, "globals")
            if isinstance(value, types.ModuleType):
                self._python_module(value, named)
            else:
                self.look(value, name)

    def _python_module(self, module: types.ModuleType, named: set[str]) -> None:
        """Attributes of the user's own Python modules that the code names."""
        path = getattr(module, "__file__", None)
        if path is None or os.path.abspath(path).startswith(_LIBRARIES) or module.__name__ in sys.builtin_module_names:
            return
        for name in named:
            value = vars(module).get(name, MISSING)
            if value is not MISSING:
                self._put(vars(module), name, value, module.__name__)
                self.look(value, f"{module.__name__}.{name}")

    # Checking

    def holds(self) -> bool:
        """Whether everything is as it was."""
        for members, checks, _ in self.dicts:
            for key, value, plain in checks:
                now = members.get(key, MISSING)
                if now is not value and not (plain and same_plain(now, value)):
                    return False
        for tensor, storage, tracked, leaf, *_ in self.tensors:
            if tensor._storage is not storage or is_tracked(tensor) is not tracked or is_leaf(tensor) is not leaf:
                return False
        for container, before, _ in self.sizes:
            if len(container) != len(before):
                return False
        for container, key, value, plain, _ in self.items:
            now = container[key]
            if now is not value and not (plain and same_plain(now, value)):
                return False
        for cell, value, plain, _ in self.cells:
            now = _contents(cell)
            if now is not value and not (plain and same_plain(now, value)):
                return False
        return True

    def restore(self) -> str:
        """Put everything back that is not as it was, and name the first thing found; empty if all is.

        Attributes and keys that are new count too: a function may not make any.
        """
        found = ""
        for members, keys, path in self.keys:
            for key in members.keys() - keys:
                found = found or f"{path}.{key}"
                del members[key]
        for members, checks, path in self.dicts:
            for key, value, plain in checks:
                now = members.get(key, MISSING)
                if now is not value and not (plain and same_plain(now, value)):
                    found = found or f"{path}.{key}"
                    members[key] = value
        for container, before, path in self.sizes:
            if not _unchanged(container, before):
                found = found or path
                if isinstance(container, dict):
                    container.clear()
                    container.update(before)
                else:
                    container[:] = before
        for tensor, storage, tracked, leaf, path, shown in self.tensors:
            if tensor._storage is not storage or is_tracked(tensor) is not tracked or is_leaf(tensor) is not leaf:
                found = found or path
                for name, value in zip(_SHOWN, shown):
                    setattr(tensor, name, value)
        for cell, value, plain, path in self.cells:
            now = _contents(cell)
            if now is not value and not (plain and same_plain(now, value)):
                found = found or path
                cell.cell_contents = value
        return found


_SHOWN = ("_storage", "_dtype", "_shape", "_stride", "_offset", "_array", "_counter", "_node", "_number", "_auto")


def _unchanged(container: Any, before: Any) -> bool:
    """Whether a list, tuple or dictionary has the items that it had."""
    if len(container) != len(before):
        return False
    if isinstance(container, dict):
        return all(key in container for key in before)  # the values have checks of their own
    return all(now is value or (is_plain(value) and same_plain(now, value)) for now, value in zip(container, before))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING

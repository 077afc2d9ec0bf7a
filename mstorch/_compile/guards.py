"""What a captured function depends on besides its arguments: modules, closures, globals. Checked before each run."""
from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .._backend.cell import is_cell, is_raw
from .._backend.trace import GraphBreak
from .._core import device as devices
from .._core.device import device
from .._core.dtype import dtype, get_default_dtype
from .._core.formats import layout, memory_format
from .._core.overriding import is_entry
from .._core.settings import are_deterministic_algorithms_enabled, get_float32_matmul_precision, get_num_threads
from .._core.size import Size
from .._core.tensor_base import TensorBase, is_tracked
from .._ops._autocast import state as autocast
from .._tape.node import is_leaf
from ..autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from ..nn import functional
from ..nn.modules._cell_names import STATE_OF_CELLS
from ..nn.modules.module import Module
from .kinds import hides_state, parts, pictured, slots

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
    return (
        is_grad_enabled(), is_inference_mode_enabled(), get_default_dtype(), are_deterministic_algorithms_enabled(),
        autocast.on, tuple(autocast.enabled.items()), tuple(autocast.dtypes.items()), devices.defaults.chosen,
        tuple(devices.defaults.blocks), get_float32_matmul_precision(), get_num_threads(),
    )  # fmt: skip


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
    """The values that a function can reach, as they are now: ``holds()`` says whether they still are.

    Raises GraphBreak for a value whose state no guard can know, unless ``strict`` is False.
    """

    def __init__(self, function: Callable[..., Any], arguments: Iterable[Any] = (), strict: bool = True) -> None:
        self.strict = strict
        self.dicts: list[tuple[dict[str, Any], list[tuple[str, Any, bool]], str]] = []
        self.sizes: list[tuple[Any, Any, str]] = []  # lists and dictionaries with copies of them
        self.items: list[tuple[Any, Any, Any, bool, str]] = []
        self.cells: list[tuple[Any, Any, bool, str]] = []
        self.tensors: list[tuple[Any, Any, bool, bool, str, tuple[Any, ...]]] = []
        self.modules: list[Any] = []
        self.natives: list[Any] = []
        self.keys: list[tuple[dict[str, Any], frozenset[str], str]] = []
        # What gives a value, the value, what puts it back (None where nothing can), and its name.
        self.probes: list[tuple[Callable[[], Any], Any, Callable[[Any], Any] | None, str]] = []
        self.classes: list[tuple[type, dict[str, Any]]] = []
        self.public = [(vars(space), dict(vars(space))) for space in (functional, _tensor_class())]
        self._names: set[str] = set()
        self._bases: set[type] = set()
        self._alive: list[Any] = []  # ids are of living objects
        self._seen: set[int] = set()
        self._by_dict: dict[int, list[tuple[str, Any, bool]]] = {}
        self._function(function, getattr(function, "__qualname__", type(function).__name__))
        for value in arguments:
            self.look(value, type(value).__name__)
        if "grad" in self._names:
            for tensor, *_, path, _ in self.tensors:
                self._probe(functools.partial(_gradient_of, tensor), f"{path}.grad")
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
            if getattr(value, "__dict__", None):
                self._members(value.__dict__, path)
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
        elif isinstance(value, functools.partial):
            self._partial(value, path)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, types.BuiltinFunctionType):
            if not is_entry(value) and not isinstance(value.__self__, (types.ModuleType, type)):
                self.look(value.__self__, f"{path}.__self__")
        elif isinstance(value, types.ModuleType):
            return
        elif type(value).__module__.startswith(_ROOM):  # a compiled function: its graphs are no part of the program
            self.look(getattr(value, "function", None), path)
        elif pictured(value) is not None:
            self._pictured(value, path)
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

    def _probe(self, fetch: Callable[[], Any], path: str, undo: Callable[[Any], Any] | None = None) -> None:
        self.probes.append((fetch, fetch(), undo, path))

    def _pictured(self, value: Any, path: str) -> None:
        self._probe(pictured(value), path)  # type: ignore[arg-type]
        for part in parts(value):
            self.look(part, f"an item of {path}")
        self._object(value, path, open_=True)

    def _partial(self, value: Any, path: str) -> None:
        self._probe(lambda: (id(value.func), *map(id, value.args)), path)
        self.look(value.func, f"{path}.func")
        for item in value.args:
            self.look(item, f"{path}.args")
        self._dict(value.keywords, f"{path}.keywords", lambda key: f"{path}.keywords[{key!r}]")

    def _members(self, members: dict[str, Any], path: str) -> None:
        self.keys.append((members, frozenset(members), path))
        for key, item in list(members.items()):
            self._put(members, key, item, path)
            self.look(item, f"{path}.{key}")

    def _object(self, value: Any, path: str, open_: bool = False) -> None:
        members = getattr(value, "__dict__", None)
        if not open_ and self.strict and not type(value).__module__.startswith((_HOME, "torch", "mindspore")) and hides_state(value):
            raise GraphBreak(f"{path} is of {type(value).__module__}.{type(value).__qualname__}, whose state no guard can know", place=path)
        if isinstance(members, dict):
            self._members(members, path)
        for name, descriptor in slots(value):
            fetch = functools.partial(_slot, descriptor, value)
            now = fetch()
            self.probes.append((fetch, now, functools.partial(descriptor.__set__, value), f"{path}.{name}"))
            self.look(now, f"{path}.{name}")
        if isinstance(value, weakref.WeakValueDictionary):
            self._dict(vars(value)["data"], path, lambda key: f"{path}[{key!r}]")
        self.probes.append((lambda: type(value), type(value), None, f"{path}.__class__"))
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
        """The members of a user's class, and the globals that its methods name."""
        for base in cls.__mro__:
            if base in self._bases or _is_library_class(base):
                continue
            self._bases.add(base)
            self.classes.append((base, _members_of(base)))
            for name, member in list(vars(base).items()):
                path = f"{base.__qualname__}.{name}"
                for part in (member.fget, member.fset) if isinstance(member, property) else (getattr(member, "__func__", member),):
                    if isinstance(part, types.FunctionType):
                        self._function(part, path)
                    elif not name.startswith("__") and not isinstance(part, _DESCRIPTORS):
                        self.look(part, path)

    def _function(self, function: Any, path: str) -> None:
        if isinstance(function, types.MethodType):
            self.look(function.__self__, f"{path}.__self__")
            function = function.__func__
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self.look(wrapped, path)
        if not isinstance(function, types.FunctionType):
            if isinstance(function, (Module, functools.partial, types.BuiltinFunctionType)):
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
        self._probe(functools.partial(_of_function, function), path)
        if function.__kwdefaults__:
            self._dict(function.__kwdefaults__, path, lambda key: f"{path}.{key}")
        self._members(function.__dict__, path)
        known = function.__globals__
        named = set(_names(function.__code__))
        self._names |= named
        for name in named:
            value = known.get(name, MISSING)
            if value is MISSING:
                continue
            self._put(known, name, value, "globals")
            if isinstance(value, types.ModuleType):
                self._python_module(value, named)
            else:
                self.look(value, name)

    def _python_module(self, module: types.ModuleType, named: set[str], within: tuple[types.ModuleType, ...] = ()) -> None:
        """Attributes of Python modules that the code names: of the user's own all that they hold too."""
        path = getattr(module, "__file__", None)
        library = path is None or os.path.abspath(path).startswith(_LIBRARIES) or module.__name__ in sys.builtin_module_names
        if module is os and named & {"environ", "getenv"}:
            self._dict(os.environ._data, "os.environ", lambda key: f"os.environ[{key!r}]")  # type: ignore[attr-defined]
        for name in named:
            value = vars(module).get(name, MISSING)
            if value is MISSING or value is os.environ:
                continue
            if self.strict and module.__name__ in _CLOCKS:
                raise GraphBreak(f"{module.__name__}.{name} gives another value each time", place=path or module.__name__)
            self._put(vars(module), name, value, module.__name__)
            if isinstance(value, types.ModuleType):
                if value not in within:
                    self._python_module(value, named, (*within, module))
            elif not library or isinstance(value, (types.MethodType, types.BuiltinFunctionType)):
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
            if len(container) != len(before) or (len(before) > 1 and isinstance(container, dict) and not _in_order(container, before)):
                return False
        for members, known, _ in self.keys:
            if len(members) != len(known) and not members.keys() - known <= _LATER:
                return False
        for base, before in self.classes:
            if not _same_members(base, before):
                return False
        for fetch, value, *_ in self.probes:
            if not _same_picture(fetch(), value):
                return False
        for space, copy in self.public:
            if space != copy:
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
        for fetch, value, undo, path in self.probes:
            if not _same_picture(fetch(), value):
                found = found or path
                if undo is not None:
                    undo(value)
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


_ROOM = __name__.rpartition(".")[0]
_HOME = __name__.partition(".")[0]
_CLOCKS = frozenset(("time", "secrets", "uuid"))
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType, property)
# What comes to a module's attributes as it runs.
_LATER = frozenset((*STATE_OF_CELLS, "_compiled_call_impl", "_graphs", "_compiled", "_native_members"))


def _tensor_class() -> type:
    return next(cls for cls in TensorBase.__subclasses__() if cls.__name__ == "Tensor")


def _is_library_class(base: type) -> bool:
    if base.__module__ in ("builtins", "abc", "typing", "enum") or base.__module__.partition(".")[0] in (_HOME, "torch", "mindspore"):
        return True
    path = getattr(sys.modules.get(base.__module__), "__file__", None)
    return path is None and base.__module__ != "__main__" or path is not None and os.path.abspath(path).startswith(_LIBRARIES)


def _members_of(base: type) -> dict[str, Any]:
    """A class's members, but what Python itself keeps there."""
    return {name: value for name, value in vars(base).items() if not name.startswith("__") or callable(value)}


def _same_members(base: type, before: dict[str, Any]) -> bool:
    now = _members_of(base)
    return len(now) == len(before) and all(_same_picture(now.get(name, MISSING), value) for name, value in before.items())


def _same_picture(now: Any, value: Any) -> bool:
    """Whether a value is what it was: the same object, or an equal plain one."""
    if now is value:
        return True
    if type(now) is not type(value):
        return False
    if type(value) is tuple:
        return len(now) == len(value) and all(map(_same_picture, now, value))
    return same_plain(now, value) if isinstance(value, (*PLAIN, frozenset, np.dtype)) else False


def _in_order(container: dict[Any, Any], before: dict[Any, Any]) -> bool:
    """Whether the keys stand in the order in which they stood."""
    return all(one is two or (is_plain(two) and same_plain(one, two)) for one, two in zip(container, before))


def _slot(descriptor: Any, value: Any) -> Any:
    try:
        return descriptor.__get__(value)
    except AttributeError:
        return MISSING


def _of_function(function: types.FunctionType) -> Any:
    """What a function can be given anew."""
    return function.__code__, function.__defaults__, id(function.__kwdefaults__)


def _gradient_of(tensor: Any) -> Any:
    auto = tensor._auto
    return None if auto is None else auto.grad


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

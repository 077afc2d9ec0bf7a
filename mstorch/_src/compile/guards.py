"""Guards: the modules, closures and globals that a captured function depends on besides its arguments, checked before each run."""
from __future__ import annotations

import builtins
import dis
import functools
import logging
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from operator import is_
from typing import Any

from ...nn import functional
from ...nn.modules import module as of_all_modules
from ...nn.modules._cell_names import STATE_OF_CELLS
from ...nn.modules.module import Module
from ..backend.cell import is_cell, is_raw
from ..backend.trace import GraphBreak, StepBreak
from ..core.overriding import is_entry
from ..core.tensor_base import TensorBase, is_tracked
from ..tape.node import is_leaf
from .held import Held
from .kinds import CACHED, hides_state, is_plain, kept_by, parts, pictured, slots
from .origins import HEAP, OWN, PYTHON, USER, origin_of_class, origin_of_code, origin_of_module
from .quick import Quick
from .steps import guarded_of, insights_into, steppers
from .unchanged import (
    MISSING,
    OF_CLASSES,
    SHOWN,
    attributes_of_function,
    contents,
    gradient_of,
    in_order,
    is_same,
    is_unchanged,
    members_of,
    same_hooks,
    same_members,
    same_picture,
    slot_of,
)

_LIMIT = 200_000


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a function's code, and that of the functions and classes defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _texts(constants: Iterable[Any]) -> Iterator[str]:
    """Yield the text constants of a function's code that may be names of attributes."""
    for constant in constants:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, (tuple, frozenset)):
            yield from _texts(constant)


_OF_GLOBALS = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"))
_OF_TEXTS = frozenset("getattr hasattr setattr delattr attrgetter methodcaller __dict__ __getattribute__ __getattr__".split())


class Guards(Held):
    """Snapshot of the values that a function can reach; ``holds()`` checks that they are unchanged.

    A function's globals are added when it is about to run (``enter``); without ``strict`` those of all reachable functions, at once. Raise
    GraphBreak for a value whose state no guard can observe, unless ``strict`` is False, and if there are too many values.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: Iterable[Any] = (), strict: bool = True, steps: bool = False
    ) -> None:  # fmt: skip
        self.strict, self.steps = strict, steps
        self.steppers: list[tuple[Any, str]] = []  # optimizers and the like
        self.attributes: set[str] = set()  # names of attributes in the code that ran
        self.modules: list[Any] = []
        self.natives: list[Any] = []
        self.quick: Quick | None = None
        self.snapshots = 0
        super().__init__((functional, _tensor_class()))
        self.names: set[str] = set()  # names of attributes and globals in the code that ran
        self._functions: dict[int, list[tuple[types.FunctionType, str]]] = {}  # by the id of their code
        self._entered: dict[int, types.CodeType] = {}
        self._made: dict[int, types.CodeType] = {}  # codes of functions defined inside these functions
        self._computes = False  # whether the function computes attribute names
        self._opened: set[int] = set()  # modules of which all names are guarded
        self._python: dict[int, tuple[types.ModuleType, str]] = {}  # Python modules that were found
        self._known: dict[int, tuple[types.ModuleType, set[str]]] = {}  # and the names that were guarded in each of them
        self._bases: set[type] = set()
        self._seen: dict[int, Any] = {}  # by id; keeps the objects alive, so that ids stay unique
        self._by_dict: dict[int, list[tuple[str, Any, bool]]] = {}
        self._hooks_of_all()
        for space, _ in self.public:
            self._patches(space, "torch")
        self._function(function, getattr(function, "__qualname__", type(function).__name__))
        for value in arguments:
            self.look(value, type(value).__name__)
        own = getattr(function, "__func__", function)
        if isinstance(own, types.FunctionType):
            self.enter(own.__code__)

    def finish(self) -> None:
        """Add the guards on ``.grad`` if the function used that name; called when the function has run. In a training step, gradients of
        leaves are the graph's."""
        if "grad" in self.names:
            for tensor, _, tracked, leaf, path, _ in self.tensors:
                if self.steps and tracked and leaf:
                    continue
                self._probe(functools.partial(gradient_of, tensor), f"{path}.grad")
        self._seen.clear()
        self._by_dict.clear()

    # Collecting

    def look(self, value: Any, path: str) -> None:
        """Guard everything reachable from a value."""
        if is_plain(value) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if len(self._seen) > _LIMIT:
            raise GraphBreak(f"the function can reach more than {_LIMIT} objects", place=path)
        if isinstance(value, TensorBase):
            shown = tuple(getattr(value, name) for name in SHOWN)
            self.tensors.append((value, value._ms_storage, is_tracked(value), is_leaf(value), path, shown))
            if getattr(value, "__dict__", None):
                self._members(value.__dict__, path)
            self._class(type(value))
        elif isinstance(value, Module):
            self._module(value, path)
        elif self.steps and isinstance(value, steppers()):
            self._stepper(value, path)
        elif is_raw(value):
            return
        elif is_cell(value):
            self.natives.append(value)
        elif isinstance(value, (list, tuple)):
            self._sequence(value, path)
        elif isinstance(value, dict):
            self._dict(value, path, lambda key: f"{path}[{key!r:.80}]")
            self._derived(value, path)
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
            self._python[id(value)] = value, path
            self._python_module(value, self.names)
            if self._computes:
                self.computes_names()
        elif isinstance(value, slice):
            for part in (value.start, value.stop, value.step):
                self.look(part, path)
        elif type(value).__module__.startswith(_ROOM):  # a compiled function: its graphs are not part of the program
            self.look(getattr(value, "function", None), path)
        elif pictured(value) is not None:
            self._pictured(value, path)
        elif getattr(value, "__wrapped__", None) is not None:
            self.look(value.__wrapped__, path)
            if isinstance(value, CACHED):
                for result in kept_by(value):
                    self.look(result, f"what {path} keeps")
        else:
            self._object(value, path)

    def _stepper(self, value: Any, path: str) -> None:
        self.steppers.append((value, path))
        self._class(type(value))
        for name in guarded_of(value):
            self._probe(functools.partial(vars(value).get, name), f"{path}.{name}")
            if isinstance(getattr(value, name), TensorBase):
                self.look(getattr(value, name), f"{path}.{name}")
        self._refuse_insights()

    def _sequence(self, value: list[Any] | tuple[Any, ...], path: str) -> None:
        if isinstance(value, list):
            self.sizes.append((value, list(value), path))
        for i, item in enumerate(value):
            if isinstance(value, list):
                self.items.append((value, i, item, is_plain(item), f"{path}[{i}]"))
            self.look(item, f"{path}[{i}]")
        self._derived(value, path)

    def _derived(self, value: Any, path: str) -> None:
        """Guard the members of an instance of a user's subclass of list, tuple or dict."""
        if type(value) not in (list, tuple, dict):
            self._object(value, path, open_=True)

    def _put(self, members: dict[str, Any], key: str, value: Any, path: str) -> None:
        checks = self._by_dict.get(id(members))
        if checks is None:
            checks = self._by_dict[id(members)] = []
            self.dicts.append((members, checks, path))
        checks.append((key, value, is_plain(value)))

    def _dict(self, members: dict[Any, Any], path: str, name: Callable[[Any], str]) -> None:
        self.sizes.append((members, dict(members), path))
        for key, value in list(members.items()):
            self._put(members, key, value, path)
            self.look(key, f"a key of {path}")
            self.look(value, name(key))

    def _probe(self, fetch: Callable[[], Any], path: str, undo: Callable[[Any], Any] | None = None) -> None:
        self.probes.append((fetch, fetch(), undo, path))

    def _pictured(self, value: Any, path: str) -> None:
        self._probe(pictured(value), path)  # type: ignore[arg-type]
        for part in parts(value):
            self.look(part, f"an item of {path}")
        if not isinstance(value, logging.Logger):  # a function cannot observe a logger's handlers
            self._object(value, path, open_=True)

    def _partial(self, value: Any, path: str) -> None:
        self._probe(lambda: (value.func, *value.args), path)
        self.look(value.func, f"{path}.func")
        for item in value.args:
            self.look(item, f"{path}.args")
        self._dict(value.keywords, f"{path}.keywords", lambda key: f"{path}.keywords[{key!r}]")
        self._object(value, path, open_=True)

    def _members(self, members: dict[str, Any], path: str) -> None:
        self.keys.append((members, frozenset(members), path))
        for key, item in list(members.items()):
            self._put(members, key, item, path)
            self.look(item, f"{path}.{key}")

    def _object(self, value: Any, path: str, open_: bool = False) -> None:
        members = getattr(value, "__dict__", None)
        if not open_ and self.strict and origin_of_class(type(value)) is not OWN and hides_state(value):
            raise GraphBreak(f"{path} is of {type(value).__module__}.{type(value).__qualname__}, whose state no guard can know", place=path)
        if isinstance(members, dict):
            self._members(members, path)
        for name, descriptor in slots(value):
            fetch = functools.partial(slot_of, descriptor, value)
            now = fetch()
            self.probes.append((fetch, now, functools.partial(descriptor.__set__, value), f"{path}.{name}"))
            self.look(now, f"{path}.{name}")
        if isinstance(value, weakref.WeakValueDictionary):
            self._dict(vars(value)["data"], path, lambda key: f"{path}[{key!r:.80}]")
        self.kinds.append((value, type(value), f"{path}.__class__"))
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
        self.kinds.append((module, type(module), f"{path}.__class__"))
        self._class(type(module))

    def _hooks_of_all(self) -> None:
        """Guard the hooks that apply to all modules."""
        space = vars(of_all_modules)
        for name in [name for name in space if name.startswith("_global_")]:
            hooks = space[name]
            if isinstance(hooks, dict):
                self.hooks.append((space, name, hooks, tuple(hooks.values())))
                self.look(tuple(hooks.values()), name)
            else:
                self._probe(functools.partial(space.get, name), name)

    # Classes

    def _class(self, cls: type) -> None:
        """Guard the members of a user's class; of mstorch's own classes only the identities."""
        if type(cls) is not type and type(cls) not in self._bases:
            self._class(type(cls))
        for base in cls.__mro__:
            if base in self._bases:
                continue
            self._bases.add(base)
            origin = origin_of_class(base)
            if origin is PYTHON or (origin is OWN and not base.__flags__ & HEAP):
                continue
            self.classes.append((base, members_of(base)))
            if origin is OWN:
                self._patches(vars(base), base.__qualname__)
                continue
            for name, member in list(vars(base).items()):
                if name in OF_CLASSES:
                    continue
                path = f"{base.__qualname__}.{name}"
                of_property = isinstance(member, property)
                for part in (member.fget, member.fset, member.fdel) if of_property else (getattr(member, "__func__", member),):
                    if not isinstance(part, _DESCRIPTORS):
                        self.look(part, path)

    def _patches(self, members: Mapping[str, Any], path: str) -> None:
        """Guard functions that the user has assigned to members of an mstorch module or class."""
        for name, member in list(members.items()):
            if type(member) is types.FunctionType and origin_of_code(member.__code__, member.__globals__) is USER:
                self.look(member, f"{path}.{name}")

    # Functions

    def _function(self, function: Callable[..., Any], path: str) -> None:
        if isinstance(function, types.MethodType):
            self.look(function.__self__, f"{path}.__self__")
            function = function.__func__
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self.look(wrapped, path)
        if not isinstance(function, types.FunctionType):
            if isinstance(function, (Module, functools.partial, types.BuiltinFunctionType, types.MethodType)):
                self.look(function, path)
            elif wrapped is None:
                self._object(function, path)
            return
        code = function.__code__
        users = origin_of_code(code, function.__globals__) is USER
        known = self._functions.setdefault(id(code), [])
        if any(one is function for one, _ in known):
            return
        known.append((function, path))
        self._seen[id(function)] = function
        if not users:
            if not is_entry(function):  # whose closure holds what the library notes of calls: no part of the program
                self._guard_bindings(function, path)
            return
        self._probe(functools.partial(attributes_of_function, function), path)
        self._members(function.__dict__, path)
        if id(code) in self._entered or not self.strict:
            self._entered[id(code)] = code
            self._enter(function, path)

    def _guard_bindings(self, function: types.FunctionType, path: str) -> None:
        """Add guards for the values in a function's closure and for its default values."""
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self.cells.append((cell, value, is_plain(value), name))
            self.look(value, name)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.look(value, path)

    def enter(self, code: types.CodeType) -> bool:
        """Guard the names that a function uses before it runs; return False if its origin is unknown."""
        if id(code) in self._entered:
            return True
        known = self._functions.get(id(code))
        if not known:
            return id(code) in self._made
        self._entered[id(code)] = code
        for function, path in list(known):
            self._enter(function, path)
        return True

    def _enter(self, function: types.FunctionType, path: str) -> None:
        self._guard_bindings(function, path)
        if function.__kwdefaults__:
            self._dict(function.__kwdefaults__, path, lambda key: f"{path}.{key}")
        known = function.__globals__
        codes = list(_codes(function.__code__))
        self._made.update((id(code), code) for code in codes)
        named = {name for code in codes for name in code.co_names}
        if not named.isdisjoint(_OF_TEXTS):
            named.update(text for code in codes for text in _texts(code.co_consts) if text.isidentifier())
        self.names |= named
        loaded: dict[str, None] = {}
        self.attributes |= named - {name for code in codes for name in code.co_names}
        for code in codes:
            for step in dis.get_instructions(code):
                if step.opname in _OF_GLOBALS:
                    loaded[step.argval] = None
                elif step.opname.endswith(_OF_ATTRIBUTES):
                    self.attributes.add(step.argval)
                elif step.opname == "IMPORT_NAME":
                    self._imported(step.argval, known, named, path)
        self._refuse_insights()
        for name in loaded:
            self._global(known, name)
        for module, _ in list(self._python.values()):
            self._python_module(module, named)
        if not named.isdisjoint(_OF_TEXTS):
            self.computes_names()

    def _global(self, known: dict[str, Any], name: str) -> None:
        value = known.get(name, MISSING)
        self._put(known, name, value, "globals")
        if value is MISSING:
            value = vars(builtins).get(name, MISSING)
            self._put(vars(builtins), name, value, "builtins")
        if value is not MISSING:
            self.look(value, name)

    def _imported(self, name: str, known: dict[str, Any], named: set[str], path: str) -> None:
        """Guard the modules that an import statement in a function names, if they are loaded already."""
        package = str(known.get("__package__") or "")
        for full in {name, name.partition(".")[0], f"{package}.{name}".strip("."), package}:
            module = sys.modules.get(full)
            if isinstance(module, types.ModuleType) and full:
                self._put(sys.modules, full, module, "sys.modules")
                self.look(module, path)

    # Python's modules

    def _python_module(self, module: types.ModuleType, named: set[str]) -> None:
        """Guard the attributes of a Python module that the code names."""
        known = self._known.setdefault(id(module), (module, set()))[1]
        space = vars(module)
        origin = origin_of_module(module)
        if module is os and named & {"environ", "getenv"}:
            self.environment()
        for name in sorted(named - known):
            known.add(name)
            value = space.get(name, MISSING)
            if value is MISSING or value is os.environ:
                if origin is USER and value is MISSING:
                    self._put(space, name, MISSING, module.__name__)
                continue
            if value is sys.modules and self.strict:
                raise GraphBreak("sys.modules holds what no guard knows", place=module.__name__)
            self._put(space, name, value, module.__name__)
            if origin is USER or isinstance(value, (types.ModuleType, types.MethodType, types.BuiltinFunctionType, list, dict, set)):
                self.look(value, f"{module.__name__}.{name}")
        if origin is USER and "__getattr__" in space:
            self.look(space["__getattr__"], f"{module.__name__}.__getattr__")

    def computes_names(self) -> None:
        """Guard all public names of the modules that the function uses, because the function computes names of attributes (``getattr``)."""
        self._computes = True
        while len(self._opened) < len(self._python):
            for module, path in [found for number, found in self._python.items() if number not in self._opened]:
                self._opened.add(id(module))
                if origin_of_module(module) is USER:
                    names = {name for name in vars(module) if not (name.startswith("__") and name.endswith("__"))}
                    self.keys.append((vars(module), frozenset(vars(module)), path))
                    self._python_module(module, names)
                else:
                    self.public.append((vars(module), dict(vars(module))))

    def environment(self) -> None:
        """Guard ``os.environ``, because the function reads environment variables."""
        data: Any = os.environ._data  # type: ignore[attr-defined]
        if id(data) not in self._by_dict:
            self._dict(data, "os.environ", lambda key: f"os.environ[{key!r}]")

    def _refuse_insights(self) -> None:
        """Raise GraphBreak if the code may look into an optimizer: its state is not guarded, and changes after the graph has run."""
        for stepper, path in self.steppers:
            used = insights_into(stepper, self.attributes)
            if used:
                raise StepBreak(f"{path}.{min(used)} may be used", place=path)

    # Checking

    def holds(self) -> bool:
        """Return whether all guarded values are unchanged."""
        if self.quick is not None and self.quick.holds():
            return True
        if not self._hold():
            return False
        # Values that are new objects at each call would make the snapshot for nothing.
        self.snapshots += 1
        self.quick = Quick(self) if self.snapshots <= _SNAPSHOTS else None
        return True

    def _hold(self) -> bool:
        return (
            self._entries_hold() and self._tensors_hold() and self._containers_hold()
            and all(type(value) is kind for value, kind, _ in self.kinds)
            and all(same_members(base, before) for base, before in self.classes)
            and all(same_picture(fetch(), value) for fetch, value, *_ in self.probes)
            and all(same_hooks(space, name, hooks, before) for space, name, hooks, before in self.hooks)
            and all(all(map(is_, map(space.get, copy, repeat(MISSING)), copy.values())) for space, copy in self.public)
        )  # fmt: skip

    def _entries_hold(self) -> bool:
        for members, checks, _ in self.dicts:
            for key, value, plain in checks:
                if not is_same(members.get(key, MISSING), value, plain):
                    return False
        return (
            all(is_same(container[key], value, plain) for container, key, value, plain, _ in self.items)
            and all(is_same(contents(cell), value, plain) for cell, value, plain, _ in self.cells)
        )  # fmt: skip

    def _tensors_hold(self) -> bool:
        return all(_is_as_before(tensor, storage, tracked, leaf) for tensor, storage, tracked, leaf, *_ in self.tensors)

    def _containers_hold(self) -> bool:
        for container, before, _ in self.sizes:
            if len(container) != len(before) or (isinstance(container, dict) and not in_order(container, before)):
                return False
        for members, known, _ in self.keys:
            if len(members) != len(known) and not members.keys() - known <= _LATER:
                return False
        return True

    def restore(self) -> str:
        """Restore all guarded values that have changed, and return a description of the first; empty if there are none.

        New attributes and keys count as changes too.
        """
        changed = [*self._restore_entries(), *self._restore_containers(), *self._restore_probes(), *self._restore_tensors()]
        return changed[0] if changed else ""

    def _restore_entries(self) -> Iterator[str]:
        for members, keys, path in self.keys:
            for key in members.keys() - keys:
                del members[key]
                yield f"{path}.{key}"
        for members, checks, path in self.dicts:
            for key, value, plain in checks:
                if is_same(members.get(key, MISSING), value, plain):
                    continue
                if value is MISSING:
                    del members[key]
                else:
                    members[key] = value
                yield f"{path}.{key}"
        for cell, value, plain, path in self.cells:
            if not is_same(contents(cell), value, plain):
                cell.cell_contents = value
                yield path

    def _restore_containers(self) -> Iterator[str]:
        for container, before, path in self.sizes:
            if is_unchanged(container, before):
                continue
            if isinstance(container, dict):
                container.clear()
                container.update(before)
            else:
                container[:] = before
            yield path

    def _restore_probes(self) -> Iterator[str]:
        for fetch, value, undo, path in self.probes:
            if not same_picture(fetch(), value):
                if undo is not None:
                    undo(value)
                yield path
        yield from (path for value, kind, path in self.kinds if type(value) is not kind)
        yield from (name for space, name, hooks, before in self.hooks if not same_hooks(space, name, hooks, before))

    def _restore_tensors(self) -> Iterator[str]:
        for tensor, storage, tracked, leaf, path, shown in self.tensors:
            if not _is_as_before(tensor, storage, tracked, leaf):
                for name, value in zip(SHOWN, shown):
                    setattr(tensor, name, value)
                yield path


def _is_as_before(tensor: Any, storage: Any, tracked: bool, leaf: bool) -> bool:
    return tensor._ms_storage is storage and is_tracked(tensor) is tracked and is_leaf(tensor) is leaf


_SNAPSHOTS = 4
_OF_ATTRIBUTES = ("_ATTR", "_METHOD")
_ROOM = __name__.rpartition(".")[0]
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType)
# Attributes that are added to a module when it runs.
_LATER = frozenset((*STATE_OF_CELLS, "_compiled_call_impl", "_graphs", "_compiled", "_native_members"))


def _tensor_class() -> type:
    return next(cls for cls in TensorBase.__subclasses__() if cls.__name__ == "Tensor")

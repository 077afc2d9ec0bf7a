"""Unpicklers: one calls nothing outside an allow-list, the other maps torch's names to mstorch's."""

from __future__ import annotations

import pickle
import pickletools
import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError, decode_long
from typing import Any

from mstorch._src.serialization import names
from mstorch._src.serialization.file_storage import StorageType
from mstorch._src.serialization.foreign import refuse_foreign
from mstorch._src.serialization.loaded import brief
from mstorch._src.serialization.rebuild import DimRange
from mstorch._src.serialization.safe_globals import (
    BLOCKED_MODULES,
    AllowedGlobal,
    check_key,
    default_global,
    user_globals,
)

_OPCODES = {opcode.code.encode("latin1")[0]: opcode.name for opcode in pickletools.opcodes}
# Errors that a damaged or malicious file can cause in the reader or in an allowed function.
_MALFORMED = (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, AssertionError, struct.error)


class NotAllowed(UnpicklingError):
    """Raised for a pickle that names a class or function which is not on the allow-list."""


def _python3_name(module: str, name: str) -> tuple[str, str]:
    # Protocol 2 has Python 2's names.
    if (module, name) in NAME_MAPPING:
        return NAME_MAPPING[module, name]
    return IMPORT_MAPPING.get(module, module), name


class Unpickler:
    """Reads a pickle of tensors and plain containers.

    Globals come from a table and are never imported; only table entries are called, constructed or given state. Raises UnpicklingError,
    which names what the file tried, for anything else.
    """

    def __init__(self, file: Any, *, encoding: str = "bytes", allowed: dict[str, Any] | None = None):
        self._file = file
        self._encoding = encoding
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        # By identity, because a file's objects may compare equal to anything.
        self._fetched: dict[int, AllowedGlobal] = {}
        self._user = user_globals() if allowed is None else allowed  # classes by their full names
        self._user_ids = {id(value) for value in self._user.values()}

    def persistent_load(self, pid: Any) -> Any:
        """Return the storage of a persistent id; the caller sets this attribute."""
        raise UnpicklingError("unsupported persistent id encountered")

    def load(self) -> Any:
        """Return the object. Raise UnpicklingError, or EOFError for an empty file."""
        first = True
        while True:
            code = self._file.read(1)
            if not isinstance(code, bytes):
                raise TypeError(f"Expected bytes, got {type(code).__name__}")
            if not code:
                if first:
                    raise EOFError("Ran out of input")
                raise UnpicklingError("pickle data was truncated")
            first = False
            if code == pickle.STOP:
                return self._pop()
            handler = _HANDLERS.get(code[0])
            if handler is None:
                raise UnpicklingError(f"Unsupported operand {code[0]}{self._refused_name(code)}")
            try:
                handler(self)
            except _MALFORMED as error:
                what = _OPCODES[code[0]]
                raise UnpicklingError(
                    f"the pickle is damaged or was not made by torch.save: {type(error).__name__} at opcode {what}: {error}"
                ) from error

    def _refused_name(self, code: bytes) -> str:
        name = _OPCODES.get(code[0])
        if name is None:
            return ""
        if name == "INST":
            return f" (INST {'.'.join(_python3_name(self._line(), self._line()))})"
        return f" ({name})"

    # Reading

    def _read(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) != count:
            raise UnpicklingError("pickle data was truncated")
        return data

    def _line(self) -> str:
        # Names are short; an endless line would otherwise be read completely.
        data = self._file.readline(4096)
        if data[-1:] != b"\n":
            raise UnpicklingError("pickle data was truncated")
        return data[:-1].decode("utf-8", "backslashreplace")

    def _ms_number(self, form: str) -> Any:
        return struct.unpack(form, self._read(struct.calcsize(form)))[0]

    def _sized(self, form: str) -> bytes:
        # Read in pieces, so that a length larger than the file allocates no memory.
        left = self._ms_number(form)
        if left < 0:
            raise UnpicklingError("a string in the pickle has a negative length")
        pieces = []
        while left > 0:
            pieces.append(self._read(min(left, 1 << 20)))
            left -= len(pieces[-1])
        return b"".join(pieces)

    # The stack

    def _pop(self) -> Any:
        if not self._stack:
            raise UnpicklingError("pickle data pops an empty stack")
        return self._stack.pop()

    def _popped_to_mark(self) -> list[Any]:
        items = self._stack
        self._stack = self._marks.pop()
        return items

    def _tuple(self, count: int) -> None:
        if len(self._stack) < count:
            raise UnpicklingError("pickle data pops an empty stack")
        self._stack[-count:] = [tuple(self._stack[-count:])]

    # Globals and the operations allowed on them

    def _global(self, module: str, name: str) -> None:
        if type(module) is not str or type(name) is not str:
            raise UnpicklingError(f"a global's name must be two strings, but got {type(module)} and {type(name)}")
        module, name = _python3_name(module, name)
        path = f"{module}.{name}"
        if module in BLOCKED_MODULES or module.split(".", 1)[0] in BLOCKED_MODULES:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        entry = default_global(path)
        if entry is None and path in self._user:
            entry = AllowedGlobal(self._user[path], call=self._user[path], new=True)
        if entry is None:
            shown = path.removeprefix("builtins.")
            raise NotAllowed(
                f"Unsupported global: GLOBAL {shown} was not an allowed global by default. "
                f"Please use `torch.serialization.add_safe_globals([{shown}])` or the "
                f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this global "
                "if you trust this class/function."
            )
        self._fetched[id(entry.value)] = entry
        self._stack.append(entry.value)

    def _reduce(self) -> None:
        arguments = self._pop()
        function = self._pop()
        entry = self._fetched.get(id(function))
        if entry is None or entry.call is None:
            belongs = f" which belongs to {brief(function.__self__)}" if hasattr(function, "__self__") else ""
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {brief(function)}{belongs}")
        if type(arguments) is not tuple:
            raise UnpicklingError(f"the arguments of {brief(function)} must be a tuple, but got {type(arguments)}")
        self._stack.append(entry.call(*arguments))

    def _new(self, keywords: bool) -> None:
        options = self._pop() if keywords else {}
        arguments = self._pop()
        kind = self._pop()
        entry = self._fetched.get(id(kind))
        if entry is None or not entry.new or not isinstance(kind, type):
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` "
                f"but got {brief(kind)}"
            )
        if type(arguments) is not tuple or type(options) is not dict:
            raise UnpicklingError(f"the arguments of {brief(kind)} must be a tuple, but got {type(arguments)}")
        self._stack.append(kind.__new__(kind, *arguments, **options))

    def _build(self) -> None:
        state = self._pop()
        target = self._stack[-1]
        if type(target) is OrderedDict:
            target.__dict__.update(state)
            return
        if type(target) is DimRange:
            target.__setstate__(state)
            return
        if id(type(target)) not in self._user_ids:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {type(target)}"
            )
        if hasattr(target, "__setstate__"):
            target.__setstate__(state)
            return
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        if state:
            target.__dict__.update(state)
        for name, value in (slots or {}).items():
            setattr(target, name, value)

    # Containers

    def _append(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not list:
            raise UnpicklingError(f"Can only append to lists, but got {type(target)}")
        target.extend(items)

    def _add(self) -> None:
        items = self._popped_to_mark()
        target = self._stack[-1]
        if type(target) is not set:
            raise UnpicklingError(f"Can only add items to sets, but got {type(target)}")
        target.update(map(check_key, items))

    def _set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        mapping = type(target) in (dict, OrderedDict, Counter)
        if not mapping and not (isinstance(target, dict) and id(type(target)) in self._user_ids):
            raise UnpicklingError(
                f"Can only SETITEMS for dict, collections.OrderedDict, collections.Counter, but got {type(target)}"
            )
        if len(items) % 2:
            raise UnpicklingError("a dictionary in the pickle has a key without a value")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[check_key(key)] = value

    # Memo and storages

    def _put(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    def _persistent(self) -> None:
        pid = self._pop()
        if type(pid) is not tuple and type(pid) is not int:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
        if type(pid) is tuple and (not pid or pid[0] not in ("storage", b"storage")):
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {pid[:1]}")
        self._stack.append(self.persistent_load(pid))

    def _protocol(self) -> None:
        version = self._read(1)[0]
        if version > pickle.HIGHEST_PROTOCOL:
            raise UnpicklingError(f"unsupported pickle protocol: {version}")

    def _byte_string(self, form: str) -> None:
        data = self._sized(form)
        self._stack.append(data if self._encoding == "bytes" else data.decode(self._encoding, "strict"))


def _pushes(read: Callable[..., Any]) -> Callable[..., Any]:
    def handler(self: Unpickler) -> None:
        # Read first: reading up to a mark replaces the stack by another list.
        value = read(self)
        self._stack.append(value)

    return handler


def _mark(self: Unpickler) -> None:
    self._marks.append(self._stack)
    self._stack = []


def _stack_global(self: Unpickler) -> None:
    name, module = self._pop(), self._pop()
    self._global(module, name)


def _pair_to_items(self: Unpickler) -> None:
    value, key = self._pop(), self._pop()
    self._set_items([key, value])


def _text(form: str) -> Any:
    return _pushes(lambda self: str(self._sized(form), "utf-8", "surrogatepass"))


_HANDLERS: dict[int, Any] = {
    code[0]: handler
    for code, handler in {
        pickle.PROTO: Unpickler._protocol,
        pickle.FRAME: lambda self: self._read(8) and None,
        pickle.GLOBAL: lambda self: self._global(self._line(), self._line()),
        pickle.STACK_GLOBAL: _stack_global,
        pickle.REDUCE: lambda self: self._reduce(),
        pickle.NEWOBJ: lambda self: self._new(keywords=False),
        pickle.NEWOBJ_EX: lambda self: self._new(keywords=True),
        pickle.BUILD: lambda self: self._build(),
        pickle.BINPERSID: Unpickler._persistent,
        pickle.MARK: _mark,
        pickle.POP: lambda self: self._pop() and None,
        pickle.APPEND: lambda self: self._append([self._pop()]),
        pickle.APPENDS: lambda self: self._append(self._popped_to_mark()),
        pickle.ADDITEMS: Unpickler._add,
        pickle.SETITEM: _pair_to_items,
        pickle.SETITEMS: lambda self: self._set_items(self._popped_to_mark()),
        pickle.EMPTY_TUPLE: _pushes(lambda self: ()),
        pickle.EMPTY_LIST: _pushes(lambda self: []),
        pickle.EMPTY_DICT: _pushes(lambda self: {}),
        pickle.EMPTY_SET: _pushes(lambda self: set()),
        pickle.FROZENSET: _pushes(lambda self: frozenset(map(check_key, self._popped_to_mark()))),
        pickle.TUPLE: _pushes(lambda self: tuple(self._popped_to_mark())),
        pickle.TUPLE1: lambda self: self._tuple(1),
        pickle.TUPLE2: lambda self: self._tuple(2),
        pickle.TUPLE3: lambda self: self._tuple(3),
        pickle.NONE: _pushes(lambda self: None),
        pickle.NEWTRUE: _pushes(lambda self: True),
        pickle.NEWFALSE: _pushes(lambda self: False),
        pickle.BININT: _pushes(lambda self: self._ms_number("<i")),
        pickle.BININT1: _pushes(lambda self: self._ms_number("<B")),
        pickle.BININT2: _pushes(lambda self: self._ms_number("<H")),
        pickle.BINFLOAT: _pushes(lambda self: self._ms_number(">d")),
        pickle.LONG1: _pushes(lambda self: decode_long(self._sized("<B"))),
        pickle.LONG4: _pushes(lambda self: decode_long(self._sized("<i"))),
        pickle.BINUNICODE: _text("<I"),
        pickle.BINUNICODE8: _text("<Q"),
        pickle.SHORT_BINUNICODE: _text("<B"),
        pickle.BINBYTES: _pushes(lambda self: self._sized("<I")),
        pickle.BINBYTES8: _pushes(lambda self: self._sized("<Q")),
        pickle.SHORT_BINBYTES: _pushes(lambda self: self._sized("<B")),
        pickle.BYTEARRAY8: _pushes(lambda self: bytearray(self._sized("<Q"))),
        pickle.SHORT_BINSTRING: lambda self: self._byte_string("<B"),
        pickle.BINSTRING: lambda self: self._byte_string("<i"),
        pickle.BINGET: _pushes(lambda self: self._memo[self._ms_number("<B")]),
        pickle.LONG_BINGET: _pushes(lambda self: self._memo[self._ms_number("<I")]),
        pickle.BINPUT: lambda self: self._put(self._ms_number("<B")),
        pickle.LONG_BINPUT: lambda self: self._put(self._ms_number("<I")),
        pickle.MEMOIZE: lambda self: self._put(len(self._memo)),
    }.items()
}  # fmt: skip


def full_unpickler(pickle_module: Any, persistent_load: Callable[..., Any]) -> type:
    """Return a subclass of ``pickle_module``'s Unpickler that finds mstorch's objects under torch's names."""

    class FullUnpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if names.is_torch_module(module):
                if "Storage" in name:
                    try:
                        return StorageType(name)
                    except KeyError:
                        pass
                return names.find(module, name)
            found = super().find_class(module, name)
            refuse_foreign(found, module, name)
            return found

        def persistent_load(self, pid: tuple[int | str | StorageType | None, ...]) -> Any:
            return persistent_load(pid)

    return FullUnpickler


def globals_in(data: bytes) -> set[str]:
    """Return the full paths of all globals in a pickle, without running it. Raise UnpicklingError if it is damaged."""
    found: set[str] = set()
    argument: Any
    recent: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in ("GLOBAL", "INST"):
                found.add(".".join(_python3_name(*argument.split(" ", 1))))
            elif opcode.name == "STACK_GLOBAL":
                found.add(".".join(str(part) for part in recent[-2:]))
            elif opcode.name in ("MEMOIZE", "BINPUT", "LONG_BINPUT"):
                memo[len(memo) if argument is None else argument] = recent[-1] if recent else None
            elif opcode.name in ("BINGET", "LONG_BINGET"):
                recent.append(memo.get(argument))
            else:
                recent.append(argument)
    except ValueError as error:
        raise UnpicklingError(f"the pickle is damaged or was not made by torch.save: {error}") from error
    return found

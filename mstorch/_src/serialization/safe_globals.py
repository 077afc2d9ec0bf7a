"""The globals that a file may use under ``weights_only=True``: torch's own list, and those that the user adds."""

from __future__ import annotations

from _codecs import encode
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from pickle import UnpicklingError
from typing import Any

from mstorch._src.quantized.tensor import SCHEMES
from mstorch._src.serialization import adapter, names, rebuild
from mstorch._src.serialization.file_storage import STORAGE_CLASSES, UNTYPED_DTYPES, StorageType

from ..._tensor import Tensor
from ..core.above import above
from ..core.device import device
from ..core.formats import layout
from ..core.size import Size
from ..leaving import Block

# Never allowed, even if the user adds something in them.
BLOCKED_MODULES = frozenset({"sys", "os", "posix", "nt"})

Entry = "Callable | tuple[Callable, str]"
_user_globals: set[Any] = set()


def add_safe_globals(safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
    """Allow these functions and classes, or (object, "full.path") pairs, under ``weights_only=True``."""
    _user_globals.update(safe_globals)


def get_safe_globals() -> list[Callable[..., Any] | tuple[Callable[..., Any], str]]:
    """Return the globals that the user has allowed."""
    return list(_user_globals)


def clear_safe_globals() -> None:
    """Clear the globals that the user has allowed."""
    _user_globals.clear()


class safe_globals(Block):
    """Context manager that allows functions and classes under ``weights_only=True``."""

    def __init__(self, safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]):
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        allowed, added = _user_globals, set(self.safe_globals)
        self.at_end(partial(allowed.difference_update, added))
        allowed |= added


def user_globals() -> dict[str, Any]:
    """Return the user's globals by full path. Raise ValueError or TypeError for an invalid pair."""
    found: dict[str, Any] = {}
    for entry in _user_globals:
        if isinstance(entry, tuple):
            if len(entry) != 2:
                raise ValueError(
                    f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                    f"{len(entry)}"
                )
            if type(entry[1]) is not str:
                raise TypeError(
                    f"Expected second item in tuple to be str of callable full path, but got: {type(entry[1])}"
                )
            found[entry[1]] = entry[0]
        else:
            found[f"{entry.__module__}.{entry.__qualname__}"] = entry
            # Files have torch's names for mstorch's classes.
            target = names.torch_name(entry)
            if target is not None:
                found[".".join(target)] = entry
    return found


def _encode(text: str, encoding: str = "latin1") -> bytes:
    # Pickles of protocol 2 write bytes as latin1 text. Another codec would be code selected by the file.
    if type(text) is not str or encoding not in ("latin1", "latin-1", "iso-8859-1"):
        raise UnpicklingError(f"_codecs.encode may only turn latin1 text into bytes, but got encoding {encoding!r}")
    return encode(text, "latin1")


def _empty_bytes() -> bytes:
    # Protocol 2 writes b"" as a call without arguments; torch rejects that, although it is harmless.
    return b""


def _bytearray(*args: Any) -> bytearray:
    # An int argument would let a small file allocate any amount of memory.
    if args and not isinstance(args[0], (bytes, str, list)):
        raise UnpicklingError(f"builtins.bytearray may only be made of bytes, but got {type(args[0])}")
    return bytearray(*args)


_PLAIN_KEYS = (str, int, float, bool, bytes, complex, type(None))


def check_key(key: Any) -> str:
    """Return a dict key or set item. Raise UnpicklingError for one nested too deeply to hash.

    Python hashes tuples recursively in C and without memoizing parts, so a short file could overflow the stack or take forever.
    """
    if type(key) in _PLAIN_KEYS:
        return key
    level, seen = [key], 0
    for _ in range(50):
        level = [part for item in level if isinstance(item, (tuple, frozenset)) for part in item]
        seen += len(level)
        if not level:
            return key
        if seen > 10_000:
            break
    raise UnpicklingError("a dictionary key or set item in the pickle is nested too deeply")


def _set(items: Sequence[int] = ()) -> set[Any]:
    return {check_key(item) for item in items}


def _ordered(items: tuple[Any, ...] = ()) -> OrderedDict[Any, Any]:
    return OrderedDict((check_key(key), value) for key, value in (items.items() if isinstance(items, dict) else items))


def _counter(counts: Any = ()) -> Counter[Any]:
    return Counter(counts if isinstance(counts, dict) else map(check_key, counts))


def _layout(name: str) -> layout:
    return adapter.layout(name)


class AllowedGlobal:
    """Entry of the allow-list: the object, the callable for REDUCE, and whether NEWOBJ may construct it."""

    __slots__ = ("call", "new", "value")

    def __init__(self, value: Any, call: Callable[..., Any] | None = None, new: bool = False):
        self.value = value
        self.call = call
        self.new = new


def default_global(path: str) -> AllowedGlobal | None:
    """Return the entry of torch's own list for a full path; None for a path that is not on the list."""
    found = _fixed().get(path)
    if found is not None:
        return found
    head, _, name = path.rpartition(".")
    if head in ("torch", "torch.storage", "torch.cuda") and name in _STORAGE_NAMES:
        return AllowedGlobal(StorageType(name))
    if head == "torch" and name in _DTYPE_NAMES:
        return AllowedGlobal(adapter.dtype_of(name))
    return None


def default_names() -> set[str]:
    """Return the full paths of torch's own list."""
    return {
        *_fixed(),
        *(f"{home}.{name}" for name in _STORAGE_NAMES for home in ("torch", "torch.storage", "torch.cuda")),
        *(f"torch.{name}" for name in _DTYPE_NAMES),
    }


_STORAGE_NAMES = frozenset({*STORAGE_CLASSES, "UntypedStorage", "TypedStorage"})
_DTYPE_NAMES = frozenset({*STORAGE_CLASSES.values(), *UNTYPED_DTYPES})
_table: dict[str, AllowedGlobal] = {}


def _fixed() -> dict[str, AllowedGlobal]:
    if not _table:
        found = {
            "collections.OrderedDict": AllowedGlobal(OrderedDict, call=_ordered, new=True),
            "collections.Counter": AllowedGlobal(Counter, call=_counter, new=True),
            "builtins.set": AllowedGlobal(set, call=_set),
            "builtins.complex": AllowedGlobal(complex, call=complex),
            "builtins.bytearray": AllowedGlobal(bytearray, call=_bytearray),
            "builtins.bytes": AllowedGlobal(bytes, call=_empty_bytes),
            "_codecs.encode": AllowedGlobal(encode, call=_encode),
            "torch.Size": AllowedGlobal(Size, call=Size, new=True),
            "torch.device": AllowedGlobal(device, call=device),
            "torch.Tensor": AllowedGlobal(Tensor),
            "torch.nn.parameter.Parameter": AllowedGlobal(above.Parameter),
            "torch.serialization._get_layout": AllowedGlobal(_layout, call=_layout),
            **{f"torch.{name}": AllowedGlobal(scheme) for name, scheme in SCHEMES.items()},
        }
        for name, function in rebuild.FUNCTIONS.items():
            found[f"{rebuild.HOMES.get(name, 'torch._utils')}.{name}"] = AllowedGlobal(function, call=function)
        for name, give in rebuild.CLASSES.items():
            found[name] = AllowedGlobal(give(), new=name.endswith("_DimRange"))
        for module, functions in rebuild.OF_NPU.items():
            found |= {f"{module}.{name}": AllowedGlobal(function, call=function) for name, function in functions.items()}
        _table.update(found)
    return _table

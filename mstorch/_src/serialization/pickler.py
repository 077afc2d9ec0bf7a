"""Pickling of object graphs: tensors by torch's rebuild functions, mstorch's classes under torch's names."""

from __future__ import annotations

import io
import pickle
import secrets
import sys
import types
from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

from mstorch._src.core.hooks import warn_if_has_hooks
from mstorch._src.core.nested_parts import is_nested
from mstorch._src.namespace.process import qscheme
from mstorch._src.quantized.tensor import is_quantized
from mstorch._src.serialization import adapter, names
from mstorch._src.serialization.file_storage import CLASS_OF_DTYPE
from mstorch._src.serialization.loaded import ITEMSIZE, LoadedStorage, TypedRef
from mstorch._src.serialization.rebuild import HOMES
from mstorch._src.sparse.base import is_sparse
from mstorch.storage import TypedStorage, UntypedStorage

from ..._commands.debug.memories import Pickler
from ..._tensor import Tensor
from ..core.above import above
from ..core.device import device
from ..core.dtype import dtype
from ..core.formats import layout
from ..core.size import Size
from ..core.storage import DeviceMemory, Storage

_NAMED = (type, types.FunctionType, types.BuiltinFunctionType)
_DTYPES_DIFFER = "Cannot save multiple tensors or storages that view the same data as different types"


class _Global:
    """Represents a class or function of torch during saving; the pickler writes ``__module__`` as its module."""

    def __init__(self, module: str, name: str):
        self.__module__ = self.torch_module = module
        self.name = name

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.torch_module}.{self.name} is only a name in a file")


class _NeedsTorchNames(Exception):
    """Raised if the graph holds an mstorch class, which the C pickler would write under mstorch's name."""


class SavedStorage:
    """A storage that the file refers to; ``cell`` keeps it alive during saving."""

    __slots__ = ("array", "cell", "dtype_name", "key", "location")

    def __init__(self, cell: DeviceMemory | Storage, key: str, dtype_name: str | None, location: str, array: Callable[[], Any]):
        self.cell = cell
        self.key = key
        self.dtype_name = dtype_name
        self.location = location
        self.array = array


class StorageTable:
    """The unique storages found so far, in order of first reference."""

    def __init__(self) -> None:
        self._by_cell: dict[tuple[int, str | None], SavedStorage] = {}

    def add(self, cell: DeviceMemory | Storage, dtype_name: str, location: str, array: Callable[[], Any]) -> SavedStorage:
        """Return the entry of a cell. Raise RuntimeError if it was found with another dtype, which files cannot represent."""
        kind = dtype_name if dtype_name in CLASS_OF_DTYPE else None
        name = id(cell), None if cell.nbytes else kind  # empty storages may be seen under several dtypes
        found = self._by_cell.get(name)
        if found is None:
            found = SavedStorage(cell, str(len(self._by_cell)), kind, location, array)
            self._by_cell[name] = found
        elif found.dtype_name != kind:
            raise RuntimeError(_DTYPES_DIFFER)
        return found

    def __iter__(self):
        return iter(self._by_cell.values())


class _Rules:
    """Rules that both picklers share: the reduction of tensors, and the persistent ids of storages."""

    def __init__(self, table: StorageTable, legacy: bool):
        self.table = table
        self.legacy = legacy
        self.kinds = (TypedStorage, UntypedStorage)
        self._globals: dict[tuple[str, str], _Global] = {}

    def named(self, module: str, name: str) -> _Global:
        found = self._globals.get((module, name))
        if found is None:
            found = self._globals[module, name] = _Global(module, name)
        return found

    def persistent_id(self, obj: Any) -> tuple[int | _Global | str | None, ...] | None:
        if type(obj) is not SavedStorage:
            if type(obj) not in self.kinds:
                return None
            obj = self.table.add(*adapter.storage_parts(obj))
        kind = obj.dtype_name
        if kind is None:
            named, count = self.named("torch.storage", "UntypedStorage"), obj.cell.nbytes
        else:
            named = self.named("torch", CLASS_OF_DTYPE[kind])
            count = obj.cell.nbytes // ITEMSIZE[kind]
        found = ("storage", named, obj.key, obj.location, count)
        # Storages that view other storages were removed from torch before the zip format; the legacy format keeps the field.
        return (*found, None) if self.legacy else found

    def reduced(self, obj: Any) -> tuple[Any, ...]:
        """Return the reduction of an mstorch object; NotImplemented for other objects."""
        if isinstance(obj, Tensor):
            if is_sparse(obj):
                return self.named("torch._utils", "_rebuild_sparse_tensor"), adapter.sparse_parts(obj)
            if is_nested(obj):
                name, arguments = adapter.nested_parts_of(obj)
                made = self.named(HOMES.get(name, "torch._utils"), name)
                if name != "_rebuild_njt":
                    return made, arguments
                kind = self.named(HOMES[name], "NestedTensor")
                return self.named("torch._tensor", "_rebuild_from_type_v2"), (made, kind, arguments, {})
            return self._quantized(obj) if is_quantized(obj) else self._tensor(obj)
        if isinstance(obj, layout):
            return self.named("torch.serialization", "_get_layout"), (repr(obj),)
        if type(obj) is Size:
            return self.named("torch", "Size"), (tuple(obj),)
        if isinstance(obj, device):
            return self.named("torch", "device"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, (LoadedStorage, TypedRef)):
            raise pickle.PicklingError("mstorch: a storage cannot be saved by itself, save a tensor that views it")
        return NotImplemented

    def _quantized(self, tensor: Tensor) -> tuple[Any, ...]:
        parts = adapter.tensor_parts(tensor)
        scheme, rest = adapter.quantizer_parts(tensor)
        saved = self.table.add(parts.cell, parts.dtype_name, parts.location, parts.array)
        quantizer = (self.named("torch", scheme), *rest)
        return self.named("torch._utils", "_rebuild_qtensor"), (
            saved, parts.offset, parts.size, parts.stride, quantizer, parts.requires_grad, OrderedDict()
        )  # fmt: skip

    def _tensor(self, tensor: Tensor) -> tuple[_Global | Callable[..., Any], tuple[Any, ...]]:
        if not adapter.has_default_reduce(tensor):
            return NotImplemented
        warn_if_has_hooks(tensor)
        hooks: OrderedDict[Any, Any] = OrderedDict()
        if isinstance(tensor, above.Parameter):
            state = adapter.user_state(tensor)
            plain = tensor.detach()
            if state is None:
                return self.named("torch._utils", "_rebuild_parameter"), (plain, tensor.requires_grad, hooks)
            rebuild = self.named("torch._utils", "_rebuild_parameter_with_state")
            return rebuild, (plain, tensor.requires_grad, hooks, state)
        function, arguments = self._plain(tensor, hooks)
        state = adapter.user_state(tensor)
        if adapter.is_exact_tensor(tensor) and state is None:
            return function, arguments
        kind = type(tensor) if not adapter.is_exact_tensor(tensor) else self.named("torch", "Tensor")
        return self.named("torch._tensor", "_rebuild_from_type_v2"), (function, kind, arguments, state or {})

    def _plain(self, tensor: Tensor, hooks: OrderedDict[Any, Any]) -> tuple[_Global | Callable[..., Any], tuple[Any, ...]]:
        if tensor.is_meta:
            # Separate tuples, as in torch: the same object would become a reference in the pickle.
            shape = tuple(tensor.shape), (*tensor.stride(),)
            return self.named("torch._utils", "_rebuild_meta_tensor_no_storage"), (tensor.dtype, *shape, tensor.requires_grad)
        if adapter.keeps_elsewhere(tensor):
            geometry = tuple(tensor.shape), (*tensor.stride(),), tensor.storage_offset()
            return self.named("torch._utils", "_rebuild_wrapper_subclass"), (
                type(tensor), tensor.dtype, *geometry, tensor.layout, tensor.device, tensor.requires_grad
            )  # fmt: skip
        parts = adapter.tensor_parts(tensor)
        saved = self.table.add(parts.cell, parts.dtype_name, parts.location, parts.array)
        common = (saved, parts.offset, parts.size, parts.stride, parts.requires_grad, hooks)
        signs = (parts.signs,) if parts.signs else ()
        if parts.dtype_name in CLASS_OF_DTYPE:
            return self.named("torch._utils", "_rebuild_tensor_v2"), (*common, *signs)
        rebuild = self.named("torch._utils", "_rebuild_tensor_v3")
        return rebuild, (*common, self.named("torch", parts.dtype_name), *signs)


def dump(obj: Any, pickle_module: ModuleType | type[Any], protocol: int, table: StorageTable, legacy: bool = False) -> bytes:
    """Return the pickle of ``obj``, with its storages added to ``table``."""
    if pickle_module.Pickler is pickle.Pickler and protocol < 4:
        # The C pickler is many times faster. It cannot write another name for an mstorch class, so a graph that contains
        # one is pickled again by the Python pickler.
        try:
            return _dump_fast(obj, pickle_module.Pickler, protocol, table, legacy)
        except _NeedsTorchNames:
            table._by_cell.clear()
    if issubclass(pickle_module.Pickler, pickle._Pickler):
        return _dump_named(obj, pickle_module.Pickler, protocol, table, legacy)
    if pickle_module.Pickler is pickle.Pickler:
        return _dump_named(obj, pickle._Pickler, protocol, table, legacy)
    if protocol >= 4:
        raise ValueError(f"mstorch: pickle_module {pickle_module.__name__} needs pickle_protocol 2 or 3")
    try:
        return _dump_fast(obj, pickle_module.Pickler, protocol, table, legacy)
    except _NeedsTorchNames as error:
        raise pickle.PicklingError(
            f"mstorch: {error} can only be written with pickle_module=pickle, not {pickle_module.__name__}"
        ) from None


def _is_misnamed(obj: Any) -> bool:
    """Return whether an ordinary pickler would write another name for an object than torch's. (Where ``import torch`` imports mstorch, the
    objects have torch's names.)"""
    if isinstance(obj, dtype):
        return obj.__reduce__() != obj.name or getattr(sys.modules.get("torch"), obj.name, None) is not obj
    if isinstance(obj, qscheme):
        return getattr(sys.modules.get("torch"), str(obj).removeprefix("torch."), None) is not obj
    target = names.torch_name(obj)
    said = obj.__name__ if isinstance(obj, types.BuiltinFunctionType) else obj.__qualname__
    return target is not None and target != (obj.__module__, said)


def _dump_fast(obj: Any, base: type, protocol: int, table: StorageTable, legacy: bool) -> bytes:
    """Pickle by the C pickler, which looks up every global before it writes the name.

    The lookup succeeds because temporary modules exist whose names are torch's, preceded by a random token; the token is then removed from
    the result. 128 random bits cannot occur in the user's own data."""
    token = "t" + secrets.token_hex(16)
    rules = _Rules(table, legacy)
    modules: dict[str, types.ModuleType] = {}

    def reducer_override(self: Pickler, obj: Any) -> str | tuple[Any, ...]:
        if type(obj) is _Global:
            module = token + obj.torch_module
            # An import of a dotted name also looks up its first part.
            for needed in (module.split(".", 1)[0], module):
                if needed not in modules:
                    modules[needed] = sys.modules[needed] = types.ModuleType(needed)
            obj.__module__ = module
            setattr(modules[module], obj.name, obj)
            return obj.name
        if isinstance(obj, (dtype, qscheme, *_NAMED)) and _is_misnamed(obj):
            raise _NeedsTorchNames(repr(obj))
        found = rules.reduced(obj)
        if found is NotImplemented:
            inherited = getattr(base, "reducer_override", None)
            return inherited(self, obj) if inherited is not None else NotImplemented
        return found

    # A class body cannot refer to the function above by the same name, so the class is made by a call.
    methods = {"persistent_id": lambda self, obj: rules.persistent_id(obj), "reducer_override": reducer_override}
    buffer = io.BytesIO()
    try:
        type("Pickler", (base,), methods)(buffer, protocol=protocol).dump(obj)
    finally:
        for module in modules:
            del sys.modules[module]
    return buffer.getvalue().replace(token.encode(), b"")


def _table_of(base: type[Any]) -> dict[type, Any]:
    """Return the pickler's dispatch table without dill's entries. MindSpore imports dill, which adds them to Python's pickler; files that
    name dill need dill to load, and cannot be loaded with ``weights_only``."""
    if base is not pickle._Pickler:
        return dict(base.dispatch)
    own = {kind: save for kind, save in base.dispatch.items() if not str(getattr(save, "__module__", "")).startswith("dill")}
    python: Any = base
    named = {types.FunctionType: python.save_global, type: python.save_type, dict: python.save_dict}
    return {**own, **named}


def _dump_named(obj: Any, base: type[Any], protocol: int, table: StorageTable, legacy: bool) -> bytes:
    """Pickle by Python's pickler, which writes the name of a class or function without looking it up."""
    rules = _Rules(table, legacy)
    table_of_base = _table_of(base)

    class Pickler(base):
        dispatch: ClassVar[dict[type, Any]] = dict(table_of_base)

        def persistent_id(self, obj: Any) -> tuple[int | _Global | str | None, ...] | None:
            return rules.persistent_id(obj)

        def reducer_override(self, obj: Any) -> tuple[Any, ...]:
            found = rules.reduced(obj)
            if found is NotImplemented and hasattr(super(), "reducer_override"):
                return super().reducer_override(obj)
            return found

        def save_global(self, obj: Any, name: str | None = None) -> None:
            target = names.torch_name(obj, name) if isinstance(obj, _NAMED) else None
            if target is None:
                super().save_global(obj, name)
            else:
                self.write_global(obj, *target)

        def save_named(self, obj: _Global) -> None:
            self.write_global(obj, obj.torch_module, obj.name)

        def save_dtype(self, obj: Any) -> None:
            self.write_global(obj, "torch", obj.name)

        def save_scheme(self, obj: Any) -> None:
            self.write_global(obj, "torch", obj.name)

        def save_class(self, obj: Any) -> None:
            if names.torch_name(obj) is not None:
                self.save_global(obj)
            else:
                table_of_base.get(type(obj), base.save_global)(self, obj)

        def write_global(self, obj: Any, module: str, name: str) -> None:
            if self.proto >= 4:
                self.save(module)
                self.save(name)
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
            self.memoize(obj)

        dispatch[_Global] = save_named
        dispatch.update(dict.fromkeys(adapter.dtype_classes(), save_dtype))
        dispatch[qscheme] = save_scheme
        dispatch[type] = save_class
        dispatch[types.FunctionType] = save_class

    buffer = io.BytesIO()
    Pickler(buffer, protocol=protocol).dump(obj)
    return buffer.getvalue()

"""Pickles as TorchScript's reader takes them: modules of the archive's classes, tensors, numbers, texts and containers."""

from __future__ import annotations

import enum
import struct
from typing import Any

from ...._src.core.device import device
from ...._src.core.tensor_base import array_of
from ...._src.serialization import adapter
from ...._src.serialization.file_storage import CLASS_OF_DTYPE
from ...._tensor import Tensor
from ..types import Type
from .values import Unwritable, type_text


class Object:
    """A module of the archive: its class's full name, and its attributes."""

    def __init__(self, kind: str, attributes: dict[str, Any]) -> None:
        self.kind, self.attributes = kind, attributes


class Typed:
    """A value with the type that its attribute is declared to have, which an empty list does not tell."""

    def __init__(self, value: Any, kind: Type) -> None:
        self.value, self.kind = value, kind


class Storages:
    """The memory of a pickle's tensors, each once: records by key."""

    def __init__(self) -> None:
        self._keys: dict[tuple[int, str], str] = {}
        self.flat: list[Tensor] = []
        self.objects: dict[int, int] = {}  # numbers of objects that the pickle holds already
        self.kept: list[Any] = []  # keeps them alive, so that ids stay unique

    def key_of(self, tensor: Tensor) -> tuple[str, int]:
        """Return the key of a tensor's memory, and the number of its elements."""
        whole = tensor.untyped_storage().nbytes() // tensor.element_size()
        key = self._keys.setdefault((id(tensor._ms_storage), tensor.dtype.name), str(len(self._keys)))
        if int(key) == len(self.flat):
            self.flat.append(tensor.detach().as_strided([whole], [1], 0))
        return key, whole

    def records(self, folder: str) -> Any:
        """Yield the records' names and bytes."""
        for key, tensor in enumerate(self.flat):
            yield f"{folder}/{key}", adapter.cell_bytes(array_of(tensor.cpu()))


def _text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def _int(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + struct.pack("<q", value)


def _name(path: str) -> bytes:
    module, _, name = path.rpartition(".")
    return f"c{module}\n{name}\n".encode()


def _tensor(value: Tensor, storages: Storages) -> bytes:
    number = storages.objects.get(id(value))
    if number is not None:  # torch reads a record once for each mention: tied weights are one object
        return b"j" + struct.pack("<I", number)
    kind = CLASS_OF_DTYPE.get(value.dtype.name)
    if kind is None or getattr(value, "is_sparse", False):
        raise Unwritable(f"mstorch: torch.jit.save has no form for a tensor of {value.dtype}")
    key, count = storages.key_of(value)
    where = b"(" + _text("storage") + _name(f"torch.{kind}") + _text(key) + _text("cpu") + _int(count) + b"tQ"
    sizes, strides = (b"(" + b"".join(map(_int, numbers)) + b"t" for numbers in (value.shape, value.stride()))
    flag = b"\x88" if value.requires_grad else b"\x89"
    rest = where + _int(value.storage_offset()) + sizes + strides + flag + b"ccollections\nOrderedDict\n)R"
    number = storages.objects[id(value)] = len(storages.objects)
    storages.kept.append(value)
    return _name("torch._utils._rebuild_tensor_v2") + b"(" + rest + b"tRr" + struct.pack("<I", number)


_LISTS = {"int": "int", "float": "double", "bool": "bool", "Tensor": "tensor"}


def _typed(value: Any, kind: Type, storages: Storages) -> bytes:
    """Return the pickle of a value of a declared type."""
    if kind.kind == "Optional":
        return b"N" if value is None else _typed(value, kind.of[0], storages)
    if kind.kind == "List":
        items = b"](" + b"".join(_typed(item, kind.of[0], storages) for item in value) + b"e"
        short = _LISTS.get(kind.of[0].kind)
        if short is not None:
            return _name(f"torch.jit._pickle.build_{short}list") + b"(" + items + b"tR"
        return _name("torch.jit._pickle.restore_type_tag") + b"(" + items + _text(repr(kind)) + b"tR"
    if kind.kind == "Dict":
        pairs = b"".join(_typed(key, kind.of[0], storages) + _typed(item, kind.of[1], storages) for key, item in value.items())
        return _name("torch.jit._pickle.restore_type_tag") + b"(}(" + pairs + b"u" + _text(repr(kind)) + b"tR"
    if kind.kind == "Tuple":
        return b"(" + b"".join(_typed(item, one, storages) for item, one in zip(value, kind.of)) + b"t"
    if kind.kind == "float":
        return _value(float(value), storages)
    if kind.kind == "Device":
        return _name("torch.device") + b"(" + _text(str(value)) + b"tR"
    if "." in kind.kind:
        if isinstance(value, enum.Enum):
            return _name(kind.kind) + _value(value.value, storages) + b"R"
        if isinstance(value, Object):
            return _value(value, storages)
        if isinstance(value, tuple):
            return _name(kind.kind) + b"(" + b"".join(_value(item, storages) for item in value) + b"tR"
        raise Unwritable(f"mstorch: torch.jit.save has no form for an attribute of {kind.kind}")
    return _value(value, storages)


def _value(value: Any, storages: Storages) -> bytes:
    if isinstance(value, Typed):
        return _typed(value.value, value.kind, storages)
    if isinstance(value, Object):
        number = storages.objects.get(id(value))
        if number is not None:
            return b"j" + struct.pack("<I", number)
        state = b"".join(_text(name) + _value(item, storages) for name, item in value.attributes.items())
        number = storages.objects[id(value)] = len(storages.objects)
        storages.kept.append(value)
        return _name(value.kind) + b")\x81}(" + state + b"ubr" + struct.pack("<I", number)
    if isinstance(value, Tensor):
        return _tensor(value, storages)
    if isinstance(value, device):
        return _name("torch.device") + b"(" + _text(str(value)) + b"tR"
    if value is None or type(value) is bool:
        return {None: b"N", True: b"\x88", False: b"\x89"}[value]
    if isinstance(value, int):
        return _int(value)
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        return b"(" + b"".join(_value(item, storages) for item in value) + b"t"
    if isinstance(value, list):
        items = b"](" + b"".join(_value(item, storages) for item in value) + b"e"
        kind = _LISTS.get(type_text(value)[5:-1])
        if kind is not None:
            return _name(f"torch.jit._pickle.build_{kind}list") + b"(" + items + b"tR"
        return _name("torch.jit._pickle.restore_type_tag") + b"(" + items + _text(type_text(value)) + b"tR"
    if isinstance(value, dict):
        items = b"}(" + b"".join(_value(key, storages) + _value(item, storages) for key, item in value.items()) + b"u"
        return _name("torch.jit._pickle.restore_type_tag") + b"(" + items + _text(type_text(value)) + b"tR"
    raise Unwritable(f"mstorch: torch.jit.save has no form for an attribute of {type(value).__name__}")


def pickled(value: Any, storages: Storages) -> bytes:
    """Return the pickle of a value; its tensors are added to the storages."""
    return b"\x80\x02" + _value(value, storages) + b"."

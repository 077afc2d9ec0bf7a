"""``.pt2`` in the layout before ``archive_format``: a zip of JSON and files of ``torch.save``, side by side."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from typing import Any

from ... import serialization
from ..._tensor import Tensor
from ..graph_signature import InputKind
from .read import Parts, program_of
from .values import Unreadable

_PROGRAM = "serialized_exported_program.json"


class FormerReader:
    """Reads the records of such an archive."""

    def __init__(self, file: Any) -> None:
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, OSError) as error:
            raise Unreadable(f"PytorchStreamReader failed reading zip archive: {error}") from None
        self._names = self._zip.namelist()

    def has(self, name: str) -> bool:
        """Return whether a record exists."""
        return name in self._names

    def read(self, name: str) -> bytes:
        """Return a record. Raise Unreadable for a damaged one, and for a compressed one, which could expand without limit."""
        if not self.has(name):
            raise Unreadable(f"PytorchStreamReader failed locating file {name}: file not found")
        if self._names.count(name) > 1:
            raise Unreadable(f"PytorchStreamReader failed reading zip archive: the record {name} is there twice")
        if self._zip.getinfo(name).compress_type != zipfile.ZIP_STORED:
            raise Unreadable(f"PytorchStreamReader failed reading zip archive: {name} is compressed, which torch.export.save does not")
        try:
            return self._zip.read(name)
        except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, struct.error, OSError, RuntimeError) as error:
            raise Unreadable(f"PytorchStreamReader failed reading zip archive: {error}") from None

    def tensors(self, title: str) -> dict[str, Any]:
        """Return the tensors of a record of ``torch.save``, which older writers named JSON."""
        value = self.loaded(f"{title}.json" if self.has(f"{title}.json") else f"{title}.pt")
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(one, Tensor) for one in value.values()):
            raise Unreadable(f"{title} holds something else than tensors, which mstorch does not read")
        return dict(value)

    def loaded(self, name: str) -> Any:
        """Return the object of a record of ``torch.save``; None for an empty one."""
        content = self.read(name)
        return serialization.load(io.BytesIO(content), weights_only=True) if content else None


def is_former(file: Any) -> bool:
    """Return whether a zip file is in this layout; the file's position is restored."""
    start = file.tell()
    try:
        return _PROGRAM in zipfile.ZipFile(file).namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, OSError):
        return False
    finally:
        file.seek(start)


def read_former(file: Any, extra_files: dict[str, Any] | None) -> Parts:
    """Return the parts of the program; fill the values of ``extra_files``. Raise Unreadable for a damaged file."""
    reader = FormerReader(file)
    try:
        data = json.loads(reader.read(_PROGRAM))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{_PROGRAM}: {type(error).__name__}: {error}") from None
    parts = program_of(data)
    state, parts.constants = reader.tensors("serialized_state_dict"), reader.tensors("serialized_constants")
    own = {spec.target for spec in parts.signature.input_specs if spec.kind is InputKind.PARAMETER}
    parts.parameters = {name: value for name, value in state.items() if name in own}
    parts.buffers = {name: value for name, value in state.items() if name not in own}
    for spec in parts.signature.input_specs:
        if spec.kind is InputKind.BUFFER and spec.target in parts.constants:
            parts.buffers[spec.target] = parts.constants.pop(spec.target)
    example = reader.loaded("serialized_example_inputs.pt") if reader.has("serialized_example_inputs.pt") else None
    if not isinstance(example, tuple) or len(example) != 2 or not isinstance(example[1], dict):
        raise Unreadable("mstorch: the program has no sample inputs")
    parts.example = tuple(example[0]), dict(example[1])
    for name in extra_files or {}:
        if reader.has(f"extra_files/{name}"):
            extra_files[name] = reader.read(f"extra_files/{name}").decode("utf-8")  # type: ignore[index]
    return parts

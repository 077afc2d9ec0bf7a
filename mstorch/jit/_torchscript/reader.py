"""``torch.jit.load`` of the archives that torch writes."""

from __future__ import annotations

from pickle import UnpicklingError
from typing import Any

from ..._src.core.device import device
from ..._src.serialization.archive import StorageReader
from ..._src.serialization.zipfile_format import ZipReader
from .objects import ArchivedModule, Program
from .source import Source
from .types import Damaged
from .unpickle import unpickled


def holds_program(reader: ZipReader) -> bool:
    """Return whether an archive holds a TorchScript program."""
    return reader.has("constants.pkl") and reader.has("data.pkl")


def _text(reader: ZipReader, path: str) -> str | None:
    if not reader.has(path):
        return None
    _check_stored(reader, path)
    try:
        return reader.read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Damaged(f"{path}: {error}") from None


def _check_stored(reader: ZipReader, path: str) -> None:
    """Raise RuntimeError for a compressed record, which could expand without limit. (torch writes the code's records compressed.)"""
    if not reader.is_stored(path) and reader.size(path) > 64 * max(reader.compressed_size(path), 1024):
        raise Damaged(f"PytorchStreamReader failed reading zip archive: {path} is compressed to less than a 64th")


def load(reader: ZipReader, map_location: Any) -> ArchivedModule:
    """Return the module of an archive. Raise RuntimeError for a damaged one, and for operators that mstorch does not have.

    Devices that the text names, of the kind on which the archive's tensors were, become ``map_location`` as the tensors do. (torch leaves
    them.)
    """
    for name in reader.names():
        if name.startswith(("data", "constants")):
            _check_stored(reader, name)
    storages = StorageReader(reader, map_location)
    name = ".data/version" if reader.has(".data/version") else "version"
    texts = {path: _text(reader, path) or "" for path in reader.names() if path.startswith("code/") and path.endswith(".py")}
    program = Program(Source(texts.get), ())
    program.texts = texts
    program.version = int(reader.read(name, limit=100))
    found: set[str] = set()

    def storage(pid: Any, folder: str) -> Any:
        value = storages.storage(pid, folder)
        found.add(str(pid[3]).partition(":")[0])
        return value

    try:
        constants, kinds = unpickled(reader.read("constants.pkl"), program, lambda pid: storage(pid, "constants"))
        if type(constants) is not tuple:
            raise Damaged("constants.pkl holds no tuple")
        program._constants = constants
        module, classes = unpickled(reader.read("data.pkl"), program, lambda pid: storage(pid, "data"))
        if not isinstance(module, ArchivedModule):
            raise Damaged("data.pkl holds no module")
        if isinstance(map_location, (str, device)):
            program.places = dict.fromkeys(found or {"cpu"}, device(map_location))
        for definition in (*kinds.values(), *classes.values()):
            program.compile_class(definition)
    except (UnpicklingError, EOFError, RecursionError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise Damaged(f"the archive is damaged, or was not written by torch.jit.save: {type(error).__name__}: {error}") from error
    return module


def extra_files(reader: ZipReader, wanted: dict[str, Any]) -> None:
    """Set the values of extra files by name, as bytes; those that the archive lacks become empty."""
    for name in wanted:
        wanted[name] = b""
        if reader.has(f"extra/{name}"):
            _check_stored(reader, f"extra/{name}")
            wanted[name] = reader.read(f"extra/{name}")

"""Private names of ``torch.serialization`` that packages import: open files and archives, tags of storages, checks of arguments."""
from __future__ import annotations

import io
import os
import sys
from typing import IO, Any

from .file_reader import PyTorchFileReader, PyTorchFileWriter
from .options import OPTIONS


class _opener:
    """Context manager around an object that is open."""

    def __init__(self, file_like: Any) -> None:
        self.file_like = file_like

    def __enter__(self) -> Any:
        return self.file_like

    def __exit__(self, *args: Any) -> None:
        pass


class _open_file(_opener):
    """A file that is opened by its path, and closed at the end of the block."""

    def __init__(self, name: str | os.PathLike[str], mode: str) -> None:
        super().__init__(open(name, mode))

    def __exit__(self, *args: Any) -> None:
        self.file_like.close()


class _open_buffer_reader(_opener):
    """An open file for reading, which has to be seekable."""

    def __init__(self, buffer: IO[bytes]) -> None:
        super().__init__(buffer)
        _check_seekable(buffer)


class _open_buffer_writer(_opener):
    """An open file for writing, which is flushed at the end of the block."""

    def __exit__(self, *args: Any) -> None:
        self.file_like.flush()


class _open_zipfile_reader(_opener):
    """The reader of an archive."""

    def __init__(self, name_or_buffer: Any) -> None:
        super().__init__(PyTorchFileReader(name_or_buffer))


class _open_zipfile_writer_file(_opener):
    """The writer of an archive at a path, which is complete at the end of the block."""

    def __init__(self, name: str) -> None:
        super().__init__(PyTorchFileWriter(name))
        self.name = name

    def __exit__(self, *args: Any) -> None:
        self.file_like.write_end_of_file()


class _open_zipfile_writer_buffer(_open_zipfile_writer_file):
    """The same for an open file."""

    def __init__(self, buffer: IO[bytes]) -> None:
        if not callable(getattr(buffer, "write", None)):
            raise AttributeError(f"Buffer of {str(type(buffer)).strip('<>')} has no callable attribute 'write'")
        super().__init__(buffer)  # type: ignore[arg-type]
        self.buffer = buffer

    def __exit__(self, *args: Any) -> None:
        super().__exit__(*args)
        self.buffer.flush()


def is_path(name_or_buffer: Any) -> bool:
    """Return whether a file is given by its path."""
    return isinstance(name_or_buffer, (str, os.PathLike))


def _open_file_like(name_or_buffer: Any, mode: str) -> _opener:
    """Return the context manager of a file: a path is opened, and closed at the end; a file is used as it is, and flushed after writing."""
    if is_path(name_or_buffer):
        return _open_file(name_or_buffer, mode)
    if "w" in mode:
        return _open_buffer_writer(name_or_buffer)
    if "r" in mode:
        return _open_buffer_reader(name_or_buffer)
    raise RuntimeError(f"Expected 'r' or 'w' in mode but got {mode}")


def _open_zipfile_writer(name_or_buffer: Any) -> _opener:
    """Return the context manager of an archive's writer."""
    return (_open_zipfile_writer_file if is_path(name_or_buffer) else _open_zipfile_writer_buffer)(name_or_buffer)


def _check_seekable(f: Any) -> bool:
    """Return True; raise AttributeError or UnsupportedOperation for a file that cannot seek."""
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if isinstance(error, AttributeError) and error.name not in ("seek", "tell"):
            raise
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer like "
            "io.BytesIO and try to load from it instead."
        ) from error
    return True


def _check_save_filelike(f: Any) -> None:
    if not is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")


def _is_compressed_file(f: Any) -> bool:
    """Return whether a file is one of the gzip module."""
    return getattr(f, "__module__", None) == "gzip"


def _should_read_directly(f: Any) -> bool:
    """Return whether a file's descriptor can be read in its place: that of a compressed file, or of none, cannot."""
    try:
        return not _is_compressed_file(f) and f.fileno() >= 0
    except (io.UnsupportedOperation, AttributeError):
        return False


def _maybe_decode_ascii(bytes_str: bytes | str) -> str:
    """Return text; Python 2 wrote it as bytes."""
    return bytes_str.decode("ascii") if isinstance(bytes_str, bytes) else bytes_str


def _default_to_weights_only(pickle_module: Any) -> bool:
    """Return whether ``load`` reads only weights if it is not told: unless it was given a pickle module."""
    return pickle_module is None and os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0") not in ("1", "y", "yes", "true")


def _get_storage_alignment() -> int:
    """Return the number of bytes to a multiple of which storages are placed in a file."""
    return OPTIONS.storage_alignment


def _cpu_tag(obj: Any) -> str | None:
    """Return the tag of a storage in the CPU's memory; None for others."""
    return "cpu" if obj.device.type == "cpu" else None


def _meta_tag(obj: Any) -> str | None:
    """Return the tag of a storage on the meta device; None for others."""
    return "meta" if obj.device.type == "meta" else None


def _cpu_deserialize(obj: Any, location: str) -> Any:
    """Return the storage if its tag is the CPU's; else None."""
    return obj if location == "cpu" else None


def _meta_deserialize(obj: Any, location: str) -> Any:
    """Return a storage of the same size on the meta device if the tag says so; else None."""
    home = sys.modules[__name__.partition(".")[0]]
    return home.UntypedStorage(obj.nbytes(), device="meta") if location == "meta" else None


def _is_meta_location(map_location: Any) -> bool:
    """Return whether a ``map_location`` is the meta device."""
    return getattr(map_location, "type", map_location) == "meta"


def normalize_storage_type(storage_type: type) -> Any:
    """Return the class of typed storages of this name."""
    return getattr(sys.modules[__name__.partition(".")[0]], storage_type.__name__)


def storage_to_tensor_type(storage: Any) -> Any:
    """Return the class of tensors of the same name as a storage's."""
    kind = type(storage)
    return getattr(sys.modules[kind.__module__], kind.__name__.replace("Storage", "Tensor"))

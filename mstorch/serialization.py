"""torch.serialization: ``save`` and ``load`` in torch's own file formats."""

from __future__ import annotations

import errno
import mmap as mmap_module
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import IO, Any

from mstorch._src.serialization import adapter, archive, legacy, plain, safetensors_format
from mstorch._src.serialization.archive import Archive
from mstorch._src.serialization.atomic import replacing
from mstorch._src.serialization.file_storage import StorageType
from mstorch._src.serialization.legacy import SourceChangeWarning
from mstorch._src.serialization.locations import (
    default_restore_location,
    location_tag,
    register_package,
    validate_device,
)
from mstorch._src.serialization.locations import restorer as _get_restore_location  # noqa: F401 - a name of torch's
from mstorch._src.serialization.openers import (  # noqa: F401 - names of torch's
    _check_save_filelike,
    _check_seekable,
    _cpu_deserialize,
    _cpu_tag,
    _default_to_weights_only,
    _get_storage_alignment,
    _is_compressed_file,
    _is_meta_location,
    _maybe_decode_ascii,
    _meta_deserialize,
    _meta_tag,
    _open_buffer_reader,
    _open_buffer_writer,
    _open_file,
    _open_file_like,
    _open_zipfile_reader,
    _open_zipfile_writer,
    _open_zipfile_writer_buffer,
    _open_zipfile_writer_file,
    _opener,
    _should_read_directly,
    normalize_storage_type,
    storage_to_tensor_type,
)
from mstorch._src.serialization.openers import is_path as _is_path
from mstorch._src.serialization.options import DEFAULT_PROTOCOL, LOCAL, OPTIONS, LoadEndianness
from mstorch._src.serialization.safe_globals import (
    add_safe_globals,
    clear_safe_globals,
    default_names,
    get_safe_globals,
    safe_globals,
    user_globals,
)
from mstorch._src.serialization.unpickler import NotAllowed, globals_in
from mstorch._src.serialization.zipfile_format import ZipReader, archive_name, looks_like_zip

from ._src.core.above import above
from ._src.core.formats import layout
from ._src.core.no_memory import tells_no_memory
from ._src.core.warned import warn
from ._src.hook import missing as _missing
from ._src.leaving import Block, values_set_to
from ._src.progress import Progress

_is_zipfile = looks_like_zip

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
]

_UNSAFE = (
    "Since torch 2.6 `weights_only` is True unless the call says otherwise. With `weights_only=False` the file will "
    "probably load, but it can then run any code it likes, so do that only if you got the file from a trusted source."
)
_ACCEPTED = "\n\nThe documentation of torch.load lists the types that are accepted with `weights_only`."
_TRUE = ("1", "y", "yes", "true")

# The types of load's map_location, which packages use in annotations.
MAP_LOCATION = Callable[[Any, str], Any] | str | dict[str, str] | None


@tells_no_memory
def save(
    obj: object, f: str | os.PathLike[str] | IO[bytes], pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False,
) -> None:
    """Save ``obj`` to a path or to an object with ``write`` and ``flush``, in torch's format.

    Raise RuntimeError if the path cannot be written, and pickle's exceptions for objects that cannot be pickled.

    Differs from torch: a path is replaced atomically, by a rename after everything is on disk; after an error or a kill the old file still
    exists.
    """
    _check_dill_version(pickle_module)
    if not _is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if LOCAL.skip_data and not _use_new_zipfile_serialization:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    path = os.path.abspath(os.fsdecode(f)) if isinstance(f, (str, os.PathLike)) else None
    target: Any = f
    if not _use_new_zipfile_serialization:

        def write(file: Any) -> None:
            legacy.save(obj, file, pickle_module, pickle_protocol)

    else:
        records = Archive(obj, pickle_module, pickle_protocol, not _disable_byteorder_record)

        def write(file: Any) -> None:
            records.write(file, archive_name(path))

    if path is None:
        if not callable(target.write):
            raise TypeError(f"Buffer of {str(type(f)).strip('<>')} has no callable attribute 'write'")
        write(target)
        target.flush()
        return
    write_whole(path, write)


def write_whole(path: str, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file that replaces ``path`` when it is complete. Raise RuntimeError if it cannot be written."""
    try:
        with replacing(path) as file:
            write(file)
    except OSError as error:
        # torch's writer raises RuntimeError for a full disk, and scripts catch it.
        advice = _disk_full_advice(error, path)
        raise RuntimeError(f"PytorchStreamWriter failed writing file {path}: file write failed: {error}{advice}") from error


def _disk_full_advice(error: OSError, path: str) -> str:
    """Return advice to append to the error if the disk is full and an old file exists, which is kept until the new one is complete; else
    ""."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not os.path.exists(path):
        return ""
    return (
        ". The old file is there, whole, until the new one is: where there is room for one only, remove it first, or write in place, "
        "with an open file (torch.save(obj, file)), which a failure would leave cut off"
    )


@tells_no_memory
def load(
    f: str | os.PathLike[str] | IO[bytes], map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
    mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:
    """Load an object that :func:`save`, or torch, has saved.

    With ``weights_only`` (the default) nothing outside the allow-list is imported or called. ``map_location`` is a device, its text, a
    dictionary from saved to target locations, or a function of (storage, location). ``mmap`` leaves the values in the file, which must be a
    path, until they are used; their checksums are then not checked.

    Raise pickle.UnpicklingError for a file that needs more than ``weights_only`` allows, and RuntimeError for a truncated or damaged one.

    Differs from torch: the checksums of the values are checked, ``weights_only`` also reads pickle protocols 3 to 5, and TorchScript
    archives, quantized tensors and torch 0.1's tar format raise NotImplementedError or RuntimeError.
    """
    weights_only = _weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warn("pickle_load_args only works if `weights_only=False`.")
    module = pickle if pickle_module is None else pickle_module
    _check_dill_version(module)
    mapping = OPTIONS.mmap if mmap is None else mmap
    pickle_load_args.setdefault("encoding", "utf-8")
    progress = _reading(f)
    with values_set_to(LOCAL, progress=progress):
        try:
            if isinstance(f, (str, os.PathLike)) and os.fspath(f).endswith(".safetensors"):
                return safetensors_format.load(os.fspath(f), map_location)
            with _opened(f) as file:
                return _load(f, file, map_location, module, weights_only, mapping, pickle_load_args)
        except pickle.UnpicklingError as error:
            if not weights_only:
                raise
            raise pickle.UnpicklingError(_explained(error)) from None
        finally:
            progress.end()


def _reading(f: Any) -> Progress:
    """Return a reader that shows the progress of a large file on a terminal."""
    if not isinstance(f, (str, os.PathLike)):
        return Progress("loading")
    path = os.fspath(f)
    return Progress(f"loading {os.path.basename(path)!s}", os.path.getsize(path) if os.path.isfile(path) else 0)


above.load = load
above.save = save
above.plain_pickles = plain


def _load(f: Any, file: Any, map_location: str | dict[str, str] | None, module: ModuleType, weights_only: bool, mapping: bool,
          options: dict[str, Any]) -> Any:  # fmt: skip
    if not looks_like_zip(file):
        if mapping:
            shown = f"{f}, " if isinstance(f, str) else ""
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({shown}_use_new_zipfile_serialization=True), "
                "please torch.save your checkpoint with this option in order to use mmap."
            )
        return legacy.load(file, map_location, module, weights_only, options)
    reader = ZipReader(file)
    if archive.is_torchscript(reader):
        if weights_only:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. " + _UNSAFE
            )
        raise NotImplementedError("mstorch: TorchScript programs cannot be run, so their archives cannot be loaded")
    mapped = None
    if mapping:
        if not _is_path(f):
            raise ValueError("f must be a file path in order to use the mmap argument")
        mapped = archive.map_file(os.fspath(f))
    return archive.load(reader, map_location, module, weights_only, options, mapped)


def _weights_only(wanted: bool | None, pickle_module: Any) -> bool:
    # The variables are torch's: users set them for scripts that they cannot change.
    always = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    never = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    if always and never:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both "
            "were set."
        )
    if always:
        return True
    if wanted is None and never:
        warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the `weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False.",
            UserWarning,
        )
        return False
    return pickle_module is None if wanted is None else wanted


def _explained(error: pickle.UnpicklingError) -> str:
    """Return the error message for a file that cannot be loaded with ``weights_only=True``: the reason, and the user's options."""
    message = str(error)
    if isinstance(error, NotAllowed):
        return (
            "Weights only load failed. This file can still be loaded in two ways, "
            "\033[1mdo so only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {_UNSAFE}\n\t(2) To load it with `weights_only=True`, allow what the following error names."
            f"\n\tWeightsUnpickler error: {message}{_ACCEPTED}"
        )
    return f"Weights only load failed. {_UNSAFE}\nWeightsUnpickler error: \n\n{message}{_ACCEPTED}"


@contextmanager
def _opened(f: Any) -> Iterator[Any]:
    """Yield a file opened for reading; raise AttributeError or UnsupportedOperation for a file that cannot seek."""
    if _is_path(f):
        with open(f, "rb") as file:
            yield file
        return
    _check_seekable(f)
    yield f


def _check_dill_version(pickle_module: Any) -> None:
    if pickle_module is None or pickle_module.__name__ != "dill":
        return
    if not check_module_version_greater_or_equal(pickle_module, (0, 3, 1), False):
        raise ValueError(
            f"'torch' supports dill >= 0.3.1, but you have dill {pickle_module.__version__}. "
            "Please upgrade dill or switch to 'pickle'"
        )


def check_module_version_greater_or_equal(
    module, req_version_tuple, error_if_malformed=True
):
    """Return whether ``module.__version__`` is at least a version; raise RuntimeError if it cannot be parsed."""
    try:
        parts = module.__version__.split(".")
        found = tuple(type(wanted)(parts[at]) for at, wanted in enumerate(req_version_tuple))
        return found >= req_version_tuple
    except (AttributeError, IndexError, ValueError, TypeError) as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{getattr(module, '__version__', None)}' and cannot "
            f"be compared with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        warn(message + ", but continuing assuming that requirement is met")
        return True


def validate_cuda_device(location):
    """Return the index of a CUDA location such as 'cuda:1'; raise RuntimeError if it is not available."""
    return validate_device(location, "cuda").index or 0


@contextmanager
def mkdtemp() -> Iterator[str]:
    """Context manager that yields a temporary folder."""
    path = tempfile.mkdtemp()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the byte order assumed for files that do not state theirs; None means little-endian."""
    return OPTIONS.endianness


def set_default_load_endianness(endianness):
    """Set the byte order assumed for files that do not state theirs; raise TypeError unless it is a LoadEndianness."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    OPTIONS.endianness = endianness


def get_crc32_options() -> bool:
    """Return whether save computes checksums."""
    return OPTIONS.compute_crc32


def set_crc32_options(compute_crc32: bool):
    """Set whether save computes checksums; without them damaged files are not detected."""
    OPTIONS.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """Return the flags with which load maps files: mmap.MAP_PRIVATE or mmap.MAP_SHARED."""
    return OPTIONS.mmap_flags


class set_default_mmap_options(Block):
    """Set the flags with which load maps files, permanently or as a context manager; raise ValueError for invalid ones."""

    def __init__(self, flags: int) -> None:
        if sys.platform == "win32":
            raise RuntimeError("Changing the default mmap options is currently not supported for Windows")
        if flags not in (mmap_module.MAP_PRIVATE, mmap_module.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags}"
            )
        self.prev = OPTIONS.mmap_flags
        OPTIONS.mmap_flags = flags

    def __enter__(self) -> None:
        self.at_end(partial(setattr, OPTIONS, "mmap_flags", self.prev))


class skip_data(values_set_to):
    """Context manager in which save leaves gaps for the values, and load leaves tensors zero."""

    def __init__(self, materialize_fake_tensors: bool = False):
        if materialize_fake_tensors:
            raise NotImplementedError("mstorch: there are no fake tensors to materialize")
        super().__init__(LOCAL, skip_data=True)
        self.materialize_fake_tensors = materialize_fake_tensors


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """Return the globals of a file that ``weights_only`` would refuse; raise ValueError for a file that save did not write."""
    with _opened(f) as file:
        if not looks_like_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        reader = ZipReader(file)
        if archive.is_torchscript(reader):
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint"
            )
        return list(globals_in(reader.read("data.pkl")) - default_names() - user_globals().keys())


def _get_layout(name: str) -> layout:
    return adapter.layout(name)

__getattr__ = _missing(__name__)

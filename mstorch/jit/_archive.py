"""Files of scripted and traced objects: archives of TorchScript, and those with the pickled Python object that mstorch wrote before."""
from __future__ import annotations

import hashlib
import io
import os
import pickle
import zipfile
from typing import Any

from .. import serialization
from .._src.serialization.zipfile_format import write_all
from ..nn.modules.module import Module
from ._torchscript.write.archive import write as write_program
from ._torchscript.write.scripts import write_script

OBJECT = "mstorch_jit/object.pt"
EXTRA = "extra/"
_written: set[bytes] = set()


class _Writers:
    """``again`` writes a loaded module; the module that reads archives, which imports this one, sets it."""

    again: Any


def wrote(content: bytes) -> bool:
    """Return whether this process wrote an object of exactly these bytes, so that loading it runs no foreign code."""
    return hashlib.sha256(content).digest() in _written


def is_scripted(m: Any) -> bool:
    """Return whether a module or function was scripted, not traced."""
    return bool(m.__dict__.get("_scripted", getattr(type(m), "_scripted", False)))


def write(m: Any, f: Any, extra_files: dict[str, Any] | None) -> None:
    """Write the object, with extra files by name, to a path or a file, as TorchScript, which torch loads too.

    What is traced in several methods is written as a Python object.

    Raise RuntimeError, before anything is written, if it cannot be written.
    """
    content = io.BytesIO()
    example = m.__dict__.get("_ms_example")
    loaded = m if "_ms_definition" in m.__dict__ else m.__dict__.get("_python")
    if loaded is not None and "_ms_definition" in loaded.__dict__:
        _Writers.again(loaded, content, extra_files or {}, loaded is not m and not m._parameters)
    elif example is None and is_scripted(m):
        write_script(m if isinstance(m, Module) else None, getattr(m, "__wrapped__", None), content, extra_files or {})
    elif example is None:
        _write_object(m, content, extra_files)
    else:
        module = m if isinstance(m, Module) else None
        write_program(module, getattr(m, "__wrapped__", None), example, content, extra_files or {})
    if isinstance(f, (str, os.PathLike)):
        serialization.write_whole(os.path.abspath(os.fspath(f)), lambda file: write_all(file, content.getbuffer()))
    else:
        write_all(f, content.getbuffer())


def _write_object(m: object, file: Any, extra_files: dict[str, Any] | None) -> None:
    content = io.BytesIO()
    try:
        serialization.save(m, content)
    except (AttributeError, pickle.PicklingError, TypeError) as error:
        raise RuntimeError(f"mstorch: torch.jit.save writes the Python object, and that cannot be pickled: {error}") from error
    _written.add(hashlib.sha256(content.getbuffer()).digest())
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(OBJECT, content.getvalue())
        for name, text in (extra_files or {}).items():
            archive.writestr(EXTRA + name, text)

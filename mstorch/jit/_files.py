"""Files of scripted and traced modules."""
from __future__ import annotations

import copy
import io
import os
import struct
import zipfile
from typing import Any

from .. import serialization
from .._src.serialization.zipfile_format import ZipReader
from ._archive import EXTRA, OBJECT, _Writers, write, wrote
from ._script import RecursiveScriptModule, ScriptFunction, ScriptModule, _Callable, deprecated
from ._torchscript.reader import extra_files, holds_program
from ._torchscript.reader import load as load_program
from ._torchscript.write.again import write_again


def save(m: _Callable, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Save a scripted or traced module or function, with extra files by name, to a path or a file.

    The file is an archive of TorchScript, which torch loads. A scripted module's text is written from its Python source; a traced one is
    run once more with its example inputs. Raise RuntimeError, naming the line, before anything is written, for what an archive cannot hold.
    """
    deprecated("save", "switch to `torch.export`")
    if not isinstance(m, (ScriptModule, ScriptFunction)):
        raise AttributeError(f"'{type(m).__name__}' object has no attribute 'save'")
    write(m, f, _extra_files)


def _opened(f: Any) -> zipfile.ZipFile:
    if not zipfile.is_zipfile(f):
        raise RuntimeError("PytorchStreamReader failed reading zip archive: failed finding central directory")
    if hasattr(f, "seek"):
        f.seek(0)
    try:
        return zipfile.ZipFile(f)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error) as error:
        raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {error}") from None


def _stored(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a stored member of the archive. Raise RuntimeError for a damaged one, and for a compressed one, which could expand without
    limit.
    """
    if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
        raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {name} is compressed, which torch.jit.save does not")
    try:
        return archive.read(name)
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, struct.error) as error:
        raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {error}") from None


def _load_torchscript(file: Any, map_location: Any, extra: dict[str, Any] | None) -> Any:
    file.seek(0)
    reader = ZipReader(file)
    if not holds_program(reader):
        raise RuntimeError("PytorchStreamReader failed locating file constants.pkl: file not found")
    module = load_program(reader, map_location)
    if extra:
        extra_files(reader, extra)
    return module


def _written_and_loaded(m: _Callable) -> Any:
    """Return what loads from the archive of an object. Raise RuntimeError for one that TorchScript cannot hold."""
    content = io.BytesIO()
    write(m, content, None)
    content.seek(0)
    reader = ZipReader(content)
    if not holds_program(reader):
        raise RuntimeError("mstorch: what is traced in several methods is no TorchScript")
    return load_program(reader, None)


_Callable._ms_loaded = staticmethod(_written_and_loaded)
_Writers.again = staticmethod(write_again)


def load(
    f: Any, map_location: Any = None, _extra_files: dict[str, Any] | None = None, _restore_shapes: bool = False, *,
    weights_only: bool | None = None,
) -> Any:  # fmt: skip
    """Load a module that torch's ``torch.jit.save`` wrote, or a module or function that mstorch's did; fill the values of ``_extra_files``.

    The text of a TorchScript archive is interpreted: it reaches operators and the archive's own classes, and nothing of Python. A file of
    mstorch holds a Python object. Files that this very process wrote (by their bytes) are loaded without restriction; for others, as in
    ``torch.load``, only allowed classes (``add_safe_globals``) are loaded, and pickle.UnpicklingError names the rest. With
    ``weights_only=False`` the classes and functions that the file names are imported and called: an untrusted file may then run any code.
    Raise RuntimeError for a damaged archive, and for one that calls operators which mstorch does not have.
    """
    deprecated("load", "switch to `torch.export`")
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    with _opened(f) as archive:
        if OBJECT not in archive.namelist():
            return _load_torchscript(archive.fp, map_location, _extra_files)
        content = _stored(archive, OBJECT)
        if weights_only is None and wrote(content):
            weights_only = False
        loaded = serialization.load(io.BytesIO(content), map_location=map_location, weights_only=weights_only)
        for name in _extra_files or {}:
            if EXTRA + name in archive.namelist():
                _extra_files[name] = _stored(archive, EXTRA + name)  # type: ignore[index]
    return loaded


def freeze(
    mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True, preserve_parameters: bool = False
) -> RecursiveScriptModule:
    """Return a scripted module in eval mode, with its parameters as constants. Its state_dict is empty, unless ``preserve_parameters``."""
    deprecated("freeze", "use `torch.compile` instead")
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing."
        )
    shared = {id(buffer): buffer for buffer in mod.buffers()}
    shared |= {id(p): p if preserve_parameters else p.detach() for p in mod.parameters()}
    own = copy.deepcopy(mod, shared)
    frozen = RecursiveScriptModule(own, dict(own._modules))
    frozen.__dict__["original_name"] = getattr(mod, "original_name", mod._get_name())
    if not preserve_parameters:
        # The module that runs is not a registered child, so that there is no state.
        frozen.__dict__.update(_parameters={}, _buffers={}, _modules={})
    return frozen


def optimize_for_inference(mod: ScriptModule, other_methods: list[str] | None = None) -> ScriptModule:
    """Return the frozen module."""
    return freeze(mod.eval(), other_methods)

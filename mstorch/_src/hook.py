"""Import hook: `import torch` imports mstorch, in this process and its children. It installs a finder for torch and all its submodules.

If MindSpore computes on an Ascend device it also provides torch_npu, else there is none. Packages compiled for torch that mstorch has
operators for (COMPANIONS) are provided where nothing of their name is installed.

The modules are the same objects under both names: `sys.modules["torch.nn"] is sys.modules["mstorch.nn"]`.

A child process loads this file by itself, before anything imports mstorch (`mstorch_hook.pth`, part of the wheel): it imports nothing of
the package, whose import takes a second.
"""

from __future__ import annotations

import contextlib
import copyreg
import difflib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

VARIABLE = "MSTORCH_HOOK"
_OURS = __name__.partition(".")[0]
COMPANIONS = {
    "amp_C": "0.1", "apex": "0.1", "causal_conv1d": "1.5.2", "flash_attn": "2.8.3", "mamba_ssm": "2.3.2", "pyg_lib": "0.9.0",
    "torch_cluster": "1.6.3", "torch_scatter": "2.1.2", "torch_sparse": "0.6.18", "torch_spline_conv": "1.2.2", "xformers": "0.0.32.post2",
}  # fmt: skip
"""Packages compiled for torch that mstorch has operators for, shown where nothing of their name is installed, and their versions."""
_ROOTS = {
    "torch": _OURS, "functorch": f"{_OURS}._functorch.package", "torch_npu": f"{_OURS}._companions.torch_npu",
    **{name: f"{_OURS}._companions.{name}" for name in COMPANIONS},
}  # fmt: skip
"""The packages whose imports are redirected, and the module of mstorch that each becomes."""
_SAME = {"torch_npu.npu": f"{_OURS}.npu", "mmcv._ext": f"{_OURS}._companions.mmcv"}
"""Second names of modules. mmcv._ext is compiled for torch, and missing from mmcv-lite; the rest of mmcv is its own."""


@functools.cache
def versions() -> tuple[str, str]:
    """Return mstorch's own version, and the torch version that it implements."""
    spec = importlib.util.spec_from_file_location("version", Path(__file__).with_name("version.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.__version__, f"{module.TORCH_API}+mstorch{module.__version__}"


@functools.cache
def _absent() -> dict[str, frozenset[str]]:
    """Return, by module of torch, the names that it has and mstorch lacks; private modules that mstorch lacks have none."""
    lines = Path(__file__).with_name("unbuilt").joinpath("absent.txt").read_text("utf-8").splitlines()[1:]
    return {module: frozenset(names.split()) for module, _, names in (line.partition(":") for line in lines)}


def _may_be_torchs(name: str) -> bool:
    """Return whether torch may have a module of this name that mstorch lacks. All public modules can be imported; the private ones are
    listed, but for those below private packages, any of which torch may have."""
    return name in _absent() or any(part.startswith("_") for part in name.split(".")[1:-1])


def not_yet() -> str:
    """Return the end of an error message for a name that torch has and mstorch lacks."""
    return f"(mstorch {versions()[0]} does not provide it yet)"


def ours(name: str) -> str:
    """Translate a dotted name from torch to mstorch: "torch.nn" → "mstorch.nn"; also for functorch and torch_npu."""
    for second, first in _SAME.items():
        if name == second or name.startswith(second + "."):
            return first + name.removeprefix(second)
    root = name.partition(".")[0]
    return _ROOTS.get(root, _OURS) + name.removeprefix(root)


def theirs(name: str) -> str:
    """Translate a dotted name from mstorch to torch: "mstorch.nn" → "torch.nn"."""
    package = _ROOTS["torch_npu"]
    if name == package or name.startswith(package + "."):
        return "torch_npu" + name.removeprefix(package)
    return "torch" + name.removeprefix(_OURS)


def npu_is_there() -> bool:
    """Return whether torch_npu can be imported: MindSpore runs on an Ascend device, or the stand-in device is on."""
    if os.environ.get("MSTORCH_FAKE_DEVICE"):
        return True
    # The driver's files show without an import of MindSpore that a machine has no device; only MindSpore knows for sure that it has one.
    runtime = sys.modules.get(f"{_OURS}._src.backend.runtime")
    if runtime is None:
        if not any(Path("/dev").glob("davinci*")) and "ASCEND_OPP_PATH" not in os.environ:  # which CANN sets
            return False
        runtime = importlib.import_module(f"{_OURS}._src.backend.runtime")
    # While MindSpore is imported, packages that it imports (triton) ask for all distributions: the device is not known yet.
    device_type = getattr(runtime, "device_type", None)
    return device_type is not None and device_type() == "npu"


def companion_is_shown(name: str) -> bool:
    """Return whether an import of one of COMPANIONS is redirected: it is unless a package of that name is installed."""
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded is sys.modules.get(ours(name))
    for finder in sys.meta_path:
        if not isinstance(finder, _Finder) and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, None)
            if spec is not None and spec.origin is not None:  # a folder alone, without a file of code, has no origin
                return False
    return True


# Unknown names


@functools.lru_cache(maxsize=1024)
def _nearest(name: str, known: tuple[str, ...]) -> str:
    """Return the end of a message that suggests a similar known name; empty if there is none."""
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return f". Did you mean: '{found[0]}'?" if found else ""


def missing_attribute(module: str, name: str) -> AttributeError:
    """Return the error of a module's `__getattr__` for a name that mstorch lacks. It says so where torch has it.

    `module` is the module's dotted name in mstorch; the message contains torch's name for it, and the most similar existing name.
    """
    known = tuple(key for key in vars(sys.modules[module]) if not key.startswith("_")) if module in sys.modules else ()
    there = theirs(module)
    lacks = name in _absent().get(there, ()) or _may_be_torchs(f"{there}.{name}")
    message = f"module '{there}' has no attribute '{name}'{' ' + not_yet() if lacks else ''}{_nearest(name, known)}"
    # Without ``obj``, because the interpreter would append its own suggestion.
    return AttributeError(message, name=name)


def missing(module: str, submodules: Iterable[str] = ()) -> Callable[[str], Any]:
    """Return a module's `__getattr__`, which loads the named submodules and raises `missing_attribute` for other names.

    A name in `_src/unbuilt/names.txt` exists, and raises when it is used.
    """

    def __getattr__(name: str) -> Any:
        loaded = len(sys.modules)
        if name == "torch":  # torch's modules import their package: ``torch.autograd.torch`` is torch
            return sys.modules[_OURS]
        if name in submodules:
            found = importlib.import_module(f"{module}.{name}")
        else:
            found = importlib.import_module(f"{_OURS}._src.unbuilt").attribute(module, name)
        if len(sys.modules) != loaded and installed():
            _rename("torch")
        return found

    return __getattr__


# Imports


def _share() -> None:
    """Register each loaded module of mstorch under its name in torch too.

    An import of a registered name loads nothing. Without the registration, the import would set the loaded module as an attribute of its
    package, and so replace a function of the same name (`torch.autograd.gradcheck`)."""
    for name, module in list(sys.modules.items()):
        if name == _OURS or name.startswith(_OURS + "."):
            spec = getattr(module, "__spec__", None)
            if not getattr(spec, "_initializing", False):
                sys.modules.setdefault(theirs(name), module)


class _Alias(importlib.abc.Loader):
    """Loader of a torch module that imports mstorch's module and returns the same object."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(ours(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just set the alias's spec on the module; restore the module's own spec, or pickles and reloads would
        # use the alias as its name.
        alias = module.__spec__
        if alias is not None and alias.loader is self:
            module.__spec__ = alias.loader_state
        _share()
        root = self._root(module.__name__)
        if root is not None:  # as _share does: `torch_scatter.scatter` is a function, and stays one when its module is imported
            for name, loaded in list(sys.modules.items()):
                if name.startswith(f"{ours(root)}."):
                    sys.modules.setdefault(root + name.removeprefix(ours(root)), loaded)
        _rename("torch")

    @staticmethod
    def _root(name: str) -> str | None:
        """Return the companion that a module of mstorch belongs to."""
        return next((root for root in COMPANIONS if f"{name}.".startswith(f"{ours(root)}.")), None)


class _Finder(importlib.abc.MetaPathFinder):
    """Import finder for torch, functorch, torch_npu, companions and their submodules. It finds mstorch's module or raises
    ModuleNotFoundError, so that other finders do not find a real torch.
    """

    def find_spec(self, fullname, path=None, target=None) -> importlib.machinery.ModuleSpec | None:
        root = fullname.partition(".")[0]
        if root not in _ROOTS and fullname not in _SAME or (root == "torch_npu" and not npu_is_there()):
            return None
        if root in COMPANIONS and not companion_is_shown(root):
            return None
        found = importlib.util.find_spec(ours(fullname))
        if found is None:
            # find_spec returns None if the module does not exist; an import raises an error that explains the reason.
            # Only the caller tells the two apart. After None, other finders may search in mstorch's own folder only.
            if sys._getframe(2).f_globals.get("__name__") == "importlib.util":
                return None
            lacks = root != "torch" or _may_be_torchs(fullname)
            raise ModuleNotFoundError(f"No module named '{fullname}'{' ' + not_yet() if lacks else ''}", name=fullname)
        is_package = found.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, _Alias(), origin=found.origin, is_package=is_package)

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """Yield torch, torch_npu and companions as installed distributions, for `importlib.metadata` and `importlib_metadata`."""
        name = getattr(context, "name", None)
        path = getattr(context, "path", sys.path)
        if list(path) != list(sys.path):
            return
        wanted = None if name is None else name.lower().replace("-", "_")
        if wanted in (None, "torch"):
            yield _distribution()("torch", "PyTorch's API on MindSpore")
        if wanted in (None, "torch_npu") and npu_is_there():
            yield _distribution()("torch_npu", "torch_npu's API on MindSpore")
        for companion, version in COMPANIONS.items():
            if wanted in (None, companion) and companion_is_shown(companion):
                yield _distribution()(companion, f"{companion}'s API on mstorch", f"{version}+mstorch{versions()[0]}")


class _WithoutTorchsExtensions(importlib.abc.MetaPathFinder):
    """Replacement of Python's path finder that hides extension modules linked against torch's library.

    They could not be loaded. Packages that check for them (torchaudio, torchvision) continue without.
    """

    def __init__(self, finder: Any) -> None:
        self.finder = finder

    def find_spec(self, fullname, path=None, target=None) -> importlib.machinery.ModuleSpec | None:
        spec = self.finder.find_spec(fullname, path, target)
        compiled = spec is not None and isinstance(spec.loader, importlib.machinery.ExtensionFileLoader)
        if compiled and is_linked_to_torch(spec.origin):
            return None
        if fullname == "torchaudio._extension.utils" and spec is not None and spec.loader is not None:
            spec.loader = _HasAudioOperators(spec.loader)
        if fullname == "torchvision.extension" and spec is not None and spec.loader is not None:
            spec.loader = _HasOperators(spec.loader)
        return spec

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


class _Wrapped(importlib.abc.Loader):
    """A module's own loader, after which a subclass changes the module."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)


class _HasAudioOperators(_Wrapped):
    """Loader of the torchaudio module that searches a folder for libraries: with or without them it has mstorch's operators. Others
    that are linked against torch's library are hidden."""

    def exec_module(self, module: Any) -> None:
        self.loader.exec_module(module)
        if not hasattr(module, "_load_lib") or not hasattr(module, "_LIB_DIR"):
            return
        load, folder = module._load_lib, module._LIB_DIR

        def _load_lib(lib: str) -> bool:
            if lib in ("_torchaudio", "libtorchaudio"):
                importlib.import_module(f"{_OURS}._companions.torchaudio")
                return True
            return not any(is_linked_to_torch(str(path)) for path in folder.glob(f"*{lib}*.so")) and load(lib)

        module._load_lib = _load_lib


class _HasOperators(_Wrapped):
    """Loader of the torchvision module that loads its compiled library: without one, as built without a compiler, it has mstorch's
    operators as well."""

    def exec_module(self, module: Any) -> None:
        self.loader.exec_module(module)
        if hasattr(module, "_has_ops") and not module._has_ops():
            importlib.import_module(f"{_OURS}._companions.torchvision")
            module._has_ops = lambda: True


def is_linked_to_torch(path: str) -> bool:
    """Return whether a shared library depends on one of torch's; False for files of systems other than Linux."""
    try:
        with open(path, "rb") as file:
            return any(name.startswith((b"libtorch", b"libc10.")) for name in _needed(file))
    except (OSError, struct.error):
        return False


def _needed(file: Any) -> Iterable[bytes]:
    """Return the dependencies of a 64-bit ELF file from its dynamic section; large files are read only in part."""
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":
        return []
    (at,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
    file.seek(at)
    table = file.read(size * count)
    segments = [struct.unpack_from("<IIQQQQ", table, size * i) for i in range(count)]  # kind, flags, offset, address, -, length
    entries = []
    for kind, _, offset, _, _, length in segments:
        if kind == 2:  # the dynamic section
            file.seek(offset)
            entries = list(struct.iter_unpack("<qQ", file.read(length // 16 * 16)))
    texts = next((value for tag, value in entries if tag == 5), None)
    length = next((value for tag, value in entries if tag == 10), 0)
    for kind, _, offset, address, _, within in segments:
        if texts is not None and kind == 1 and address <= texts < address + within:
            file.seek(offset + texts - address)
            found = file.read(length)
            return [found[value : found.index(b"\0", value)] for tag, value in entries if tag == 1]
    return []


@functools.cache
def _distribution() -> type:
    # Importing its base class takes 20 ms, and most processes do not need it.
    from importlib.metadata import Distribution

    class TorchDistribution(Distribution):
        """Metadata of torch, torch_npu or a companion for package managers, as if it were installed."""

        def __init__(self, package: str, summary: str, version: str | None = None) -> None:
            self._package, self._summary, self._version = package, summary, version or versions()[1]

        def read_text(self, filename: str) -> str | None:
            texts = {
                "METADATA": f"Metadata-Version: 2.1\nName: {self._package}\nVersion: {self._version}\nSummary: {self._summary}\n",
                "top_level.txt": f"{self._package}\n",
                "INSTALLER": f"{_OURS}\n",
            }
            return texts.get(filename)

        def locate_file(self, path: Any) -> Path:
            return Path(__file__).parents[2] / path

    return TorchDistribution


def _rename(name: str) -> None:
    package = sys.modules.get(_OURS)
    if package is not None:
        package.__name__ = name
    functions = sys.modules.get(f"{_OURS}._src.core.overriding")
    if functions is not None and hasattr(functions, "name_entries"):
        functions.name_entries(name)
    pickles = sys.modules.get(f"{_OURS}._src.serialization.names")
    if pickles is not None and hasattr(pickles, "name_classes"):
        pickles.name_classes(name)


# Pickles of the first two protocols


_first_protocols = copyreg._reconstructor  # type: ignore[attr-defined]


def _reconstructor(cls: Any, base: type, state: Any) -> Any:
    """Rebuild a module from a pickle of protocol 0 or 1, which names torch's ``object`` as the base; ``object`` cannot create a Cell."""
    try:
        return _first_protocols(cls, base, state)
    except TypeError:
        if base is not object:
            raise
        return cls.__new__(cls)


_reconstructor.__module__ = copyreg.__name__


# In and out


def installed() -> bool:
    """Return whether `import torch` imports mstorch."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def install() -> None:
    """Make `import torch` import mstorch from now on, in child processes too. Raise RuntimeError if torch itself is loaded."""
    loaded = sys.modules.get("torch")
    if loaded is not None and loaded is not sys.modules.get(_OURS):
        raise RuntimeError("mstorch cannot stand in for torch: torch is already imported in this process")
    if not installed():
        sys.meta_path[:] = [
            _WithoutTorchsExtensions(finder) if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path
        ]
        sys.meta_path.insert(0, _Finder())
        copyreg._reconstructor = _reconstructor  # type: ignore[attr-defined]
    os.environ[VARIABLE] = "1"
    if _OURS in sys.modules:
        _share()
        _rename("torch")


def uninstall() -> None:
    """Undo `install`: `import torch` imports torch itself again, if available. Modules already imported are unaffected."""
    sys.meta_path[:] = [
        finder.finder if isinstance(finder, _WithoutTorchsExtensions) else finder
        for finder in sys.meta_path if not isinstance(finder, _Finder)
    ]  # fmt: skip
    copyreg._reconstructor = _first_protocols  # type: ignore[attr-defined]
    os.environ.pop(VARIABLE, None)
    _rename(_OURS)
    for name, module in list(sys.modules.items()):
        if (name.partition(".")[0] in _ROOTS or name in _SAME) and module is sys.modules.get(ours(name)):
            del sys.modules[name]


@contextlib.contextmanager
def as_torch() -> Iterator[ModuleType]:
    """Context manager in which `import torch` imports mstorch, which it yields. Raise RuntimeError if torch itself is loaded."""
    before = installed()
    install()
    try:
        yield importlib.import_module(_OURS)
    finally:
        if not before:
            uninstall()

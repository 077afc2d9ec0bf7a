"""`import torch` gets mstorch, in this process: a finder that answers for `torch` and all below it.

The modules are the same objects under both names: `sys.modules["torch.nn"] is sys.modules["mstorch.nn"]`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType

from ._version import __version__

NOT_YET = f"(mstorch {__version__} does not provide it yet)"
_OURS = __name__.partition(".")[0]


def ours(name: str) -> str:
    """Return the dotted name in mstorch of a name in torch: "torch.nn" → "mstorch.nn"."""
    return _OURS + name.removeprefix("torch")


def theirs(name: str) -> str:
    """Return the dotted name in torch of a name in mstorch: "mstorch.nn" → "torch.nn"."""
    return "torch" + name.removeprefix(_OURS)


def missing_attribute(module: str, name: str) -> AttributeError:
    """Return the error of a module's `__getattr__` for a name that torch may have and mstorch has not.

    `module` is the module's `__name__`; the message has the name under which torch knows it.
    """
    message = f"module '{theirs(module)}' has no attribute '{name}' {NOT_YET}"
    return AttributeError(message, name=name, obj=sys.modules.get(module))


class _Alias(importlib.abc.Loader):
    """Loads a torch module by importing ours and handing out that very object."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(ours(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just put the alias's spec on the module; it keeps its own, or pickles and reloads would
        # take the alias for its name.
        alias = module.__spec__
        if alias is not None and alias.loader is self:
            module.__spec__ = alias.loader_state


class _Finder(importlib.abc.MetaPathFinder):
    """Answers for torch and its submodules, with ours or with an error: nobody else is asked for them."""

    def find_spec(self, fullname, path=None, target=None) -> importlib.machinery.ModuleSpec | None:
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        found = importlib.util.find_spec(ours(fullname))
        if found is None:
            # Who only asks whether a module is there gets None; an import gets an error that says what is the matter.
            # Nothing but the caller tells the two apart. None lets other finders look on in our own folder only.
            if sys._getframe(2).f_globals.get("__name__") == "importlib.util":
                return None
            raise ModuleNotFoundError(f"No module named '{fullname}' {NOT_YET}", name=fullname)
        is_package = found.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, _Alias(), origin=found.origin, is_package=is_package)


def install() -> None:
    """Let `import torch` get mstorch from now on. Raises RuntimeError if torch itself is already loaded."""
    loaded = sys.modules.get("torch")
    if loaded is not None and loaded is not sys.modules.get(_OURS):
        raise RuntimeError("mstorch cannot stand in for torch: torch is already imported in this process")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())

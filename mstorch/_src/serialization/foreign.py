"""Objects of PyTorch itself that a pickle would bring into a program of ``import mstorch as torch``: it is told."""
from __future__ import annotations

import importlib.abc
import opcode
import pickle
import sys
import warnings
from types import FrameType
from typing import Any

_PACKAGE = __name__.partition(".")[0]
_IMPORT_NAME = opcode.opmap["IMPORT_NAME"]
_READERS = frozenset(("load", "loads", "Unpickler"))
_ADVICE = "`python -m mstorch script.py` reads such files as mstorch's objects"


def is_foreign(found: Any) -> bool:
    """Return whether an object is a class of PyTorch itself, or one derived from it."""
    theirs = sys.modules.get("torch")
    if not isinstance(found, type) or theirs is None or theirs is sys.modules.get(_PACKAGE):
        return False
    return any(base.__module__.partition(".")[0] == "torch" for base in found.__mro__)


def refuse_foreign(found: Any, module: str, name: str) -> None:
    """Raise UnpicklingError for a class of a module that imports PyTorch itself: its objects would hold mstorch's tensors in PyTorch's
    modules."""
    if is_foreign(found):
        raise pickle.UnpicklingError(
            f"mstorch: the file holds an object of {module}.{name}, which derives from a class of PyTorch itself, because {module} imports "
            f"torch. {_ADVICE}; a state_dict needs none of them"
        )


class _Watch(importlib.abc.MetaPathFinder):
    """Finder that finds nothing; it warns if a pickle is about to import PyTorch into a program that never did."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname == "torch" or fullname.startswith("torch.") and "torch" not in sys.modules:
            frame = _cause()
            if frame is not None and _reads_a_pickle(frame) and _uses_mstorch(frame):
                warnings.warn_explicit(
                    f"mstorch: this pickle names {fullname}, or a module that imports it, so that it makes objects of PyTorch itself, not "
                    f"of mstorch. {_ADVICE}; torch.load reads files of torch.save as mstorch's",
                    UserWarning, frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__"),
                    frame.f_globals.setdefault("__warningregistry__", {}),
                )  # fmt: skip


def _cause() -> FrameType | None:
    """Return the frame that caused an import, through the modules that it imports; None if that is a statement of the program."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib") or frame.f_globals.get("__name__") == "importlib":
            frame = frame.f_back
        elif frame.f_code.co_code[frame.f_lasti] != _IMPORT_NAME:
            return frame
        else:
            above = frame.f_back
            imported = frame.f_code.co_name == "<module>" and above is not None and above.f_code.co_filename.startswith("<frozen importlib")
            frame = above if imported else None
    return None


def _reads_a_pickle(frame: FrameType) -> bool:
    """Return whether a frame imports by a pickle: the reader in C has no frame of its own, so that its caller's is seen."""
    if frame.f_globals.get("__name__") == "pickle":
        return True
    return not _READERS.isdisjoint(frame.f_code.co_names) and "__import__" not in frame.f_code.co_names


def _uses_mstorch(frame: FrameType | None) -> bool:
    """Return whether a caller's module has mstorch as ``torch``."""
    own = sys.modules.get(_PACKAGE)
    while frame is not None:
        if frame.f_globals.get("torch") is own:
            return True
        frame = frame.f_back
    return False


def watch() -> None:
    """Warn from now on if a pickle imports PyTorch."""
    if not any(type(finder).__name__ == _Watch.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())

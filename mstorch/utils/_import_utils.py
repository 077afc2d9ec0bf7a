"""torch.utils._import_utils: whether dill is installed."""

import importlib
import importlib.util
from types import ModuleType

__all__ = ["dill_available", "import_dill"]


def dill_available() -> bool:
    """Return whether the package dill, which pickles lambdas, can be imported."""
    return importlib.util.find_spec("dill") is not None


def import_dill() -> ModuleType | None:
    """Return the module dill, or None; dill's own picklers of common types are disabled."""
    if not dill_available():
        return None
    dill = importlib.import_module("dill")
    # dill's extensions would change how the plain pickle module handles all objects.
    dill.extend(use_dill=False)
    return dill

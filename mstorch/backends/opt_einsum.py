"""torch.backends.opt_einsum: the contraction order of einsum."""
from __future__ import annotations

import importlib.util
from typing import Any

enabled: bool = importlib.util.find_spec("opt_einsum") is not None
strategy: str | None = "auto" if enabled else None


def is_available() -> bool:
    """Return whether the package opt_einsum is installed."""
    return importlib.util.find_spec("opt_einsum") is not None


def get_opt_einsum() -> Any:
    """Return the package opt_einsum, or None if it is not installed."""
    return importlib.import_module("opt_einsum") if is_available() else None

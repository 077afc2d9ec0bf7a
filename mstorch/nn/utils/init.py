"""Construction of modules without initialization."""
from __future__ import annotations

import inspect
from typing import Any

from ...random import get_rng_state, set_rng_state
from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Any:
    """Return ``module_cls(*args, **kwargs)`` with uninitialized parameters and buffers; no random numbers are drawn.

    Raise RuntimeError unless it is a Module class whose constructor takes ``device``.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.get("device", "cpu")
    state = get_rng_state()
    try:
        return module_cls(*args, **kwargs).to_empty(device=device)
    finally:
        set_rng_state(state)

"""Modules without initial values."""
from __future__ import annotations

import inspect
from typing import Any

from ...random import get_rng_state, set_rng_state
from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Any:
    """``module_cls(*args, **kwargs)`` whose parameters and buffers hold no values yet; no random number is used up.

    Raises RuntimeError for what is no Module and for one that takes no ``device``.
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

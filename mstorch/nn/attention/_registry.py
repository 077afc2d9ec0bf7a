"""Registry of flash attention implementations, which programs register, activate by name, and restore to the default."""
from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Protocol

_logger = logging.getLogger(__name__)


class FlashAttentionHandle(Protocol):
    """The result of an activation, with a method to undo it."""

    def remove(self) -> None:
        """Undo the activation."""


class _Registry:
    """The registered implementations, and the active one with its handle."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known: dict[str, Callable[..., FlashAttentionHandle | None]] = {}
        self.active: tuple[str, FlashAttentionHandle] | None = None


_registry = _Registry()


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Register ``register_fn()``, which ``activate_flash_attention_impl(impl)`` calls; it returns a handle with ``remove()`` or None."""
    with _registry.lock:
        _registry.known[impl] = register_fn


def activate_flash_attention_impl(impl: str) -> None:
    """Undo the active implementation and call the function registered as ``impl``. Raise ValueError for an unknown name.

    Differs from torch: mstorch's ``scaled_dot_product_attention`` itself is not switched; the registered function decides what it installs.
    """
    restore_flash_attention_impl(_raise_warn=False)
    found = _registry.known.get(impl)
    if found is None:
        raise ValueError(f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}")
    handle = found()
    if handle is not None:
        with _registry.lock:
            _registry.active = impl, handle


def list_flash_attention_impls() -> list[str]:
    """Return the registered names, sorted."""
    return sorted(_registry.known)


def current_flash_attention_impl() -> str | None:
    """Return the name of the active implementation; None for the default."""
    return None if _registry.active is None else _registry.active[0]


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Undo the active implementation; log a warning if there is none."""
    with _registry.lock:
        active, _registry.active = _registry.active, None
    if active is not None:
        active[1].remove()
    elif _raise_warn:
        _logger.warning("Trying to restore default FA2 impl when no custom impl was activated")

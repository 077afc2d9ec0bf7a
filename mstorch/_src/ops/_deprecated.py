"""Functions that torch deprecates, each with a warning once per process."""
from __future__ import annotations

from ..core.warned import warn, warn_once

_TEXT = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
    "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)
_always = [False]


def _get_always_warn_typed_storage_removal() -> bool:
    """Return whether every use of a TypedStorage warns, and not only the first."""
    return _always[0]


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    """Set whether every use of a TypedStorage warns, and not only the first."""
    _always[0] = always_warn


def warn_of_storage() -> None:
    """Warn on first use, by Python's own warning as torch, which ``set_warn_always`` does not affect."""
    if _always[0]:
        return warn(_TEXT, UserWarning)
    return warn_once(_TEXT, strictly=True)

"""The border to the public room of storages, which stands above the operations: methods that give or take one ask for it here."""
from __future__ import annotations

from typing import Any


def storages() -> Any:
    """The module ``mstorch.storage``."""
    from .. import storage

    return storage

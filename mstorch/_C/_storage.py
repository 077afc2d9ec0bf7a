"""torch._C.StorageBase: base class of user-defined storages."""
from __future__ import annotations

from typing import Any

from .._src.core.naming import NamedAsInTorch
from ..storage import UntypedStorage


class _Base(NamedAsInTorch):
    def __instancecheck__(cls, instance: int | UntypedStorage) -> bool:
        return type.__instancecheck__(cls, instance) or (cls is StorageBase and isinstance(instance, UntypedStorage))


class StorageBase(UntypedStorage, metaclass=_Base):
    """Storage for subclasses: ``T(size)``, ``T(bytes)``, or ``T(storage)``, which shares memory."""

    def __new__(cls, *args: Any, device: Any = None) -> Any:
        if cls is StorageBase:
            raise RuntimeError("Cannot directly construct StorageBase; subclass it and then construct that")
        of_another = args and isinstance(args[0], UntypedStorage)
        made = object.__new__(cls)
        made._cell = (args[0] if of_another else UntypedStorage(*args, device=device))._cell
        return made

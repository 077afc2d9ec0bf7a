"""Plain pickles where `import torch` imports mstorch: their content is torch's, so that either library can read the other's pickles.

Classes have torch's module names, tensors are rebuilt by torch's functions from a storage, a storage from the bytes of a file. Elsewhere,
pickles have mstorch's own names, which need no module named torch.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from mstorch._src.core.above import above
from mstorch._src.serialization import names
from mstorch._src.serialization.file_storage import CLASS_OF_DTYPE
from mstorch._src.serialization.pickler import StorageTable, _Rules
from mstorch.storage import TypedStorage, _load_from_bytes, untyped_of

from ..._tensor import Tensor
from ..core.storage import DeviceMemory, Storage


class _Stored:
    """Wrapper that pickles a storage as ``reduced_storage`` does."""

    __slots__ = ("storage",)

    def __init__(self, storage: Any) -> None:
        self.storage = storage

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced_storage(self.storage)


class _Storages(StorageTable):
    """Storages of single tensors: as in torch, a plain pickle holds one storage for each tensor."""

    def add(self, cell: DeviceMemory | Storage, dtype_name: str, location: str, array: Callable[..., Any]) -> Any:
        """Return the object that represents a cell's storage."""
        storage = untyped_of(cell)
        known = dtype_name in CLASS_OF_DTYPE
        return _Stored(TypedStorage(wrap_storage=storage, dtype=names.find("torch", dtype_name)) if known else storage)


class _PlainRules(_Rules):
    """The pickling rules of files, but with the rebuild functions themselves instead of their names."""

    def named(self, module: str, name: str) -> Callable[..., Any]:
        return names.find(module, name)


_RULES = _PlainRules(_Storages(), False)


def reduced(obj: Tensor) -> tuple[Any, ...]:
    """Return the reduction of a tensor with torch's functions; NotImplemented for a class that has its own."""
    return _RULES.reduced(obj)


def reduced_storage(storage: TypedStorage) -> tuple[Any, ...]:
    """Return the reduction of a storage: a file in torch's legacy format."""
    file = io.BytesIO()
    above.save(storage, file, _use_new_zipfile_serialization=False)
    return _load_from_bytes, (file.getvalue(),)



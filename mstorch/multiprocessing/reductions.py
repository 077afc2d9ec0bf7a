"""torch.multiprocessing.reductions: pickling of tensors and storages to another process, in shared memory."""
from __future__ import annotations

import os
import weakref
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .. import storage as storages
from .._src.core.dtype import by_name, dtype
from .._src.core.shared import Block
from .._src.core.storage import Storage
from .._src.core.tensor_base import strides_of, window
from .._tensor import Tensor
from ..nn.parameter import Parameter
from ..storage import TypedStorage, UntypedStorage
from ._handles import handle

_NOT_A_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
    "boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it on "
    "the queue)."
)

# Storages that are shared with other processes, by their file: a file that arrives again gives the same storage.
shared_cache: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()


def reduce_storage(storage: UntypedStorage) -> tuple[Any, ...]:
    """Reduce a storage to a descriptor of its memory, which is moved to shared memory."""
    if not storage.nbytes():
        return rebuild_storage_empty, (type(storage),)
    storage.share_memory_()
    block = storage._cell.shared
    shared_cache[block.key] = storage._cell
    return rebuild_storage_fd, (type(storage), handle(block.descriptor), block.size)


def rebuild_storage_empty(cls: type) -> Any:
    """Return an empty storage."""
    return cls()


def rebuild_storage_fd(cls: type, df: Any, size: int) -> Any:
    """Return the storage over the memory behind a file descriptor; if the memory is already mapped in this process, the existing storage.
    """
    descriptor = df.detach()
    status = os.fstat(descriptor)
    cell = shared_cache.get((status.st_dev, status.st_ino))
    if cell is not None:
        os.close(descriptor)
        return storages.untyped_of(cell)
    block = Block(size, descriptor)
    storage = storages.untyped_over(block)
    shared_cache[block.key] = storage._cell
    return storage


def reduce_typed_storage(storage: TypedStorage) -> tuple[Any, ...]:
    """Reduce a typed storage to an untyped one and the dtype."""
    return rebuild_typed_storage, (storage._untyped_storage, storage.dtype)


def rebuild_typed_storage(storage: UntypedStorage, dtype: dtype) -> TypedStorage:
    """Return a typed storage over an untyped one."""
    return TypedStorage(wrap_storage=storage, dtype=dtype)


def reduce_tensor(tensor: Any) -> tuple[Any, ...]:
    """Reduce a tensor to its storage and its geometry; raise RuntimeError for a non-leaf that requires grad."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(_NOT_A_LEAF)
    if type(tensor._ms_storage) is not Storage:
        return tensor.__reduce_ex__(4)
    metadata = tensor._ms_dtype.name, tensor._ms_shape, strides_of(tensor), tensor._ms_offset, tensor.requires_grad
    return rebuild_tensor, (type(tensor), tensor.untyped_storage(), metadata)


def rebuild_tensor(cls: type, storage: UntypedStorage, metadata: tuple[Any, ...]) -> Any:
    """Return a tensor of class ``cls`` over a storage, with the dtype, shape, strides, offset and requires_grad in ``metadata``."""
    name, shape, strides, offset, requires_grad = metadata
    made = window(storage._cell, by_name(name), shape, strides, offset)
    if issubclass(cls, Parameter):
        return cls(made, requires_grad)
    made.__class__ = cls
    if requires_grad:
        made.requires_grad_()
    return made


def init_reductions() -> None:
    """Register these reductions for Python's queues, pipes and processes."""
    for kind in (Tensor, Parameter):
        ForkingPickler.register(kind, reduce_tensor)
    ForkingPickler.register(UntypedStorage, reduce_storage)
    for typed in (TypedStorage, *storages._STORAGES.values()):
        ForkingPickler.register(typed, reduce_typed_storage)

"""torch._C._functorch: properties of ``torch.vmap``'s tensors, and the fallback for operations without a batching rule."""
from __future__ import annotations

from typing import Any

from .._functorch.vmap import _add_batch_dim as _add_batch_dim
from .._functorch.vmap import _remove_batch_dim as _remove_batch_dim
from .._library.dispatch_keys import TransformType as TransformType
from .._src.hook import missing
from ..func._batched import BatchedTensor
from ..func._batched_loop import fallback


def reshape_dim_into(src: int, dst: int, x: Any) -> Any:
    """Return the tensor with dimension ``src`` merged into dimension ``dst`` of the remaining ones, ``src`` varying more slowly."""
    rank = x.dim()
    src, dst = src % rank, dst % (rank - 1)
    moved = x.movedim(src, dst)
    return moved.reshape(*moved.shape[:dst], moved.shape[dst] * moved.shape[dst + 1], *moved.shape[dst + 2 :])


def reshape_dim_outof(src: int, size1: int, x: Any) -> Any:
    """Return the tensor with dimension ``src`` split in two, of which the first has length ``size1``."""
    src %= x.dim()
    length = x.shape[src]
    if length % size1:
        raise RuntimeError(f"shape[src] ({length}) must be a multiple of size1 ({size1})")
    return x.reshape(*x.shape[:src], size1, length // size1, *x.shape[src + 1 :])


def is_batchedtensor(tensor: Any) -> bool:
    """Return whether a tensor is a BatchedTensor of a running ``vmap``."""
    return isinstance(tensor, BatchedTensor)


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Return False: torch.func's gradients pass plain tensors to their functions."""
    return False


is_legacy_batchedtensor = is_functionaltensor = is_gradtrackingtensor


def get_unwrapped(tensor: Any) -> Any:
    """Return the tensor that a BatchedTensor wraps. Raise RuntimeError for others."""
    if not isinstance(tensor, BatchedTensor):
        raise RuntimeError("No wrappers present!")
    return tensor.value


def maybe_get_bdim(tensor: Any) -> int:
    """Return the batch dimension of the wrapped tensor; -1 for tensors that are not batched."""
    return tensor.bdim if isinstance(tensor, BatchedTensor) else -1


def maybe_get_level(tensor: Any) -> int:
    """Return the level, from 1, of the ``vmap`` that a tensor belongs to; -1 for tensors that are not batched."""
    return tensor.map.depth if isinstance(tensor, BatchedTensor) else -1


def _is_vmap_fallback_enabled() -> bool:
    """Return the value set by ``_set_vmap_fallback_enabled``, True by default."""
    return fallback["enabled"]


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Set whether operations without a batching rule are computed slice by slice, or raise."""
    fallback["enabled"] = enabled


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Set whether operations without a batching rule warn in ``vmap``."""
    fallback["warned"] = enabled


_legacy = {"warned": False}


def are_vmap_fallback_warnings_enabled() -> bool:
    """Return the value set by ``display_vmap_fallback_warnings``, False by default."""
    return _legacy["warned"]


def display_vmap_fallback_warnings(enabled: bool) -> None:
    """Store the warning option of the old ``torch.vmap``; it has no effect."""
    _legacy["warned"] = enabled


__getattr__ = missing("mstorch._C._functorch")

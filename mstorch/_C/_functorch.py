"""torch._C._functorch: what the tensors of ``torch.vmap`` are, and what calls without a batching rule become."""
from __future__ import annotations

from typing import Any

from .._functorch.vmap import _add_batch_dim as _add_batch_dim
from .._functorch.vmap import _remove_batch_dim as _remove_batch_dim
from .._hook import missing
from ..func._batched import BatchedTensor
from ..func._batched_loop import fallback


def reshape_dim_into(src: int, dst: int, x: Any) -> Any:
    """Return the tensor with dimension ``src`` moved in front of ``dst`` (counted without it) and joined with that."""
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
    """Return whether a tensor is one of a ``vmap`` that is running."""
    return type(tensor) is BatchedTensor


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Return False: the gradients of ``torch.func`` give their functions plain tensors."""
    return False


is_legacy_batchedtensor = is_functionaltensor = is_gradtrackingtensor


def get_unwrapped(tensor: Any) -> Any:
    """Return the tensor that one of ``vmap`` stands for. Raises RuntimeError for others."""
    if type(tensor) is not BatchedTensor:
        raise RuntimeError("No wrappers present!")
    return tensor.value


def maybe_get_bdim(tensor: Any) -> int:
    """Return the dimension of the tensor underneath that ``vmap`` maps over; -1 for other tensors."""
    return tensor.bdim if type(tensor) is BatchedTensor else -1


def maybe_get_level(tensor: Any) -> int:
    """Return how deep the ``vmap`` is nested that the tensor is of, from 1; -1 for other tensors."""
    return tensor.map.depth if type(tensor) is BatchedTensor else -1


def _is_vmap_fallback_enabled() -> bool:
    """Return what ``_set_vmap_fallback_enabled`` chose: True at first."""
    return fallback["enabled"]


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Choose whether operations without a batching rule are computed slice by slice, or refused."""
    fallback["enabled"] = enabled


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Choose whether operations without a batching rule warn in ``vmap``."""
    fallback["warned"] = enabled


_legacy = {"warned": False}


def are_vmap_fallback_warnings_enabled() -> bool:
    """Return what ``display_vmap_fallback_warnings`` chose: False at first."""
    return _legacy["warned"]


def display_vmap_fallback_warnings(enabled: bool) -> None:
    """Remember whether torch's ``vmap`` before ``torch.func`` should warn, which is in neither library any more."""
    _legacy["warned"] = enabled


__getattr__ = missing("mstorch._C._functorch")

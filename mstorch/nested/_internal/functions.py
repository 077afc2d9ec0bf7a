"""Private functions of nested tensors in torch, which layers and packages call."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._src.backend.arrays import Array
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._src.core.formats import layout
from ..._src.core.nested_parts import is_nested
from ..._src.core.strides import dense_order
from ..._src.core.tensor_base import array_of
from ..._src.ops.memory.from_data import made
from ..._tensor import Tensor
from . import ops
from .nested_tensor import NestedTensor, _nt_view_dummy, of_values
from .padding import lengths_on_host, unpadded
from .strided import alias, from_list, in_buffer, in_rows


def _checked_mask(t: Tensor, mask: Tensor) -> Array:
    if mask.dtype.name != "bool":
        raise RuntimeError(f"Expected mask to be of ScalarType Bool, but got {mask.dtype} instead.")
    if mask.dim() != 2:
        raise RuntimeError("Padding mask should be 2D")
    if t.dim() != 3:
        raise RuntimeError("Input should be a 3D tensor, N * L * D")
    if tuple(mask.shape) != tuple(t.shape[:2]):
        raise RuntimeError("Mask size should match input size")
    return np.asarray(array_of(mask))


def _aligned(kept: Array) -> bool:
    return np.array_equal(np.arange(kept.shape[1]) < kept.sum(1)[:, None], kept)


def _nested_tensor_from_mask_left_aligned(t: Any, mask: Any) -> bool:
    """Return True if each row of the mask has its True elements first."""
    return _aligned(_checked_mask(t, mask))


def _nested_tensor_from_mask(t: Tensor, mask: Tensor, mask_check: bool = True) -> Tensor:
    """Return the rows of a padded tensor (N, L, D), cut to the lengths in a mask, as a nested tensor."""
    kept = _checked_mask(t, mask)
    if mask_check and not _aligned(kept):
        raise RuntimeError("Mask must be left-aligned without gaps")
    sizes = np.stack([kept.sum(1), np.full(len(kept), t.shape[2])], 1).astype(np.int64)
    return in_buffer(unpadded(t, sizes), sizes)


def _nested_from_padded(padded: Tensor, cpu_nested_shape_example: Tensor, fuse_transform_0213: bool = False) -> Tensor:
    """Return a nested tensor of the given sizes from a padded tensor; with heads (N, H, L, D) merged if requested."""
    sizes = np.array(array_of(cpu_nested_shape_example), np.int64)
    if fuse_transform_0213:
        dense = padded.transpose(1, 2)
        whole = np.stack([sizes[:, 0], np.full(len(sizes), padded.shape[1] * padded.shape[3])], 1) if sizes.shape[1] == 2 else sizes
        return in_buffer(unpadded(dense.reshape(*dense.shape[:2], -1), whole), whole)
    return in_buffer(unpadded(padded, sizes), sizes)


def _nested_from_padded_and_nested_example(padded: Any, nt_example: Any) -> Any:
    """Return a nested tensor with another's sizes from a padded tensor."""
    return _nested_from_padded(padded, nt_example._nested_tensor_size())


def _nested_tensor_from_tensor_list(
    list: Any, dtype: dtype | None = None, layout: layout | None = None, device: int | str | device | None = None,
    pin_memory: bool | None = None
) -> Any:
    """Return a nested tensor of copies of tensors; gradients flow back to them."""
    return from_list(list, dtype, device)


def _nested_compute_contiguous_strides_offsets(nested_size: Tensor) -> tuple[Any, Any]:
    """Return the tables of strides and offsets of contiguous components."""
    steps, starts = in_rows(np.array(array_of(nested_size), np.int64))
    return made(steps), made(starts)


def _nested_view_from_buffer(self: Tensor, nested_size: Tensor, nested_strides: Tensor, offsets: Tensor) -> Tensor:
    """Return a nested tensor that views a buffer."""
    return in_buffer(alias(self), *(np.array(array_of(table), np.int64) for table in (nested_size, nested_strides, offsets)))


def _nested_view_from_buffer_copy(self: Any, nested_size: Any, nested_strides: Any, offsets: Any) -> Any:
    """Return a nested tensor over a copy of a buffer."""
    return _nested_view_from_buffer(self.clone(), nested_size, nested_strides, offsets)


def _nested_view_from_jagged(
    self: Any, offsets: Any, dummy: Any, lengths: Any = None, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None
) -> Any:
    """Return a jagged nested tensor that views values."""
    cache = {name: value for name, value in (("min_seqlen", min_seqlen), ("max_seqlen", max_seqlen)) if value is not None}
    return NestedTensor(alias(self), offsets, lengths=lengths, _ragged_idx=ragged_idx, _metadata_cache=cache)


def _nested_view_from_jagged_copy(self: Any, *args: Any, **named: Any) -> Any:
    """Return a jagged nested tensor over a copy of values."""
    return _nested_view_from_jagged(self.clone(), *args, **named)


def _nested_from_padded_tensor(
    padded: Tensor, offsets: Tensor, dummy: Any, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None, sum_S: Any = None
) -> Tensor:
    """Return a jagged nested tensor from a padded tensor."""
    cache = {name: value for name, value in (("min_seqlen", min_seqlen), ("max_seqlen", max_seqlen)) if value is not None}
    return ops.from_padded(padded, of_values(padded.flatten(0, 1), offsets, None, ragged_idx, cache))


def _nested_get_values(self: Any) -> Any:
    """Return the values of a nested tensor."""
    return self.values()


def _nested_get_values_copy(self: Any) -> Any:
    """Return a copy of the values of a nested tensor."""
    return self.values().clone()


def _nested_get_offsets(self: Any) -> Any:
    """Return the offsets of a nested tensor's components."""
    return self._offsets


def _nested_get_lengths(self: Any) -> Any:
    """Return the lengths of a nested tensor's components; None if the offsets determine them."""
    return self._lengths


def _nested_get_ragged_idx(self: Any) -> int:
    """Return the ragged dimension."""
    return self._ragged_idx


def _nested_get_min_seqlen(self: Any) -> Any:
    """Return the tensor that stores the minimum length, if it is known."""
    return self._min_seqlen_tensor


def _nested_get_max_seqlen(self: Any) -> Any:
    """Return the tensor that stores the maximum length, if it is known."""
    return self._max_seqlen_tensor


def _nested_get_jagged_dummy(any: Any) -> Any:
    """Return a dummy nested tensor."""
    return _nt_view_dummy()


def _jagged_to_padded_dense_forward(values: Any, offsets: Any, max_lengths: Any, padding_value: float = 0.0) -> Any:
    """Return jagged values as a dense tensor, padded."""
    if len(offsets) != 1 or len(max_lengths) != 1:
        raise RuntimeError("_jagged_to_padded_dense_forward(): only a single jagged dim is supported for now")
    if offsets[0].dim() != 1:
        raise RuntimeError(f"_jagged_to_padded_dense_forward(): expected 1D offsets, but got offsets.dim() == {offsets[0].dim()}")
    return ops.padded_values(of_values(values, offsets[0]), padding_value, int(max_lengths[0]))


def _padded_dense_to_jagged_forward(dense: Any, offsets: Any, total_L: Any = None) -> Any:
    """Return the components of a padded tensor, concatenated."""
    if len(offsets) != 1:
        raise RuntimeError("_padded_dense_to_jagged_forward(): only a single jagged dim is supported for now")
    if offsets[0].dim() != 1:
        raise RuntimeError(f"_padded_dense_to_jagged_forward(): expected 1D offsets, but got offsets.dim() == {offsets[0].dim()}")
    if total_L is not None and total_L != int(lengths_on_host(offsets[0])[-1]):
        raise RuntimeError("_padded_dense_to_jagged_forward(): final offset should match total_L value")
    if dense.dim() < 2:
        raise RuntimeError(f"_padded_dense_to_jagged_forward(): expected padded dim >= 2, but padded.dim() == {dense.dim()}")
    return ops.from_padded(dense, of_values(dense.flatten(0, 1), offsets[0]))._values


def _nested_tensor_softmax_with_shape(self: Any, query: Any) -> Any:
    """Return the softmax of padded scores along the last dimension, over the valid lengths of ``query``."""
    lengths = made(np.array([part.shape[0] for part in query.unbind()], np.int64)).to(self.device)
    mask = made(np.arange(self.shape[-1])).to(self.device) < lengths.reshape(-1, *(1,) * (self.dim() - 1))
    return self.masked_fill(mask.logical_not(), -np.inf).softmax(-1)


def is_non_overlapping_and_dense(self: Any) -> bool:
    """Return whether the elements are dense in memory without overlap; False for a nested tensor."""
    return not is_nested(self) and dense_order(tuple(self.shape), self.stride()) is not None


def size(self: Any) -> Any:
    """Return the shape. Raise RuntimeError for a nested tensor."""
    if is_nested(self):
        raise RuntimeError(
            "NestedTensor does not support directly calling torch.ops.aten.size; please use `nested_tensor.size()` instead."
        )
    return self.size()


def sym_stride(self: Any, dim: int | None = None) -> Any:
    """Return the strides, or the stride of one dimension."""
    return self.stride() if dim is None else self.stride(dim)


def sym_numel(self: Any) -> int:
    """Return the number of elements."""
    return self.numel()


def sym_storage_offset(self: Any) -> int:
    """Return the storage offset of the first element."""
    return self.storage_offset()


FUNCTIONS = (
    _nested_tensor_from_mask_left_aligned, _nested_tensor_from_mask, _nested_from_padded, _nested_from_padded_and_nested_example,
    _nested_tensor_from_tensor_list, _nested_compute_contiguous_strides_offsets, _nested_view_from_buffer,
    _nested_view_from_buffer_copy, _nested_view_from_jagged, _nested_view_from_jagged_copy, _nested_from_padded_tensor,
    _nested_get_values, _nested_get_values_copy, _nested_get_offsets, _nested_get_lengths, _nested_get_ragged_idx,
    _nested_get_min_seqlen, _nested_get_max_seqlen, _nested_get_jagged_dummy, _jagged_to_padded_dense_forward,
    _padded_dense_to_jagged_forward, _nested_tensor_softmax_with_shape,
)  # fmt: skip

"""Memory formats, casts, transposes and scatters of torch_npu."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from .codes import dtype_of

_ND = 2  # ACL's number of the row-major format


def npu_format_cast(self: Any, acl_format: Any, *, customize_dtype: Any = None, input_dtype: Any = None) -> Any:
    """Return the tensor unchanged: MindSpore selects its kernels' memory formats."""
    if customize_dtype is not None or input_dtype is not None:
        raise NotImplementedError("mstorch: npu_format_cast() with customize_dtype or input_dtype")
    return self


npu_format_cast_ = npu_format_cast__acl_format = npu_format_cast__Tensor = npu_format_cast


def empty_with_format(
    size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None, acl_format: int = 2,
    base_addr_aligned_kb: Any = None,
) -> Any:  # fmt: skip
    """Return an empty row-major tensor of the device: MindSpore selects its kernels' memory formats."""
    return torch.empty(size, dtype=dtype, device="npu" if device is None else device)


def get_npu_format(self: Any) -> int:
    """Return the number of the ND format (row-major)."""
    return _ND


def npu_dtype_cast(input: Any, dtype: Any, input_dtype: Any = None) -> Any:
    """Return ``input.to(dtype)``, for a dtype or its number."""
    return input.to(dtype_of("npu_dtype_cast", dtype))


_npu_dtype_cast = npu_dtype_cast


def npu_dtype_cast_(input: Any, src: Any) -> Any:
    """Write another tensor's values, converted to the first one's dtype, in place."""
    return input.copy_(src)


def npu_transpose(self: Any, perm: Sequence[int], require_contiguous: bool = True) -> Any:
    """Return ``self.permute(perm)``, contiguous if requested."""
    found = self.permute(perm)
    return found.contiguous() if require_contiguous else found


def npu_confusion_transpose(self: Any, perm: Sequence[int], shape: Sequence[int], transpose_first: bool) -> Any:
    """Return ``self.permute(perm).reshape(shape)``, or reshaped first and then permuted."""
    return self.permute(perm).reshape(shape) if transpose_first else self.reshape(shape).permute(perm).contiguous()


def npu_broadcast(self: Any, size: Sequence[int]) -> Any:
    """Return the tensor expanded to a size."""
    return self.expand(size).contiguous()


def _positions(self: Any, indices: Any) -> tuple[Any, ...]:
    if indices.dtype not in (torch.int32, torch.int64):
        raise RuntimeError(f"indices must be int32 or int64, got {indices.dtype}")
    if not 0 < indices.shape[-1] <= self.dim():
        raise RuntimeError(f"indices of {list(indices.shape)} name positions of {indices.shape[-1]} dimensions in {list(self.shape)}")
    return tuple(indices.long().unbind(-1))


def npu_scatter_nd_update(self: Any, indices: Any, updates: Any) -> Any:
    """Return a copy with ``updates`` written at ``indices``, whose last dimension holds coordinates of the leading dimensions."""
    return self.index_put(_positions(self, indices), updates)


def npu_scatter_nd_update_(self: Any, indices: Any, updates: Any) -> Any:
    """Write ``updates`` at ``indices`` in place, as ``npu_scatter_nd_update``."""
    return self.index_put_(_positions(self, indices), updates)

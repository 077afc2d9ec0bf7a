"""Reinterpretation of memory as another dtype."""
from __future__ import annotations

from ...backend.raw import Raw
from ...backend.table import kernel
from ...core.dtype import dtype
from ...core.tensor_base import TensorBase, make_view, strides_of
from .._dispatch import type_word

_reinterpret, _reshape = kernel("view_dtype"), kernel("reshape")


def view_dtype(self: TensorBase, dtype: dtype) -> TensorBase:
    """Return a view of the tensor's memory as another dtype."""
    old, new = self._ms_dtype, dtype
    shape, strides = list(self._ms_shape), list(strides_of(self))
    offset = self._ms_offset
    words = f"to view {type_word(old)} as {type_word(new)} (different element sizes)"
    if old.itemsize != new.itemsize and not shape:
        raise RuntimeError(f"self.dim() cannot be 0 {words}")
    if old.itemsize > new.itemsize:
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {words}, but got {strides[-1]}")
        ratio = old.itemsize // new.itemsize
        shape[-1] *= ratio
        strides = [stride * ratio for stride in strides[:-1]] + [1]
        offset *= ratio
    elif old.itemsize < new.itemsize:
        ratio = new.itemsize // old.itemsize
        if shape[-1] % ratio:
            raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {words}, but got {shape[-1]}")
        if offset % ratio:
            raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {words}, but got {offset}")
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {words}, but got {strides[-1]}")
        for i, stride in enumerate(strides[:-1]):
            if stride % ratio:
                raise RuntimeError(f"self.stride({i}) must be divisible by {ratio} {words}, but got {stride}")
        shape[-1] //= ratio
        strides = [stride // ratio for stride in strides[:-1]] + [1]
        offset //= ratio
    # As in torch, autograd does not track it and it has no base: it only shares memory and version counter.

    def read(raw: Raw) -> Raw:
        return _reshape[new.name](_reinterpret[new.name](raw, new.name), tuple(shape))

    return make_view(self, read, shape, tuple(strides), offset, new)

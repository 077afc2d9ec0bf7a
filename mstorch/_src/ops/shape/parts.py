"""Views of all parts of a tensor along a dimension."""
from __future__ import annotations

from typing import Any

from ...backend.table import kernel
from ...core.call_forms import refusal_of_one, signature_of
from ...core.size import is_symbol
from ...core.tensor_base import TensorBase, strides_of
from ...tape.windows import views
from .._dispatch import whole, wrap_dim
from .._operation import operation

_slice = kernel("slice")
_select = kernel("select")


@operation(numpy_names=True)
def unbind(input: TensorBase, dim: int = 0) -> tuple[Any, ...]:
    """Return the slices along a dimension as views."""
    own = input._ms_shape
    if not own:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    dim = wrap_dim(dim, len(own))
    kernel_, strides, before = _select[input._ms_dtype.name], strides_of(input), (slice(None),) * dim
    parts = [
        (own[:dim] + own[dim + 1 :], strides[:dim] + strides[dim + 1 :], input._ms_offset + i * strides[dim],
         lambda raw, i=i: kernel_(raw, dim, i))
        for i in range(own[dim])
    ]  # fmt: skip
    return views(input, "UnbindBackward0", parts, [(*before, i) for i in range(own[dim])])


@operation(numpy_names=True)
def split(tensor: TensorBase, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Split along a dimension into views of one size (the last may be smaller) or of the sizes in a list."""
    return _split(tensor, split_size_or_sections, dim)


(_SECTIONS,) = signature_of("split_sizes: Ints")


def _split(tensor: TensorBase, split_size_or_sections: Any, dim: int) -> tuple[Any, ...]:
    own = tensor._ms_shape
    if not own:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, len(own))
    if isinstance(split_size_or_sections, TensorBase) and split_size_or_sections.numel() == 1:
        split_size_or_sections = int(split_size_or_sections)
    if isinstance(split_size_or_sections, bool):
        raise TypeError("split() received an invalid combination of arguments - got a bool for the size")
    if not isinstance(split_size_or_sections, int) and not is_symbol(split_size_or_sections):
        told = refusal_of_one("split_with_sizes", _SECTIONS, split_size_or_sections, 2)
        if told is not None:
            raise TypeError(told)
    if isinstance(split_size_or_sections, (list, tuple)):
        sections = list(map(int, split_size_or_sections))
        if sum(sections) != own[dim] or min(sections, default=0) < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {own[dim]} (input tensor's size at dimension "
                f"{dim}), but got split_sizes={sections}"
            )
    else:
        size = int(split_size_or_sections)
        if size < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        if size == 0 and own[dim] != 0:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {own[dim]}")
        count = max(1, -(-own[dim] // size)) if size else 1
        sections = [min(size, own[dim] - i * size) for i in range(count)]
    kernel_, strides, before = _slice[tensor._ms_dtype.name], strides_of(tensor), (slice(None),) * dim
    parts, keys, start = [], [], 0
    for section in sections:
        stop = start + section
        parts.append(
            ((*own[:dim], section, *own[dim + 1 :]), strides, tensor._ms_offset + start * strides[dim],
             lambda raw, start=start, stop=stop: kernel_(raw, dim, start, stop, 1))
        )  # fmt: skip
        keys.append((*before, slice(start, stop)))
        start = stop
    label = "SplitWithSizesBackward0" if isinstance(split_size_or_sections, (list, tuple)) else "SplitBackward0"
    return views(tensor, label, parts, keys)


@operation(numpy_names=True)
def chunk(input: TensorBase, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Split along a dimension into at most ``chunks`` views of equal size."""
    own, chunks = input._ms_shape, whole(chunks)
    if not own:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = wrap_dim(dim, len(own))
    size = -(-own[dim] // chunks)
    if size == 0:
        return _split(input, [0] * chunks, dim)
    return _split(input, size, dim)

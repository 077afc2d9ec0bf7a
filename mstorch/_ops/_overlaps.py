"""What may not be read while it is written."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.storage import Storage
from .._core.strides import dense_order, flat_index, overlaps
from .._core.tensor_base import TensorBase, count_of, recording, resize, strides_of
from .._core.writable import SHARED, check_writable, refuse_partial_overlap
from ._dispatch import shape_of


def refuse_overlap(out: Any, *inputs: Any) -> None:
    """Raise torch's error if ``out`` holds an element twice, or shares one with an input: for what is read while it writes.

    As in torch, only windows without gaps are looked at.
    """
    if out is None or not isinstance(out, TensorBase):
        return
    check_writable(out)
    for input in inputs:
        dense = dense_order(input._shape, strides_of(input)) is not None and dense_order(out._shape, strides_of(out)) is not None
        if dense and input._storage is out._storage and np.intersect1d(_places(input), _places(out)).size:
            raise RuntimeError(SHARED)


def refuse_parts(out: Any, input: Any, shape: tuple[int, ...] | None = None) -> None:
    """Raise torch's error if the first of ``out`` (a pair, or None) shows a part of the input: for what reads after it wrote.

    ``shape``: the size that it will have, row-major if that is another than it has.
    """
    if out is not None and isinstance(out[0], TensorBase) and out[0] is not input and out[0]._storage is input._storage:
        target, size = out[0], input._dtype.itemsize
        if shape is None or shape == target._shape:
            check_writable(target)
        extents = [sum((length - 1) * step for length, step in zip(part._shape, strides_of(part))) for part in (target, input)]
        if shape is not None and shape != target._shape:
            extents[0] = count_of(shape) - 1
        begins = target._offset * target._dtype.itemsize, input._offset * size
        if begins[0] != begins[1] or extents[0] != extents[1]:
            refuse_partial_overlap(target, input)
            if begins[0] == begins[1] and extents[0] >= 0 <= extents[1] and dense_order(input._shape, strides_of(input)) is not None:
                raise RuntimeError(SHARED)  # the target, in its new size, is the first part of the input


def resize_overlapping(out: Any, tensors: Sequence[Any], shape: tuple[int, ...]) -> None:
    """Give ``out`` its size before it is looked at what overlaps, as torch does, where that changes what is found."""
    if out._shape == shape or out._storage.__class__ is not Storage or recording(tensors):
        return
    if out._stride is not None and overlaps(out._shape, out._stride) or any(out._storage is tensor._storage for tensor in tensors):
        resize(out, shape)


def _places(tensor: Any) -> np.ndarray:
    return flat_index(shape_of(tensor), strides_of(tensor), tensor._offset)

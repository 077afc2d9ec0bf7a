"""Checks that an operation does not read memory that it writes."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.geometry import flat_index
from ..core.strides import dense_order
from ..core.tensor_base import TensorBase, strides_of
from ..core.writable import SHARED, check_writable, refuse_partial_overlap


def refuse_overlap(out: TensorBase | None, *inputs: Any) -> None:
    """Raise torch's error if ``out`` overlaps itself or an input, for operations that read while they write.

    As in torch, only dense views are compared with inputs, but a tensor overlaps with itself even if it is empty.
    """
    if out is None or not isinstance(out, TensorBase):
        return
    check_writable(out)
    for input in inputs:
        if input is out:
            raise RuntimeError(SHARED)
        dense = dense_order(input._ms_shape, strides_of(input)) is not None and dense_order(out._ms_shape, strides_of(out)) is not None
        if dense and input._ms_storage is out._ms_storage and np.intersect1d(_places(input), _places(out)).size:
            raise RuntimeError(SHARED)


def refuse_partly(out: TensorBase | None, *inputs: Any, twice: bool = True) -> None:
    """Raise torch's error if ``out`` partially overlaps an input or, with ``twice``, overlaps itself. An identical view is allowed as
    input."""
    if isinstance(out, TensorBase):
        if twice:
            check_writable(out)
        for input in inputs:
            if isinstance(input, TensorBase):
                refuse_partial_overlap(out, input)


def refuse_parts(out: Any, input: TensorBase, shape: tuple[int, ...] | None = None) -> None:
    """Raise torch's error if ``out[0]`` partly overlaps the input, for operations that read the input after the first write; ``out`` is a
    pair or None.

    ``shape`` is the size to which ``out[0]`` will be resized, with row-major strides if it differs from the current size."""
    if out is None or not isinstance(out[0], TensorBase) or out[0] is input or out[0]._ms_storage is not input._ms_storage:
        return
    target, size = out[0], input._ms_dtype.itemsize
    begins = target._ms_offset * target._ms_dtype.itemsize, input._ms_offset * size
    if shape is not None and shape != target._ms_shape:
        counts = math.prod(shape), math.prod(input._ms_shape)
        apart = begins[0] + counts[0] * target._ms_dtype.itemsize <= begins[1] or begins[1] + counts[1] * size <= begins[0]
        same = begins[0] == begins[1] and counts[0] == counts[1]
        if not apart and not same and 0 not in counts and dense_order(input._ms_shape, strides_of(input)) is not None:
            raise RuntimeError(SHARED)
        return
    check_writable(target)
    extents = [sum((length - 1) * step for length, step in zip(part._ms_shape, strides_of(part))) for part in (target, input)]
    if begins[0] != begins[1] or extents[0] != extents[1]:
        refuse_partial_overlap(target, input)


def _places(tensor: TensorBase) -> Array:
    return flat_index(tensor._ms_shape, strides_of(tensor), tensor._ms_offset)

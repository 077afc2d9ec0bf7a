"""Arrays whose last dimension has few elements, such as points and boxes. NumPy's inner loop runs along that dimension, and starting it
takes longer than its elements. A Python loop over the columns takes a fifth to a tenth of the time.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array

_COPIED = 6  # the largest number of columns that are copied one by one
COMPUTED = 4  # the largest number of columns on which arithmetic is done one by one
_ROWS = 1 << 10  # the number of rows from which on columns take less time
FEWEST = 2 * _ROWS  # no array with fewer elements is narrow


def may_be_narrow(array: Array) -> bool:
    """Return whether a result of arithmetic on this operand may have so few columns that it is computed one by one."""
    return array.ndim > 1 and array.shape[-1] <= COMPUTED


def _is_narrow(array: Array, columns: int) -> bool:
    """Return whether the last dimension has at most ``columns`` elements, and NumPy's inner loop would run along it."""
    if array.ndim < 2 or not 1 < array.shape[-1] <= columns or array.size < _ROWS * array.shape[-1]:
        return False
    return abs(array.strides[-1]) <= abs(array.strides[-2]) or not array.strides[-2]


def assign(target: Array, values: Array) -> None:
    """Assign ``target[...] = values``."""
    if target.size < FEWEST or not _is_narrow(target, _COPIED) or (target.flags.c_contiguous and values.flags.c_contiguous):
        target[...] = values
        return
    if np.may_share_memory(target, values):  # all values are read before the first is written
        values = row_major(values)
    values = np.broadcast_to(values, target.shape)
    for column in range(target.shape[-1]):
        target[..., column] = values[..., column]


def row_major(x: Array) -> Array:
    """Return a row-major copy."""
    if x.size < FEWEST or x.ndim < 2 or x.flags.c_contiguous or not 1 < x.shape[-1] <= _COPIED:
        return np.array(x, order="C")
    made = np.empty(x.shape, x.dtype)
    assign(made, x)
    return made


def by_columns(function: Callable[..., Any], shape: tuple[int, ...], *operands: Array) -> Array | None:
    """Return a ufunc's result for operands that broadcast to ``shape``, computed column by column; None if NumPy alone is as fast."""
    if len(shape) < 2 or not 1 < shape[-1] <= COMPUTED:
        return None
    if all(operand.flags.c_contiguous and operand.shape == shape or operand.size == 1 for operand in operands):
        return None
    whole = [np.broadcast_to(operand, shape) for operand in operands]
    if not all(_is_narrow(operand, COMPUTED) for operand in whole):
        return None
    found = np.empty(shape, function(*[operand[(slice(0, 0),) * operand.ndim] for operand in operands]).dtype)
    for column in range(shape[-1]):
        if len(whole) == 1:  # not by `out=`: NumPy 2.4 computes isfinite, isinf, isnan and negative wrongly where the result has strides
            found[..., column] = function(whole[0][..., column])
        else:
            function(*[operand[..., column] for operand in whole], out=found[..., column])
    return found

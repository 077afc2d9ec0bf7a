"""Embedding lookup."""
from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import ops

from .. import tape
from ..raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from ..table import BUT_BFLOAT16, VIA_BFLOAT16, define
from ._empty import filled
from ._nodes import recorded
from .views import ops_reshape as _reshape

_gather = ops.Gather()
_mul = ops.Mul()
_segment_sum = ops.UnsortedSegmentSum()


def _forward(ctx: Any, table: Raw, index: Raw, padding: int, by_frequency: bool) -> Raw:
    ctx.save_for_backward(index)
    ctx.numbers = (tuple(table.shape), padding, by_frequency)
    return _gather(table, index, 0)


def _backward(ctx: Any, g: Raw) -> tuple[Raw | None, ...]:
    (index,) = ctx.saved_tensors
    shape, padding, by_frequency = ctx.numbers
    flat = _reshape(g, (-1, *shape[1:]))
    rows = index.asnumpy().reshape(-1)
    if padding >= 0 or by_frequency:
        factors = np.ones(rows.shape, NP_DTYPE[NAME_OF[g.dtype]])
        if by_frequency:
            factors /= np.bincount(rows, minlength=shape[0])[rows].astype(factors.dtype)
        if padding >= 0:
            factors[rows == padding] = 0
        flat = _mul(flat, from_numpy(factors.reshape(-1, *([1] * (len(shape) - 1)))))
    return _segment_sum(flat, _reshape(index, (-1,)), shape[0]), None, None, None


_node = tape.function_node("EmbeddingBackward0", _forward, _backward)


def ops_embedding(table: Raw, index: Raw, padding: int, by_frequency: bool) -> Raw:
    """Return rows of a table (rows, D) at indices (*): (*, D). Row ``padding`` gets no gradient, unless it is negative."""
    if index.size == 0 or table.size == 0:
        return filled((*index.shape, *table.shape[1:]), 0, NAME_OF[table.dtype], table)
    if recorded(table):
        return _node(table, index, padding, by_frequency)
    return _gather(table, index, 0)


define("embedding", cpu=ops_embedding, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)

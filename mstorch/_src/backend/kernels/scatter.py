"""Scatter kernels and their reductions."""
from __future__ import annotations

import numpy as np
from mindspore import ops

from ..cast import cast
from ..geometry import inverse_order
from ..raw import NAME_OF, Raw
from ..runtime import without_deprecations
from ..table import BUT_BFLOAT16, COMPLEX, FLOATS, INTS, VIA_BFLOAT16, VIA_HALF, define
from ..tape import grad_mode
from ._nodes import node, prim_add, prim_and, prim_div, prim_equal, prim_mul, prim_select, recorded, zeros_like
from .index import _flat_positions, dim_positions
from .reduce import constant, extreme, has_nan
from .views import copy_memory
from .views import ops_permute as _transpose
from .views import ops_reshape as _reshape

_gather = ops.Gather()
_update = ops.TensorScatterUpdate()
_add = ops.TensorScatterAdd()
with without_deprecations():
    _multiply = ops.TensorScatterMul()
    _maximum = ops.TensorScatterMax()
    _minimum = ops.TensorScatterMin()
_segment_sum = ops.UnsortedSegmentSum()
_floor_div = ops.FloorDiv()
_not_equal = ops.NotEqual()
_greater = ops.Greater()


def _tied_forward(raw: Raw, other: Raw) -> Raw:
    return copy_memory(raw)


def _tied_backward(gradient: Raw, result: Raw, raw: Raw, other: Raw) -> tuple[Raw, Raw]:
    return gradient, zeros_like(other)


# A copy without the write; the unused source still gets a gradient of zeros.
unwritten = node("NothingWritten", _tied_forward, _tied_backward, lambda raw, other: raw)


def _flat_add(raw: Raw, positions: Raw, source: Raw) -> Raw:
    """Add ``source`` (flat) to ``raw`` (flat) at positions (a column), which may repeat."""
    if NAME_OF[raw.dtype] in COMPLEX or recorded(source):
        # TensorScatterAdd rejects complex numbers, and its gradient cannot be differentiated again (MindSpore 2.10).
        return prim_add(raw, _segment_sum(source, cast(_reshape(positions, (-1,)), "int32"), raw.size))
    return _add(raw, positions, source)


def ops_scatter(raw: Raw, source: Raw, dim: int, index: Raw, how: str) -> Raw:
    """Write ("none") or add ("add") ``source`` at ``index`` along a dimension; source and index have one shape."""
    if index.size == 0:
        return unwritten(raw, source)
    if not raw.shape:
        one = (1,)
        return _reshape(ops_scatter(_reshape(raw, one), _reshape(source, one), 0, _reshape(index, one), how), ())
    # TensorScatterElements writes from several threads at once and loses additions (MindSpore 2.10).
    positions = dim_positions(tuple(raw.shape), dim, index)
    write = _flat_add if how == "add" else _update
    return _reshape(write(_reshape(raw, (-1,)), positions, _reshape(source, (-1,))), tuple(raw.shape))


def composed_put(raw: Raw, source: Raw, index: Raw, accumulate: bool) -> Raw:
    """Put (or add) ``source`` at flat positions, which may be negative."""
    if index.size == 0:
        return unwritten(raw, source)
    positions = _reshape(_flat_positions((raw.size,), (index,), tuple(index.shape)), (-1, 1))
    write = _flat_add if accumulate else _update
    return _reshape(write(_reshape(raw, (-1,)), positions, _reshape(source, (-1,))), tuple(raw.shape))


def composed_index_write(raw: Raw, source: Raw, dim: int, index: Raw, accumulate: bool) -> Raw:
    """Replace the entries ``index`` (a vector) of a dimension by those of ``source``, or add them."""
    if index.size == 0 or raw.size == 0:
        return unwritten(raw, source)
    if not raw.shape:
        return _reshape(composed_index_write(_reshape(raw, (1,)), _reshape(source, (index.size,)), 0, index, accumulate), ())
    order = (dim, *(d for d in range(len(raw.shape)) if d != dim))
    if dim:
        raw, source = _transpose(raw, order), _transpose(source, order)
    if not accumulate:
        result = _update(raw, _reshape(index, (-1, 1)), source)
    elif NAME_OF[raw.dtype] in COMPLEX or recorded(source):
        result = prim_add(raw, _segment_sum(source, cast(index, "int32"), raw.shape[0]))
    else:
        result = _add(raw, _reshape(index, (-1, 1)), source)
    return _transpose(result, inverse_order(order)) if dim else result


def _reduced(raw: Raw, index: Raw, source: Raw, dim: int, how: str, include_self: bool) -> Raw:
    shape = tuple(raw.shape)
    positions = dim_positions(shape, dim, index)
    flat, values = _reshape(raw, (-1,)), _reshape(source, (-1,))
    if not include_self:
        start = {"prod": 1, "amax": extreme(raw, -1), "amin": extreme(raw, 1)}.get(how, 0)
        flat = _update(flat, positions, constant(values, (values.size,), start))
    if how == "prod":
        result = _multiply(flat, positions, values)
    elif how in ("amax", "amin"):
        result = (_maximum if how == "amax" else _minimum)(flat, positions, values)
        if has_nan(flat) or has_nan(values):
            seen = _add(_nan_flags(flat), positions, _nan_flags(values))
            result = prim_select(_greater(seen, 0), constant(flat, (flat.size,), np.nan), result)
    else:
        result = _add(flat, positions, values)
        if how == "mean":
            divide = prim_div if NAME_OF[raw.dtype] in FLOATS else _floor_div
            result = divide(result, _counts(flat, positions, values, include_self))
    return _reshape(result, shape)


def _nan_flags(raw: Raw) -> Raw:
    return cast(_not_equal(raw, raw), "float32")


def _counts(flat: Raw, positions: Raw, values: Raw, include_self: bool) -> Raw:
    """Return the divisor of the mean at each position: the number of elements reduced there, at least 1."""
    counts = constant(flat, (flat.size,), 1)
    ones = constant(flat, (values.size,), 1)
    if not include_self:
        counts = _update(counts, positions, constant(flat, (values.size,), 0))
    return _add(counts, positions, ones)


def _reduce_backward(
    gradient: Raw, result: Raw, raw: Raw, index: Raw, source: Raw, dim: int, how: str, include_self: bool
) -> tuple[Raw, None, Raw]:
    """Return torch's gradients of ``scatter_reduce``. The gradient of a product is computed by division if no factor is zero; tied extrema
    get equal shares.

    As in torch, the input's own element counts among the ties even without ``include_self``."""
    shape = tuple(raw.shape)
    positions = dim_positions(shape, dim, index)
    places = _reshape(positions, (-1,))
    flat, values = _reshape(raw, (-1,)), _reshape(source, (-1,))
    gradient, result = _reshape(gradient, (-1,)), _reshape(result, (-1,))
    name = NAME_OF[raw.dtype]
    if how == "prod":
        if grad_mode.enabled:  # the saved product is a constant for autograd; a second derivative needs its graph
            result = _reshape(_reduce_node(raw, index, source, dim, how, include_self), (-1,))
        zero = prim_equal(flat, 0)
        nonzero = prim_select(zero, constant(flat, (flat.size,), 1), flat)
        without = _reshape(_reduce_node(_reshape(nonzero, shape), index, source, dim, how, include_self), (-1,))
        for_raw = prim_div(prim_mul(gradient, without), nonzero)
        source_zero = prim_equal(values, 0)
        zeros = _add(constant(flat, (flat.size,), 0), positions, cast(source_zero, name))
        single = prim_and(source_zero, prim_equal(_gather(zeros, places, 0), 1))
        ones = constant(values, (values.size,), 1)
        kept = _reshape(prim_select(single, ones, values), tuple(source.shape))
        others = _reshape(_reduce_node(raw, index, kept, dim, how, include_self), (-1,))
        for_source = prim_select(
            single,
            _gather(prim_mul(gradient, others), places, 0),
            prim_div(_gather(prim_mul(gradient, result), places, 0), prim_select(source_zero, ones, values)),
        )
    elif how in ("amax", "amin"):
        mine = cast(prim_equal(flat, result), name)
        theirs = cast(prim_equal(values, _gather(result, places, 0)), name)
        ties = _add(mine, positions, theirs)
        share = prim_div(gradient, prim_select(prim_equal(ties, 0), constant(flat, (flat.size,), 1), ties))
        for_raw = prim_mul(mine, share)
        for_source = prim_mul(theirs, _gather(share, places, 0))
    else:
        if how == "mean":
            gradient = prim_div(gradient, _counts(flat, positions, values, include_self))
        for_raw, for_source = gradient, _gather(gradient, places, 0)
    if not include_self:
        for_raw = _update(for_raw, positions, constant(flat, (values.size,), 0))
    for_raw, for_source = _reshape(for_raw, shape), _reshape(for_source, tuple(source.shape))
    if grad_mode.enabled:
        # If a gradient ends in Reshape, its second derivative is lost (MindSpore 2.10).
        for_raw = prim_mul(for_raw, constant(raw, (), 1))
        for_source = prim_mul(for_source, constant(raw, (), 1))
    return for_raw, None, for_source


_reduce_node = node("ScatterReduceBackward", _reduced, _reduce_backward)


def composed_scatter_reduce(raw: Raw, source: Raw, dim: int, index: Raw, how: str, include_self: bool) -> Raw:
    """Reduce ``source`` into ``raw`` at ``index``: "sum", "prod", "mean", "amax" or "amin"."""
    if index.size == 0:
        return unwritten(raw, source)
    if not raw.shape:
        one = (1,)
        return _reshape(
            _reduce_node(_reshape(raw, one), _reshape(index, one), _reshape(source, one), 0, how, include_self), ()
        )
    return _reduce_node(raw, index, source, dim, how, include_self)


_VIA = {**VIA_HALF, "bool": "int32"}
define("scatter", cpu=ops_scatter, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("put", cpu=composed_put, dtypes=tuple(n for n in BUT_BFLOAT16 if n != "bool"), via={**VIA_BFLOAT16, "bool": "uint8"})
define("index_write", cpu=composed_index_write, dtypes=tuple(n for n in BUT_BFLOAT16 if n != "bool"), via={**VIA_BFLOAT16, "bool": "uint8"})
define("scatter_reduce", cpu=composed_scatter_reduce, dtypes=FLOATS + INTS, via=_VIA)

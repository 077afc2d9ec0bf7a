"""Kernels of cumulative sums, products and extrema along a dimension."""
from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import ops

from ..cast import cast
from ..raw import NAME_OF, Raw, from_numpy
from ..table import COMPLEX, FLOATS, INTS, NUMBERS, VIA_BOOL, VIA_HALF, define
from ..tape import grad_mode
from ._nodes import mul, node, prim_add, prim_and, prim_conj, prim_div, prim_equal, prim_select, prim_sub
from .reduce import constant, has_nan
from .views import numpy_clone, ops_total
from .views import ops_reshape as _reshape

_sum = ops.CumSum()
_sum_back = ops.CumSum(False, True)
_product = ops.CumProd()
_LARGEST: dict[int, Any] = {}
_not_equal = ops.NotEqual()
_greater = ops.Greater()
_exp = ops.Exp()
_clse = ops.CumulativeLogsumexp()


def _widened(raw: Raw, function: Any, *args: Any) -> Raw:
    """Compute in float64, because torch accumulates float32 in double precision (a sum of 100,000 numbers would have an error of 5e-4)."""
    return cast(function(cast(raw, "float64"), *args), "float32")


def ops_cumsum(raw: Raw, dim: int) -> Raw:
    if raw.size == 0 or not raw.shape:
        return numpy_clone(raw)
    return _widened(raw, _sum, dim) if NAME_OF[raw.dtype] == "float32" else _sum(raw, dim)


def ops_running_sum(raw: Raw, dim: int) -> Raw:
    """Return cumulative sums that are rounded after each addition, for callers whose results depend on the order of additions."""
    return _sum(raw, dim)


def _cumprod(raw: Raw, dim: int) -> Raw:
    return _widened(raw, _product, dim) if NAME_OF[raw.dtype] == "float32" else _product(raw, dim)


def _cumprod_backward(gradient: Raw, result: Raw, raw: Raw, dim: int) -> Raw:
    """Return the gradient of cumprod. Before the first zero along ``dim`` it is the sum of gradient times result over all later positions,
    divided by the element; at the first zero, the same sum of the products without the zero; after it, 0."""
    conjugate = prim_conj if NAME_OF[raw.dtype] in COMPLEX else _same
    zero = prim_equal(raw, constant(raw, (), 0))
    if not bool(zero.asnumpy().any()):
        return prim_div(_sum_back(mul(gradient, conjugate(result)), dim), conjugate(raw))
    ones = constant(raw, tuple(raw.shape), 1)
    zeros = constant(raw, tuple(raw.shape), 0)
    before = _sum(cast(zero, "int32"), dim)
    first = prim_and(zero, prim_equal(before, 1))
    plain = prim_div(_sum_back(mul(gradient, conjugate(result)), dim), conjugate(prim_select(zero, ones, raw)))
    without = composed_cumprod(prim_select(first, ones, raw), dim)
    at_first = _sum_back(
        mul(prim_select(prim_equal(before, 0), zeros, gradient), conjugate(without)), dim
    )
    return prim_select(first, at_first, prim_select(prim_equal(before, 0), plain, zeros))


def _same(raw: Raw) -> Raw:
    return raw


_cumprod_node = node("CumprodBackward", _cumprod, _cumprod_backward, _product)


def composed_cumprod(raw: Raw, dim: int) -> Raw:
    if raw.size == 0 or not raw.shape:
        return numpy_clone(raw)
    return _cumprod_node(raw, dim)


def ops_cummax_indices(raw: Raw, dim: int) -> Raw:
    """Return the index of the running maximum (the last one of equal elements; NaN is largest), int64."""
    if raw.size == 0 or not raw.shape:
        return from_numpy(np.zeros(raw.shape, np.int64))
    prim = _LARGEST.get(dim)
    if prim is None:
        prim = _LARGEST[dim] = ops.Cummax(dim)
    return cast(prim(raw)[1], "int64")


def ops_cummin_indices(raw: Raw, dim: int) -> Raw:
    """Return the index of the minimum so far, as Cummax of the order-reversed elements, because Cummin treats ties differently."""
    flipped = ops.neg(raw) if NAME_OF[raw.dtype] in FLOATS else ops.Invert()(raw)
    return ops_cummax_indices(flipped, dim)



def _logcumsumexp(raw: Raw, dim: int) -> Raw:
    wide = cast(raw, "float64") if NAME_OF[raw.dtype] == "float32" else raw
    result = _clse(wide, from_numpy(np.array(dim)))
    if has_nan(wide):  # the kernel drops a NaN at the next number
        seen = _sum(cast(_not_equal(wide, wide), "int32"), dim)
        result = prim_select(_greater(seen, 0), constant(wide, tuple(wide.shape), np.nan), result)
    return cast(result, NAME_OF[raw.dtype]) if wide is not raw else result


def _logcumsumexp_backward(gradient: Raw, result: Raw, raw: Raw, dim: int) -> Raw:
    """Return ``sum over later j of gradient[j] * exp(x - result[j])``, computed by logarithms, separately for positive and negative
    gradients.
    """
    zeros = constant(gradient, tuple(gradient.shape), 0)
    if grad_mode.enabled:
        return _pairwise(gradient, raw, dim)
    total = None
    for positive in (True, False):
        size = ops.maximum(gradient if positive else ops.neg(gradient), zeros)
        # -1e30 in place of log(0): with a leading -inf the kernel returns NaN or worse.
        logs = prim_select(prim_equal(size, zeros), constant(size, tuple(size.shape), -1e30), ops.log(size))
        spread = prim_sub(logs, result)
        behind = ops.ReverseV2([dim])(_logcumsumexp(ops.ReverseV2([dim])(spread), dim))
        part = _exp(prim_add(behind, raw))
        part = prim_select(_not_equal(part, part), zeros, part)
        total = part if total is None else prim_sub(total, part)
    return total


def _pairwise(gradient: Raw, raw: Raw, dim: int) -> Raw:
    """Return the gradient of logcumsumexp as a sum over all pairs of positions. It takes no logarithm of gradients and no exponential of
    large numbers, so that it can be differentiated again."""
    shape = tuple(raw.shape)
    n = shape[dim]
    rows, columns = (*shape[: dim + 1], 1, *shape[dim + 1 :]), (*shape[:dim], 1, *shape[dim:])
    gap = prim_sub(_reshape(raw, rows), _reshape(_logcumsumexp_node(raw, dim), columns))
    zeros = constant(raw, tuple(gap.shape), 0)
    pairs = np.tri(n, dtype=bool).T.reshape(n, n, *(1,) * (len(shape) - dim - 1))
    until = from_numpy(np.broadcast_to(pairs, gap.shape).copy())
    shares = prim_select(until, _exp(prim_select(until, gap, zeros)), zeros)
    return _reshape(ops_total(mul(shares, _reshape(gradient, columns)), (dim + 1,)), shape)


_logcumsumexp_node = node("LogcumsumexpBackward", _logcumsumexp, _logcumsumexp_backward)


def ops_logcumsumexp(raw: Raw, dim: int) -> Raw:
    if raw.size == 0 or not raw.shape:
        return numpy_clone(raw)
    return _logcumsumexp_node(raw, dim)


define("cumsum", cpu=ops_cumsum, dtypes=FLOATS + INTS + COMPLEX, via=VIA_HALF)
define("running_sum", cpu=ops_running_sum, dtypes=FLOATS, via=VIA_HALF)
define("cumprod", cpu=composed_cumprod, dtypes=FLOATS + INTS + COMPLEX, via=VIA_HALF)
define("cummax_indices", cpu=ops_cummax_indices, dtypes=NUMBERS, via={**VIA_HALF, **VIA_BOOL})
define("cummin_indices", cpu=ops_cummin_indices, dtypes=NUMBERS, via={**VIA_HALF, **VIA_BOOL})
define("logcumsumexp", cpu=ops_logcumsumexp, dtypes=FLOATS, via=VIA_HALF)

"""Reduction kernels. ``dims`` is a tuple of nonnegative dimensions, empty only for a 0-d tensor."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mindspore import ops

from ...quiet import quiet
from ..cast import cast
from ..geometry import inverse_order
from ..raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from ..table import COMPLEX, FLOATS, INTS, NUMBERS, VIA_BOOL, VIA_HALF, define
from ..tape import function_node, grad_mode, tracing
from ._nodes import mul, prim_conj
from .views import mint_expand
from .views import ops_permute as _transpose
from .views import ops_reshape as _reshape

_SUM = {keep: ops.ReduceSum(keep) for keep in (False, True)}
_MEAN = {keep: ops.ReduceMean(keep) for keep in (False, True)}
_MAX = {keep: ops.ReduceMax(keep) for keep in (False, True)}
_MIN = {keep: ops.ReduceMin(keep) for keep in (False, True)}
_ALL = {keep: ops.ReduceAll(keep) for keep in (False, True)}
_ANY = {keep: ops.ReduceAny(keep) for keep in (False, True)}
_PROD = {keep: ops.ReduceProd(keep) for keep in (False, True)}
_equal = ops.Equal()
_not_equal = ops.NotEqual()
_mul = mul
_div = ops.RealDiv()
_select = ops.Select()


def extreme(like: Raw, sign: int) -> Any:
    """Return the lowest (``sign`` -1) or the largest (1) value of the dtype of ``like``."""
    kind = NP_DTYPE[NAME_OF[like.dtype]]
    if kind.kind == "f":
        return sign * np.inf
    info = np.iinfo(kind)
    return info.max if sign > 0 else info.min


def reduced_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """Return the shape after a reduction."""
    return tuple(1 if i in dims else n for i, n in enumerate(shape) if keepdim or i not in dims)


def constant(raw: Raw, shape: tuple[int, ...], value: Any) -> Raw:
    """Return a constant tensor in the dtype of ``raw``."""
    return from_numpy(np.full(shape, value, NP_DTYPE[NAME_OF[raw.dtype]]))


def _empty_forward(ctx: Any, raw: Raw, shape: tuple[int, ...], value: Any) -> Raw:
    ctx.shape = raw.shape
    return constant(raw, shape, value)


def _empty_backward(ctx: Any, gradient: Raw) -> tuple[Raw, None, None]:
    return constant(gradient, ctx.shape, 0), None, None


# MindSpore's reductions of an empty tensor return uninitialized memory or raise (2.7.2 to 2.10).
of_nothing = function_node("ReduceEmpty", _empty_forward, _empty_backward)


def over_nothing(raw: Raw, dims: tuple[int, ...], keepdim: bool, value: Any) -> Raw:
    """Return the reduction of an empty tensor, filled with ``value``."""
    return of_nothing(raw, reduced_shape(tuple(raw.shape), dims, keepdim), value)


def _linear_node(name: str, prim: dict[bool, Any], scaled: bool) -> Callable[..., Any]:
    """Return ReduceSum or ReduceMean with a gradient that is differentiable again; MindSpore's own is not (2.10)."""

    def forward(ctx: Any, raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
        result = prim[keepdim](raw, dims)
        ctx.shape = tuple(raw.shape)
        ctx.kept = reduced_shape(ctx.shape, dims, True)
        ctx.share = result.size / raw.size if scaled else 1
        return result

    def backward(ctx: Any, gradient: Raw) -> tuple[Raw, None, None]:
        if tuple(gradient.shape) != ctx.kept:
            gradient = _reshape(gradient, ctx.kept)
        if scaled:
            gradient = _mul(gradient, constant(gradient, (), ctx.share))
        return mint_expand(gradient, ctx.shape), None, None

    return function_node(name, forward, backward)


_sum_node = _linear_node("Sum", _SUM, False)
_mean_node = _linear_node("Mean", _MEAN, True)


def ops_sum(raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
    if raw.size == 0:
        return over_nothing(raw, dims, keepdim, 0)
    if not raw.shape:
        return _mul(raw, constant(raw, (), 1))
    if grad_mode.enabled and raw._requires_grad and tracing() is None:
        return _sum_node(raw, dims, keepdim)
    return _SUM[keepdim](raw, dims)


def ops_mean(raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
    if raw.size == 0:
        return over_nothing(raw, dims, keepdim, float("nan"))
    if not raw.shape:
        return _mul(raw, constant(raw, (), 1))
    if NAME_OF[raw.dtype] in COMPLEX:
        count = raw.size // max(1, int(np.prod(reduced_shape(tuple(raw.shape), dims, False))))
        return _mul(_SUM[keepdim](raw, dims), constant(raw, (), 1 / count))
    if grad_mode.enabled and raw._requires_grad and tracing() is None:
        return _mean_node(raw, dims, keepdim)
    return _MEAN[keepdim](raw, dims)


def ops_all(raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
    if raw.size == 0:
        return over_nothing(raw, dims, keepdim, True)
    if not raw.shape:
        return _ALL[False](_reshape(raw, (1,)), (0,))
    return _ALL[keepdim](raw, dims)


def ops_any(raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
    if raw.size == 0:
        return over_nothing(raw, dims, keepdim, False)
    if not raw.shape:
        return _ANY[False](_reshape(raw, (1,)), (0,))
    return _ANY[keepdim](raw, dims)


def has_nan(raw: Raw) -> bool:
    """Return whether a floating-point tensor may contain NaN (tested by a sum); True in a trace."""
    if NAME_OF[raw.dtype] not in FLOATS:
        return False
    if tracing() is not None:
        return True
    with quiet():
        return bool(np.isnan(raw.asnumpy().sum()))


def _extreme(prim: dict[bool, Any], raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
    """Run ReduceMax or ReduceMin with NaN propagation, which MindSpore's CPU kernels lack unless the first element is NaN."""
    result = prim[keepdim](raw, dims)
    if has_nan(raw):
        nan = _ANY[keepdim](_not_equal(raw, raw), dims)
        result = _select(nan, constant(raw, tuple(result.shape), float("nan")), result)
    return result


def _extreme_node(name: str, prim: dict[bool, Any]) -> Callable[..., Any]:
    def forward(ctx: Any, raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
        result = _extreme(prim, raw, dims, keepdim)
        ctx.dims, ctx.keepdim = dims, keepdim
        ctx.save_for_backward(raw)
        ctx.kept = reduced_shape(tuple(raw.shape), dims, True)
        return result

    def backward(ctx: Any, gradient: Raw) -> tuple[Raw, None, None]:
        (raw,) = ctx.saved_tensors
        # Ties share the gradient evenly, as in torch.
        extreme = _extreme(prim, raw, ctx.dims, True)
        both_nan = _not_equal(raw, raw)
        mask = ops.logical_or(_equal(raw, extreme), both_nan)
        weight = cast(mask, NAME_OF[raw.dtype])
        share = _div(weight, _SUM[True](weight, ctx.dims))
        return _mul(_reshape(gradient, ctx.kept), share), None, None

    return function_node(name, forward, backward)


_amax = _extreme_node("Amax", _MAX)
_amin = _extreme_node("Amin", _MIN)


def _amax_any(raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
    return _amax(raw, dims, keepdim) if raw.shape else _mul(raw, constant(raw, (), 1))


def _amin_any(raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
    return _amin(raw, dims, keepdim) if raw.shape else _mul(raw, constant(raw, (), 1))


def _arg(raw: Raw, dim: int, keepdim: bool, largest: bool) -> Raw:
    """Return the index of the first extremum along a dimension, int64; NaN counts as extremum."""
    if not raw.shape:
        return from_numpy(np.zeros((), np.int64))
    extreme = _MAX[True](raw, (dim,)) if largest else _MIN[True](raw, (dim,))
    hit = _equal(raw, extreme)
    if has_nan(raw):
        nan = _not_equal(raw, raw)
        hit = _select(_ANY[True](nan, (dim,)).broadcast_to(raw.shape), nan, hit)
    found = _argmax_of[dim](cast(hit, "float32")) if dim in _argmax_of else _argmax(dim)(cast(hit, "float32"))
    found = cast(found, "int64")
    if keepdim:
        shape = list(raw.shape)
        shape[dim] = 1
        found = _reshape(found, tuple(shape))
    return found


_argmax_of: dict[int, Any] = {}


def _argmax(dim: int) -> Any:
    found = _argmax_of.get(dim)
    if found is None:
        found = _argmax_of[dim] = ops.Argmax(dim)
    return found


def ops_argmax(raw: Raw, dim: int, keepdim: bool) -> Raw:
    if raw.shape and NAME_OF[raw.dtype] == "float32" and not has_nan(raw):
        found = cast(_argmax(dim)(raw), "int64")
        return _reshape(found, tuple(1 if i == dim else n for i, n in enumerate(raw.shape))) if keepdim else found
    return _arg(raw, dim, keepdim, True)


def ops_argmin(raw: Raw, dim: int, keepdim: bool) -> Raw:
    return _arg(raw, dim, keepdim, False)


def _prod_forward(ctx: Any, raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
    ctx.save_for_backward(raw)
    ctx.dims = dims
    return _PROD[keepdim](raw, dims)


_before = ops.CumProd(True, False)
_behind = ops.CumProd(True, True)


def _products_without(raw: Raw, dim: int) -> Raw:
    """Return for each element the product of all other elements along a dimension, exact even if some are 0."""
    return _mul(_before(raw, dim), _behind(raw, dim))


def _prod_backward(ctx: Any, gradient: Raw) -> tuple[Raw, None, None]:
    (raw,) = ctx.saved_tensors
    dims = ctx.dims
    shape = tuple(raw.shape)
    kept = reduced_shape(shape, dims, True)
    gradient = _reshape(gradient, kept)
    if grad_mode.enabled and raw.asnumpy().all():
        # A gradient that can be differentiated any number of times.
        return _mul(gradient, _conjugate(_div(_prod(raw, dims, True), raw))), None, None
    if len(dims) > 1:
        rest = tuple(i for i in range(len(shape)) if i not in dims)
        order = rest + dims
        flat = _reshape(_transpose(raw, order), (*(shape[i] for i in rest), -1))
        others = _transpose(
            _reshape(_products_without(flat, len(rest)), tuple(shape[i] for i in order)), inverse_order(order)
        )
    elif raw.asnumpy().all():
        others = _div(_PROD[True](raw, dims), raw)
    else:
        others = _products_without(raw, dims[0])
    return _mul(gradient, _conjugate(others)), None, None


def _conjugate(raw: Raw) -> Raw:
    return prim_conj(raw) if NAME_OF[raw.dtype] in COMPLEX else raw


_prod = function_node("Prod", _prod_forward, _prod_backward)


def ops_prod(raw: Raw, dims: tuple[int, ...], keepdim: bool) -> Raw:
    if raw.size == 0:
        return over_nothing(raw, dims, keepdim, 1)
    if not raw.shape:
        return _mul(raw, constant(raw, (), 1))
    return _prod(raw, dims, keepdim)


define("sum", cpu=ops_sum, dtypes=FLOATS + INTS + COMPLEX, via=VIA_HALF)
define("mean", cpu=ops_mean, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
define("prod", cpu=ops_prod, dtypes=FLOATS + INTS + COMPLEX, via=VIA_HALF)
define("amax", cpu=_amax_any, dtypes=NUMBERS, via={**VIA_HALF, **VIA_BOOL})
define("amin", cpu=_amin_any, dtypes=NUMBERS, via={**VIA_HALF, **VIA_BOOL})
define("argmax", cpu=ops_argmax, dtypes=NUMBERS, via={**VIA_HALF, **VIA_BOOL})
define("argmin", cpu=ops_argmin, dtypes=NUMBERS, via={**VIA_HALF, **VIA_BOOL})
define("all", cpu=ops_all, dtypes=("bool",))
define("any", cpu=ops_any, dtypes=("bool",))

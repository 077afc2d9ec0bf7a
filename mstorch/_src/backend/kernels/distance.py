"""Vector norms, with torch's zero gradient at the zero vector."""
from __future__ import annotations

import math

from mindspore import ops
from mindspore.ops.operations._grad_ops import ReluGrad

from ..device_memory import full
from ..raw import NAME_OF, Raw
from ..table import FLOATS, VIA_HALF, define
from ._empty import filled
from ._nodes import constant, node
from .views import ops_reshape as _reshape

_add = ops.Add()
_sub = ops.Sub()
_mul = ops.Mul()
_div = ops.RealDiv()
_abs = ops.Abs()
_pow = ops.Pow()
_sqrt = ops.Sqrt()
_sign = ops.Sign()
_sum = ops.ReduceSum(True)
_max = ops.ReduceMax(True)
_min = ops.ReduceMin(True)
_where_positive = ReluGrad()

Dims = tuple[int, ...]


def _ones(x: Raw) -> Raw:
    return full(tuple(x.shape), 1, NAME_OF[x.dtype])


def _norm(x: Raw, p: float, dims: Dims, share: bool) -> Raw:
    if p == 2:
        return _sqrt(_sum(_mul(x, x), dims))
    size = _abs(x)
    if p == 1:
        return _sum(size, dims)
    if p == 0:
        return _sum(_where_positive(_ones(x), size), dims)
    if math.isinf(p):
        return (_max if p > 0 else _min)(size, dims)
    return _pow(_sum(_pow(size, constant(p, x)), dims), constant(1 / p, x))


def _norm_backward(g: Raw, y: Raw, x: Raw, p: float, dims: Dims, share: bool) -> Raw:
    if p == 0:
        return _mul(x, constant(0, x))
    if p == 1:
        return _mul(g, _sign(x))
    # 1 in place of a norm of zero: its dividend is zero, and the gradient has to be zero too.
    safe = _add(y, _sub(_ones(y), _where_positive(_ones(y), y)))
    if p == 2:
        return _mul(_div(g, safe), x)
    size = _abs(x)
    if math.isinf(p):
        far = _abs(_sub(size, y))
        reached = _sub(_ones(x), _where_positive(_ones(x), far))
        each = _div(g, _sum(reached, dims)) if share else g
        return _mul(_mul(each, reached), _sign(x))
    ratio = _div(size, safe)
    # 0 ** (p - 1) is infinite for p < 1.
    filled = _add(ratio, _sub(_ones(x), _where_positive(_ones(x), ratio)))
    return _mul(_mul(g, _sign(x)), _where_positive(_pow(filled, constant(p - 1, x)), ratio))


_norm_node = node("LinalgVectorNormBackward0", _norm, _norm_backward, _norm)


def composed_p_norm(x: Raw, p: float, dims: Dims, keepdim: bool, share: bool = True) -> Raw:
    """Return the p-norm over some dimensions. With ``share``, equal maxima share the gradient; otherwise each of them receives all of it.
    """
    shape = tuple(x.shape)
    kept = tuple(1 if i in dims else n for i, n in enumerate(shape))
    if x.size == 0:
        y = filled(kept, 0, NAME_OF[x.dtype], x)
    elif not shape:
        y = _reshape(_norm_node(_reshape(x, (1,)), p, (0,), share), ())
    else:
        y = _norm_node(x, p, dims, share)
    return y if keepdim else _reshape(y, tuple(n for i, n in enumerate(shape) if i not in dims))


define("p_norm", cpu=composed_p_norm, dtypes=FLOATS, via=VIA_HALF)

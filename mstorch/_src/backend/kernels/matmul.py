"""Matrix products. oneDNN's kernels leak 1.3 KB per call in MindSpore 2.7.2 to 2.10; no other CPU kernel is as fast."""
from __future__ import annotations

import numpy as np
from mindspore import ops

from ..raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from ..table import COMPLEX, FLOATS, INTS, VIA_BOOL, VIA_HALF, define
from ._nodes import mul
from .views import ops_reshape as _reshape

_MM = {(ta, tb): ops.MatMul(ta, tb) for ta in (False, True) for tb in (False, True)}
_BMM = ops.BatchMatMul()
_bias_add = ops.BiasAdd()
_add = ops.Add()


def _zeros(a: Raw, b: Raw, shape: tuple[int, ...]) -> Raw:
    """Return zeros for an empty inner dimension, for which MatMul returns uninitialized memory."""
    nothing = from_numpy(np.zeros(shape, NP_DTYPE[NAME_OF[a.dtype]]))
    # Sums over no elements connect the result to both operands in MindSpore's autograd.
    if not (a._requires_grad or b._requires_grad):
        return nothing
    zero = from_numpy(np.zeros((), NP_DTYPE[NAME_OF[a.dtype]]))
    return _add(nothing, _add(mul(a.sum(), zero), mul(b.sum(), zero)))


def ops_mm(a: Raw, b: Raw) -> Raw:
    """Multiply (n, m) × (m, p)."""
    if a.size == 0 or b.size == 0:
        return _zeros(a, b, (a.shape[0], b.shape[1]))
    return _MM[False, False](a, b)


def ops_bmm(a: Raw, b: Raw) -> Raw:
    """Multiply (…, n, m) × (…, m, p) with equal leading dimensions."""
    if a.size == 0 or b.size == 0:
        return _zeros(a, b, (*a.shape[:-1], b.shape[-1]))
    return _BMM(a, b)


def ops_linear(x: Raw, weight: Raw) -> Raw:
    """Multiply (…, m) by the transpose of (p, m)."""
    if x.size == 0 or weight.size == 0:
        return _zeros(x, weight, (*x.shape[:-1], weight.shape[0]))
    if len(x.shape) == 2:
        return _MM[False, True](x, weight)
    flat = _MM[False, True](_reshape(x, (-1, x.shape[-1])), weight)
    return _reshape(flat, (*x.shape[:-1], weight.shape[0]))


def ops_linear_bias(bias: Raw, x: Raw, weight: Raw) -> Raw:
    """Multiply (…, m) by the transpose of (p, m), and add (p,)."""
    if x.size == 0 or weight.size == 0:
        return _add(_zeros(x, weight, (*x.shape[:-1], weight.shape[0])), bias)
    if len(x.shape) == 2:
        return _bias_add(_MM[False, True](x, weight), bias)
    flat = _bias_add(_MM[False, True](_reshape(x, (-1, x.shape[-1])), weight), bias)
    return _reshape(flat, (*x.shape[:-1], weight.shape[0]))


_DTYPES = FLOATS + INTS + COMPLEX
define("mm", cpu=ops_mm, dtypes=_DTYPES, via={**VIA_HALF, **VIA_BOOL})
define("bmm", cpu=ops_bmm, dtypes=_DTYPES, via={**VIA_HALF, **VIA_BOOL})
define("linear", cpu=ops_linear, dtypes=_DTYPES, via=VIA_HALF)
define("linear_bias", cpu=ops_linear_bias, dtypes=FLOATS, via=VIA_HALF)

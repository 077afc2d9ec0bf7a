"""Softmax and its logarithm. oneDNN's LogSoftmax leaks 0.7 KB a call; a composition takes five times as long."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from mindspore import ops

from .. import tape
from ..raw import NAME_OF, ON_CPU, Raw
from ..table import FLOATS, VIA_HALF, define
from ._nodes import constant, node
from .storage import ops_reshape as _reshape

_add = ops.Add()
_sub = ops.Sub()
_mul = ops.Mul()
_exp = ops.Exp()
_log = ops.Log()
_sum = ops.ReduceSum(True)
_max = ops.ReduceMax(True)


@lru_cache(64)
def _primitives(dim: int) -> tuple[Any, Any]:
    return ops.Softmax(dim), ops.LogSoftmax(dim)


def rows_are_finite(x: Raw, dim: int = -1) -> bool:
    """Whether every row has a finite maximum: -inf may stand in a row, but not alone, and NaN and inf not at all."""
    if tape.tracing() is not None or not ON_CPU:
        return True
    return bool(np.isfinite(x.asnumpy().max(dim)).all())


def _softmax(x: Raw, dim: int) -> Raw:
    if dim == len(x.shape) - 1 and NAME_OF[x.dtype] == "float32" and not rows_are_finite(x):
        # oneDNN's float32 kernel for the last dimension lets a row without a finite maximum spoil the rows after it (2.10).
        shape = tuple(x.shape)
        return _reshape(_primitives(dim)[0](_reshape(x, (*shape, 1))), shape)
    return _primitives(dim)[0](x)


def _softmax_backward(g: Raw, y: Raw, x: Raw, dim: int) -> Raw:
    return _mul(y, _sub(g, _sum(_mul(g, y), dim)))


def _log_softmax(x: Raw, dim: int) -> Raw:
    if not rows_are_finite(x, dim):
        # LogSoftmax gives -inf instead of NaN beside a NaN.
        shifted = _sub(x, _max(x, dim))
        return _sub(shifted, _log(_sum(_exp(shifted), dim)))
    return _primitives(dim)[1](x)


def _log_softmax_backward(g: Raw, y: Raw, x: Raw, dim: int) -> Raw:
    return _sub(g, _mul(_exp(y), _sum(g, dim)))


_softmax_node = node("SoftmaxBackward0", _softmax, _softmax_backward, _softmax)
_log_softmax_node = node("LogSoftmaxBackward0", _log_softmax, _log_softmax_backward, _log_softmax)


def _guarded(kernel: Any, single: float) -> Any:
    def call(x: Raw, dim: int) -> Raw:
        if not x.shape:
            return _add(_mul(x, constant(0, x)), constant(single, x))
        return kernel(x, dim) if x.size else _add(x, constant(0, x))

    return call


softmax = _guarded(_softmax_node, 1)
log_softmax = _guarded(_log_softmax_node, 0)
define("softmax", cpu=softmax, dtypes=FLOATS, via=VIA_HALF)
define("log_softmax", cpu=log_softmax, dtypes=FLOATS, via=VIA_HALF)

"""Softmax and its logarithm. oneDNN's LogSoftmax leaks 0.7 KB a call; a composition takes five times as long."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

from mindspore import ops

from ..raw import Raw
from ..table import FLOATS, VIA_HALF, define
from ._nodes import constant, node

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


def _softmax(x: Raw, dim: int) -> Raw:
    return _primitives(dim)[0](x)


def _softmax_backward(g: Raw, y: Raw, x: Raw, dim: int) -> Raw:
    return _mul(y, _sub(g, _sum(_mul(g, y), dim)))


def _log_softmax(x: Raw, dim: int) -> Raw:
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


define("softmax", cpu=_guarded(_softmax_node, 1), dtypes=FLOATS, via=VIA_HALF)
define("log_softmax", cpu=_guarded(_log_softmax_node, 0), dtypes=FLOATS, via=VIA_HALF)

"""Softmax and log-softmax."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from mindspore import ops

from ...quiet import quiet
from ..arrays import Array
from ..raw import Raw, from_numpy
from ..table import FLOATS, VIA_HALF, define
from ._nodes import constant, node
from .namespace import exp
from .views import ops_total

REASON = (
    "MindSpore's float32 Softmax and LogSoftmax are off by 5e-6 (1e-3 where the logarithm is near 0), spoil the rows beside a "
    "NaN, and LogSoftmax leaks 0.7 KB a call; NumPy takes half the time (2.10)"
)

_add = ops.Add()
_sub = ops.Sub()
_mul = ops.Mul()


@lru_cache(64)
def _primitives(dim: int) -> tuple[Any, Any]:
    return ops.Softmax(dim), ops.LogSoftmax(dim)


def shifted(x: Raw, dim: int) -> Array:
    """Return the elements minus the maximum along ``dim``, as a new array."""
    values = x.asnumpy()
    return np.subtract(values, values.max(dim, keepdims=True), order="C")


def _softmax(x: Raw, dim: int) -> Raw:
    with quiet():
        powers = shifted(x, dim)
        np.exp(powers, out=powers)
        powers /= powers.sum(dim, keepdims=True)
    return from_numpy(powers)


def _softmax_backward(g: Raw, y: Raw, x: Raw, dim: int) -> Raw:
    return _mul(y, _sub(g, ops_total(_mul(g, y), (dim,))))


def _log_softmax(x: Raw, dim: int) -> Raw:
    with quiet():
        values = shifted(x, dim)
        values -= np.log(np.exp(values).sum(dim, keepdims=True))
    return from_numpy(values)


def _log_softmax_backward(g: Raw, y: Raw, x: Raw, dim: int) -> Raw:
    return _sub(g, _mul(exp(y), ops_total(g, (dim,))))


def _ops_softmax(x: Raw, dim: int) -> Raw:
    return _primitives(dim)[0](x)


def _ops_log_softmax(x: Raw, dim: int) -> Raw:
    return _primitives(dim)[1](x)


def _guarded(kernel: Callable[..., Any], single: float) -> Callable[..., Any]:
    def call(x: Raw, dim: int) -> Raw:
        if not x.shape:
            return _add(_mul(x, constant(0, x)), constant(single, x))
        return kernel(x, dim) if x.size else _add(x, constant(0, x))

    return call


softmax = _guarded(node("SoftmaxBackward0", _softmax, _softmax_backward, _ops_softmax), 1)
log_softmax = _guarded(node("LogSoftmaxBackward0", _log_softmax, _log_softmax_backward, _ops_log_softmax), 0)
define(
    "softmax", cpu=softmax, dtypes=FLOATS, via=VIA_HALF,
    numpy_reason=REASON,
)  # fmt: skip
define(
    "log_softmax", cpu=log_softmax, dtypes=FLOATS, via=VIA_HALF,
    numpy_reason=REASON,
)  # fmt: skip

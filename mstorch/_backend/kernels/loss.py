"""Losses that have kernels of their own."""
from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import ops

from .. import tape
from ..raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from ..table import FLOATS, VIA_HALF, define
from ._nodes import constant, node, recorded
from .math import log, log1p
from .softmax import log_softmax, rows_are_finite
from .storage import ops_reshape as _reshape

_add = ops.Add()
_sub = ops.Sub()
_mul = ops.Mul()
_div = ops.RealDiv()
_neg = ops.Neg()
_maximum = ops.Maximum()
_gather_elements = ops.GatherD()
_mean = ops.ReduceMean(False)
_softmax = ops.Softmax(1)
_entropy = ops.SparseSoftmaxCrossEntropyWithLogits()
_entropy_gradient = ops.SparseSoftmaxCrossEntropyWithLogits(is_grad=True)


def _one_hot(target: np.ndarray, classes: int, kind: np.dtype) -> Raw:
    hot = np.zeros((target.size, classes), kind)
    hot[np.arange(target.size), target] = 1
    return from_numpy(hot)


def _entropy_forward(ctx: Any, x: Raw, target: Raw) -> Raw:
    ctx.save_for_backward(x, target)
    return _entropy(x, target)


def _entropy_backward(ctx: Any, g: Raw) -> tuple[Raw, None]:
    x, target = ctx.saved_tensors
    if not tape.grad_mode.enabled:
        return _mul(_entropy_gradient(x, target), g), None
    n, classes = x.shape
    hot = _one_hot(target.asnumpy(), classes, NP_DTYPE[NAME_OF[x.dtype]])
    return _mul(_sub(_softmax(x), hot), _div(g, constant(n, x))), None


_entropy_node = tape.function_node("NllLossBackward0", _entropy_forward, _entropy_backward)


def ops_cross_entropy(x: Raw, target: Raw) -> Raw:
    """The mean cross entropy of logits (N, C) and classes (N), int32 and in range.

    Built from this kernel and its gradient: ``ops.cross_entropy`` leaks 14 KB a call (2.8 to 2.10).
    """
    if not rows_are_finite(x):
        picked = _gather_elements(log_softmax(x, 1), 1, _reshape(target, (-1, 1)))
        return _neg(_mean(picked))
    return _entropy_node(x, target) if recorded(x) else _entropy(x, target)


def composed_nll(x: Raw, target: Raw, weights: Raw) -> Raw:
    """``-weights * x`` of each target class: (N, C, L), int64 classes (N, L) in range, weights (N, L)."""
    n, _, length = x.shape
    picked = _reshape(_gather_elements(x, 1, _reshape(target, (n, 1, length))), (n, length))
    return _neg(_mul(picked, weights))


define("cross_entropy", cpu=ops_cross_entropy, dtypes=("float32",))
define("nll", cpu=composed_nll, dtypes=FLOATS, via=VIA_HALF)


def _bce(x: Raw, target: Raw) -> Raw:
    floor = constant(-100, x)
    one = constant(1, x)
    log_x = _maximum(floor, log(x))
    log_rest = _maximum(floor, log1p(_neg(x)))
    return _sub(_mul(_sub(target, one), log_rest), _mul(target, log_x))


def _bce_backward(g: Raw, y: Raw, x: Raw, target: Raw) -> tuple[Raw, Raw]:
    spread = _maximum(constant(1e-12, x), _mul(x, _sub(constant(1, x), x)))
    return _mul(g, _div(_sub(x, target), spread)), _mul(g, _sub(log1p(_neg(x)), log(x)))


define("binary_cross_entropy", cpu=node("BinaryCrossEntropyBackward0", _bce, _bce_backward, _bce), dtypes=FLOATS, via=VIA_HALF)

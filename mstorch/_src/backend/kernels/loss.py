"""Losses with kernels of their own."""
from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import ops

from ...quiet import quiet
from .. import tape
from ..arrays import Array
from ..formulas import loss as formulas
from ..raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from ..table import FLOATS, VIA_HALF, define
from . import namespace as xp
from ._nodes import constant, node, recorded
from .index import gather_along
from .softmax import REASON, shifted, softmax
from .views import ops_reshape as _reshape

_sub = ops.Sub()
_mul = ops.Mul()
_div = ops.RealDiv()
_neg = ops.Neg()


def _one_hot(target: Array, classes: int, kind: np.dtype[Any]) -> Raw:
    hot = np.zeros((target.size, classes), kind)
    hot[np.arange(target.size), target] = 1
    return from_numpy(hot)


def _log_probabilities(x: Raw, target: Raw) -> tuple[Array, Array, Array]:
    """Return an index of the target logits, as two vectors (rows, classes), and the log-softmax of the logits."""
    with quiet():
        logs = shifted(x, 1)
        logs -= np.log(np.exp(logs).sum(1, keepdims=True))
    return np.arange(len(logs)), target.asnumpy(), logs


def _mean_loss(rows: Array, classes: Array, logs: Array) -> Raw:
    return from_numpy(np.asarray(-logs[rows, classes].mean(), logs.dtype))


def _entropy_forward(ctx: Any, x: Raw, target: Raw) -> Raw:
    ctx.save_for_backward(x, target)
    ctx.places = _log_probabilities(x, target)
    return _mean_loss(*ctx.places)


def _entropy_backward(ctx: Any, g: Raw) -> tuple[Raw, None]:
    x, target = ctx.saved_tensors
    n, count = x.shape
    if not tape.grad_mode.enabled:
        rows, classes, logs = ctx.places
        with quiet():
            part = np.exp(logs)
            part[rows, classes] -= 1
            part *= g.asnumpy() / logs.dtype.type(n)
        return from_numpy(part), None
    hot = _one_hot(target.asnumpy(), count, NP_DTYPE[NAME_OF[x.dtype]])
    return _mul(_sub(softmax(x, 1), hot), _div(g, constant(n, x))), None


_entropy_node = tape.function_node("NllLossBackward0", _entropy_forward, _entropy_backward)


def numpy_cross_entropy(x: Raw, target: Raw) -> Raw:
    """Return the mean cross entropy of logits (N, C) and classes (N), int32 and in range."""
    return _entropy_node(x, target) if recorded(x) else _mean_loss(*_log_probabilities(x, target))


def composed_nll(x: Raw, target: Raw, weights: Raw) -> Raw:
    """Return ``-weights * x`` at the target classes: (N, C, L), int64 classes (N, L) in range, weights (N, L)."""
    n, _, length = x.shape
    picked = _reshape(gather_along(x, 1, _reshape(target, (n, 1, length))), (n, length))
    return _neg(_mul(picked, weights))


define(
    "cross_entropy", cpu=numpy_cross_entropy, dtypes=("float32",),
    numpy_reason=REASON,
)  # fmt: skip
define("nll", cpu=composed_nll, dtypes=FLOATS, via=VIA_HALF)


def _bce(x: Raw, target: Raw) -> Raw:
    return formulas.binary_cross_entropy(xp, x, target)


def _bce_backward(g: Raw, y: Raw, x: Raw, target: Raw) -> tuple[Raw, Raw]:
    return formulas.binary_cross_entropy_gradient(xp, g, x, target), formulas.binary_cross_entropy_target_gradient(xp, g, x)


define("binary_cross_entropy", cpu=node("BinaryCrossEntropyBackward0", _bce, _bce_backward, _bce), dtypes=FLOATS, via=VIA_HALF)

"""Gradients that are one kernel on a device, emulated on the host. The host's own rules have faster forms."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...quiet import quiet
from ..arrays import Array
from ..formulas import activation as formulas
from ..formulas.elementwise import SLOPES
from ..table import HOST, define_host
from . import namespace as xp
from ._slices import inner, padded, slices
from ._ufunc import FLOATS, HALF
from .batch_norm import numpy_batch_norm_grad, numpy_batch_norm_train, numpy_running_average
from .namespace import by_formula
from .norm import standardised
from .pool import largest_places, numpy_max_pool
from .softmax import log_softmax_of

Sizes = tuple[int, ...]


def numpy_gelu_grad(g: Array, x: Array, how: str) -> Array:
    """Return the gradient of GELU, exact ("none") or by tanh."""
    with quiet():
        return formulas.gelu_gradient(xp, g, x) if how == "none" else formulas.gelu_tanh_gradient(xp, g, x)


def numpy_prelu_grad(g: Array, x: Array, weight: Array) -> tuple[Array, Array]:
    """Return the gradients of PReLU for (N, C, *) and for a weight of 1 or C elements."""
    wide = weight.reshape(1, -1, *(1,) * (x.ndim - 2))
    axes = None if len(weight) == 1 else (0, *range(2, x.ndim))
    with quiet():
        by_weight = formulas.prelu_weight_gradient(xp, g, x).sum(axes)
        return formulas.prelu_gradient(xp, g, x, wide), np.asarray(by_weight, g.dtype).reshape(-1)


def numpy_glu(x: Array, dim: int) -> Array:
    """Return the first half along a dimension times the sigmoid of the second."""
    first, second = np.split(x, 2, dim)
    with quiet():
        return np.asarray(first * xp.sigmoid(second), x.dtype)


def numpy_glu_grad(g: Array, x: Array, dim: int) -> Array:
    """Return the gradient of GLU."""
    with quiet():
        return np.concatenate(formulas.glu_gradients(xp, g, *np.split(x, 2, dim)), dim)


def numpy_layer_norm_parts(x: Array, weight: Array, bias: Array, begin: int, eps: float) -> tuple[Array, ...]:
    """Return layer norm over the dimensions from ``begin`` on, the means, and the inverse standard deviations."""
    normal, mean, _, inverse = standardised(x, tuple(range(begin, x.ndim)), eps)
    with quiet():
        return np.asarray(normal * weight + bias, x.dtype), np.asarray(mean, x.dtype), np.asarray(inverse, x.dtype)


def numpy_layer_norm_grad(
    g: Array, x: Array, weight: Array, bias: Array, mean: Array, inverse: Array, begin: int
) -> tuple[Array, ...]:  # fmt: skip
    """Return the gradients for input, weight and bias."""
    axes, rows = tuple(range(begin, x.ndim)), tuple(range(begin))
    with quiet():
        normal, scaled = (x - mean) * inverse, g * weight
        by_x = inverse * (scaled - scaled.mean(axes, keepdims=True) - normal * (scaled * normal).mean(axes, keepdims=True))
        return tuple(np.asarray(item, x.dtype) for item in (by_x, (g * normal).sum(rows), g.sum(rows)))


def numpy_batch_norm_parts(
    x: Array, weight: Array, bias: Array, running_mean: Array | None, running_var: Array | None, momentum: float, eps: float,
) -> tuple[Array, ...]:  # fmt: skip
    """Return batch norm by batch statistics, the means, and the inverse standard deviations; running statistics are updated in place."""
    y, mean, var = numpy_batch_norm_train(x, weight, bias, eps)
    count = x.size // x.shape[1]
    with quiet():
        for running, batch, scale in ((running_mean, mean, 1.0), (running_var, var, count / (count - 1) if count > 1 else np.nan)):
            if running is not None:
                running[...] = numpy_running_average(running, batch, momentum, scale)
        return y, mean, np.asarray(1 / np.sqrt(var + x.dtype.type(eps)), x.dtype)


def numpy_batch_norm_parts_grad(
    g: Array, x: Array, weight: Array, mean: Array, inverse: Array, eps: float
) -> tuple[Array, ...]:  # fmt: skip
    """Return the gradients for input, weight and bias."""
    with quiet():
        return numpy_batch_norm_grad(g, x, weight, mean, np.asarray(1 / (inverse * inverse) - x.dtype.type(eps), x.dtype), eps)


def numpy_max_pool_grad(g: Array, x: Array, *geometry: Sizes) -> Array:
    """Return the gradient of max pooling, at the maximum of each window."""
    kernel, stride, padding, dilation, out = geometry
    places = largest_places(x, numpy_max_pool(x, *geometry), *geometry)
    empty = np.zeros(x.shape, g.dtype)
    whole = padded(empty, kernel, stride, padding, dilation, out, 0)
    for hit, key in zip(places, slices(kernel, stride, dilation, out)):
        whole[key] += np.where(hit, g, g.dtype.type(0))
    return whole if whole is empty else np.array(whole[inner(x.shape[2:], padding)], order="C")


def numpy_conv_grad(
    g: Array, x: Array, w: Array, stride: Sizes, padding: Sizes, dilation: Sizes, transposed: bool, output_padding: Sizes, groups: int,
    wanted: Sizes,
) -> tuple[Array, ...]:  # fmt: skip
    """Return the gradients of a convolution for input, weight and bias; those that are not ``wanted`` are empty arrays."""
    geometry = stride, padding, dilation, groups
    first, second = (x, g) if transposed else (g, x)
    by_x = by_w = g[:0]
    if wanted[0] and transposed:
        by_x = HOST["conv2d"].function(g, w, None, *geometry)[(..., *(slice(0, n) for n in x.shape[2:]))]
    elif wanted[0]:
        by_x = HOST["conv2d_input"].function(g, w, x.shape, *geometry)
    if wanted[1]:
        by_w = HOST["conv2d_weight"].function(first, second, w.shape, *geometry)
    return by_x, by_w, g.sum((0, *range(2, g.ndim)), dtype=g.dtype) if wanted[2] else g[:0]


def numpy_nll_parts(
    logs: Array, target: Array, weight: Array | None, ignored: int, reduction: str
) -> tuple[Array, Array]:  # fmt: skip
    """Return the negative log-likelihood of the classes ``target`` in rows of log-probabilities, reduced, and the sum of the targets'
    weights."""
    shares = _shares(logs, target, weight, ignored)
    losses = -logs[np.arange(len(target)), np.where(target == ignored, 0, target)] * shares
    with quiet():
        losses = np.where(shares == 0, logs.dtype.type(0), losses) if weight is None else losses
        total = shares.sum()
        found = losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.sum() / total
    return np.asarray(found, logs.dtype), np.asarray(total, logs.dtype)


def _shares(logs: Array, target: Array, weight: Array | None, ignored: int) -> Array:
    counted = target != ignored
    known = np.where(counted, target, 0)
    return np.where(counted, np.ones((), logs.dtype) if weight is None else weight[known], logs.dtype.type(0))


def numpy_nll_grad(
    g: Array, logs: Array, target: Array, weight: Array | None, total: Array, ignored: int, reduction: str
) -> Array:  # fmt: skip
    """Return the gradient for the log-probabilities."""
    shares = _shares(logs, target, weight, ignored)
    with quiet():
        each = -g * shares if reduction != "mean" else -g * shares / total
    found = np.zeros(logs.shape, g.dtype)
    rows = np.flatnonzero(target != ignored)
    found[rows, target[rows]] = each[rows]
    return found


def numpy_cross_entropy_parts(
    x: Array, target: Array, weight: Array | None, ignored: int, reduction: str
) -> tuple[Array, Array]:  # fmt: skip
    """Return the cross entropy of rows of logits and classes, and the log-probabilities."""
    logs = log_softmax_of(x, 1)
    return numpy_nll_parts(logs, target, weight, ignored, reduction)[0], logs


def numpy_cross_entropy_grad(
    g: Array, logs: Array, target: Array, weight: Array | None, ignored: int, reduction: str
) -> Array:  # fmt: skip
    """Return the gradient for the logits."""
    total = np.asarray(_shares(logs, target, weight, ignored).sum(), logs.dtype)
    by_logs = numpy_nll_grad(g, logs, target, weight, total, ignored, reduction)
    with quiet():
        return by_logs - np.exp(logs) * by_logs.sum(1, keepdims=True)


_ROWS: dict[str, Any] = {
    "gelu_grad": numpy_gelu_grad, "prelu_grad": numpy_prelu_grad, "glu": numpy_glu, "glu_grad": numpy_glu_grad,
    "sigmoid_grad": by_formula(SLOPES["sigmoid"].gradient), "tanh_grad": by_formula(SLOPES["tanh"].gradient),
    "softshrink_grad": by_formula(formulas.shrink_gradient), "hardshrink_grad": by_formula(formulas.shrink_gradient),
    "relu_grad": by_formula(formulas.relu_gradient), "silu_grad": by_formula(formulas.silu_gradient),
    "leaky_relu_grad": by_formula(formulas.leaky_relu_gradient), "elu_grad": by_formula(formulas.elu_gradient),
    "softplus_grad": by_formula(formulas.softplus_gradient), "logsigmoid_grad": by_formula(formulas.logsigmoid_gradient),
    "mish_grad": by_formula(formulas.mish_gradient), "hardsigmoid_grad": by_formula(formulas.hardsigmoid_gradient),
    "threshold_grad": by_formula(formulas.threshold_gradient),
    "layer_norm_parts": numpy_layer_norm_parts, "layer_norm_grad": numpy_layer_norm_grad,
    "batch_norm_parts": numpy_batch_norm_parts, "batch_norm_parts_grad": numpy_batch_norm_parts_grad,
    "max_pool_grad": numpy_max_pool_grad, "conv_grad": numpy_conv_grad, "nll_parts": numpy_nll_parts, "nll_grad": numpy_nll_grad,
    "cross_entropy_parts": numpy_cross_entropy_parts, "cross_entropy_grad": numpy_cross_entropy_grad,
}  # fmt: skip
for _op, _row in _ROWS.items():
    define_host(_op, _row, FLOATS, HALF)

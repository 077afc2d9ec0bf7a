"""Normalization kernels."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

from mindspore import ops
from mindspore.ops.operations._grad_ops import BatchNormGrad, LayerNormGrad

from .. import tape
from ..cast import cast
from ..device_memory import full
from ..raw import NAME_OF, ON_CPU, Raw, from_numpy
from ..table import FLOATS, VIA_HALF, define
from ._empty import filled
from ._nodes import constant, recorded
from .views import ops_reshape as _reshape

_add = ops.Add()
_sub = ops.Sub()
_mul = ops.Mul()
_rsqrt = ops.Rsqrt()
_mean = ops.ReduceMean(True)
_neg = ops.Neg()
_sum = ops.ReduceSum(False)


@lru_cache(256)
def _primitives(eps: float) -> tuple[Any, Any]:
    return ops.BatchNorm(is_training=True, epsilon=eps, momentum=1.0), BatchNormGrad(True, eps)


def _normalized(x: Raw, axes: tuple[int, ...], eps: float) -> tuple[Raw, Raw, Raw, Raw]:
    mean = _mean(x, axes)
    centred = _sub(x, mean)
    var = _mean(_mul(centred, centred), axes)
    inverse = _rsqrt(_add(var, constant(eps, x)))
    return _mul(centred, inverse), mean, var, inverse


def composed_batch_norm(x: Raw, weight: Raw, bias: Raw, eps: float) -> tuple[Raw, Raw, Raw]:
    """Normalize in any dtype; also return the mean and the biased variance of each channel."""
    axes = (0, *range(2, len(x.shape)))
    shape = (1, -1, *([1] * (len(x.shape) - 2)))
    y, mean, var, _ = _normalized(x, axes, eps)
    y = _add(_mul(y, _reshape(weight, shape)), _reshape(bias, shape))
    return y, _reshape(tape.detached(mean), (-1,)), _reshape(tape.detached(var), (-1,))


def _train(x: Raw, weight: Raw, bias: Raw, eps: float) -> tuple[Raw, ...]:
    # The kernel writes running statistics into its fourth and fifth argument: scratch tensors, because torch's are updated elsewhere.
    channels = tuple(weight.shape)
    out = _primitives(eps)[0](x, weight, bias, full(channels, 0, "float32"), full(channels, 0, "float32"))
    return out[0], out[3], out[4]


def _train_forward(ctx: tape.Function, x: Raw, weight: Raw, bias: Raw, eps: float) -> tuple[Raw, ...]:
    y, mean, var = _train(x, weight, bias, eps)
    ctx.save_for_backward(x, weight, mean, var)
    ctx.eps = eps
    ctx.mark_non_differentiable(mean, var)
    return y, mean, var


def _train_backward(ctx: tape.Function, g: Raw, *_: Raw) -> tuple[Raw | None, ...]:
    x, weight, mean, var = ctx.saved_tensors
    if tape.grad_mode.enabled:
        return (*_differentiable_gradients(g, x, weight, ctx.eps), None)
    gradients = _primitives(ctx.eps)[1](g, x, weight, mean, var, var)
    return gradients[0], gradients[1], gradients[2], None


def _differentiable_gradients(g: Raw, x: Raw, weight: Raw, eps: float) -> tuple[Raw, Raw, Raw]:
    """Return the gradients composed of differentiable operations, for double backward."""
    axes = (0, *range(2, len(x.shape)))
    shape = (1, -1, *([1] * (len(x.shape) - 2)))
    normal, _, _, inverse = _normalized(x, axes, eps)
    mean_g = _mean(g, axes)
    mean_gn = _mean(_mul(g, normal), axes)
    count = constant(x.size // x.shape[1], x)
    scale = _mul(_reshape(weight, shape), inverse)
    gx = _mul(scale, _sub(_sub(g, mean_g), _mul(normal, mean_gn)))
    return gx, _reshape(_mul(mean_gn, count), (-1,)), _reshape(_mul(mean_g, count), (-1,))


_train_node = tape.function_node("NativeBatchNormBackward0", _train_forward, _train_backward)


def ops_batch_norm_train(x: Raw, weight: Raw, bias: Raw, eps: float) -> tuple[Raw, Raw, Raw]:
    """Normalize (N, C, *) by its own statistics; also return the mean and the biased variance (C) of each channel."""
    if x.size == 0:
        nothing = full(tuple(weight.shape), 0, NAME_OF[x.dtype])
        return filled(tuple(x.shape), 0, NAME_OF[x.dtype], x, weight, bias), nothing, nothing
    if NAME_OF[x.dtype] != "float32" or tape.tracing() is not None or not 0 < eps <= 1:
        return composed_batch_norm(x, weight, bias, eps)
    shape = tuple(x.shape)
    if len(shape) not in (2, 4):
        x = _reshape(x, (*shape[:2], 1, -1))
    y, mean, var = (_train_node if recorded(x, weight, bias) else _train)(x, weight, bias, eps)
    return (y if len(shape) in (2, 4) else _reshape(y, shape)), mean, var


def composed_batch_norm_eval(x: Raw, weight: Raw, bias: Raw, mean: Raw, var: Raw, eps: float) -> Raw:
    """Normalize (N, C, *) by given statistics, with one multiplication and one addition per element."""
    shape = (1, -1, *([1] * (len(x.shape) - 2)))
    scale = _mul(weight, _rsqrt(_add(var, constant(eps, x))))
    shift = _sub(bias, _mul(mean, scale))
    return _add(_mul(x, _reshape(scale, shape)), _reshape(shift, shape))


def running_average(running: Raw, batch: Raw, factor: float, scale: float) -> Raw:
    """Return ``(1 - factor) * running + factor * scale * batch``, computed by NumPy on the CPU unless traced."""
    if not ON_CPU or tape.tracing() is not None:
        return _add(_mul(running, 1 - factor), _mul(batch, factor * scale))
    old, new = running.asnumpy(), batch.asnumpy()
    kind = old.dtype.type
    return from_numpy(old * kind(1 - factor) + new * kind(scale) * kind(factor))


@lru_cache(256)
def _layer_primitive(begin: int, eps: float) -> tuple[Any, Any]:
    return ops.LayerNorm(begin, begin, eps), LayerNormGrad(begin, begin)


# LayerNormGrad has no epsilon argument: it is part of the given variance. On the CPU the kernel adds this much itself (2.7.2 to 2.10).
_GRAD_EPSILON = 1e-7 if ON_CPU else 0.0


def composed_layer_norm(x: Raw, weight: Raw, bias: Raw, begin: int, eps: float) -> Raw:
    """Normalize over the dimensions from ``begin`` on, by differentiable operations."""
    return _add(_mul(_normalized(x, tuple(range(begin, len(x.shape))), eps)[0], weight), bias)


def _layer_forward(ctx: Any, x: Raw, weight: Raw, bias: Raw, begin: int, eps: float) -> Raw:
    y, mean, var = _layer_primitive(begin, eps)[0](x, weight, bias)
    ctx.save_for_backward(x, weight, mean, var)
    ctx.numbers = (begin, eps)
    return y


def _single_gradients(g: Raw, x: Raw, weight: Raw, begin: int, eps: float) -> tuple[Raw | None, ...]:
    """Return the gradients if each element is normalized alone.

    The gradients of x and the weight are zero up to rounding. torch's rounding error of the normalized value ``inverse * x`` is reproduced,
    because a small epsilon makes it large.
    """
    scaled = _mul(g, weight)
    inverse = _rsqrt(constant(eps, x))
    slope = _mul(_sub(_mul(scaled, x), _mul(_mul(g, x), weight)), _mul(_mul(inverse, inverse), inverse))
    shift = _sub(_neg(_mul(slope, x)), _mul(scaled, inverse))
    gx = _add(_add(_mul(_mul(inverse, g), weight), _mul(slope, x)), shift)
    product = _mul(cast(x, "float64"), cast(inverse, "float64"))
    lost = cast(_sub(product, cast(_mul(x, inverse), "float64")), "float32")
    lead, gw = tuple(range(begin)), _mul(g, lost)
    return (gx, _sum(gw, lead), _sum(g, lead), None, None) if lead else (gx, gw, g, None, None)


def _layer_backward(ctx: Any, g: Raw) -> tuple[Raw | None, ...]:
    x, weight, mean, var = ctx.saved_tensors
    begin, eps = ctx.numbers
    if not tape.grad_mode.enabled:
        if all(length == 1 for length in x.shape[begin:]):
            return _single_gradients(g, x, weight, begin, eps)
        gx, gw, gb = _layer_primitive(begin, eps)[1](x, g, _add(var, constant(eps - _GRAD_EPSILON, var)), mean, weight)
        return gx, gw, gb, None, None
    axes, lead = tuple(range(begin, len(x.shape))), tuple(range(begin))
    normal, _, _, inverse = _normalized(x, axes, eps)
    scaled = _mul(g, weight)
    inner = _sub(_sub(scaled, _mean(scaled, axes)), _mul(normal, _mean(_mul(scaled, normal), axes)))
    gw, gb = _mul(g, normal), g
    if lead:
        gw, gb = _sum(gw, lead), _sum(gb, lead)
    return _mul(inner, inverse), gw, gb, None, None


_layer_node = tape.function_node("NativeLayerNormBackward0", _layer_forward, _layer_backward)


def ops_layer_norm(x: Raw, weight: Raw, bias: Raw, begin: int, eps: float) -> Raw:
    """Return layer norm over the dimensions from ``begin`` on, times weight plus bias."""
    if x.size == 0:
        return filled(tuple(x.shape), 0, NAME_OF[x.dtype], x, weight, bias)
    if NAME_OF[x.dtype] != "float32" or tape.tracing() is not None or not 1e-6 <= eps < 1:
        return composed_layer_norm(x, weight, bias, begin, eps)
    if recorded(x, weight, bias):
        return _layer_node(x, weight, bias, begin, eps)
    return _layer_primitive(begin, eps)[0](x, weight, bias)[0]


define("layer_norm", cpu=ops_layer_norm, dtypes=FLOATS, via=VIA_HALF)
define("running_average", cpu=running_average, dtypes=FLOATS, via=VIA_HALF)
define("batch_norm_train", cpu=ops_batch_norm_train, dtypes=FLOATS, via=VIA_HALF)
define("batch_norm_eval", cpu=composed_batch_norm_eval, dtypes=FLOATS, via=VIA_HALF)


def ops_batch_norm_grad(g: Raw, x: Raw, weight: Raw, mean: Raw, var: Raw, eps: float) -> tuple[Raw, Raw, Raw]:
    """Return the gradients of ``batch_norm_train`` for input, weight and bias, from the statistics that it returned."""
    shape = tuple(x.shape)
    if len(shape) not in (2, 4):
        g, x = (_reshape(raw, (*shape[:2], 1, -1)) for raw in (g, x))
    found = _primitives(eps)[1](g, x, weight, mean, var, var)
    return (found[0] if len(shape) in (2, 4) else _reshape(found[0], shape)), found[1], found[2]


define("batch_norm_grad", cpu=ops_batch_norm_grad, dtypes=("float32",))

"""Gradients of normalization layers."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.halves import narrowed, widened
from ...backend.host.norm import layer_norm_slope
from ...backend.raw import Raw
from ...backend.table import kernel
from ...core.tensor_base import TensorBase
from ...quiet import quiet
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand


def standardised(x: Operand, axes: tuple[int, ...], count: int, eps: float) -> tuple[Any, Any]:
    """Return ``x`` normalized to mean 0 and variance 1 over some dimensions, and the inverse standard deviation. ``count`` is the number of
    elements of a group."""
    number = v.constant(count, x)
    centred = v.sub(x, v.div(v.total(x, axes), number))
    inverse = v.rsqrt(v.plus(v.div(v.total(v.mul(centred, centred), axes), number), eps))
    return v.mul(centred, inverse), inverse


def _single(node: Applied, g: Array, x: Array, weight: Array, eps: float) -> tuple[Array, Array, Array]:
    """Return the gradients of the input, the weight and the bias if each normalized group has a single element.

    The exact gradients of input and weight are zero. torch's are its rounding errors, which a small epsilon makes large; the same errors
    are computed here."""
    with quiet():
        inverse = np.float32(1) / np.sqrt(np.float32(eps))
        scaled = g * weight
        slope = (scaled * x - (g * x) * weight) * (inverse * inverse * inverse)
        by_input = ((inverse * g) * weight + slope * x) + (-(slope * x) - scaled * inverse)
        lost = (x.astype(np.float64) * np.float64(inverse) - (x * inverse).astype(np.float64)).astype(np.float32)
    return np.asarray(by_input), v.fit(np.asarray(g * lost), node.shapes[1]), v.fit(g, node.shapes[2])


def _of_nothing(node: Applied, g: Operand) -> tuple[Any, ...]:
    """Return zero gradients for an empty input and its parameters; for second derivatives, the input's gradient is ``g * 0``."""
    zeros = tuple(v.like(v.zeros(own, node.kind), g) for own in node.shapes)
    return (v.times(g, 0), *zeros[1:]) if isinstance(g, TensorBase) else zeros


@rule("layer_norm", keep=(0, 1), watch=(2,), label="NativeLayerNormBackward0")
def layer_norm(node: Applied, g: Array) -> tuple[Operand | None, ...]:
    begin, shape = node.args[0], node.shapes[0]
    axes, count = tuple(range(begin, len(shape))), math.prod(shape[begin:])
    x, weight = node.kept(g, 0), node.kept(g, 1)
    return _of_nothing(node, g) if 0 in shape else _layer_norm_composed(node, g, x, weight, axes, count)


def _layer_norm_of_arrays(node: Applied, g: Array, x: Array, weight: Array, axes: tuple[int, ...], count: int) -> Any:
    begin, eps = node.args
    if count == 1 and node.kind.name == "float32":
        return _single(node, g, x, weight, eps)
    found = layer_norm_slope(g, x, weight, begin, eps)
    if found is None and g.dtype.itemsize == 2:
        wide = _layer_norm_steps(node, widened(g), widened(x), widened(weight), axes, count)
        return tuple(None if part is None else narrowed(part, g.dtype) for part in wide)
    return found


@v.by_gradient(array=_layer_norm_of_arrays)
def _layer_norm_composed(
    node: Applied, g: Operand, x: Operand, weight: Operand, axes: tuple[int, ...], count: int
) -> tuple[Operand | None, ...]:
    """Return the gradient of layer norm, by one host kernel if possible, else by single operations with half precision computed in float32.
    """
    return _layer_norm_steps(node, g, x, weight, axes, count)


def _layer_norm_steps(
    node: Applied, g: Operand, x: Operand, weight: Operand, axes: tuple[int, ...], count: int
) -> Any:
    normal, inverse = standardised(x, axes, count, node.args[1])
    by_input = None
    if node.edges[0] is not None:
        scaled = v.mul(g, weight)
        number = v.constant(count, g)
        inner = v.sub(scaled, v.div(v.total(scaled, axes), number))
        inner = v.sub(inner, v.mul(normal, v.div(v.total(v.mul(scaled, normal), axes), number)))
        by_input = v.mul(inner, inverse)
    return (
        by_input,
        None if node.edges[1] is None else v.fit(v.mul(g, normal), node.shapes[1]),
        None if node.edges[2] is None else v.fit(g, node.shapes[2]),
    )


_layer_norm_grad = v.Primitive("layer_norm_grad")


def _layer_norm_by_kernel(node: Applied, gradients: Any) -> Any:
    g = gradients[0]
    return None if 0 in node.shapes[0] else _layer_norm_grad(g, *(node.kept(g, place) for place in range(5)), node.args[0])


@rule("layer_norm_parts", keep=(0, 1, 2, "result1", "result2"), label="NativeLayerNormBackward0")
@v.by_gradient(raw=_layer_norm_by_kernel)
def layer_norm_parts(node: Any, gradients: Any) -> Any:
    """Return the gradient of layer norm on a device from the statistics that forward saved."""
    return layer_norm(node, gradients[0])


def _in_single(node: Applied, g: Any) -> tuple[Any, Any, Any, Callable[..., tuple[Any, ...]]]:
    """Return the gradient, the input and the weight of a norm in one dtype, which is float32 if a weight in it stands beside an input in
    half precision, and a function that casts the gradients of input, weight and bias to their own."""
    x, weight = node.kept(g, 0), node.kept(g, 1)
    kinds = [v.dtype_name(value) for value in (x, weight)]
    if kinds[0] == kinds[1]:
        return g, x, weight, lambda *gradients: gradients
    single = [v.converted(value, kinds[1]) for value in (g, x)]
    return *single, weight, lambda by_input, *others: (v.converted(by_input, kinds[0]), *others)


_group_norm_grad, _group_norm_grad_on_host = v.Primitive("group_norm_grad"), kernel("group_norm_grad").host


def _group_norm_by_kernel(node: Applied, gradients: Any) -> Any:
    g, (x, weight, mean, inverse) = gradients[0], (node.kept(gradients[0], place) for place in range(4))
    return _group_norm_grad(g, x, weight, mean, inverse, node.args[0])


def _group_norm_of_arrays(node: Applied, gradients: Any) -> Any:
    g, (x, weight, mean, inverse) = gradients[0], (node.kept(gradients[0], place) for place in range(4))
    return _group_norm_grad_on_host[node.kind.name](g, x, weight, mean, inverse, node.args[0])


@rule("group_norm_parts", keep=(0, 1, "result1", "result2"), label="NativeGroupNormBackward0")
@v.by_gradient(array=_group_norm_of_arrays, raw=_group_norm_by_kernel)
def group_norm_parts(node: Any, gradients: Any) -> Any:
    """Return the gradient of group norm from the statistics that forward saved."""
    (groups, eps), (shape, channels, _) = node.args, node.shapes
    g, x, weight, restored = _in_single(node, gradients[0])
    rows, wide = (shape[0], groups, math.prod(shape[1:]) // groups), (1, *channels, *(1,) * (len(shape) - 2))
    normal, inverse = standardised(v.reshape(x, rows), (2,), rows[2], eps)
    scaled, number = v.reshape(v.mul(g, v.reshape(weight, wide)), rows), v.constant(rows[2], g)
    inner = v.sub(scaled, v.div(v.total(scaled, (2,)), number))
    inner = v.sub(inner, v.mul(normal, v.div(v.total(v.mul(scaled, normal), (2,)), number)))
    by_weight = v.reshape(v.fit(v.mul(g, v.reshape(normal, shape)), wide), channels)
    return restored(v.reshape(v.mul(inner, inverse), shape), by_weight, v.reshape(v.fit(g, wide), channels))


_batch_norm_grad = kernel("batch_norm_grad")
_SINGLE_OR_HALF = ("float32", "float16", "bfloat16")


@rule("batch_norm_train", keep=(0, 1, "result1", "result2"), label="NativeBatchNormBackward0")
def batch_norm_train(node: Any, gradients: Sequence[Array | None]) -> tuple[Any, ...]:
    g = gradients[0]
    (eps,) = node.args
    shape = node.shapes[0]
    if 0 in shape:
        node.kept(g, 0), node.kept(g, 1)  # reading them checks that they were not modified in place
        return _of_nothing(node, g)
    return _batch_norm_slope(node, g, eps)


def _as_parameters(weight: Array, by_input: Array, *others: Array) -> tuple[Array, ...]:
    """Return the gradients of a norm with those of its parameters in the parameters' dtype: kernels of half precision return float32."""
    return by_input, *(part if part.dtype == weight.dtype else narrowed(part, weight.dtype) for part in others)


def _batch_norm_of_arrays(node: Applied, g: Array, eps: float) -> tuple[Array, ...] | None:
    if node.kind.name not in _SINGLE_OR_HALF or not 0 < eps <= 1:
        return None
    x, weight, mean, var = (node.kept(g, place) for place in range(4))
    return _as_parameters(weight, *_batch_norm_grad.host[node.kind.name](g, x, weight, mean, var, eps))


def _batch_norm_of_raws(node: Any, g: Any, eps: float) -> Any:
    return _batch_norm_grad[node.kind.name](g, *(node.kept(g, place) for place in range(4)), eps)


@v.by_gradient(array=_batch_norm_of_arrays, raw=_batch_norm_of_raws)
def _batch_norm_slope(node: Applied, g: TensorBase, eps: float) -> tuple[TensorBase, TensorBase, TensorBase]:
    return _batch_norm_composed(node, g, eps)


def _batch_norm_composed(node: Applied, g: TensorBase, eps: float) -> tuple[TensorBase, TensorBase, TensorBase]:
    """Return the gradients of batch norm, computed with operations that can be differentiated again."""
    shape = node.shapes[0]
    g, x, weight, restored = _in_single(node, g)
    axes, wide = (0, *range(2, len(shape))), (1, -1, *([1] * (len(shape) - 2)))
    count = 1
    for axis in axes:
        count *= shape[axis]
    normal, inverse = standardised(x, axes, count, eps)
    number = v.constant(count, g)
    total, by_normal = v.total(g, axes), v.total(v.mul(g, normal), axes)
    inner = v.sub(v.sub(g, v.div(total, number)), v.mul(normal, v.div(by_normal, number)))
    flat = (shape[1],)
    return restored(v.mul(v.mul(v.reshape(weight, wide), inverse), inner), v.reshape(by_normal, flat), v.reshape(total, flat))


_batch_norm_parts_grad = v.Primitive("batch_norm_parts_grad")


def _batch_norm_by_kernel(node: Any, gradients: list[Raw | None]) -> tuple[Raw, Raw, Raw]:
    g = gradients[0]
    return _batch_norm_parts_grad(g, *(node.kept(g, place) for place in range(4)), node.args[-1])


@rule("batch_norm_parts", keep=(0, 1, "result1", "result2"), label="NativeBatchNormBackward0")
@v.by_gradient(raw=_batch_norm_by_kernel)
def batch_norm_parts(node: Any, gradients: Any) -> Any:
    """Return the gradient of batch norm on a device from the statistics that forward saved."""
    return _batch_norm_composed(node, gradients[0], node.args[-1])


@rule("batch_norm_eval", keep=(0, 1, 3, 4), label="NativeBatchNormBackward0")
def batch_norm_eval(node: Applied, g: Operand) -> tuple[Any, ...]:
    """Return the gradients that are needed: in a network that is tuned in evaluation mode, those of the statistics are not."""
    x, weight, mean, var = (node.kept(g, place) for place in range(4))
    channels = v.shape_of(weight)
    wide = (1, *channels, *([1] * (len(v.shape_of(x)) - 2)))
    inverse = v.rsqrt(v.plus(var, node.args[0]))
    scale = v.mul(weight, inverse)
    by_input, by_weight, by_bias, by_mean, by_var = (edge is not None for edge in node.edges)
    moved = shifted = None
    if by_weight or by_var:  # the contribution of each channel's scale
        moved = v.reshape(v.fit(v.mul(g, v.sub(x, v.reshape(mean, wide))), wide), channels)
    if by_bias or by_mean:
        shifted = v.reshape(v.fit(g, wide), channels)
    return (
        v.mul(g, v.reshape(scale, wide)) if by_input else None,
        v.mul(moved, inverse) if by_weight else None,
        shifted if by_bias else None,
        v.neg(v.mul(shifted, scale)) if by_mean else None,
        v.times(v.mul(v.mul(moved, scale), v.mul(inverse, inverse)), -0.5) if by_var else None,
    )

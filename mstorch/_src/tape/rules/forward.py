"""Forward rules of operations whose tangent is cheaper to compute directly than by transposing the gradient rule."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.host.activation import relu_slope
from ...backend.table import kernel
from ...core.tensor_base import TensorBase
from .. import vocabulary as v
from ..bare import bare
from ..forward import Call, forward_rule, symmetric
from ..operands import Operand
from ..primitives import Primitive
from .norm import standardised
from .pool import positions_in


@forward_rule("relu")
def relu(call: Call) -> Operand:
    found = relu_slope(call.y(), call.t()) if call.plain and call.kind.is_floating_point else None
    return symmetric(call) if found is None else found


@forward_rule("abs")
def abs(call: Call) -> Any:
    return symmetric(call) if call.kind.is_floating_point else NotImplemented


@forward_rule(
    "clone", "sum", "mean", "index", "take", "index_select", "gather", "embedding", "conj", "cat", "stack", "triangle", "fft", "avg_pool",
    "adaptive_avg_pool", "pick_along", "along", "im2col", "col2im", "tile", "flip", "roll", "cumsum", "complex", "running_sum", "pad_like",
    "embedding_grad",
)
def linear(call: Call) -> Operand:
    given = [call.zeros(place) if item is None else item for place, item in enumerate(call.tangents)]
    return call.run(*given)


@forward_rule("logcumsumexp")
def logcumsumexp(call: Call) -> Any:
    if call.plain or not call.shape() or call.kind.is_complex:
        return NotImplemented
    # The gradient rule takes logarithms of the parts of a gradient, which have no derivative at 0.
    shape, (dim,) = call.shape(), call.args
    dim %= len(shape)
    whole = v.part_of(call.y(), (slice(None),) * dim + (slice(max(shape[dim] - 1, 0), shape[dim]),))
    shares = v.exp(v.sub(call.x(), v.fixed(whole)))
    return v.div(_cumsum(v.mul(shares, call.t()), dim), _cumsum(shares, dim))


@forward_rule("pad")
def pad(call: Call) -> Operand:
    call.args = (call.args[0], 0)
    return call.run(call.t())


@forward_rule("add")
def add(call: Call) -> Any:
    return v.spread(v.sum_of(call.t(0), call.t(1)), call.shape())


@forward_rule("add_scaled")
def add_scaled(call: Call) -> Any:
    second = call.t(1)
    return v.spread(v.sum_of(call.t(0), None if second is None else v.times(second, call.args[0])), call.shape())


@forward_rule("lerp_scalar")
def lerp_scalar(call: Call) -> Any:
    (first, second), (weight,) = (call.t(0), call.t(1)), call.args
    start, end = (None if part is None else v.times(part, factor) for part, factor in ((first, 1 - weight), (second, weight)))
    return v.spread(v.sum_of(start, end), call.shape())


@forward_rule("sub")
def sub(call: Call) -> Any:
    second = call.t(1)
    return v.spread(v.sum_of(call.t(0), None if second is None else v.neg(second)), call.shape())


def _product(call: Call, multiply: Primitive | Callable[..., Any], place: int = 0) -> Operand:
    first, second = call.t(place), call.t(place + 1)
    return v.sum_of(
        None if first is None else multiply(first, call.x(place + 1)), None if second is None else multiply(call.x(place), second)
    )


@forward_rule("mul")
def mul(call: Call) -> Any:
    return _product(call, v.mul)


@forward_rule("mm", "bmm", "linear", "conv2d_input", "conv2d_weight")
def product(call: Call) -> Operand:
    return _product(call, call.run)


@forward_rule("linear_bias")
def linear_bias(call: Call) -> Operand:
    bias, first, second = call.tangents
    found = None
    if first is not None or second is not None:
        found = _product(call, v.linear_product, 1)
    if bias is not None:
        found = v.sum_of(found, bias)
    return v.spread(found, call.shape())


@forward_rule("conv2d", "conv", "conv_transpose", "conv_transpose2d")
def convolution(call: Call) -> TensorBase:
    bias = call.t(2) if len(call.inputs) > 2 else None
    found = None
    if len(call.inputs) > 2:
        call.inputs[2:] = []
        if call.args[:1] != (None,):
            call.args = (None, *call.args)
    if call.t(0) is not None or call.t(1) is not None:
        found = _product(call, call.run)
    if bias is not None:
        found = v.sum_of(found, v.reshape(bias, (1, -1, *([1] * (len(call.shape()) - 2)))))
    return v.spread(found, call.shape())


@forward_rule("div")
def div(call: Call) -> Operand:
    first, second = call.t(0), call.t(1)
    if second is None:
        return v.div(first, call.x(1))
    lost = v.mul(call.y(), second)
    return v.div(v.neg(lost) if first is None else v.sub(first, lost), call.x(1))


@forward_rule("polar")
def polar(call: Call) -> Operand:
    by_size, by_angle = call.t(0), call.t(1)
    along = None if by_size is None else call.run(by_size, call.x(1))
    around = None if by_angle is None else v.mul(v.times(call.y(), 1j), call.run(by_angle, v.times(by_angle, 0)))
    return v.spread(v.sum_of(along, around), call.shape())


@forward_rule("prelu")
def prelu(call: Call) -> Operand:
    """Return the tangent; at 0 it is that of the identity, as in torch, whose gradient there is the weight."""
    x, weight, by_x, by_weight = call.x(0), call.x(1), call.t(0), call.t(1)
    scaled = v.sum_of(None if by_x is None else v.mul(by_x, weight), None if by_weight is None else v.mul(by_weight, x))
    return v.spread(v.where(v.at_least_zero(x), 0 if by_x is None else by_x, scaled), call.shape())


@forward_rule("where")
def where(call: Call) -> Any:
    first, second = call.t(1), call.t(2)
    condition = v.bare_condition(call.x(0))
    return v.spread(v.where(condition, 0 if first is None else first, 0 if second is None else second), call.shape())


@forward_rule("log_softmax")
def log_softmax(call: Call) -> Operand:
    if not call.kind.is_floating_point:
        return NotImplemented
    axes = (call.args[0],) if call.shape() else ()
    return v.sub(call.t(), v.total(v.mul(v.exp(call.y()), call.t()), axes))


_cumsum = Primitive("cumsum")


@forward_rule("cumprod")
def cumprod(call: Call) -> Any:
    if not call.shape() or 0 in call.shape():
        return call.t()
    if not v.has_zero(call.x()):
        return v.mul(call.y(), _cumsum(v.div(call.t(), call.x()), *call.args))
    if not call.plain:
        return NotImplemented
    (dim,) = call.args
    x, y, t = (np.moveaxis(item, dim, 0) for item in (call.x(), call.y(), call.t()))
    found = np.empty(t.shape, t.dtype)
    found[0] = t[0]
    for place in range(1, len(t)):
        found[place] = found[place - 1] * x[place] + y[place - 1] * t[place]
    return np.ascontiguousarray(np.moveaxis(found, 0, dim))


@forward_rule("prod")
def prod(call: Call) -> Any:
    dims, keepdim = call.args
    ones = v.like(np.ones(call.shape(), call.kind.np), call.x())
    products = v.mul(call.t(), v.conj(call.pull(ones)))
    return v.total(products, dims, keepdim) if v.shape_of(products) else products


def _projected_out(tangent: Operand, normal: Operand, axes: tuple[int, ...], count: int) -> Operand:
    """Return a tangent minus its mean and its projection on the normalized values."""
    number = v.constant(count, normal)
    moved = v.sub(tangent, v.div(v.total(tangent, axes), number))
    return v.sub(moved, v.mul(normal, v.div(v.total(v.mul(moved, normal), axes), number)))


@forward_rule("layer_norm")
def layer_norm(call: Call) -> Operand:
    begin, eps = call.args
    shape = call.shape()
    if 0 in shape:
        return NotImplemented
    axes = tuple(range(begin, len(shape)))
    count = int(np.prod(shape[begin:]))
    normal, inverse = standardised(call.x(), axes, count, eps)
    found = None
    if call.t(0) is not None:
        found = v.mul(v.mul(_projected_out(call.t(0), normal, axes, count), inverse), call.x(1))
    if call.t(1) is not None:
        found = v.sum_of(found, v.mul(normal, call.t(1)))
    if call.t(2) is not None:
        found = v.sum_of(found, call.t(2))
    return v.spread(found, shape)


@forward_rule("cross_entropy")
def cross_entropy(call: Call) -> TensorBase:
    (target,) = call.args
    moved = v.sub(call.t(), v.total(v.mul(v.softmax(call.x(), 1), call.t()), (1,)))
    rows = tuple(call.inputs[0]._ms_shape)[0]
    wanted = np.zeros(tuple(call.inputs[0]._ms_shape), call.kind.np)
    wanted[np.arange(rows), target] = -1 / rows
    return v.reshape(v.total(v.mul(moved, v.like(wanted, call.t())), (0, 1)), call.shape())


@forward_rule("batch_norm_train")
def batch_norm_train(call: Call) -> tuple[TensorBase | None, ...]:
    (eps,) = call.args
    shape = call.shape()
    if 0 in shape:
        return NotImplemented
    axes, wide = (0, *range(2, len(shape))), (1, -1, *([1] * (len(shape) - 2)))
    count = int(np.prod(shape)) // shape[1]
    normal, inverse = standardised(call.x(), axes, count, eps)
    found = None
    if call.t(0) is not None:
        found = v.mul(_projected_out(call.t(0), normal, axes, count), v.mul(inverse, v.reshape(call.x(1), wide)))
    if call.t(1) is not None:
        found = v.sum_of(found, v.mul(normal, v.reshape(call.t(1), wide)))
    if call.t(2) is not None:
        found = v.sum_of(found, v.reshape(call.t(2), wide))
    return v.spread(found, shape), None, None  # running statistics have no tangents


@forward_rule("batch_norm_eval")
def batch_norm_eval(call: Call) -> TensorBase:
    shape = call.shape()
    if call.t(3) is not None or call.t(4) is not None:
        return NotImplemented
    wide = (1, -1, *([1] * (len(shape) - 2)))
    inverse = v.reshape(v.rsqrt(v.plus(call.x(4), call.args[0])), wide)
    found = None
    if call.t(0) is not None:
        found = v.mul(call.t(0), v.mul(inverse, v.reshape(call.x(1), wide)))
    if call.t(1) is not None:
        centred = v.mul(v.sub(call.x(), v.reshape(call.x(3), wide)), inverse)
        found = v.sum_of(found, v.mul(centred, v.reshape(call.t(1), wide)))
    if call.t(2) is not None:
        found = v.sum_of(found, v.reshape(call.t(2), wide))
    return v.spread(found, shape)


_pool = kernel("max_pool_indices")
_positions = v.ways(array=lambda x, name, args: _pool.host[name](x, *args)[1])(lambda x, name, args: _pool[name](x, *args)[1])


@forward_rule("max_pool", "max_pool_indices", "adaptive_max_pool")
def max_pool(call: Call) -> tuple[TensorBase | None, ...]:
    if len(call.results) > 1:
        return _along_positions(bare(call.results[1]), call)
    return _along_positions(v.host_array(_positions(bare(call.inputs[0]), call.kind.name, call.args)), call)


@v.ways(raw=lambda places, call: NotImplemented)
def _along_positions(places: Array, call: Call) -> tuple[TensorBase | None, ...]:
    shape = tuple(call.inputs[0]._ms_shape)
    return positions_in(places, shape).take(v.reshape(call.t(), (int(np.prod(shape)),))), None

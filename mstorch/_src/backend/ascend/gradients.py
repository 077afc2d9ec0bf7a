"""Operations' gradients that are one kernel on Ascend.

The kernels for the gradients of softmax and log_softmax (SoftmaxBackward, LogSoftmaxGrad) aborted training on a 910B (CANN 8.5, 9.0);
gradient rules compose these instead.
"""
from __future__ import annotations

import math

from ..device_memory import zeros
from ..geometry import contiguous_strides, inverse_order
from ..kernels._nodes import constant
from ..raw import NAME_OF, Raw, raw_dtype
from ..table import FLOATS, HALVES, Function
from ._primitives import dense, enter, rounds, run
from .index import with_first
from .layers import cross_entropy_parts
from .pool import along_depth, pool_of_two

Sizes = tuple[int, ...]


def _layer_norm_parts(x: Raw, weight: Raw, bias: Raw, begin: int, eps: float) -> tuple[Raw, Raw, Raw]:
    found = run("LayerNormExt", x, tuple(x.shape[begin:]), weight, bias, eps)
    return found[0], found[1], found[2]


def _layer_norm_grad(g: Raw, x: Raw, weight: Raw, bias: Raw, mean: Raw, inverse: Raw, begin: int) -> tuple[Raw, Raw, Raw]:
    found = run("LayerNormGradExt", g, x, tuple(x.shape[begin:]), mean, inverse, weight, bias, (1, 1, 1))
    return found[0], found[1], found[2]


def _group_norm_parts(x: Raw, weight: Raw, bias: Raw, groups: int, eps: float) -> tuple[Raw, Raw, Raw]:
    found = run("GroupNorm", x, groups, weight, bias, eps)
    return found[0], found[1], found[2]


def _group_norm_grad(g: Raw, x: Raw, weight: Raw, mean: Raw, inverse: Raw, groups: int) -> tuple[Raw, Raw, Raw]:
    found = run("GroupNormGrad", g, x, mean, inverse, weight, groups, True, True, True)
    return found[0], found[1], found[2]


def _max_pool_grad(g: Raw, x: Raw, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> Raw:
    """Return the gradient of max pooling; the mask of the maxima is recomputed, because forward saves values only."""
    if len(kernel) == 3:
        return _max_pool_grad_of_solid(g, x, kernel, stride, padding, dilation, out)
    images, attributes, shape = pool_of_two(x, kernel, stride, padding, dilation, out)
    mask = run("MaxPoolWithMask", images, at=attributes)[1]
    found = run("MaxPoolGradWithMask", images, run("Reshape", g, shape), mask, at=attributes)
    return found if found.shape == x.shape else run("Reshape", found, tuple(x.shape))


def _index_placed(g: Raw, shape: Sizes, dims: Sizes, indices: tuple[Raw, ...], common: Sizes, adjacent: bool) -> Raw:
    """Scatter-add values into zeros of a shape at index arrays; the indexed dimensions are moved to the front."""
    order = with_first(len(shape), dims)
    rest, width, lead = len(shape) - len(dims), len(common), dims[0]
    if adjacent and lead:
        g = run("Contiguous", run("Transpose", g, (*range(lead, lead + width), *range(lead), *range(lead + width, width + rest))))
    whole = run("Zeros", tuple(shape[d] for d in order), g.dtype)
    run("InplaceIndexPut", whole, indices, g, True)
    return whole if order == tuple(range(len(shape))) else run("Contiguous", run("Transpose", whole, inverse_order(order)))


def _max_pool_grad_of_solid(g: Raw, x: Raw, *numbers: Sizes) -> Raw:
    """Return the gradient of a pooling of planes and then along their depth."""
    (n, c, depth), out = x.shape[:3], numbers[-1]
    planes, attributes, _ = pool_of_two(run("Reshape", x, (n, c * depth, *x.shape[3:])), *(item[1:] for item in numbers))
    values, mask = run("MaxPoolWithMask", planes, at=attributes)
    lines = run("Reshape", values, (n, c, depth, math.prod(out[1:])))
    by_lines = _max_pool_grad(run("Reshape", g, (n, c, out[0], math.prod(out[1:]))), lines, *along_depth(numbers))
    found = run("MaxPoolGradWithMask", planes, run("Reshape", by_lines, tuple(values.shape)), mask, at=attributes)
    return run("Reshape", found, tuple(x.shape))


def _pad_like_grad(g: Raw, shape: Sizes, pads: Sizes, mode: str) -> Raw:
    """Return the gradient of padding by reflection or replication. The kernel needs only the shape of the input."""
    count, rows = len(pads) // 2, dense(g)
    batched = shape if len(shape) > count + 1 else (1, *shape)
    rows = rows if batched is shape else run("Reshape", rows, (1, *rows.shape))
    like = run("AsStrided", rows, batched, contiguous_strides(batched), rows.storage_offset())
    found = run(f"{'Reflection' if mode == 'reflect' else 'Replication'}Pad{count}DGrad", rows, like, pads)
    return found if batched is shape else run("Reshape", found, shape)


def _embedding_grad(g: Raw, index: Raw, rows: int, padding: int, by_frequency: bool) -> Raw:
    return run("EmbeddingDenseBackward", g, index, rows, padding if padding >= 0 else None, by_frequency)


def _weights(like: Raw, weight: Raw | None) -> Raw:
    return run("Ones", (like.shape[1],), like.dtype) if weight is None else weight


def _nll_parts(logs: Raw, target: Raw, weight: Raw | None, ignored: int, reduction: str) -> tuple[Raw, Raw]:
    found = run("NLLLoss", logs, target, _weights(logs, weight), at=(reduction, ignored))
    return found[0], found[1]


def _nll_grad(g: Raw, logs: Raw, target: Raw, weight: Raw | None, total: Raw, ignored: int, reduction: str) -> Raw:
    return run("NLLLossGrad", logs, g, target, _weights(logs, weight), total, at=(reduction, ignored))


def _cross_entropy_grad(g: Raw, logs: Raw, target: Raw, weight: Raw | None, ignored: int, reduction: str) -> Raw:
    if reduction == "mean":
        # CANN's kernel divides by the sum of the weights that count, then multiplies by the mask: NaN in every row of a batch of ignored
        # labels. torch has zeros, so such a batch gets other labels, and 0 as the loss's gradient.
        none = run("ReduceAll", run("Equal", target, constant(ignored, target)), (), at=(False,))
        heaviest = constant(0, target) if weight is None else run("ArgMaxExt", weight, 0, False)
        target, g = run("Select", none, heaviest, target), run("Select", none, constant(0, g), g)
    return run("CrossEntropyLossGrad", g, logs, target, weight, None, None, reduction, ignored, 0.0, 0.0)


def _elu_grad(g: Raw, x: Raw, alpha: float, scale: float, inner: float) -> Raw:
    """Return the gradient of Elu, or of Selu and Celu, which are Elu with scaled input and scaled result."""
    g = g if scale == 1 else run("Mul", g, constant(scale, g))
    if rounds(g, float(alpha * inner)):
        scaled = x if inner == 1 else run("Mul", x, constant(inner, x))
        below = run("Mul", run("Mul", g, constant(float(alpha * inner), g)), run("Exp", run("Minimum", scaled, constant(0.0, x))))
        return run("Select", run("Greater", x, constant(0.0, x)), g, below)
    return run("EluGradExt", g, x if inner == 1 else run("Mul", x, constant(inner, x)), float(alpha * inner), False)


def _leaky_relu_grad(g: Raw, x: Raw, slope: float) -> Raw:
    if rounds(g, float(slope)):
        return run("Select", run("Greater", x, constant(0.0, x)), g, run("Mul", g, constant(float(slope), g)))
    return run("LeakyReLUGradExt", g, x, float(slope), False)


def _softplus_grad(g: Raw, x: Raw, beta: float, bound: float) -> Raw:
    if not rounds(g, beta, bound):
        return run("SoftplusGradExt", g, x, beta, bound)
    steep = run("Mul", x, constant(beta, x))
    return run("Select", run("Greater", steep, constant(bound, x)), g, run("Mul", g, run("Sigmoid", steep)))


def _prelu_grad(g: Raw, x: Raw, weight: Raw) -> tuple[Raw, Raw]:
    if not x.size:  # the CPU's kernel does not write the second gradient
        return g, zeros(weight.shape, NAME_OF[raw_dtype(weight)])
    by_x, by_weight = run("PReLUGrad", g, x, weight)
    return by_x, by_weight


_ROWS: dict[str, Function | str] = {
    "relu_grad": lambda g, y: run("ReluGrad", g, y), "gelu_grad": lambda g, x, how: run("GeluGradExt", g, x, how),
    "silu_grad": lambda g, x: run("SiLUGrad", g, x), "sigmoid_grad": lambda g, y: run("SigmoidGrad", y, g),
    "tanh_grad": lambda g, y: run("TanhGrad", y, g), "layer_norm_parts": _layer_norm_parts, "layer_norm_grad": _layer_norm_grad,
    "group_norm_parts": _group_norm_parts, "group_norm_grad": _group_norm_grad,
    "leaky_relu_grad": _leaky_relu_grad, "elu_grad": _elu_grad,
    "softplus_grad": _softplus_grad,
    "mish_grad": lambda g, x: run("MishGradExt", g, x) if x.size else g, "hardsigmoid_grad": "HSigmoidGrad",
    "logsigmoid_grad": lambda g, x: run("LogSigmoidGrad", g, x, x),  # CANN's kernel does not read the buffer of the forward pass
    "glu": lambda x, dim: run("GLU", x, at=(dim,)), "glu_grad": lambda g, x, dim: run("GluGrad", g, x, at=(dim,)),
    "prelu_grad": _prelu_grad,
    "softshrink_grad": lambda g, x, bound: run("SoftShrinkGrad", g, x, at=(float(bound),)),
    "hardshrink_grad": lambda g, x, bound: run("HShrinkGrad", g, x, at=(float(bound),)),
    "threshold_grad": lambda g, x, bound: run("ThresholdGrad", g, x, float(bound)),
    "max_pool_grad": _max_pool_grad, "pad_like_grad": _pad_like_grad, "embedding_grad": _embedding_grad,
    "nll_parts": _nll_parts, "nll_grad": _nll_grad, "cross_entropy_parts": cross_entropy_parts,
    "cross_entropy_grad": _cross_entropy_grad,
}  # fmt: skip
for _op, _function in _ROWS.items():
    enter(_op, _function, FLOATS + HALVES)
enter("index_placed", _index_placed)

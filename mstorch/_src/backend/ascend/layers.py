"""Matrix products, convolutions, norms, losses, embeddings and recurrent cells on Ascend."""
from __future__ import annotations

from typing import Any

from mindspore import ops

from ..geometry import contiguous_strides
from ..kernels._nodes import constant
from ..raw import MS_DTYPE, Raw, raw_size
from ..table import FLOATS, HALVES
from ..tape import tracing
from ._primitives import enter, enters, of_vectors, rounds, run

Sizes = tuple[int, ...]
INT64 = MS_DTYPE["int64"]


# Convolutions


@enters("conv")
@enters("conv2d")
def _conv(x: Raw, w: Raw, bias: Raw | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Raw:
    return run("Convolution", x, w, bias, stride, padding, dilation, False, (0,) * len(stride), groups)


@enters("conv_transpose")
@enters("conv_transpose2d")
def _conv_transpose(
    x: Raw, w: Raw, bias: Raw | None, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes, groups: int
) -> Raw:
    return run("Convolution", x, w, bias, stride, padding, dilation, True, output_padding, groups)


def _conv_grad(
    wanted: Sizes, g: Raw, x: Raw, w: Raw, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> tuple[Raw, Raw]:
    """Return the gradients for input and weight; each is computed only if its entry of ``wanted`` is 1."""
    found = run("ConvolutionGrad", g, x, w, None, stride, padding, dilation, False, (0,) * len(stride), groups, (*wanted, 0))
    return found[0], found[1]


@enters("conv_grad")
def _conv_all(g: Raw, x: Raw, w: Raw, *rest: Any) -> tuple[Raw, Raw, Raw]:
    """Return the gradients for input, weight and bias that the last argument marks with 1. The kernel needs only the shape of a bias."""
    bias = run("AsStrided", g, (g.shape[1],), (g.stride()[1],), g.storage_offset()) if rest[-1][2] else None
    found = run("ConvolutionGrad", g, x, w, bias, *rest)
    return found[0], found[1], found[2]


@enters("conv2d_input")
def _conv_input(g: Raw, w: Raw, shape: Sizes, *attributes: Any) -> Raw:
    return _conv_grad((1, 0), g, run("Zeros", tuple(shape), g.dtype), w, *attributes)[0]


@enters("conv2d_weight")
def _conv_weight(g: Raw, x: Raw, shape: Sizes, *attributes: Any) -> Raw:
    return _conv_grad((0, 1), g, x, run("Zeros", tuple(shape), g.dtype), *attributes)[1]


# Norms


@enters("layer_norm")
def _layer_norm(x: Raw, weight: Raw, bias: Raw, begin: int, eps: float) -> Raw:
    return run("LayerNormExt", x, tuple(x.shape[begin:]), weight, bias, eps)[0]


def _norm_of_nothing(x: Raw, last: float = 0.0) -> tuple[Raw, Raw, Raw]:
    """Return an empty result and statistics, or gradients of parameters, of zeros; the second of them of ``last``."""
    return run("Clone", x), run("Zeros", (x.shape[1],), x.dtype), run("FillScalar", (x.shape[1],), last, x.dtype)


@enters("batch_norm_train")
def _batch_norm_train(x: Raw, weight: Raw, bias: Raw, eps: float) -> tuple[Raw, Raw, Raw]:
    """Normalize by batch statistics; the variance is the mean square of the centred values, as the 910B rejects Var over several
    dimensions.
    """
    if not x.size:
        return _norm_of_nothing(x)
    found = run("BatchNormExt", x, weight, bias, None, None, True, 0.1, eps)
    mean = found[1]
    away = run("SubExt", x, run("Reshape", mean, (1, -1, *([1] * (len(x.shape) - 2)))), 1)
    return found[0], mean, run("MeanExt", run("Mul", away, away), (0, *range(2, len(x.shape))), False, mean.dtype)


@enters("batch_norm_parts")
def _batch_norm_parts(
    x: Raw, weight: Raw, bias: Raw, running_mean: Raw | None, running_var: Raw | None, momentum: float, eps: float
) -> tuple[Raw, Raw, Raw]:
    """Normalize by batch statistics, and update the running ones in place, in one kernel."""
    if not x.size:
        return _norm_of_nothing(x, eps**-0.5)
    if running_mean is None or running_var is None or not rounds(running_mean, float(momentum)):
        found = run("BatchNormExt", x, weight, bias, running_mean, running_var, True, float(momentum), eps)
        return found[0], found[1], found[2]
    found = run("BatchNormExt", x, weight, bias, None, None, True, 0.0, eps)
    count = x.size // x.shape[1]
    square = run("Reciprocal", run("Mul", found[2], found[2]))  # the biased variance, and eps
    variance = run("Mul", run("SubExt", square, constant(eps, square), 1), constant(count / max(count - 1, 1), square))
    run("InplaceCopy", running_mean, _running_average(running_mean, found[1], float(momentum), 1.0))
    run("InplaceCopy", running_var, _running_average(running_var, variance, float(momentum), 1.0))
    return found[0], found[1], found[2]


@enters("batch_norm_parts_grad")
def _batch_norm_parts_grad(g: Raw, x: Raw, weight: Raw, mean: Raw, inverse: Raw, eps: float) -> tuple[Raw, Raw, Raw]:
    if not x.size:
        return _norm_of_nothing(x)
    if tracing() is not None:  # MindSpore 2.10 refuses BatchNormGradExt in a graph, whatever its arguments
        return _batch_norm_grad_in_graph(g, x, weight, mean, inverse)
    return run("BatchNormGradExt", g, x, weight, None, None, mean, inverse, True, eps, (1, 1, 1), at=(True, eps))


def _batch_norm_grad_in_graph(g: Raw, x: Raw, weight: Raw, mean: Raw, inverse: Raw) -> tuple[Raw, Raw, Raw]:
    """Return the gradients of batch norm by its formula, in the dtype of the statistics."""
    kind, own = mean.dtype, x.dtype
    if own != kind:
        g, x = run("Cast", g, kind), run("Cast", x, kind)
    dims, wide = (0, *range(2, len(x.shape))), (1, -1, *([1] * (len(x.shape) - 2)))
    count = constant(x.size // x.shape[1], x)
    mean, inverse, factor = (run("Reshape", item, wide) for item in (mean, inverse, run("Mul", inverse, weight)))
    normal = run("Mul", run("SubExt", x, mean, 1), inverse)
    by_bias, by_weight = (run("SumExt", item, dims, True, kind) for item in (g, run("Mul", g, normal)))
    inner = run("SubExt", run("SubExt", g, run("Div", by_bias, count), 1), run("Mul", normal, run("Div", by_weight, count)), 1)
    by_input = run("Mul", inner, factor)
    flat = tuple(weight.shape)
    return run("Cast", by_input, own) if own != kind else by_input, run("Reshape", by_weight, flat), run("Reshape", by_bias, flat)


@enters("batch_norm_eval")
def _batch_norm_eval(x: Raw, weight: Raw, bias: Raw, mean: Raw, var: Raw, eps: float) -> Raw:
    return run("BatchNormExt", x, weight, bias, mean, var, False, 0.1, eps)[0] if x.size else run("Clone", x)


@enters("batch_norm_grad")
def _batch_norm_grad(g: Raw, x: Raw, weight: Raw, mean: Raw, var: Raw, eps: float) -> tuple[Raw, Raw, Raw]:
    inverse = run("Rsqrt", run("AddExt", var, constant(eps, var), 1))
    return _batch_norm_parts_grad(g, x, weight, mean, inverse, eps)


def _running_average(running: Raw, batch: Raw, factor: float, scale: float) -> Raw:
    kept = run("Mul", running, constant(1 - factor, running))
    if rounds(running, factor * scale):
        return run("AddExt", kept, run("Mul", batch, constant(factor * scale, batch)), 1)
    return run("AddExt", kept, batch, factor * scale)


# Losses


def cross_entropy_parts(x: Raw, target: Raw, weight: Raw | None, ignored: int, reduction: str) -> tuple[Raw, Raw]:
    """Return the loss, and the logarithms of the probabilities."""
    loss, logs = run("CrossEntropyLoss", x, target, weight, reduction, ignored, 0.0, 0.0, False)[:2]
    return run("Reshape", loss, ()) if reduction != "none" and tuple(loss.shape) == (1,) else loss, logs  # as MindSpore infers it (2.10)


def _cross_entropy(x: Raw, target: Raw) -> Raw:
    return cross_entropy_parts(x, run("Cast", target, INT64), None, -100, "mean")[0]


@enters("nll")
def _nll(x: Raw, target: Raw, weights: Raw) -> Raw:
    n, _, length = x.shape
    picked = run("Reshape", run("GatherD", x, 1, run("Reshape", target, (n, 1, length))), (n, length))
    return run("Neg", run("Mul", picked, weights))


@enters("binary_cross_entropy")
def _binary_cross_entropy(x: Raw, target: Raw) -> Raw:
    """Compute the loss by its formula, with logarithms clamped to -100 as in torch; MindSpore's CPU kernel clamps the probabilities, which
    limits a loss to 27.6.
    """
    one = constant(1, x)
    least = constant(-100, x)
    of_one, of_zero = run("Maximum", run("Log", x), least), run("Maximum", run("Log1p", run("Neg", x)), least)
    return run("Neg", run("AddExt", run("Mul", target, of_one), run("Mul", run("SubExt", one, target, 1), of_zero), 1))


@enters("embedding")
def _embedding(table: Raw, index: Raw, padding: int, by_frequency: bool) -> Raw:
    if tracing() is not None and not by_frequency:
        # MindSpore gives Embedding a side effect on its table, with which it can't be part of a graph
        rows = run("Gather", table, index, 0)
        if padding < 0:
            return rows
        padded = run("Reshape", run("Equal", index, constant(padding, index)), (*index.shape, 1))
        return run("Select", run("BroadcastTo", padded, at=(tuple(rows.shape),)), ops.stop_gradient(rows), rows)
    if not table.size:  # MindSpore refuses a table of nothing
        return run("Zeros", (*index.shape, table.shape[1]), table.dtype)
    return run("Embedding", index, table, padding if padding >= 0 else None, None, 2.0, by_frequency)


# Recurrent cells; the matrix products are computed outside


def _thirds(gates: Raw, count: int) -> list[Raw]:
    width = gates.shape[1] // count
    return [run("SliceExt", gates, 1, i * width, (i + 1) * width, 1) for i in range(count)]


@enters("lstm_cell")
def _lstm_cell(gates: Raw, cell: Raw) -> tuple[Raw, Raw]:
    i, f, g, o = _thirds(gates, 4)
    kept, new = run("Mul", run("Sigmoid", f), cell), run("Mul", run("Sigmoid", i), run("Tanh", g))
    cell = run("AddExt", kept, new, 1)
    return run("Mul", run("Sigmoid", o), run("Tanh", cell)), cell


@enters("gru_cell")
def _gru_cell(from_input: Raw, from_hidden: Raw, hidden: Raw) -> Raw:
    xr, xz, xn = _thirds(from_input, 3)
    hr, hz, hn = _thirds(from_hidden, 3)
    reset, update = run("Sigmoid", run("AddExt", xr, hr, 1)), run("Sigmoid", run("AddExt", xz, hz, 1))
    new = run("Tanh", run("AddExt", xn, run("Mul", reset, hn), 1))
    return run("AddExt", new, run("Mul", update, run("SubExt", hidden, new, 1)), 1)


@enters("mm")
def _mm(a: Raw, b: Raw) -> Raw:
    return run("Mm", a, b) if raw_size(a) and raw_size(b) else _no_terms(a, (a.shape[0], b.shape[1]))


@enters("bmm")
@enters("small_matmul")
def _bmm(a: Raw, b: Raw) -> Raw:
    """Return the product; matrices that are transposed in memory are named so to the kernel, which spares a copy."""
    if not a.size or not b.size:
        return _no_terms(a, (*a.shape[:-1], b.shape[-1]))
    turned = _is_turned(a), _is_turned(b)
    if True in turned and a.shape[:-2] == b.shape[:-2]:
        order = (*range(len(a.shape) - 2), len(a.shape) - 1, len(a.shape) - 2)
        return run("BatchMatMul", *(run("Transpose", x, order) if flag else x for x, flag in zip((a, b), turned)), at=turned)
    return run("MatMulExt", a, b)


def _is_turned(x: Raw) -> bool:
    """Return whether matrices of a batch are contiguous once they are transposed."""
    if len(x.shape) < 3 or x.is_contiguous():
        return False
    rows, columns = x.shape[-2:]
    want = contiguous_strides((*x.shape[:-2], columns, rows))
    return tuple(x.stride()) == (*want[:-2], want[-1], want[-2])


def _no_terms(like: Raw, shape: Sizes) -> Raw:
    """Return zeros for a product over an empty dimension, for which kernels return uninitialized memory."""
    return run("Zeros", shape, like.dtype)


@enters("linear")
def _linear(x: Raw, weight: Raw, bias: Raw | None = None) -> Raw:
    if raw_size(x) and raw_size(weight):
        return run("Dense", x, weight, bias)
    nothing = _no_terms(x, (*x.shape[:-1], weight.shape[0]))
    return nothing if bias is None else run("AddExt", nothing, bias, 1)


enter("linear_bias", lambda bias, x, weight: _linear(x, weight, bias))
enter("softmax", of_vectors(lambda x, dim: run("Softmax", x, at=(dim,))))
enter("log_softmax", of_vectors(lambda x, dim: run("LogSoftmaxExt", x, dim, None)))
enter("running_average", _running_average, FLOATS + HALVES)
enter("cross_entropy", _cross_entropy)

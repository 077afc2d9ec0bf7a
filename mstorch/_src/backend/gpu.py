"""Kernel rows of GPUs; MindSpore's plugin runs the older primitives, so most are composed as on the CPU."""
from __future__ import annotations

from functools import partial, wraps
from typing import Any

from ..quiet import quiet
from .ascend._primitives import one
from .kernels._nodes import constant
from .kernels.of_devices import COMPOSED, OPS
from .kernels.sort import ops_argsort, ops_kth_index, ops_topk_indices
from .primitives import run
from .raw import Raw
from .table import (
    ALL,
    HOST,
    INTS,
    ROWS,
    Function,
    absent_on,
    decorator_of,
    define_on,
    from_arrays,
    leave_to_host,
    same_on,
    to_arrays,
)

same = partial(same_on, "GPU")
absent = partial(absent_on, "GPU")


def enter(op: str, function: Function | str) -> None:
    """Register the kernel of an operation: a function of MindSpore tensors, or the name of a single primitive."""
    define_on("GPU", op, one(function) if isinstance(function, str) else function)


enters = decorator_of(enter)


same(
    "only shapes, or older primitives that the GPU has",
    "reshape", "permute", "expand", "storage_scatter", "slice", "select", "index", "linear_index", "gather", "index_select",
    "storage_gather", "take", "nonzero", "scatter", "put", "index_write", "scatter_reduce", "cat", "stack", "tile", "flip", "roll",
    "triangle", "pad", "pad_like", "along", "pick_along", "im2col", "col2im", "embedding", "segment_sum", "count_positions",
)  # fmt: skip
same(
    "one older primitive each, or a few",
    "add", "sub", "mul", "neg", "pow", "integer_power", "scalar_power", "floor_divide", "trunc_divide", "remainder", "fmod",
    "abs", "sign", "sgn", "square", "sqrt", "rsqrt", "reciprocal", "fmax", "fmin", "where", "eq", "ne", "lt", "le", "gt", "ge",
    "logical_and", "logical_or", "logical_not", "isnan", "isinf", "isfinite", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "asinh", "acosh", "atanh", "exp2", "sinc", "floor", "ceil", "trunc", "round", "frac", "atan2", "hypot", "copysign",
    "heaviside", "xlogy", "angle", "conj", "complex", "polar",
)  # fmt: skip
same(
    "a few older primitives; cuDNN has no kernel of most of them",
    "relu", "hardtanh", "leaky_relu", "prelu", "gelu", "hardsigmoid", "hardswish", "softshrink", "hardshrink", "threshold",
    "softsign",
)  # fmt: skip
same(
    "older primitives that cuDNN and cuBLAS serve",
    "mm", "bmm", "small_matmul", "linear", "linear_bias", "conv", "conv2d", "conv_transpose", "conv_transpose2d", "conv2d_input",
    "conv2d_weight", "max_pool", "max_pool_indices", "adaptive_max_pool", "avg_pool", "adaptive_avg_pool", "layer_norm",
    "running_average", "batch_norm_train", "batch_norm_eval", "batch_norm_grad", "nll",
)  # fmt: skip
same(
    "older primitives along dimensions",
    "sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "all", "any", "p_norm", "cumsum", "running_sum", "cumprod",
    "cummax_indices", "cummin_indices", "logcumsumexp", "searchsorted",
)  # fmt: skip
same(
    "one older primitive each, or composed of them",
    "erf", "erfc", "ndtr", "log_ndtr", "lgamma", "entr", "i0", "i0e", "i1", "i1e", "modified_bessel_k0", "scaled_modified_bessel_k0",
    "modified_bessel_k1", "scaled_modified_bessel_k1", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "ctc_loss",
)  # fmt: skip


same("by the host: nobody looked for kernels of these gradients", *OPS)
absent("composed of others: nobody looked for such kernels", *COMPOSED)


# Operations whose CPU row uses other libraries than MindSpore, or is composed of such rows


def _softplus_one(x: Raw) -> Raw:
    """Return log(1 + exp(x)) without overflow."""
    return run("Add", run("Maximum", x, constant(0, x)), run("Log1p", run("Exp", run("Neg", run("Abs", x)))))


@enters("softplus")
def _softplus(x: Raw, beta: float, threshold: float) -> Raw:
    scaled = run("Mul", x, constant(beta, x))
    low = run("RealDiv", _softplus_one(scaled), constant(beta, x))
    return run("Select", run("Greater", scaled, constant(threshold, x)), x, low)


@enters("elu")
def _elu(x: Raw, alpha: float, scale: float, input_scale: float) -> Raw:
    low = run("Expm1", run("Mul", run("Minimum", x, constant(0, x)), constant(input_scale, x)))
    high = run("Mul", run("Maximum", x, constant(0, x)), constant(scale, x))
    return run("Add", high, run("Mul", low, constant(alpha * scale, x)))


@enters("logit")
def _logit(x: Raw, low: float | None, high: float | None) -> Raw:
    if low is not None:
        x = run("Minimum", run("Maximum", x, constant(low, x)), constant(high, x))  # type: ignore[arg-type]
    return run("Log", run("RealDiv", x, run("Sub", constant(1, x), x)))


@enters("clamp")
def _clamp(x: Raw, low: Raw | None, high: Raw | None) -> Raw:
    if low is not None:
        x = run("Maximum", x, low)
    return x if high is None else run("Minimum", x, high)


@enters("logaddexp")
def _logaddexp(x: Raw, y: Raw) -> Raw:
    gap = run("Log1p", run("Exp", run("Neg", run("Abs", run("Sub", x, y)))))
    equal = run("Equal", x, y)  # also for two equal infinities, whose difference is NaN
    return run("Add", run("Maximum", x, y), run("Select", equal, constant(0.6931471805599453, x), gap))


@enters("logaddexp2")
def _logaddexp2(x: Raw, y: Raw) -> Raw:
    two = 0.6931471805599453
    return run("Mul", _logaddexp(run("Mul", x, constant(two, x)), run("Mul", y, constant(two, y))), constant(1 / two, x))


@enters("xlog1py")
def _xlog1py(x: Raw, y: Raw) -> Raw:
    nothing = run("LogicalAnd", run("Equal", x, constant(0, x)), run("Equal", y, y))
    return run("Select", nothing, constant(0, x), run("Mul", x, run("Log1p", y)))


@enters("cross_entropy")
def _cross_entropy(x: Raw, target: Raw) -> Raw:
    return run("SparseSoftmaxCrossEntropyWithLogits", x, target)


@enters("lstm_cell")
def _lstm_cell(gates: Raw, cell: Raw) -> tuple[Raw, Raw]:
    i, f, g, o = run("Split", gates, at=(1, 4))
    cell = run("Add", run("Mul", run("Sigmoid", f), cell), run("Mul", run("Sigmoid", i), run("Tanh", g)))
    return run("Mul", run("Sigmoid", o), run("Tanh", cell)), cell


@enters("gru_cell")
def _gru_cell(from_input: Raw, from_hidden: Raw, hidden: Raw) -> Raw:
    xr, xz, xn = run("Split", from_input, at=(1, 3))
    hr, hz, hn = run("Split", from_hidden, at=(1, 3))
    reset, update = run("Sigmoid", run("Add", xr, hr)), run("Sigmoid", run("Add", xz, hz))
    new = run("Tanh", run("Add", xn, run("Mul", reset, hn)))
    return run("Add", new, run("Mul", update, run("Sub", hidden, new)))


@enters("gelu_tanh")
def _gelu_tanh(x: Raw) -> Raw:
    return run("GeLU", x)


@enters("adamw_step")
def _adamw_step(
    param: Raw, grad: Raw, mean: Raw, square: Raw, done: float | Raw, lr: float, beta1: float, beta2: float, decay: float, eps: float,
    maximize: bool,
) -> tuple[Raw, Raw, Raw]:  # fmt: skip
    """Run one AdamW step in place. MindSpore's Adam adds ``eps`` before the correction of the second moment, torch's after it."""
    first, second, low = _powers(done, beta1, beta2, eps, param)
    if decay:
        param = run("Mul", param, constant(1 - lr * decay, param))
    numbers = [constant(number, param) for number in (lr, beta1, beta2)]
    run("Adam", param, mean, square, first, second, *numbers, low, run("Neg", grad) if maximize else grad)
    return param, mean, square


def _powers(done: float | Raw, beta1: float, beta2: float, eps: float, like: Raw) -> list[Raw]:
    """Return the powers of both factors after ``done`` steps and one more, and ``eps`` times the correction of the second moment."""
    if not isinstance(done, Raw):
        powers = beta1 ** (done + 1), beta2 ** (done + 1)
        return [constant(number, like) for number in (*powers, eps * (1 - powers[1]) ** 0.5)]
    step = run("Add", done, constant(1, done))
    first, second = (run("Pow", constant(factor, done), step) for factor in (beta1, beta2))
    return [first, second, run("Mul", constant(eps, done), run("Sqrt", run("Sub", constant(1, done), second)))]


@enters("momentum_step")
def _momentum_step(param: Raw, grad: Raw, velocity: Raw, lr: float, momentum: float) -> tuple[Raw, Raw]:
    run("ApplyMomentum", param, velocity, constant(lr, param), grad, constant(momentum, param))
    return param, velocity


enter("exp", "Exp")
enter("log", "Log")
enter("tanh", "Tanh")
enter("sigmoid", "Sigmoid")
enter("expm1", "Expm1")
enter("log1p", "Log1p")
enter("maximum", "Maximum")
enter("minimum", "Minimum")
enter("erfinv", "Erfinv")
enter("digamma", "Digamma")
enter("gammainc", "Igamma")
enter("gammaincc", "Igammac")
enter("div", "RealDiv")
enter("log2", lambda x: run("Mul", run("Log", x), constant(1.4426950408889634, x)))
enter("log10", lambda x: run("Mul", run("Log", x), constant(0.4342944819032518, x)))
enter("silu", lambda x: run("Mul", x, run("Sigmoid", x)))
enter("mish", lambda x: run("Mul", x, run("Tanh", _softplus_one(x))))
enter("logsigmoid", lambda x: run("Neg", _softplus_one(run("Neg", x))))
enter("tanhshrink", lambda x: run("Sub", x, run("Tanh", x)))
enter("softmax", lambda x, dim: run("Softmax", x, at=(dim,)))
enter("log_softmax", lambda x, dim: run("LogSoftmax", x, at=(dim,)))
enter("binary_cross_entropy", lambda x, target: run("BinaryCrossEntropy", x, target, None, at=("none",)))
enter("argsort", ops_argsort)
enter("topk_indices", ops_topk_indices)
enter("kth_index", ops_kth_index)
enter("logical_xor", lambda x, y: run("NotEqual", run("NotEqual", x, constant(0, x)), run("NotEqual", y, constant(0, y))))
enter("clone", lambda x: run("Identity", x))

absent(
    "MindSpore's primitive of this operation was wrong where it could be held against torch",
    "fft", "signbit", "integer_divide", "gcd", "nextafter", "polygamma", "zeta",
)  # fmt: skip
absent("the CUDA plugin has no such kernel: the operation is composed", "attention", "attention_grad", "packed_attention",
       "packed_attention_grad", "addmm", "baddbmm", "lerp_scalar", "add_scaled", "add_product")  # fmt: skip
absent(
    "MindSpore has no primitive of this operation", "frexp", "view_dtype",
    "linalg_lu_factor", "linalg_solve", "linalg_cholesky", "linalg_qr",
    "linalg_svd", "linalg_svdvals", "linalg_eigh", "linalg_eig", "linalg_solve_triangular", "linalg_geqrf", "linalg_ldl_factor",
    "linalg_ldl_solve", "lexicographic_order", "erfcx", "ndtri", "airy_ai",
)  # fmt: skip


# What the plugin of MindSpore 2.10 refuses, seen on it over an emulated CUDA runtime (tests/cuda). It has no kernel of bfloat16, not even
# a cast.
leave_to_host("GPU", ("bfloat16",), *[op for op, row in ROWS.items() if "GPU" in row.functions])
leave_to_host(
    "GPU", ("float64",), "conv2d", "conv2d_input", "conv2d_weight", "linear_bias", "batch_norm_grad", "cross_entropy",
    "binary_cross_entropy", "topk_indices",
)  # fmt: skip
leave_to_host("GPU", ("float64",), "adamw_step", "momentum_step")  # steps in float64 are composed: nobody asked for their numbers
leave_to_host("GPU", ("float16",), "batch_norm_grad", "gammainc", "gammaincc", "hypot", "cummin_indices", "running_average")
leave_to_host("GPU", ("int64", "int32", "uint8"), "mm", "bmm", "topk_indices")
leave_to_host("GPU", ("int64",), "bitwise_left_shift", "bitwise_right_shift")  # the kernels do not broadcast
leave_to_host("GPU", ("uint8",), "sign", "sgn")
leave_to_host(
    "GPU", ("bool",), "add", "nonzero", "index_write", "scatter_reduce", "topk_indices", "cummax_indices", "cummin_indices", "sign", "sgn",
)  # fmt: skip
# Equal, ReduceMax and UnsortedSegmentSum take no complex numbers there.
leave_to_host("GPU", ("complex64", "complex128"), "eq", "ne", "sgn", "logaddexp", "p_norm", "index_write", "sinc")
leave_to_host("GPU", INTS, "conv", "conv_transpose")  # composed of products, which take no integers
# Sort takes 8,000 elements along a dimension in these two alone ("resize failed").
leave_to_host("GPU", tuple(name for name in ALL if name not in ("float32", "float16")), "argsort", "kth_index")
leave_to_host("GPU", ("int8", "int16"), "topk_indices")


def _is_empty(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_is_empty, value))
    return isinstance(value, Raw) and not value.size


def _beside_nothing(op: str, function: Function) -> Function:
    """Wrap a row to let NumPy compute what has operands without elements, which the plugin's kernels refuse ("resize failed")."""
    of_arrays = HOST[op].function

    @wraps(function)
    def call(*args: Any) -> Any:
        if any(map(_is_empty, args)):
            with quiet():
                return from_arrays(of_arrays(*map(to_arrays, args)))
        return function(*args)

    return call


for _op in set(HOST) & set(ROWS):
    if "GPU" in ROWS[_op].functions:
        ROWS[_op].functions["GPU"] = _beside_nothing(_op, ROWS[_op].functions["GPU"])

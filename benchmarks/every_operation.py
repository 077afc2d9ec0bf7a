"""The 130 operations of ``by_operation.py``: what each computes, on operands of which shapes, and in which dtypes.

``n`` is the side of the matrices: 16, 256 or 1,024. An operand is a name of ``SHAPES``, or of ``VALUES`` where it isn't random numbers.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

SIDES = {"small": 16, "middle": 256, "large": 1024}
FLOATS = ("float32", "float64", "bfloat16")
NUMBERS = ("float32", "bfloat16", "int64")
WHOLE = ("int64", "int32", "uint8")


def _pixels(n: int) -> int:
    """The side of an image, so that eight images of ``_channels`` have about ``n * n`` pixels, and no more than a million."""
    return {16: 6, 256: 32}.get(n, 56)


def _channels(n: int) -> int:
    return {16: 2, 256: 16}.get(n, 32)


SHAPES: dict[str, Callable[[int], tuple[int, ...]]] = {
    "square": lambda n: (n, n), "row": lambda n: (n,), "column": lambda n: (n, 1), "line": lambda n: (n * n,),
    "batch": lambda n: (8, n // 4, n // 2), "other": lambda n: (8, n // 2, n // 4), "cube": lambda n: (n // 4, 4, n),
    "images": lambda n: (8, _channels(n), _pixels(n), _pixels(n)), "kernels": lambda n: (_channels(n), _channels(n), 3, 3),
    "pointwise": lambda n: (_channels(n), _channels(n), 1, 1), "depthwise": lambda n: (_channels(n), 1, 3, 3),
    "upward": lambda n: (_channels(n), _channels(n), 2, 2), "channels": lambda n: (_channels(n),),
    "signal": lambda n: (8, _channels(n), _pixels(n) ** 2), "taps": lambda n: (_channels(n), _channels(n), 3),
    "heads": lambda n: (2, 4, n // 4, 32), "words": lambda n: (n * 4, 64), "one": lambda n: (1,),
}  # fmt: skip

VALUES: dict[str, Callable[[Any, int], Any]] = {
    "mask": lambda t, n: t.arange(n * n).reshape(n, n) % 3 == 0,
    "places": lambda t, n: t.arange(0, n, 2),
    "order": lambda t, n: (t.arange(n * n).reshape(n, n) * 7) % n,
    "classes": lambda t, n: t.arange(n) % n,
    "tokens": lambda t, n: (t.arange(n * 4) * 5) % (n * 4),
}


class Operation(NamedTuple):
    """``function(torch, *operands)``, the names of its operands, its dtypes, and whether its backward is timed, too."""

    function: Callable[..., Any]
    operands: tuple[str, ...] = ("square",)
    dtypes: tuple[str, ...] = FLOATS
    differentiable: bool = True


ELEMENTWISE = {
    "add": Operation(lambda t, a, b: a + b, ("square", "square"), NUMBERS),
    "sub": Operation(lambda t, a, b: a - b, ("square", "square"), NUMBERS),
    "mul": Operation(lambda t, a, b: a * b, ("square", "square"), NUMBERS),
    "div": Operation(lambda t, a, b: a / b, ("square", "square")),
    "add a number": Operation(lambda t, a: a + 2, ("square",), NUMBERS),
    "mul a number": Operation(lambda t, a: a * 3, ("square",), NUMBERS),
    "add a row": Operation(lambda t, a, b: a + b, ("square", "row"), NUMBERS),
    "mul by a column": Operation(lambda t, a, b: a * b, ("square", "column"), NUMBERS),
    "add, out=": Operation(lambda t, a, b, c: t.add(a, b, out=c), ("square", "square", "square"), NUMBERS, False),
    "add_": Operation(lambda t, a, b: a.add_(b), ("square", "square"), NUMBERS, False),
    "mul_ by a number": Operation(lambda t, a: a.mul_(1), ("square",), NUMBERS, False),
    "addcmul": Operation(lambda t, a, b, c: t.addcmul(a, b, c, value=2), ("square", "square", "square")),
    "lerp": Operation(lambda t, a, b: t.lerp(a, b, 0.25), ("square", "square")),
    "neg": Operation(lambda t, a: -a, ("square",), NUMBERS),
    "abs": Operation(lambda t, a: a.abs(), ("square",), NUMBERS),
    "square": Operation(lambda t, a: a**2, ("square",), NUMBERS),
    "sqrt of abs": Operation(lambda t, a: a.abs().sqrt()),
    "rsqrt of a square": Operation(lambda t, a: (a * a + 1).rsqrt()),
    "exp": Operation(lambda t, a: a.exp()),
    "log of abs": Operation(lambda t, a: a.abs().log()),
    "sin": Operation(lambda t, a: a.sin()),
    "erf": Operation(lambda t, a: a.erf()),
    "tanh": Operation(lambda t, a: a.tanh()),
    "reciprocal": Operation(lambda t, a: a.reciprocal()),
    "floor": Operation(lambda t, a: a.floor(), differentiable=False),
    "clamp": Operation(lambda t, a: a.clamp(-1, 1), ("square",), NUMBERS),
    "maximum": Operation(lambda t, a, b: t.maximum(a, b), ("square", "square"), NUMBERS),
    "where": Operation(lambda t, m, a, b: t.where(m, a, b), ("mask", "square", "square"), NUMBERS),
    "greater": Operation(lambda t, a, b: a > b, ("square", "square"), NUMBERS, False),
    "equal to a number": Operation(lambda t, a: a == 0, ("square",), NUMBERS, False),
    "logical_not": Operation(lambda t, m: ~m, ("mask",), ("bool",), False),
    "bitwise_and": Operation(lambda t, a, b: a & b, ("square", "square"), WHOLE, False),
    "remainder": Operation(lambda t, a: a % 7, ("square",), WHOLE, False),
    "isnan": Operation(lambda t, a: a.isnan(), differentiable=False),
    "to another dtype": Operation(lambda t, a: a.to(t.float64), ("square",), ("float32", "bfloat16", "int64"), False),
    "to bfloat16": Operation(lambda t, a: a.to(t.bfloat16), ("square",), ("float32", "float64", "int64"), False),
    "clone": Operation(lambda t, a: a.clone(), ("square",), NUMBERS),
    "copy_": Operation(lambda t, a, b: a.copy_(b), ("square", "square"), NUMBERS, False),
    "fill_": Operation(lambda t, a: a.fill_(1), ("square",), NUMBERS, False),
}

ACTIVATIONS = {
    "relu": Operation(lambda t, a: t.relu(a)),
    "sigmoid": Operation(lambda t, a: a.sigmoid()),
    "gelu": Operation(lambda t, a: t.nn.functional.gelu(a)),
    "silu": Operation(lambda t, a: t.nn.functional.silu(a)),
    "leaky_relu": Operation(lambda t, a: t.nn.functional.leaky_relu(a)),
    "elu": Operation(lambda t, a: t.nn.functional.elu(a)),
    "softplus": Operation(lambda t, a: t.nn.functional.softplus(a)),
    "hardswish": Operation(lambda t, a: t.nn.functional.hardswish(a)),
    "softmax": Operation(lambda t, a: a.softmax(-1)),
    "log_softmax": Operation(lambda t, a: a.log_softmax(-1)),
    "softmax of columns": Operation(lambda t, a: a.softmax(0)),
    "logsumexp": Operation(lambda t, a: a.logsumexp(-1)),
    "dropout": Operation(lambda t, a: t.nn.functional.dropout(a, 0.5)),
    "glu": Operation(lambda t, a: t.nn.functional.glu(a)),
}

REDUCTIONS = {
    "sum": Operation(lambda t, a: a.sum(), ("square",), NUMBERS),
    "sum of rows": Operation(lambda t, a: a.sum(1), ("square",), NUMBERS),
    "sum of columns": Operation(lambda t, a: a.sum(0), ("square",), NUMBERS),
    "mean": Operation(lambda t, a: a.mean()),
    "mean of rows": Operation(lambda t, a: a.mean(-1, keepdim=True)),
    "var of rows": Operation(lambda t, a: a.var(-1)),
    "std": Operation(lambda t, a: a.std()),
    "norm": Operation(lambda t, a: t.linalg.vector_norm(a)),
    "prod of rows": Operation(lambda t, a: a.prod(1)),
    "max": Operation(lambda t, a: a.max(), ("square",), NUMBERS),
    "max of rows": Operation(lambda t, a: a.max(1)[0], ("square",), NUMBERS),
    "amin of rows": Operation(lambda t, a: a.amin(1), ("square",), NUMBERS),
    "argmax of rows": Operation(lambda t, a: a.argmax(1), ("square",), NUMBERS, False),
    "any": Operation(lambda t, m: m.any(), ("mask",), ("bool",), False),
    "all of rows": Operation(lambda t, m: m.all(1), ("mask",), ("bool",), False),
    "cumsum": Operation(lambda t, a: a.cumsum(1), ("square",), NUMBERS),
    "sort": Operation(lambda t, a: a.sort(1)[0], ("square",), NUMBERS),
    "topk": Operation(lambda t, a: a.topk(5, 1)[0], ("square",), NUMBERS),
    "median of rows": Operation(lambda t, a: a.median(1)[0], ("square",), NUMBERS),
    "nonzero": Operation(lambda t, m: m.nonzero(), ("mask",), ("bool",), False),
    "count_nonzero": Operation(lambda t, m: m.count_nonzero(), ("mask",), ("bool",), False),
}

SHAPED = {
    "view": Operation(lambda t, a: a.view(-1), ("square",), NUMBERS),
    "transpose": Operation(lambda t, a: a.t(), ("square",), NUMBERS),
    "a row": Operation(lambda t, a: a[3], ("square",), NUMBERS),
    "a slice": Operation(lambda t, a: a[:, 2:-2], ("square",), NUMBERS),
    "each row": Operation(lambda t, a: list(a[:16]), ("square",), NUMBERS, False),
    "an element": Operation(lambda t, a: a[1, 2].item(), ("square",), NUMBERS, False),
    "item": Operation(lambda t, a: a.item(), ("one",), NUMBERS, False),
    "tolist": Operation(lambda t, a: a[:4, :4].tolist(), ("square",), NUMBERS, False),
    "len": Operation(lambda t, a: len(a), ("square",), NUMBERS, False),
    "shape": Operation(lambda t, a: a.shape[0], ("square",), NUMBERS, False),
    "permuted copy": Operation(lambda t, a: a.permute(2, 0, 1).contiguous(), ("cube",), NUMBERS),
    "cat": Operation(lambda t, a, b: t.cat([a, b], 1), ("square", "square"), NUMBERS),
    "stack": Operation(lambda t, a, b: t.stack([a, b]), ("square", "square"), NUMBERS),
    "split": Operation(lambda t, a: a.split(a.shape[1] // 2, 1)[1], ("square",), NUMBERS),
    "chunk": Operation(lambda t, a: a.chunk(2)[0], ("square",), NUMBERS),
    "expand": Operation(lambda t, a: a.expand(4, -1, -1), ("square",), NUMBERS),
    "repeat": Operation(lambda t, a: a.repeat(2, 1), ("square",), NUMBERS),
    "flip": Operation(lambda t, a: a.flip(0), ("square",), NUMBERS),
    "roll": Operation(lambda t, a: a.roll(1, 1), ("square",), NUMBERS),
    "tril": Operation(lambda t, a: a.tril(), ("square",), NUMBERS),
    "pad": Operation(lambda t, a: t.nn.functional.pad(a, (1, 1)), ("square",), NUMBERS),
    "rows by index": Operation(lambda t, a, i: a[i], ("square", "places"), NUMBERS),
    "index_select": Operation(lambda t, a, i: a.index_select(1, i), ("square", "places"), NUMBERS),
    "gather": Operation(lambda t, a, i: a.gather(1, i), ("square", "order"), NUMBERS),
    "scatter": Operation(lambda t, a, i, b: a.scatter(1, i, b), ("square", "order", "square"), NUMBERS),
    "masked_fill": Operation(lambda t, a, m: a.masked_fill(m, 0), ("square", "mask"), NUMBERS),
    "masked_select": Operation(lambda t, a, m: a[m], ("square", "mask"), NUMBERS),
    "one row written": Operation(lambda t, a, b: a.__setitem__(1, b), ("square", "row"), NUMBERS, False),
    "zeros": Operation(lambda t, a: t.zeros(a.shape, dtype=a.dtype), ("square",), NUMBERS, False),
    "arange": Operation(lambda t, a: t.arange(a.shape[0] * a.shape[1]), ("square",), ("int64",), False),
}

PRODUCTS = {
    "matmul": Operation(lambda t, a, b: a @ b, ("square", "square")),
    "matrix by vector": Operation(lambda t, a, b: a @ b, ("square", "row")),
    "bmm": Operation(lambda t, a, b: t.bmm(a, b), ("batch", "other")),
    "linear": Operation(lambda t, a, w, b: t.nn.functional.linear(a, w, b), ("square", "square", "row")),
    "addmm": Operation(lambda t, a, b, c: t.addmm(a, b, c), ("square", "square", "square")),
    "einsum": Operation(lambda t, a, b: t.einsum("bij,bjk->bik", a, b), ("batch", "other")),
    "dot": Operation(lambda t, a, b: a.dot(b), ("line", "line")),
    "outer": Operation(lambda t, a, b: t.outer(a, b), ("row", "row")),
    "attention": Operation(
        lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v), ("heads", "heads", "heads"), ("float32", "bfloat16")
    ),
}

LAYERS = {
    "layer_norm": Operation(lambda t, a, w, b: t.nn.functional.layer_norm(a, w.shape, w, b), ("square", "row", "row")),
    "batch_norm": Operation(
        lambda t, a, w, b: t.nn.functional.batch_norm(a, None, None, w, b, True), ("images", "channels", "channels"), ("float32", "float64")
    ),
    "group_norm": Operation(lambda t, a, w, b: t.nn.functional.group_norm(a, 2, w, b), ("images", "channels", "channels"), ("float32",)),
    "conv2d": Operation(
        lambda t, a, w, b: t.nn.functional.conv2d(a, w, b, padding=1), ("images", "kernels", "channels"), ("float32", "bfloat16")
    ),
    "conv2d 1×1": Operation(lambda t, a, w: t.nn.functional.conv2d(a, w), ("images", "pointwise"), ("float32", "bfloat16")),
    "conv2d, depthwise": Operation(
        lambda t, a, w: t.nn.functional.conv2d(a, w, padding=1, groups=a.shape[1]), ("images", "depthwise"), ("float32",)
    ),
    "conv1d": Operation(lambda t, a, w: t.nn.functional.conv1d(a, w, padding=1), ("signal", "taps"), ("float32",)),
    "conv_transpose2d": Operation(lambda t, a, w: t.nn.functional.conv_transpose2d(a, w, stride=2), ("images", "upward"), ("float32",)),
    "max_pool2d": Operation(lambda t, a: t.nn.functional.max_pool2d(a, 2), ("images",)),
    "avg_pool2d": Operation(lambda t, a: t.nn.functional.avg_pool2d(a, 2), ("images",)),
    "adaptive_avg_pool2d": Operation(lambda t, a: t.nn.functional.adaptive_avg_pool2d(a, 1), ("images",)),
    "interpolate": Operation(
        lambda t, a: t.nn.functional.interpolate(a, scale_factor=2, mode="bilinear", align_corners=False), ("images",), ("float32",)
    ),
    "embedding": Operation(lambda t, i, w: t.nn.functional.embedding(i, w), ("tokens", "words")),
    "mse_loss": Operation(lambda t, a, b: t.nn.functional.mse_loss(a, b), ("square", "square")),
    "cross_entropy": Operation(lambda t, a, c: t.nn.functional.cross_entropy(a, c), ("square", "classes")),
    "binary_cross_entropy": Operation(
        lambda t, a, b: t.nn.functional.binary_cross_entropy_with_logits(a, b.sigmoid()), ("square", "square"), ("float32", "float64")
    ),
    "smooth_l1_loss": Operation(lambda t, a, b: t.nn.functional.smooth_l1_loss(a, b), ("square", "square")),
}

OPERATIONS: dict[str, Operation] = {**ELEMENTWISE, **ACTIVATIONS, **REDUCTIONS, **SHAPED, **PRODUCTS, **LAYERS}

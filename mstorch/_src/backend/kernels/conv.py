"""Convolutions. float32 in one and two dimensions uses oneDNN's kernels, the rest gathers windows and multiplies."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

from mindspore import ops
from mindspore.ops.operations._grad_ops import Conv2DBackpropFilter

from .. import tape
from ..raw import NAME_OF, Raw
from ..table import COMPLEX, FLOATS, INTS, VIA_HALF, define
from ._empty import filled
from .sliding_windows import strided_table, transposed_table, windows
from .views import ops_permute as _transpose
from .views import ops_reshape as _reshape

_bmm = ops.BatchMatMul()
_bias_add = ops.BiasAdd()
_add = ops.Add()

Sizes = tuple[int, ...]


@lru_cache(1024)
def _primitives(kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, channels: int) -> tuple[Any, ...]:
    """Return MindSpore's convolution with these attributes, and its gradients for the input and for the weight."""
    pad = (padding[0], padding[0], padding[1], padding[1])
    common = {"pad_mode": "pad", "pad": pad, "stride": stride, "dilation": dilation, "group": groups}
    return (
        ops.Conv2D(channels, kernel, **common),
        ops.Conv2DBackpropInput(channels, kernel, **common),
        Conv2DBackpropFilter(channels, kernel, pad_list=pad, **common),
    )


def _conv2d(x: Raw, w: Raw, attributes: tuple[Any, ...]) -> Raw:
    return _primitives(tuple(w.shape[2:]), *attributes, w.shape[0])[0](x, w)


def _input_gradient(g: Raw, w: Raw, shape: Sizes, attributes: tuple[Any, ...]) -> Raw:
    return _primitives(tuple(w.shape[2:]), *attributes, w.shape[0])[1](g, w, shape)


def _weight_gradient(g: Raw, x: Raw, shape: Sizes, attributes: tuple[Any, ...]) -> Raw:
    return _primitives(shape[2:], *attributes, shape[0])[2](g, x, shape)


# Three functions, linear in both arguments, whose gradients are computed by the other two. MindSpore's own bprop computes
# the gradient of an input even if it is not needed, which in a first layer is as much work as the forward.


def _conv_forward(ctx: tape.Function, x: Raw, w: Raw, attributes: tuple[Any, ...]) -> Raw:
    ctx.save_for_backward(x, w)
    ctx.attributes = attributes
    return _conv2d(x, w, attributes)


def _conv_backward(ctx: tape.Function, g: Raw) -> tuple[Raw | None, ...]:
    x, w = ctx.saved_tensors
    need_x, need_w = ctx.needs_input_grad[:2]
    return (
        _input_node(g, w, tuple(x.shape), ctx.attributes) if need_x else None,
        _weight_node(g, x, tuple(w.shape), ctx.attributes) if need_w else None,
        None,
    )


def _input_forward(ctx: tape.Function, g: Raw, w: Raw, shape: Sizes, attributes: tuple[Any, ...]) -> Raw:
    ctx.save_for_backward(g, w)
    ctx.attributes = attributes
    return _input_gradient(g, w, shape, attributes)


def _input_backward(ctx: Any, gg: Raw) -> tuple[Raw | None, ...]:
    g, w = ctx.saved_tensors
    need_g, need_w = ctx.needs_input_grad[:2]
    return (
        _conv_node(gg, w, ctx.attributes) if need_g else None,
        _weight_node(g, gg, tuple(w.shape), ctx.attributes) if need_w else None,
        None,
        None,
    )


def _weight_forward(ctx: tape.Function, g: Raw, x: Raw, shape: Sizes, attributes: tuple[Any, ...]) -> Raw:
    ctx.save_for_backward(g, x)
    ctx.attributes = attributes
    return _weight_gradient(g, x, shape, attributes)


def _weight_backward(ctx: Any, gw: Raw) -> tuple[Raw | None, ...]:
    g, x = ctx.saved_tensors
    need_g, need_x = ctx.needs_input_grad[:2]
    return (
        _conv_node(x, gw, ctx.attributes) if need_g else None,
        _input_node(g, gw, tuple(x.shape), ctx.attributes) if need_x else None,
        None,
        None,
    )


_conv_function = tape.function_node("ConvolutionBackward0", _conv_forward, _conv_backward)
_input_function = tape.function_node("ConvolutionBackward0", _input_forward, _input_backward)
_weight_function = tape.function_node("ConvolutionBackward0", _weight_forward, _weight_backward)


def _recorded(a: Raw, b: Raw) -> bool:
    return tape.grad_mode.enabled and (a._requires_grad or b._requires_grad) and tape.tracing() is None


def _conv_node(x: Raw, w: Raw, attributes: tuple[Any, ...]) -> Raw:
    return _conv_function(x, w, attributes) if _recorded(x, w) else _conv2d(x, w, attributes)


def _input_node(g: Raw, w: Raw, shape: Sizes, attributes: tuple[Any, ...]) -> Raw:
    function = _input_function if _recorded(g, w) else _input_gradient
    return function(g, w, shape, attributes)


def _weight_node(g: Raw, x: Raw, shape: Sizes, attributes: tuple[Any, ...]) -> Raw:
    function = _weight_function if _recorded(g, x) else _weight_gradient
    return function(g, x, shape, attributes)


def _out_sizes(x: Raw, w: Raw, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], w.shape[2:], stride, padding, dilation)
    )


def _with_bias(y: Raw, bias: Raw | None) -> Raw:
    if bias is None:
        return y
    if y.dtype == bias.dtype and NAME_OF[y.dtype] == "float32" and len(y.shape) in (4, 5):
        return _bias_add(y, bias)
    return _add(y, _reshape(bias, (-1, *([1] * (len(y.shape) - 2)))))


def _without_terms(shape: Sizes, x: Raw, w: Raw, bias: Raw | None) -> Raw:
    """Return the result of a convolution that is empty or whose sums have no terms: every element is the bias, or 0."""
    name = NAME_OF[x.dtype]
    if bias is None or 0 not in shape:
        return _with_bias(filled(shape, 0, name, x, w), bias)
    return filled(shape, 0, name, x, w, bias)


def composed_conv(
    x: Raw, w: Raw, bias: Raw | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Raw:
    """Convolve in any rank and dtype, as products of gathered windows and weights per group."""
    out = _out_sizes(x, w, stride, padding, dilation)
    n, channels = x.shape[0], w.shape[0]
    table = strided_table(tuple(x.shape[2:]), tuple(w.shape[2:]), stride, padding, dilation, out)
    return _with_bias(_contract(windows(x, table), w, n, channels, out, groups), bias)


def _contract(columns: Raw, w: Raw, n: int, channels: int, out: Sizes, groups: int) -> Raw:
    """Multiply windows (N, C, K, L) by weights (channels, C / groups, *kernel); return (N, channels, *out)."""
    c, k, length = columns.shape[1:]
    wide = _reshape(columns, (n, groups, c // groups * k, length))
    wide = _reshape(_transpose(wide, (1, 2, 0, 3)), (groups, c // groups * k, n * length))
    flat = _bmm(_reshape(w, (groups, channels // groups, c // groups * k)), wide)
    return _reshape(_transpose(_reshape(flat, (channels, n, length)), (1, 0, 2)), (n, channels, *out))


def ops_conv(
    x: Raw, w: Raw, bias: Raw | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Raw:
    """Convolve (N, C, *spatial), padded on both sides, with weights (out, C / groups, *kernel) to (N, out, *spatial')."""
    rank = len(x.shape) - 2
    out = _out_sizes(x, w, stride, padding, dilation)
    if x.size == 0 or w.size == 0 or 0 in out:
        return _without_terms((x.shape[0], w.shape[0], *out), x, w, bias)
    if NAME_OF[x.dtype] != "float32" or rank == 3:
        return composed_conv(x, w, bias, stride, padding, dilation, groups)
    if rank == 2:
        return _with_bias(_conv_node(x, w, (stride, padding, dilation, groups)), bias)
    x, w = _reshape(x, (*x.shape[:2], 1, -1)), _reshape(w, (*w.shape[:2], 1, -1))
    y = _with_bias(_conv_node(x, w, ((1, *stride), (0, *padding), (1, *dilation), groups)), bias)
    return _reshape(y, (*y.shape[:2], y.shape[3]))


def _transposed_sizes(x: Raw, w: Raw, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes) -> Sizes:
    return tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, k, s, p, o, d in zip(x.shape[2:], w.shape[2:], stride, padding, output_padding, dilation)
    )


def composed_conv_transpose(
    x: Raw, w: Raw, bias: Raw | None, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes, groups: int
) -> Raw:
    """Convolve, transposed, in any rank and dtype: each output element sums the input elements that reach it."""
    out = _transposed_sizes(x, w, stride, padding, output_padding, dilation)
    n, c = x.shape[:2]
    channels = w.shape[1] * groups
    table = transposed_table(tuple(x.shape[2:]), tuple(w.shape[2:]), stride, padding, dilation, out)
    # (C, out / groups, *kernel) → (out, C / groups, kernel elements)
    w = _transpose(_reshape(w, (groups, c // groups, w.shape[1], -1)), (0, 2, 1, 3))
    return _with_bias(_contract(windows(x, table), w, n, channels, out, groups), bias)


def ops_conv_transpose(
    x: Raw, w: Raw, bias: Raw | None, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes, groups: int
) -> Raw:
    """Convolve (N, C, *spatial), transposed, with weights (C, out / groups, *kernel) to (N, out, *spatial')."""
    rank = len(x.shape) - 2
    out = _transposed_sizes(x, w, stride, padding, output_padding, dilation)
    if x.size == 0 or w.size == 0 or 0 in out:
        return _without_terms((x.shape[0], w.shape[1] * groups, *out), x, w, bias)
    beyond = any(o >= s for o, s in zip(output_padding, stride))  # oneDNN rejects an output size that the convolution would not need
    if NAME_OF[x.dtype] != "float32" or rank == 3 or beyond:
        return composed_conv_transpose(x, w, bias, stride, padding, output_padding, dilation, groups)
    shape = (x.shape[0], w.shape[1] * groups, *out)
    if rank == 2:
        return _with_bias(_input_node(x, w, shape, (stride, padding, dilation, groups)), bias)
    x, w = _reshape(x, (*x.shape[:2], 1, -1)), _reshape(w, (*w.shape[:2], 1, -1))
    attributes = ((1, *stride), (0, *padding), (1, *dilation), groups)
    y = _with_bias(_input_node(x, w, (*shape[:2], 1, shape[2]), attributes), bias)
    return _reshape(y, shape)


_DTYPES = FLOATS + INTS + COMPLEX
define("conv", cpu=ops_conv, dtypes=_DTYPES, via=VIA_HALF)
define("conv_transpose", cpu=ops_conv_transpose, dtypes=_DTYPES, via=VIA_HALF)
define("conv_transpose2d", cpu=ops_conv_transpose, dtypes=_DTYPES, via=VIA_HALF)


def ops_conv2d(x: Raw, w: Raw, bias: Raw | None, *attributes: Any) -> Raw:
    """Convolve a non-empty float32 (N, C, H, W) by oneDNN's kernel; ``attributes`` are stride, padding, dilation and groups."""
    return _with_bias(_conv2d(x, w, attributes), bias)


def ops_conv2d_input(g: Raw, w: Raw, shape: Sizes, *attributes: Any) -> Raw:
    """Return the gradient of ``conv2d`` for an input of ``shape``."""
    return _input_gradient(g, w, shape, attributes)


def ops_conv2d_weight(g: Raw, x: Raw, shape: Sizes, *attributes: Any) -> Raw:
    """Return the gradient of ``conv2d`` for weights of ``shape``."""
    return _weight_gradient(g, x, shape, attributes)


define("conv2d", cpu=ops_conv2d, dtypes=("float32",), via=VIA_HALF)
define("conv2d_input", cpu=ops_conv2d_input, dtypes=("float32",), via=VIA_HALF)
define("conv2d_weight", cpu=ops_conv2d_weight, dtypes=("float32",), via=VIA_HALF)

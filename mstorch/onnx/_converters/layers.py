"""Matmuls, convolutions, pooling, normalization, attention, resizing."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._src.core.dtype import bool_
from .._capture import Step, Value
from .._errors import OnnxExporterError
from .._writer import Writer
from .table import converter, fixed


def _numbers(values: Any, what: str, count: int) -> list[int]:
    found = [fixed(value, what) for value in (values if isinstance(values, (list, tuple)) else [values])]
    return found * count if len(found) == 1 else found


@converter("mm", "bmm", "mv", "dot")
def _matmul(w: Writer, step: Step, self: Value, mat2: Any = None, vec: Any = None, tensor: Any = None) -> str:
    second = next(one for one in (mat2, vec, tensor) if one is not None)
    weight = _weight_of(second)
    if step.name == "mm" and weight is not None:
        return w.op("Gemm", w.t(self), w.t(weight), transB=1)
    return w.op("MatMul", w.t(self), w.t(second))


def _weight_of(value: Value) -> Value | None:
    """Return the parameter if the value is the transpose of one, as in ``F.linear``, so that the model holds it under its own name and in
    its own shape; else None."""
    step = value.step
    if step is None or step.name != "t" or not step.arguments["self"].name or step.arguments["self"].depends:
        return None
    return step.arguments["self"]


@converter("addmm", "baddbmm", "addmv")
def _addmm(
    w: Writer, step: Step, self: Value, mat1: Any = None, mat2: Any = None, batch1: Any = None, batch2: Any = None, beta: Any = 1,
    alpha: Any = 1, **_: Any,
) -> str:  # fmt: skip
    first, second = (mat1, mat2) if mat1 is not None else (batch1, batch2)
    if step.name == "addmm" and len(self.shape) <= 2:
        weight = _weight_of(second)
        if weight is not None:
            return w.op("Gemm", w.t(first), w.t(weight), w.t(self), alpha=float(alpha), beta=float(beta), transB=1)
        return w.op("Gemm", w.t(first), w.t(second), w.t(self), alpha=float(alpha), beta=float(beta))
    product = w.op("MatMul", w.t(first), w.t(second))
    product = product if alpha == 1 else w.op("Mul", product, w.like(alpha, self))
    if beta == 0:
        return product
    return w.op("Add", w.t(self) if beta == 1 else w.op("Mul", w.t(self), w.like(beta, self)), product)


@converter("convolution")
def _convolution(
    w: Writer, step: Step, self: Value, weight: Value, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    transposed: bool = False, output_padding: Any = 0, groups: int = 1,
) -> str:  # fmt: skip
    count = len(weight.shape) - 2
    pads = _numbers(padding, "padding", count)
    shared: dict[str, Any] = {
        "strides": _numbers(stride, "a stride", count), "dilations": _numbers(dilation, "dilation", count), "pads": pads * 2,
        "group": groups, "kernel_shape": list(weight.shape[2:]),
    }  # fmt: skip
    given = [w.t(self), w.t(weight)] + ([w.t(bias)] if bias is not None else [])
    if transposed:
        return w.op("ConvTranspose", *given, output_padding=_numbers(output_padding, "padding", count), **shared)
    return w.op("Conv", *given, **shared)


@converter("native_batch_norm")
def _batch_norm(
    w: Writer, step: Step, self: Value, weight: Any = None, bias: Any = None, running_mean: Any = None, running_var: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5, **_: Any,
) -> Any:  # fmt: skip
    if training:
        raise OnnxExporterError("mstorch: torch.onnx.export writes batch norm of a model in evaluation: call model.eval()")
    channels = self.shape[1]
    scale = w.t(weight) if weight is not None else w.const(np.ones(channels, np.float32))
    shift = w.t(bias) if bias is not None else w.const(np.zeros(channels, np.float32))
    found = w.op("BatchNormalization", w.t(self), scale, shift, w.t(running_mean), w.t(running_var), epsilon=eps)
    return [found, "", ""]


@converter("native_layer_norm")
def _layer_norm(
    w: Writer, step: Step, self: Value, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    rank = len(normalized_shape)
    if w.opset >= 17:
        scale = w.t(weight) if weight is not None else w.const(np.ones([int(one) for one in normalized_shape], np.float32))
        more = [w.t(bias)] if bias is not None else []
        return [w.op("LayerNormalization", w.t(self), scale, *more, axis=-rank, epsilon=eps), "", ""]
    axes = list(range(-rank, 0))
    mean = w.op("ReduceMean", w.t(self), axes=axes)
    far = w.op("Sub", w.t(self), mean)
    var = w.op("ReduceMean", w.op("Mul", far, far), axes=axes)
    found = w.op("Div", far, w.op("Sqrt", w.op("Add", var, w.like(eps, self))))
    found = found if weight is None else w.op("Mul", found, w.t(weight))
    return [found if bias is None else w.op("Add", found, w.t(bias)), "", ""]


def _grouped_norm(w: Writer, x: Value, groups: int, weight: Any, bias: Any, eps: float) -> str:
    """Normalize groups of channels by InstanceNormalization of (N, groups, rest), then scale each channel."""
    folded = w.op("Reshape", w.t(x), w.ints([0, groups, -1]))
    ones, zeros = w.const(np.ones(groups, np.float32)), w.const(np.zeros(groups, np.float32))
    found = w.op("Reshape", w.op("InstanceNormalization", folded, ones, zeros, epsilon=eps), w.op("Shape", w.t(x)))
    shape = w.ints([x.shape[1], *[1] * (len(x.shape) - 2)])
    found = found if weight is None else w.op("Mul", found, w.op("Reshape", w.t(weight), shape))
    return found if bias is None else w.op("Add", found, w.op("Reshape", w.t(bias), shape))


@converter("native_group_norm")
def _group_norm(
    w: Writer, step: Step, self: Value, weight: Any = None, bias: Any = None, N: Any = 0, C: Any = 0, HxW: Any = 0, group: int = 1,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    return [_grouped_norm(w, self, group, weight, bias, eps), "", ""]


@converter("instance_norm")
def _instance_norm(
    w: Writer, step: Step, self: Value, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5, cudnn_enabled: bool = True,
) -> str:  # fmt: skip
    if not use_input_stats:
        return _batch_norm(w, step, self, weight, bias, running_mean, running_var, False, momentum, eps)[0]
    return _grouped_norm(w, self, self.shape[1], weight, bias, eps)


def _pool_attributes(kernel_size: Any, stride: Any, padding: Any, count: int) -> dict[str, Any]:
    kernel = _numbers(kernel_size, "a kernel's size", count)
    return {
        "kernel_shape": kernel, "strides": _numbers(stride, "a stride", count) if stride else kernel,
        "pads": _numbers(padding, "padding", count) * 2,
    }  # fmt: skip


@converter("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(
    w: Writer, step: Step, self: Value, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    count = int(step.name.partition("pool")[2][0])
    attributes = _pool_attributes(kernel_size, stride, padding, count)
    x = w.t(self) if len(self.shape) == count + 2 else w.op("Unsqueeze", w.t(self), w.ints([0]))
    found = w.op("MaxPool", x, dilations=_numbers(dilation, "dilation", count), ceil_mode=int(ceil_mode), **attributes)
    found = found if len(self.shape) == count + 2 else w.op("Squeeze", found, w.ints([0]))
    return [found, ""]


@converter("avg_pool2d", "avg_pool3d")
def _avg_pool(
    w: Writer, step: Step, self: Value, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> str:  # fmt: skip
    if divisor_override is not None:
        raise OnnxExporterError("mstorch: ONNX's AveragePool has no divisor_override")
    count = int(step.name[len("avg_pool")])
    attributes = _pool_attributes(kernel_size, stride, padding, count)
    return w.op("AveragePool", w.t(self), ceil_mode=int(ceil_mode), count_include_pad=int(count_include_pad), **attributes)


@converter("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_max_pool2d")
def _adaptive_pool(w: Writer, step: Step, self: Value, output_size: Sequence[Any]) -> Any:
    average = "avg" in step.name
    wanted = [fixed(one, "a pool's size") for one in (output_size if isinstance(output_size, (list, tuple)) else [output_size])]
    if all(one == 1 for one in wanted):
        found = w.op("GlobalAveragePool" if average else "GlobalMaxPool", w.t(self))
    else:
        sizes = [fixed(one, "an adaptive pool's input") for one in self.shape[-len(wanted):]]
        if any(size % one for size, one in zip(sizes, wanted)):
            raise OnnxExporterError(
                f"mstorch: torch.onnx.export has adaptive pools of sizes that divide: {sizes} is no multiple of {wanted}"
            )
        kernel = [size // one for size, one in zip(sizes, wanted)]
        found = w.op("AveragePool" if average else "MaxPool", w.t(self), kernel_shape=kernel, strides=kernel)
    return found if average else [found, ""]


@converter("_scaled_dot_product_flash_attention_for_cpu")
def _attention(
    w: Writer, step: Step, query: Value, key: Value, value: Value, dropout_p: float = 0.0, is_causal: bool = False,
    attn_mask: Any = None, scale: Any = None, **_: Any,
) -> Any:  # fmt: skip
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    order = [*range(len(key.shape) - 2), len(key.shape) - 1, len(key.shape) - 2]
    scores = w.op("MatMul", w.op("Mul", w.t(query), w.like(factor, query)), w.op("Transpose", w.t(key), perm=order))
    if is_causal:
        shape = w.sizes([query.shape[-2], key.shape[-2]])
        ones = w.op("Expand", w.const(np.float32(1)), shape)
        keep = w.op("Cast", w.op("Trilu", ones, w.const(np.int64(0)), upper=0), to=9)
        scores = w.op("Where", keep, scores, w.like(-math.inf, query))
    if attn_mask is not None and attn_mask.dtype is bool_:
        scores = w.op("Where", w.t(attn_mask), scores, w.like(-math.inf, query))
    elif attn_mask is not None:
        scores = w.op("Add", scores, w.operand(attn_mask, query.dtype))
    found = w.op("MatMul", w.op("Softmax", scores, axis=-1), w.t(value))
    return [found, *[""] * (len(step.results) - 1)] if len(step.results) > 1 else found


@converter("interpolate")
def _interpolate(
    w: Writer, step: Step, self: Value, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
    recompute_scale_factor: Any = None, antialias: bool = False,
) -> str:  # fmt: skip
    modes = {"nearest": "nearest", "bilinear": "linear", "linear": "linear", "trilinear": "linear", "bicubic": "cubic"}
    if mode not in modes or (antialias and w.opset < 18):
        raise OnnxExporterError(f"mstorch: torch.onnx.export has no interpolation of mode {mode!r}{' with antialias' if antialias else ''}")
    place = "asymmetric" if mode == "nearest" else "align_corners" if align_corners else "half_pixel"
    attributes: dict[str, Any] = {
        "mode": modes[mode], "coordinate_transformation_mode": place, "nearest_mode": "floor",
        "cubic_coeff_a": -0.75 if mode == "bicubic" else None, "antialias": int(antialias) if antialias else None,
    }  # fmt: skip
    if scale_factor is not None and not recompute_scale_factor:
        count = len(self.shape) - 2
        scales = list(scale_factor) if isinstance(scale_factor, (list, tuple)) else [scale_factor] * count
        return w.op("Resize", w.t(self), "", w.const(np.asarray([1.0, 1.0, *scales], np.float32)), **attributes)
    target = step.results[0].shape[2:]
    first = w.op("Slice", w.op("Shape", w.t(self)), w.ints([0]), w.ints([2]))
    return w.op("Resize", w.t(self), "", "", w.op("Concat", first, w.sizes(target), axis=0), **attributes)


@converter("grid_sample")
def _grid_sample(
    w: Writer, step: Step, self: Value, grid: Value, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Any = None
) -> str:
    words = {"bilinear": "linear", "bicubic": "cubic"} if w.opset >= 20 else {}
    attributes: dict[str, Any] = {"mode": words.get(mode, mode), "padding_mode": padding_mode, "align_corners": int(bool(align_corners))}
    return w.op("GridSample", w.t(self), w.t(grid), **attributes)


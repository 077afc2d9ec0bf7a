"""Matmuls and convolutions of quantized tensors in integer arithmetic, and the scaling to results."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..core.dtype import dtype, float32, int32, quint8
from ..core.formats import channels_last, channels_last_3d, memory_format
from ..core.tensor_base import TensorBase
from ..ops._dispatch import type_word, without_grad
from ..ops.elementwise import compare, elementwise, math
from ..ops.layers import conv
from ..ops.linalg.matmul import matmul
from ..ops.memory import copying
from ..ops.shape import join, views
from .making import refuse
from .packed import ScriptObject, conv_config, is_half, unpacked
from .params import choose_one
from .tensor import (
    INTEGERS,
    RANGES,
    WORDS,
    Quantizer,
    dequantize,
    integers_for,
    integers_of,
    is_quantized,
    per_tensor_affine,
    quantized,
)

_EXACT = 256
"""The number of products of two differences of bytes whose sum is exact in float32: 255 * 255 * 256 < 2**24."""


def _differences(tensor: Any) -> Tensor:
    """Return a quantized tensor's integers minus its zero point, in float32, which represents them exactly."""
    own = tensor._quantizer
    point = own.point if own.axis is None else own.shaped(len(tensor._ms_shape))[1]
    return copying.to(elementwise.sub(copying.to(integers_of(tensor), int32), point), float32)


def _whole_product(left: Tensor, right: Tensor) -> Any:
    """Return ``left @ right.T`` of integers, exactly: blocks are accumulated in float32, and the sums of blocks in int32."""
    length = left._ms_shape[-1]
    total = None
    for start in range(0, max(length, 1), _EXACT):
        count = min(_EXACT, length - start)
        part = matmul(views.narrow(left, -1, start, count), views.transpose(views.narrow(right, -1, start, count), 0, 1))
        part = copying.to(part, int32)
        total = part if total is None else elementwise.add(total, part)
    return total


def _scales(weight: Any, scale: float, shape: list[int]) -> Any:
    """Return the scale of a product of input and weight: a number, or a tensor for per-channel weights."""
    own = weight._quantizer
    if own.axis is None:
        return float(np.float32(np.float32(scale) * np.float32(own.scale)))
    return views.reshape(elementwise.mul(copying.to(own.scale, float32), float(np.float32(scale))), shape)


def _check_input(name: str, input: Tensor, kind: dtype | None = None) -> None:
    if is_quantized(input) is (kind is None):
        place, word = ("QuantizedCPU", "floating") if kind is None else ("CPU", "quantized")
        raise NotImplementedError(f"Could not run 'quantized::{name}' with arguments from the '{place}' backend. It takes a {word} tensor.")
    if kind is not None and input._ms_dtype is not kind:
        raise RuntimeError(f"Expected input data type {WORDS[kind.name]} but got {WORDS[input._ms_dtype.name]}")


def _check_rows(input: Tensor, weight: Tensor) -> None:
    if len(input._ms_shape) < 2:
        raise RuntimeError("The dimension of input tensor should be larger than or equal to 2")
    if input._ms_shape[-1] != weight._ms_shape[-1]:
        raise RuntimeError(f"The number of rows in the packB should be equal to K: {input._ms_shape[-1]}")


def linear_dynamic(X: Tensor, W_prepack: ScriptObject, reduce_range: bool = False) -> Tensor:
    """Apply a linear layer to a float input, which is quantized dynamically; the result is float."""
    with without_grad():
        return _linear_dynamic(X, W_prepack, reduce_range)


def _linear_dynamic(X: Tensor, packed: ScriptObject, reduce_range: bool) -> Tensor:
    weight, bias = unpacked(packed)
    _check_input("linear_dynamic", X)
    if X._ms_dtype is not float32:
        raise RuntimeError(f"expected scalar type Float but found {type_word(X._ms_dtype)}")
    _check_rows(X, weight)
    own = X._ms_shape
    rows = views.reshape(views.detach(X), (-1, own[-1]))
    if 0 in own:
        return rows.new_zeros((*own[:-1], weight._ms_shape[0]))
    low, high = (part.item() for part in rows.aminmax())
    scale, point = choose_one(low, high, 0, 255, reduce_range=reduce_range)
    quantizer = Quantizer(per_tensor_affine, scale, point)
    steps = copying.to(elementwise.sub(copying.to(integers_for(rows, quantizer, quint8), int32), point), float32)
    sums = copying.to(_whole_product(steps, _differences(weight)), float32)
    found = elementwise.mul(sums, _scales(weight, scale, [1, -1]))
    if bias is not None:
        found = elementwise.add(found, views.detach(bias))
    return views.reshape(found, (*own[:-1], weight._ms_shape[0]))


def linear_relu_dynamic(X: Any, W_prepack: ScriptObject, reduce_range: bool = False) -> Any:
    """Return ``linear_dynamic`` followed by ReLU."""
    return compare.clamp_min(linear_dynamic(X, W_prepack, reduce_range), 0)


def linear_dynamic_fp16(X: Tensor, W_prepack: ScriptObject) -> Tensor:
    """Apply a linear layer whose weights were rounded to float16."""
    with without_grad():
        weight, bias = unpacked(W_prepack)
        _check_rows(X, weight)
        found = matmul(views.detach(X), views.transpose(weight, 0, 1))
        return found if bias is None else elementwise.add(found, views.detach(bias))


def linear_relu_dynamic_fp16(X: Any, W_prepack: ScriptObject) -> Any:
    """Return ``linear_dynamic_fp16`` followed by ReLU."""
    return compare.clamp_min(linear_dynamic_fp16(X, W_prepack), 0)


def relu6(qx: Any, inplace: bool = False) -> Tensor:
    """Return the values clamped to [0, 6], with the same quantizer."""
    own, (low, high) = qx._quantizer, RANGES[qx._ms_dtype]
    most = min(high, own.point + int(np.rint(6.0 / own.scale)))
    found = compare.clamp(integers_of(qx), max(low, own.point), most)
    if inplace:
        copying.copy_(integers_of(qx), found)
        return qx
    return quantized(found, own)


def by_any(X: Tensor, packed: ScriptObject, reduce_range: bool) -> Tensor:
    """Apply a linear layer to a float input: ``linear_dynamic``, or ``linear_dynamic_fp16`` for weights in half precision."""
    return linear_dynamic_fp16(X, packed) if is_half(packed) else linear_dynamic(X, packed, reduce_range)


def _finished(
    sums: Tensor, scales: Tensor | float, bias: Tensor | None, scale: float, point: int, kind: dtype, positive: bool, shape: list[int]
) -> Tensor:
    """Add the bias to integer sums, and requantize to the scale and zero point of the result; ``positive`` applies ReLU."""
    sums = copying.to(sums, float32)
    if bias is not None:
        sums = elementwise.add(sums, elementwise.div(views.reshape(views.detach(bias), shape), scales))
    steps = math.round(elementwise.mul(sums, elementwise.div(scales, scale) if isinstance(scales, TensorBase) else _ratio(scales, scale)))
    low, high = RANGES[kind]
    steps = compare.clamp(elementwise.add(steps, point), max(low, point) if positive else low, high)
    return quantized(copying.to(steps, INTEGERS[kind]), Quantizer(per_tensor_affine, float(scale), int(point)))


def _ratio(scales: float, scale: float) -> float:
    return float(np.float32(scales) / np.float32(scale))


def _linear(name: str, positive: bool) -> Callable[..., Any]:
    def function(X: Any, W_prepack: ScriptObject, Y_scale_i: float, Y_zero_point_i: int) -> Any:
        weight, bias = unpacked(W_prepack)
        _check_input(name, X, quint8)
        _check_rows(X, weight)
        with without_grad():
            own, count = X._ms_shape, weight._ms_shape[0]
            rows = views.reshape(_differences(X), (-1, own[-1]))
            sums = views.reshape(_whole_product(rows, _differences(weight)), (*own[:-1], count))
            scales = _scales(weight, X._quantizer.scale, [1] * (len(own) - 1) + [-1])
            return _finished(sums, scales, bias, Y_scale_i, Y_zero_point_i, quint8, positive, [1] * (len(own) - 1) + [-1])

    function.__name__ = name
    return function


linear, linear_relu = _linear("linear", False), _linear("linear_relu", True)


def _whole_convolution(input: Tensor, weight: Tensor, config: dict[str, Any]) -> Any:
    """Return a convolution of integers, exactly: blocks of channels are accumulated in float32, and their sums in int32."""
    groups, window = config["groups"], weight._ms_shape[2:]
    within = weight._ms_shape[1]
    count = max(1, _EXACT // max(1, int(np.prod(window))))
    batch, _, *places = input._ms_shape
    apart = views.reshape(input, (batch, groups, within, *places))
    total = None
    for start in range(0, within, count):
        some = min(count, within - start)
        part = views.reshape(views.narrow(apart, 2, start, some), (batch, groups * some, *places))
        function = conv.conv2d if len(window) == 2 else conv.conv3d
        sums = function(part, views.narrow(weight, 1, start, some), None, config["stride"], config["padding"], config["dilation"], groups)
        sums = copying.to(sums, int32)
        total = sums if total is None else elementwise.add(total, sums)
    return total


def _conv(name: str, rank: int, positive: bool) -> Callable[..., Any]:
    def function(qx: Any, packed_weight: ScriptObject, output_scale: float, output_zero_point: int) -> Any:
        weight, bias = unpacked(packed_weight)
        _check_input(name, qx, quint8)
        config = conv_config(packed_weight)
        if config["transpose"]:
            raise NotImplementedError("mstorch: transposed convolutions of quantized tensors are not built")
        if len(qx._ms_shape) != rank + 2:
            raise RuntimeError(f"{name}: expected an input of {rank + 2} dimensions, not {len(qx._ms_shape)}")
        with without_grad():
            steps = _differences(qx)
            steps = views.unsqueeze(steps, 2) if rank == 1 else steps
            if steps._ms_shape[1] != weight._ms_shape[1] * config["groups"]:
                raise RuntimeError(
                    f"Given groups={config['groups']}, weight of size {list(weight._ms_shape)}, expected input to have "
                    f"{weight._ms_shape[1] * config['groups']} channels, but got {steps._ms_shape[1]} channels instead"
                )
            sums = _whole_convolution(steps, _differences(weight), config)
            shape = [1, -1] + [1] * (len(sums._ms_shape) - 2)
            scales = _scales(weight, qx._quantizer.scale, shape)
            found = _finished(sums, scales, bias, output_scale, output_zero_point, quint8, positive, shape)
            return found.squeeze(2) if rank == 1 else found.contiguous(memory_format=_last(rank))

    function.__name__ = name
    return function


def _last(rank: int) -> memory_format:
    return channels_last if rank == 2 else channels_last_3d


CONVOLUTIONS = {
    f"conv{rank}d{end}": _conv(f"conv{rank}d{end}", rank, bool(end)) for rank in (1, 2, 3) for end in ("", "_relu")
}  # fmt: skip


def _of_two(name: str, compute: Callable[..., Any], positive: bool) -> Callable[..., Any]:
    def function(qa: Tensor, qb: Tensor, scale: Any = None, zero_point: Any = None, **options: Any) -> Any:
        if not is_quantized(qa) or options:
            refuse(f"quantized::{name}")
        if not isinstance(qb, TensorBase):
            return SCALARS[f"{name.replace('_relu', '')}_scalar{'_relu' if positive else ''}"](qa, qb)
        own = Quantizer(per_tensor_affine, float(scale), int(zero_point))
        with without_grad():
            found = compute(dequantize(qa), dequantize(qb))
            if positive:
                found = compare.clamp_min(found, 0)
            return quantized(integers_for(found, own, qa._ms_dtype), own)

    function.__name__ = name
    return function


def _add_scalar(qa: Any, b: Tensor | float, positive: bool = False) -> Tensor:
    """Add a number by shifting the zero point, with the same integers; if the zero point would leave the range, requantize with a larger
    scale."""
    b = b.item() if isinstance(b, TensorBase) else b
    own, (low, high) = qa._quantizer, RANGES[qa._ms_dtype]
    shift = int(np.rint(float(b) / own.scale))
    point = own.point - shift
    if low <= point <= high:
        made = own._replace(point=point)
        found = quantized(copying.clone(integers_of(qa)), made)
    else:
        edge = low if point < low else high
        scale = (high - point if edge == low else point - low) / (high - low) * own.scale
        made = Quantizer(per_tensor_affine, float(scale), edge)
        steps = elementwise.sub(copying.to(integers_of(qa), int32), point)
        found = quantized(integers_for(elementwise.mul(copying.to(steps, float32), float(np.float32(own.scale))), made, qa._ms_dtype), made)
    return _positive(found) if positive else found


def _mul_scalar(qa: Any, b: Tensor | float, positive: bool = False) -> Tensor:
    """Multiply by a number by multiplying the scale, with the same integers; for a negative number the integers are reflected within their
    range."""
    b = float(b.item() if isinstance(b, TensorBase) else b)
    own, (low, high) = qa._quantizer, RANGES[qa._ms_dtype]
    if b > 0:
        found = quantized(copying.clone(integers_of(qa)), own._replace(scale=own.scale * b))
    elif b == 0:
        found = quantized(elementwise.mul(integers_of(qa), 0), own._replace(scale=1.0, point=0))
    else:
        mirrored = elementwise.rsub(copying.to(integers_of(qa), int32), low + high)
        made = own._replace(scale=own.scale * -b, point=high - (own.point - low))
        found = quantized(copying.to(mirrored, INTEGERS[qa._ms_dtype]), made)
    return _positive(found) if positive else found


def _positive(tensor: Any) -> Tensor:
    return quantized(compare.clamp_min(integers_of(tensor), tensor._quantizer.point), tensor._quantizer)


SCALARS: dict[str, Callable[..., Any]] = {
    "add_scalar": _add_scalar, "add_scalar_relu": lambda qa, b: _add_scalar(qa, b, True),
    "mul_scalar": _mul_scalar, "mul_scalar_relu": lambda qa, b: _mul_scalar(qa, b, True),
}  # fmt: skip


def _cat(qx: Any, dim: int, scale: float | None = None, zero_point: int | None = None) -> Any:
    first = qx[0]._quantizer
    own = first._replace(scale=first.scale if scale is None else float(scale), point=first.point if zero_point is None else int(zero_point))
    with without_grad():
        return quantized(integers_for(join.cat([dequantize(item) for item in qx], dim), own, qx[0]._ms_dtype), own)


def _batch_norm(rank: int, positive: bool) -> Callable[..., Any]:
    def function(qx: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float, output_scale: float, output_zero_point: int) -> Any:
        own = Quantizer(per_tensor_affine, float(output_scale), int(output_zero_point))
        with without_grad():
            shape = [1, -1] + [1] * rank
            slope = elementwise.rsqrt(elementwise.add(var, eps))
            slope = slope if weight is None else elementwise.mul(slope, views.detach(weight))
            shift = elementwise.neg(elementwise.mul(mean, slope))
            shift = shift if bias is None else elementwise.add(shift, views.detach(bias))
            found = elementwise.add(elementwise.mul(dequantize(qx), views.reshape(slope, shape)), views.reshape(shift, shape))
            found = compare.clamp_min(found, 0) if positive else found
            return quantized(integers_for(found, own, qx._ms_dtype), own)

    return function


OTHERS: dict[str, Callable[..., Any]] = {
    **{f"{name}{end}": _of_two(f"{name}{end}", compute, bool(end)) for name, compute in (("add", elementwise.add), ("mul", elementwise.mul))
       for end in ("", "_relu")},
    "matmul": _of_two("matmul", matmul, False), "cat": _cat, **SCALARS,
    **{f"batch_norm{rank}d{end}": _batch_norm(rank, bool(end)) for rank in (2, 3) for end in ("", "_relu")},
}  # fmt: skip


"""Fake quantization: float tensors are quantized and dequantized; gradients pass where nothing was clamped."""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ...autograd.function import Function, FunctionCtx
from ..backend.arrays import Number
from ..backend.errors import not_for
from ..core.dtype import bfloat16, dtype, float16, float32, float64, int32
from ..core.tensor_base import TensorBase
from ..ops._dispatch import is_number, type_word, without_grad, wrap_dim
from ..ops._named import call_node
from ..ops.elementwise import compare, elementwise, math
from ..ops.elementwise.bitwise import bitwise_and
from ..ops.memory import copying
from ..ops.reduce import reduce
from ..ops.shape import views
from .params import choose

_PER_TENSOR = "FakeQuantizePerTensorAffineCachemaskBackward0"
_TENSOR_GIVEN = "FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0"
_PER_CHANNEL = "FakeQuantizePerChannelAffineCachemaskBackward0"
_WRONG_RANGE = "`quant_min` should be less than or         equal to `quant_max`."
_WRONG_POINT = "`zero_point` must be between `quant_min` and `quant_max`."
_FAR = float(2**63)


def _clamped(steps: Tensor, low: int, high: int) -> Tensor:
    """Return steps clamped to the range; NaN becomes the minimum of the range."""
    return compare.where(compare.isnan(steps), float(low), compare.clamp(steps, low, high))


def _within(steps: Tensor, low: int, high: int) -> Tensor:
    return bitwise_and(compare.ge(steps, low), compare.le(steps, high))


def _in_compute_dtype(input: Tensor) -> Tensor:
    """Return the tensor in the dtype of the computation: float32 for half precision."""
    return copying.to(input, float32) if input._ms_dtype in (float16, bfloat16) else input


def _back(values: Tensor, kind: dtype) -> Tensor:
    return values if values._ms_dtype is kind else copying.to(values, kind)


def _rounded(input: Tensor, scale: Tensor | float, point: Any, low: int, high: int, by_int64: bool) -> tuple[Any, Any]:
    """Return the fake-quantized tensor, and a mask of where it was not clamped.

    With ``by_int64``, steps beyond int64 become the range's minimum, as in torch's per-channel kernel.
    """
    work = _in_compute_dtype(input)
    inverse = elementwise.reciprocal(scale) if isinstance(scale, TensorBase) else float(np.float32(1) / np.float32(scale))
    floating = by_int64 and point._ms_dtype.is_floating_point
    if floating:
        steps = math.round(elementwise.add(elementwise.mul(work, inverse), point))
    else:
        steps = elementwise.add(math.round(elementwise.mul(work, inverse)), point)
    inside = _within(steps, low, high)
    if by_int64:
        steps = compare.where(compare.ge(steps, _FAR), float(low), steps)
    steps = _clamped(steps, low, high)
    # The last product is computed in float32, even for a float64 tensor; in float64 by the per-channel kernel, where an
    # integer times a scale is rounded once for either dtype.
    last = float64 if floating or (by_int64 and input._ms_dtype is float64) else float32
    found = elementwise.mul(elementwise.sub(_back(steps, last), point), scale)
    return _back(found, input._ms_dtype), inside


class _Straight(Function):
    """Fake quantization with a straight-through gradient where values are not clamped."""

    @staticmethod
    def forward(ctx: FunctionCtx, input: Tensor, scale: Tensor | float, point: Tensor | int, low: int, high: int, by_int64: bool) -> Tensor:
        found, inside = _rounded(input, scale, point, low, high, by_int64)
        ctx.save_for_backward(inside)
        return found

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Tensor) -> tuple[TensorBase | None, ...]:
        return elementwise.mul(grad_outputs[0], ctx.saved_tensors[0]), None, None, None, None, None


def _straight(label: str, *given: Any) -> Any:
    return call_node(_Straight.apply(*given), label)


def _check_range(low: int, high: int) -> None:
    if low > high:
        raise RuntimeError(_WRONG_RANGE)


def _check_floating(input: Tensor, kernel: str) -> None:
    if input._ms_dtype not in (float16, bfloat16, float32, float64):
        raise not_for(kernel, input._ms_dtype.name)


def _single(value: Any) -> Tensor:
    """Return a one-element tensor as a 0-d float32 tensor. Raise RuntimeError for more elements."""
    count = prod(value._ms_shape)
    if count != 1:
        raise RuntimeError(f"a Tensor with {count} elements cannot be converted to Scalar")
    return views.reshape(copying.to(views.detach(value), float32), ())


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Tensor | float, zero_point: Tensor | int, quant_min: int, quant_max: int
) -> Tensor:
    """Return ``input`` rounded to ``quant_max - quant_min + 1`` steps of ``scale``; the gradient passes where nothing is clamped."""
    if isinstance(scale, TensorBase) and isinstance(zero_point, TensorBase):
        if scale.requires_grad:
            raise RuntimeError(
                "The function '_fake_quantize_per_tensor_affine_cachemask_tensor_qparams' is not differentiable with respect to argument "
                "'scale'. This input cannot have requires_grad True."
            )
        _check_range(quant_min, quant_max)
        _check_floating(input, "fake_quantize_tensor_cachemask_kernel_type_handling")
        point = math.trunc(_single(zero_point))
        return _straight(_TENSOR_GIVEN, input, _single(scale), point, quant_min, quant_max, False)
    if not is_number(scale) or not isinstance(zero_point, int):
        kinds = ", ".join(type(value).__name__ for value in (input, scale, zero_point, quant_min, quant_max))
        raise TypeError(
            f"fake_quantize_per_tensor_affine() received an invalid combination of arguments - got ({kinds}), but expected one of:\n"
            " * (Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max)\n"
            " * (Tensor input, float scale, int zero_point, int quant_min, int quant_max)\n"
        )
    _check_range(quant_min, quant_max)
    if not quant_min <= zero_point <= quant_max:
        raise RuntimeError(_WRONG_POINT)
    _check_floating(input, "fake_quantize_tensor_cachemask_kernel_type_handling")
    return _straight(_PER_TENSOR, input, float(np.float32(scale)), zero_point, quant_min, quant_max, False)


def _by_channel(value: Tensor | Number, axis: int, rank: int) -> Tensor:
    """Return per-channel values reshaped to broadcast against a tensor of the given rank."""
    return views.reshape(value, [-1 if place == axis else 1 for place in range(rank)])


def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Tensor:
    """Run ``fake_quantize_per_tensor_affine`` with a scale and a zero point for each slice along ``axis``."""
    scale, zero_point = views.detach(scale), views.detach(zero_point)
    own, scales, points = input._ms_shape, scale._ms_shape, zero_point._ms_shape
    if scale._ms_dtype not in (float32, bfloat16):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {type_word(scale._ms_dtype)}")
    if zero_point._ms_dtype not in (int32, float32, float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {type_word(zero_point._ms_dtype)}")
    if len(scales) != 1:
        raise RuntimeError("scale should be a 1-D tensor")
    if len(points) != 1:
        raise RuntimeError("zero point should be a 1-D tensor")
    if scales != points:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    wrap_dim(axis, len(own))
    if scales[0] != own[axis]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _check_range(quant_min, quant_max)
    if zero_point._ms_dtype is int32 and points[0]:
        least, greatest = (part.item() for part in reduce.aminmax(zero_point))
        if least < quant_min or greatest > quant_max:
            raise RuntimeError(_WRONG_POINT)
    if not 0 <= axis <= len(own):
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    _check_floating(input, "fake_quantize_channel_cachemask_cpu_type_handling")
    shaped = _by_channel(copying.to(scale, float32), axis, len(own)), _by_channel(zero_point, axis, len(own))
    return _straight(_PER_CHANNEL, input, *shaped, quant_min, quant_max, True)


class _Learnable(Function):
    """Fake quantization with gradients for scale and zero point."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, input: Tensor, scale: Tensor, point: Tensor, axis: int | None, low: int, high: int, factor: float
    ) -> Tensor:
        ctx.save_for_backward(input, scale, point)
        ctx.given = axis, low, high, factor
        own_scale, own_point = _qparams(input, scale, point, axis, low, high, True)
        own_point = own_point if axis is None else copying.to(own_point, int32)
        return _rounded(input, own_scale, own_point, low, high, axis is not None)[0]

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Tensor) -> Any:
        input, scale, point = ctx.saved_tensors
        axis, low, high, factor = ctx.given
        g = grad_outputs[0]
        own_scale, own_point = _qparams(input, scale, point, axis, low, high, axis is not None)
        inverse = elementwise.reciprocal(own_scale)
        raw = elementwise.mul(input, inverse)
        steps = math.round(elementwise.add(raw, own_point)) if axis is None else elementwise.add(math.round(raw), own_point)
        inside = _within(steps, low, high)
        near = elementwise.mul(elementwise.sub(_clamped(steps, low, high), own_point), own_scale)
        kept = elementwise.mul(elementwise.mul(g, elementwise.sub(near, input)), inverse)
        edge = compare.where(compare.lt(steps, low), elementwise.rsub(own_point, low), elementwise.rsub(own_point, high))
        by_scale = elementwise.mul(compare.where(inside, kept, elementwise.mul(g, edge)), factor)
        moved = elementwise.mul(elementwise.mul(elementwise.neg(g), own_scale), factor)
        by_point = compare.where(inside, 0.0, moved)
        dims = tuple(place for place in range(len(input._ms_shape)) if place != axis)
        found = [part if axis is not None and not dims else reduce.sum(part, dims) for part in (by_scale, by_point)]
        if axis is None:
            found = [views.reshape(part, (1,)) for part in found]
        return elementwise.mul(g, inside), *found, None, None, None, None


def _qparams(input: Tensor, scale: Tensor, point: Tensor, axis: int | None, low: int, high: int, rounded: bool) -> tuple[Any, Any]:
    """Return scale and integer zero point in shapes that broadcast against the input."""
    if axis is None:
        scale, point = views.select(scale, 0, 0), views.select(point, 0, 0)
    else:
        scale, point = (_by_channel(part, axis, len(input._ms_shape)) for part in (scale, point))
    point = math.round(point) if rounded else elementwise.add(point, 0.5)
    return scale, math.trunc(compare.clamp(point, low, high))


def _fake_quantize_learnable_per_tensor_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> TensorBase:
    """Run ``fake_quantize_per_tensor_affine`` with gradients for scale and zero point, multiplied by ``grad_factor``."""
    given = (input, scale, zero_point, None, quant_min, quant_max, grad_factor)
    return call_node(_Learnable.apply(*given), "FakeQuantizeLearnablePerTensorAffineBackward0")


def _fake_quantize_learnable_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> TensorBase:
    """Run ``fake_quantize_per_channel_affine`` with gradients for scales and zero points, multiplied by ``grad_factor``."""
    given = (input, scale, zero_point, wrap_dim(axis, len(input._ms_shape)), quant_min, quant_max, grad_factor)
    return call_node(_Learnable.apply(*given), "FakeQuantizeLearnablePerChannelAffineBackward0")


class _Same(Function):
    """The identity, used if fake quantization is disabled."""

    @staticmethod
    def forward(ctx: FunctionCtx, input: Tensor) -> Tensor:
        return copying.clone(input)

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Tensor) -> Tensor:
        return grad_outputs[0]


def fused_moving_avg_obs_fake_quant(
    input: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor, running_max: Tensor, scale: Tensor, zero_point: Tensor,
    averaging_const: float, quant_min: int, quant_max: int, ch_axis: int, per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> TensorBase:  # fmt: skip
    """Update ``running_min`` and ``running_max`` by a tensor, determine scale and zero point from them, and fake-quantize the tensor."""
    own = input._ms_shape
    if 0 in own:
        return copying.clone(input)
    if ch_axis >= len(own):
        raise RuntimeError("Error in fused_moving_avg_obs_fake_quant_cpu: ch_axis must be < self.dim()")
    if per_row_fake_quant and ch_axis:
        raise RuntimeError("Per-channel FakeQuant in fused_moving_avg_obs_fake_quant is only supported on axis == 0")
    rounds = fake_quant_on.item()
    with without_grad():
        if observer_on.item():
            _observe(input, running_min, running_max, averaging_const, ch_axis if per_row_fake_quant else None, (scale, zero_point))
        if rounds:
            _choose_for(running_min, running_max, scale, zero_point, (quant_min, quant_max), symmetric_quant)
    label = "FusedMovingAvgObsFqHelperBackward0"
    if not rounds:
        return call_node(_Same.apply(input), label)
    if per_row_fake_quant:
        return call_node(fake_quantize_per_channel_affine(input, scale, zero_point, ch_axis, quant_min, quant_max), label)
    return call_node(fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max), label)


def _choose_for(low: Tensor, high: Tensor, scale: Tensor, point: Tensor, limits: tuple[int, int], symmetric: bool) -> None:
    """Compute the scales and zero points for running bounds, and write them to ``scale`` and ``point``."""
    bounds = [np.asarray(part.detach().cpu().numpy(), np.float32) for part in (low, high)]
    scales, points = choose(bounds[0], bounds[1], limits[0], limits[1], symmetric)
    for target, values in ((scale, scales), (point, points)):
        target.copy_(views.reshape(target.new_tensor(values.tolist(), dtype=float64), target._ms_shape))


def _observe(input: Tensor, running_min: Tensor, running_max: Tensor, share: float, axis: int | None, qparams: tuple[Any, Any]) -> None:
    """Move the running bounds towards the minimum and maximum of a tensor by the fraction ``share``; over all elements, or for each slice
    along ``axis``.

    Infinite bounds are replaced. ``qparams`` (scale and zero point) are resized with the bounds on the first call."""
    own = input._ms_shape
    if axis is None:
        bounds = reduce.aminmax(input)
    else:
        count = own[axis]
        if not prod(running_min._ms_shape):
            running_min.resize_(count).fill_(float("inf"))
            running_max.resize_(count).fill_(float("-inf"))
            qparams[0].resize_(count)
            qparams[1].resize_(count)
        bounds = reduce.aminmax(views.reshape(views.movedim(input, axis, 0), (count, -1)), dim=1)
    for running, now in zip((running_min, running_max), bounds):
        now = views.reshape(copying.to(now, running._ms_dtype), running._ms_shape)
        moved = elementwise.add(running, elementwise.mul(elementwise.sub(now, running), share))
        running.copy_(compare.where(compare.isinf(running), now, moved))


FUNCTIONS = (
    "fake_quantize_per_tensor_affine", "fake_quantize_per_channel_affine", "_fake_quantize_learnable_per_tensor_affine",
    "_fake_quantize_learnable_per_channel_affine", "fused_moving_avg_obs_fake_quant",
)  # fmt: skip

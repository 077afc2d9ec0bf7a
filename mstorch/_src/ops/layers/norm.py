"""Normalization."""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.host.norm import half_rms_norm
from ...backend.table import kernel
from ...core.dtype import dtype, finfo, float32
from ...core.modes import modes
from ...core.storage import Storage
from ...core.tangents import LEVELS
from ...core.tensor_base import TensorBase, array_of, is_tracked, recording, tensor_of, touch, value_of
from ...core.writable import is_plain_target
from ...tape.apply import apply
from ...tape.ways import fused, in_arrays
from ...tape.whole import followed, in_one_piece
from ...tape.windows import linear, no_view
from .._autocast import FLOAT32_ON_DEVICES
from .._dispatch import call, cast_tensor, refuse_dtype, with_format, without_grad, write_result
from .._named import call_node, node_called
from .._numbers import not_differentiable, refuse_tracked
from .._one_dtype import expect_parameters
from .._operation import operation
from .._scalars import scalar_array
from ..elementwise.elementwise import add, mul, rsqrt, square, sub
from ..memory._kept import kept
from ..memory.copying import to_dtype
from ..memory.creation import ones, zeros
from ..reduce.reduce import mean
from ..shape import views

_train = kernel("batch_norm_train")
_eval = kernel("batch_norm_eval")
_layer_norm, _layer_norm_parts = kernel("layer_norm"), kernel("layer_norm_parts")
_group_norm_parts = kernel("group_norm_parts")
_running = kernel("running_average")
_train_parts = kernel("batch_norm_parts")


def _update(running: TensorBase, batch: TensorBase, factor: float, scale: float = 1.0) -> None:
    """Compute ``running = (1 - factor) * running + factor * scale * batch``, not tracked by autograd."""
    if batch._ms_dtype is running._ms_dtype and is_plain_target(running) and in_arrays(batch):
        array = array_of(running)
        array[...] = _running.host[running._ms_dtype.name](array, array_of(batch), factor, scale)
        touch(running)
        return
    with without_grad():
        if batch._ms_dtype is not running._ms_dtype:
            batch = cast_tensor(batch.detach(), running._ms_dtype)
        write_result(running, call(_running, (running.detach(), batch), factor, scale))


def _or_filled(input: TensorBase, shape: tuple[int, ...], parameter: TensorBase | None, value: int) -> TensorBase:
    """Return the parameter; without one, a tensor of ones or zeros on the input's device, to which nobody writes."""
    if parameter is not None:
        return parameter
    kind, place = input._ms_dtype, input.device
    if in_arrays(input):
        return tensor_of(_filled(value, shape, kind))
    return kept(input, (value, shape, kind), lambda: (ones if value else zeros)(shape, dtype=kind, device=place))


@functools.lru_cache(maxsize=64)
def _filled(value: int, shape: tuple[int, ...], kind: dtype) -> Array:
    """Return an array that is filled with a number, and that nobody writes to."""
    found = np.empty(shape, kind.np)
    found[...] = scalar_array(value, kind)
    return found


def _check_channels(channels: int, **tensors: TensorBase | None) -> None:
    for name, tensor in tensors.items():
        if tensor is not None and math.prod(tensor._ms_shape) != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {math.prod(tensor._ms_shape)}")


def _beside_singles(input: TensorBase, *parameters: TensorBase | None) -> bool:
    """Return whether half-precision input is normalized with float32 parameters: torch then computes in float32 and rounds only the result.
    """
    kind = input._ms_dtype
    return kind.itemsize == 2 and kind.is_floating_point and any(item is not None and item._ms_dtype is float32 for item in parameters)


def _takes_as_it_is(input: TensorBase, *parameters: TensorBase | None) -> bool:
    """Return whether the host's kernels normalize the input as it is, also half precision beside float32 parameters: a copy in float32,
    kept for the gradient, would be twice what torch keeps.
    """
    return not LEVELS and 0 not in input._ms_shape and in_arrays(*(item for item in (input, *parameters) if item is not None))


def _moves_running(input: TensorBase, *statistics: TensorBase | None) -> bool:
    """Return whether a device kernel can normalize and update the running statistics at once: whole float32 tensors that autograd does not
    track.
    """
    if input._ms_storage.__class__ is Storage or 0 in input._ms_shape or not fused("batch_norm_parts", input._ms_dtype, input, *statistics):
        return False
    return all(
        item is None or (item._ms_storage.is_free(item) and item._ms_dtype is float32 and not is_tracked(item)) for item in statistics
    )


def batch_norm(
    input: TensorBase, weight: TensorBase | None, bias: TensorBase | None, running_mean: TensorBase | None, running_var: TensorBase | None,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> TensorBase:  # fmt: skip
    """Normalize each channel of (N, C, *) to mean 0 and variance 1, times ``weight`` plus ``bias`` (C).

    In training the statistics are the batch's, and the running ones are updated by ``momentum`` (with the unbiased variance), unless the
    batch has no elements; else the running ones are used.
    """
    if momentum.__class__ is not float or eps.__class__ is not float:
        refuse_tracked(momentum, eps)
    shape = input._ms_shape
    channels = shape[1] if len(shape) > 1 else shape[0]
    _check_channels(channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    known = (running_mean is not None) + (running_var is not None)
    if known == 1 or not (known or training):
        raise _missing_statistics(training, running_mean)
    not_differentiable("native_batch_norm", running_mean=running_mean, running_var=running_var)
    kind = input._ms_dtype
    if kind.is_integral:
        refuse_dtype("batch_norm", kind, 2)
    expect_parameters("batch_norm", input, weight, bias, running_mean, running_var)
    beside_singles = kind.itemsize == 2 and _beside_singles(input, weight, bias, running_mean, running_var)
    if beside_singles and not (training and _takes_as_it_is(input, weight, bias)):
        return _wide_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    weight, bias = _or_filled(input, (channels,), weight, 1), _or_filled(input, (channels,), bias, 0)
    if len(shape) < 2:
        return mul(input, 1)
    if not training:
        return with_format(call(_eval, (input, weight, bias, running_mean, running_var), eps), input)
    if _moves_running(input, running_mean, running_var):
        return _train_by_one_kernel(input, weight, bias, running_mean, running_var, momentum, eps)
    operands = (input, weight, bias)
    count = 0 if 0 in shape else math.prod(shape) // channels
    # Not ``call``, which casts: the host's kernel takes float32 parameters beside an input in half precision.
    if modes.saved_hooks and known:
        # A pack hook may raise while tensors are saved, as checkpoint's does, after the running statistics have changed.
        with without_grad():
            statistics = apply(_train, kind, operands, (eps,))[1:]  # no name keeps the normalized input, which is computed again below
        _update_running(running_mean, running_var, statistics, momentum, count)
        y = apply(_train, kind, operands, (eps,))[0]
    else:
        y, *statistics = apply(_train, kind, operands, (eps,))
        _update_running(running_mean, running_var, statistics, momentum, count)
    return with_format(y, input)


def _missing_statistics(training: bool, running_mean: TensorBase | None) -> Exception:
    if training:
        return ValueError("running_mean and running_var must either both be None or neither be None")
    return RuntimeError(f"{'running_mean' if running_mean is None else 'running_var'} must be defined in evaluation mode")


def _train_by_one_kernel(
    input: TensorBase, weight: TensorBase, bias: TensorBase, running_mean: TensorBase | None, running_var: TensorBase | None,
    momentum: float, eps: float,
) -> TensorBase:  # fmt: skip
    """Normalize by a device's kernel that also updates the running statistics."""
    statistics = (running_mean, running_var)
    raws = [None if item is None else value_of(item) for item in statistics]
    y = call(_train_parts, (input, weight, bias), *raws, momentum, eps)[0]
    for item in statistics:
        if item is not None:
            touch(item)
    return with_format(y, input)


def _update_running(running_mean: Any, running_var: Any, statistics: Sequence[TensorBase], momentum: float, count: int) -> None:
    """Update the running statistics by those of a batch, of ``count`` elements in each channel; nothing for an empty batch."""
    if count and running_mean is not None:
        _update(running_mean, statistics[0], momentum)
        _update(running_var, statistics[1], momentum, count / (count - 1) if count > 1 else float("nan"))


@node_called("NativeBatchNormBackward0")
def _wide_batch_norm(input: TensorBase, *others: Any) -> TensorBase:
    return to_dtype(batch_norm(to_dtype(input, float32), *others), input._ms_dtype)


@operation(autocast=FLOAT32_ON_DEVICES)
def layer_norm(
    input: TensorBase, normalized_shape: Sequence[int], weight: TensorBase | None = None, bias: TensorBase | None = None,
    eps: float = 1e-05, cudnn_enable: bool = True,
) -> TensorBase:  # fmt: skip
    """Normalize over the last dimensions to mean 0 and variance 1 (https://arxiv.org/abs/1607.06450), times ``weight`` plus ``bias``."""
    if eps.__class__ is not float:
        refuse_tracked(eps)
    shape, wanted = input._ms_shape, tuple(normalized_shape)
    _check_normalized(shape, wanted, weight, bias)
    kind = input._ms_dtype
    if kind.is_integral or weight is None or bias is None or not weight._ms_dtype is bias._ms_dtype is kind:
        expect_parameters("LayerNormKernelImpl", input, weight, bias)
        if _beside_singles(input, weight, bias):
            return _wide_layer_norm(input, wanted, weight, bias, eps)
        weight, bias = _or_filled(input, wanted, weight, 1), _or_filled(input, wanted, bias, 0)
    operands, begin = (input, weight, bias), len(shape) - len(wanted)
    if 0 not in shape and fused("layer_norm_parts", kind, input) and recording(operands):
        return call(_layer_norm_parts, operands, begin, eps)[0]  # also saves the statistics for the gradient kernel
    return call(_layer_norm, operands, begin, eps)


@node_called("NativeLayerNormBackward0")
def _wide_layer_norm(input: TensorBase, *others: Any) -> TensorBase:
    return to_dtype(layer_norm(to_dtype(input, float32), *others), input._ms_dtype)


def _check_normalized(shape: tuple[int, ...], wanted: tuple[int, ...], weight: TensorBase | None, bias: TensorBase | None = None) -> None:
    if not wanted:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            f"normalized_shape = {list(wanted)}"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor._ms_shape != wanted:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(tensor._ms_shape)} and "
                f"normalized_shape = {list(wanted)}"
            )
    if shape[len(shape) - len(wanted) :] != wanted:
        raise RuntimeError(
            f"Given normalized_shape={list(wanted)}, expected input with shape [*, {', '.join(map(str, wanted))}], but got input "
            f"of size{list(shape)}"
        )


@operation(autocast=FLOAT32_ON_DEVICES)
def rms_norm(input: TensorBase, normalized_shape: Sequence[int], weight: TensorBase | None = None, eps: float | None = None) -> TensorBase:
    """Return the input divided by the root of its mean square over the last dimensions (https://arxiv.org/abs/1910.07467)."""
    refuse_tracked(eps)
    shape, wanted = input._ms_shape, tuple(normalized_shape)
    _check_normalized(shape, wanted, weight)
    kind = input._ms_dtype
    refuse_dtype("rms_norm", kind, 2)
    half = kind.name in ("float16", "bfloat16")
    if eps is None:
        eps = finfo(float32 if half else kind).eps
    operands = (input,) if weight is None else (input, weight)
    if half and in_one_piece(operands) and not followed(operands) and input._ms_stride is None and 0 not in shape:
        return tensor_of(half_rms_norm(array_of(input), None if weight is None else array_of(weight), len(wanted), eps))
    x = input.float() if half else input
    dims = tuple(range(len(shape) - len(wanted), len(shape)))
    y = mul(x, rsqrt(add(mean(square(x), dims, True), eps)))
    return to_dtype(y if weight is None else mul(y, weight), kind).contiguous()  # rounded once


@operation(autocast=FLOAT32_ON_DEVICES)
@node_called("NativeGroupNormBackward0", "input weight")
def group_norm(
    input: TensorBase, num_groups: int, weight: TensorBase | None = None, bias: TensorBase | None = None, eps: float = 1e-05,
    cudnn_enabled: bool = True
) -> TensorBase:
    """Normalize each group of channels of (N, C, *) to mean 0 and variance 1 (https://arxiv.org/abs/1803.08494)."""
    refuse_tracked(eps)
    shape = input._ms_shape
    channels = shape[1]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={num_groups}"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor._ms_shape != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(tensor._ms_shape)} and input of shape {list(shape)}"
            )
    expect_parameters("GroupNormKernelImpl", input, weight, bias)
    kind = input._ms_dtype
    if _normalises_groups(input, weight, bias):
        return with_format(_in_groups(input, num_groups, weight, bias, eps), input)
    if kind.itemsize == 2 and kind.is_floating_point:  # half precision rounds once, at the end
        weight, bias = (item if item is None else item.float() for item in (weight, bias))
        return group_norm(input.float(), num_groups, weight, bias, eps).to(kind)
    if not math.prod(input._ms_shape):
        if weight is not None and shape[0]:  # the mean of no elements is NaN, and so is the gradient
            weight = linear(weight, np.array, lambda gradient: gradient * np.float32(np.nan).astype(gradient.dtype), "MulBackward0")
        return _scaled(mul(input, 1), weight, bias)
    groups = views.reshape(input, (shape[0], num_groups, -1))
    y = views.reshape(layer_norm(groups, groups._ms_shape[2:], None, None, eps), shape)
    return no_view(with_format(_scaled(y, weight, bias), input))


def _normalises_groups(input: TensorBase, weight: TensorBase | None, bias: TensorBase | None) -> bool:
    """Return whether there is one kernel for norms of groups of channels, and it takes these tensors."""
    kind, given = input._ms_dtype, [item for item in (input, weight, bias) if item is not None]
    if _takes_as_it_is(*given) and kind.is_floating_point:
        return True
    if 0 in input._ms_shape or any(item._ms_dtype is not kind for item in given):
        return False
    # A device's gradient kernel reads statistics in the input's dtype.
    return (kind.itemsize > 2 or not recording(given)) and fused("group_norm_parts", kind, *given)


def _in_groups(input: TensorBase, groups: int, weight: TensorBase | None, bias: TensorBase | None, eps: float) -> TensorBase:
    channels = input._ms_shape[1:2]
    operands = (input, _or_filled(input, channels, weight, 1), _or_filled(input, channels, bias, 0))
    normalised: TensorBase = apply(_group_norm_parts, input._ms_dtype, operands, (groups, eps))[0]
    return normalised


def _scaled(y: TensorBase, weight: TensorBase | None, bias: TensorBase | None) -> TensorBase:
    """Return ``y`` times a weight plus a bias per channel."""
    wide = (1, -1, *([1] * (len(y._ms_shape) - 2)))
    if weight is not None:
        y = mul(y, views.reshape(weight, wide))
    return y if bias is None else add(y, views.reshape(bias, wide))


def instance_norm(
    input: TensorBase, weight: TensorBase | None, bias: TensorBase | None, running_mean: TensorBase | None,
    running_var: TensorBase | None, use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> TensorBase:  # fmt: skip
    """Normalize each channel of each sample of (N, C, *) to mean 0 and variance 1 (https://arxiv.org/abs/1607.08022)."""
    refuse_tracked(momentum, eps)
    shape = input._ms_shape
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    if not use_input_stats:
        return batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    n, channels = shape[:2]
    not_differentiable("native_batch_norm", running_mean=running_mean, running_var=running_var)
    refuse_dtype("batch_norm", input._ms_dtype, 2)
    expect_parameters("batch_norm", input, weight, bias)
    for name, running in (("running_mean", running_mean), ("running_var", running_var)):
        if running is not None and math.prod(running._ms_shape) != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {math.prod(running._ms_shape)}")
    if _beside_singles(input, weight, bias, running_mean, running_var) and n:
        wide = instance_norm(input.float(), weight, bias, running_mean, running_var, use_input_stats, momentum, eps)
        return to_dtype(wide, input._ms_dtype)
    if not n and weight is not None:
        raise IndexError("select(): index 0 out of range for tensor of size [0] at dimension 0")
    if running_mean is running_var is None and input._ms_dtype.itemsize > 2 and _normalises_groups(input, weight, bias):
        return call_node(_in_groups(input, channels, weight, bias, eps), "ViewBackward0")
    flat = views.reshape(input, (1, n * channels, *shape[2:]))
    unit, zero = _or_filled(input, (n * channels,), None, 1), _or_filled(input, (n * channels,), None, 0)
    y, batch_mean, batch_var = call(_train, (flat, unit, zero), eps)
    count = math.prod(input._ms_shape) // max(n * channels, 1)
    if running_mean is not None:
        _update(running_mean, mean(views.reshape(batch_mean, (n, channels)), 0), momentum)
    if running_var is not None:
        scale = count / (count - 1) if count > 1 else float("nan")
        _update(running_var, mean(views.reshape(batch_var, (n, channels)), 0), momentum, scale)
    if input._ms_dtype.itemsize == 2 and input._ms_dtype.is_floating_point and count:
        return _rounded_instance_norm(input, weight, bias, eps)
    return no_view(_scaled(views.reshape(y, shape), weight, bias))


def _rounded_instance_norm(input: TensorBase, weight: TensorBase | None, bias: TensorBase | None, eps: float) -> TensorBase:
    """Return instance norm in half precision: computed in float32, with mean and reciprocal standard deviation rounded to half precision,
    and rounded at the end."""
    kind, wide = input._ms_dtype, input.float()
    dims = tuple(range(2, len(input._ms_shape)))
    centre = mean(wide, dims, True).to(kind).float()
    away = sub(wide, centre)
    slope = rsqrt(add(mean(square(away), dims, True), eps)).to(kind).float()
    if weight is not None:
        slope = _scaled(slope, weight.float(), None)
    shift = mul(centre, -slope)
    if bias is not None:
        shift = _scaled(shift, None, bias.float())
    return add(mul(wide, slope), shift).to(kind)

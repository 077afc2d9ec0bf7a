"""Dropout with torch's random masks."""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...backend.arrays import Array
from ...backend.errors import not_for
from ...backend.table import kernel
from ...core.generator import mask_engine
from ...core.strides import dense_order, elementwise_strides
from ...core.tensor_base import TensorBase, strides_of, tensor_of, wrap
from ...tape.apply import apply
from ...tape.moving import beside
from ...tape.ways import fused
from .._dispatch import call, cast_tensor, refuse_codes, type_word
from .._memory_order import result_strides
from .._numbers import refuse_tracked
from .._operation import BY_TENSOR, operation
from ..elementwise.elementwise import add, mul, sub
from ..memory.copying import is_contiguous
from ..random.random import draw
from ..shape.views import narrow, permute, reshape

_mul, _drop = kernel("mul"), kernel("drop")


def _check(p: float) -> None:
    refuse_tracked(p)
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def _refuse_others(input: TensorBase, whole: tuple[int, ...]) -> None:
    """Raise torch's error for a complex dtype, and for a dtype whose category (0 bool, 1 integer) is in ``whole``."""
    kind = input._ms_dtype
    if kind.is_complex:
        raise not_for("bernoulli_scalar_cpu_", kind.name)
    if kind.category in whole:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {type_word(kind)}")


def _noise(input: TensorBase, p: float, channels: bool) -> TensorBase:
    """Return the factors of dropout per element or channel: 1 / (1 - p) if kept, 0 if dropped."""
    return _scaled_mask(input, p, channels, 1 / (1 - p))


def _scaled_mask(input: TensorBase, p: float, channels: bool, scale: float) -> TensorBase:
    """Return ``scale`` with probability 1 - p, else 0, for each element or channel of ``input``."""
    own, kind = input._ms_shape, input._ms_dtype
    shape = (*own[:2], *([1] * (len(own) - 2))) if channels else own
    keep = draw("dropout_mask", mask_engine(input), math.prod(shape), 1 - p)
    if isinstance(keep, np.ndarray):
        keep = keep.reshape(shape) if channels or input._ms_stride is None else _in_memory_order(keep, own, strides_of(input))
        # A product of 0-d arrays is a NumPy scalar.
        noise = tensor_of(np.asarray(keep.astype(kind.np, order="C") * kind.np.type(scale), kind.np))
        return beside(noise, input)
    order = None if channels or input._ms_stride is None else _order_of_memory(own, strides_of(input))
    drawn = cast_tensor(wrap(keep), kind)
    if order is not None:
        return mul(permute(reshape(drawn, [shape[i] for i in order]), [order.index(i) for i in range(len(order))]), scale)
    return mul(reshape(drawn, shape), scale)


def dropout_bits(like: TensorBase, shape: tuple[int, ...], p: float) -> TensorBase:
    """Return bits that are 1 with probability 1 - p, as ``dropout`` draws them for a row-major tensor of ``shape``: eight a byte, from the
    lowest on, (…, S / 8) uint8."""
    *outer, keys = shape
    return reshape(narrow(_bits(like, math.prod(shape), p), 0, 0, math.prod(shape) // 8), (*outer, keys // 8))


def _bits(like: TensorBase, count: int, p: float) -> TensorBase:
    """Return at least ``count`` bits that are 1 with probability 1 - p, eight a byte, on the device of ``like``."""
    drawn = draw("dropout_bits", mask_engine(like), count, 1 - p)
    return beside(tensor_of(drawn), like) if isinstance(drawn, np.ndarray) else wrap(drawn)


def _order_of_memory(shape: tuple[int, ...], strides: tuple[int, ...]) -> Sequence[int] | None:
    """Return a tensor's dimensions in memory order, in which random numbers are drawn; None if row-major."""
    dense = elementwise_strides(shape, ((shape, strides),))
    return None if dense is None else dense_order(shape, dense)


def _in_memory_order(drawn: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Rearrange numbers that were drawn in a tensor's memory order to the tensor's shape."""
    order = _order_of_memory(shape, strides)
    if order is None:
        return drawn.reshape(shape)
    return drawn.reshape([shape[i] for i in order]).transpose(np.argsort(order))


def _dropped(input: TensorBase, p: float, train: bool, channels: bool) -> TensorBase:
    _check(p)
    if p == 0 or not train or math.prod(input._ms_shape) == 0:
        return input
    if channels:
        _feature_dims(input)
    if p == 1:
        return mul(input, 0)
    _refuse_others(input, (0, 1))
    refuse_codes("bernoulli_scalar_cpu_", input)
    if not channels and fused("drop", input._ms_dtype, input) and is_contiguous(input):
        return apply(_drop, input._ms_dtype, (input, _bits(input, math.prod(input._ms_shape), p)), (float(p),))
    noise = _noise(input, p, channels)
    return call(_mul, (input, noise), strides=result_strides((input,), input._ms_shape))


_ALPHA = 1.7580993408473766


def _alpha_dropped(input: TensorBase, p: float, train: bool, channels: bool) -> TensorBase:
    """Apply dropout that keeps mean and variance of a self-normalizing network (https://arxiv.org/abs/1706.02515)."""
    _check(p)
    if p == 0 or not train or math.prod(input._ms_shape) == 0:
        return input
    if channels:
        _feature_dims(input)
    if p == 1:
        return mul(input, 0)
    _refuse_others(input, (1,))
    keep = _scaled_mask(input, p, channels, 1.0)
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = add(mul(sub(keep, 1), _ALPHA * scale), _ALPHA * scale * p)
    return add(mul(input, mul(keep, scale)), shift)


def _feature_dims(input: TensorBase) -> None:
    if len(input._ms_shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")


@operation(draws=BY_TENSOR)
def dropout(input: TensorBase, p: float, train: bool) -> TensorBase:
    """Set each element to 0 with probability ``p`` and divide the others by 1 - p."""
    return _dropped(input, p, train, False)


@operation(draws=BY_TENSOR)
def feature_dropout(input: TensorBase, p: float, train: bool) -> TensorBase:
    """Set each channel (N, C) to 0 with probability ``p`` and divide the others by 1 - p."""
    return _dropped(input, p, train, True)


@operation(draws=BY_TENSOR)
def alpha_dropout(input: TensorBase, p: float, train: bool) -> TensorBase:
    """Apply dropout that keeps mean and variance, for SELU."""
    return _alpha_dropped(input, p, train, False)


@operation(draws=BY_TENSOR)
def feature_alpha_dropout(input: TensorBase, p: float, train: bool) -> TensorBase:
    """Apply alpha dropout to whole channels (N, C)."""
    return _alpha_dropped(input, p, train, True)

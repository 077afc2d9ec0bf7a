"""Creation of quantized tensors: from float ones, from integers, and empty ones."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..core.device import device
from ..core.dtype import dtype, float16, float32, float64, int64, qint8, quint8
from ..core.formats import layout, memory_format
from ..core.tensor_base import TensorBase
from ..hook import not_yet
from ..namespace.absent import empty_quantized as _refuse_empty
from ..ops._dispatch import is_number, type_word
from ..ops.memory import copying, creation
from ..ops.reduce import reduce
from ..ops.shape import views
from .params import choose_one
from .tensor import (
    INTEGERS,
    OF_INTEGERS,
    RANGES,
    WORDS,
    Quantizer,
    integers_for,
    is_quantized,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_tensor_affine,
    quantized,
)

_PACKED = ("quint4x2", "quint2x4")
_NEEDS_KIND = "Creation of quantized tensor requires quantized dtype like torch.quint8"


def refuse(name: str) -> Any:
    """Raise torch's NotImplementedError for an operation that has no quantized form."""
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'QuantizedCPU' backend. This operation has no form for quantized tensors "
        "here; dequantize() makes a floating tensor of them."
    )


def _check(name: str, input: Tensor, kind: dtype) -> None:
    if is_quantized(input):
        refuse(name)
    if isinstance(kind, dtype) and kind.name in _PACKED:
        raise NotImplementedError(f"mstorch: tensors of {kind}, which packs several elements in a byte, are not built {not_yet()}")
    if kind not in INTEGERS:
        word = type_word(kind) if kind.name not in WORDS else WORDS[kind.name]
        raise RuntimeError(f"ScalarType {word} is not supported in new_qtensor.")
    if input._ms_dtype is not float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {type_word(input._ms_dtype)}")


def _check_point(name: str, point: int, kind: dtype) -> None:
    low, high = RANGES[kind]
    if not low <= point <= high:
        side = "below lower" if point < low else "above upper"
        raise RuntimeError(f"{name} zero_point {point} is {side} bound.")


def _one(input: Tensor, scale: float, point: int, kind: dtype) -> Tensor:
    _check("quantize_per_tensor", input, kind)
    _check_point("quantize_tensor_per_tensor_affine", point, kind)
    own = Quantizer(per_tensor_affine, float(scale), int(point))
    return quantized(_in_rows(integers_for(input, own, kind), input), own)


def _in_rows(integers: Tensor, input: Tensor) -> Tensor:
    """Return the integers if they are row-major, else a copy, which keeps their strides if they are dense."""
    return integers if integers._ms_stride is None or integers.is_contiguous() else copying.clone(integers)


def quantize_per_tensor(input: Tensor, scale: Any, zero_point: Any, dtype: dtype) -> Any:
    """Quantize ``input`` with one scale and zero point; a list of tensors to a tuple."""
    if isinstance(input, (list, tuple)):
        return tuple(_one(item, s, z, dtype) for item, s, z in zip(input, scale.tolist(), zero_point.tolist()))
    if isinstance(scale, TensorBase) and isinstance(zero_point, TensorBase):
        return _one(input, scale.item(), int(zero_point.item()), dtype)
    if not is_number(scale) or not isinstance(zero_point, (int, np.integer)):
        kinds = ", ".join("torch.dtype" if value is dtype else type(value).__name__ for value in (input, scale, zero_point, dtype))
        raise TypeError(
            f"quantize_per_tensor() received an invalid combination of arguments - got ({kinds}), but expected one of:\n"
            " * (Tensor input, Tensor scale, Tensor zero_point, torch.dtype dtype)\n"
            " * (Tensor input, float scale, int zero_point, torch.dtype dtype)\n"
            " * (tuple of Tensors tensors, Tensor scales, Tensor zero_points, torch.dtype dtype)\n"
        )
    return _one(input, scale, int(zero_point), dtype)


def channel_quantizer(scales: Tensor, zero_points: Tensor, axis: int, shape: Sequence[int]) -> Quantizer:
    """Return the quantizer with a scale and a zero point for each slice along ``axis``. Both are stored in float32 if the zero points are
    floating."""
    if len(scales._ms_shape) != 1:
        raise RuntimeError("scale tensor must have dimension 1")
    if len(zero_points._ms_shape) != 1:
        raise RuntimeError("zero_points tensor must have dimension 1")
    if scales._ms_shape != zero_points._ms_shape:
        raise RuntimeError("number of elements in scales and zero_points must match")
    if not 0 <= axis < len(shape):
        raise RuntimeError(f"Channel axis out of range in per channel affine quantization. Got: {axis}Expected: [0, {len(shape)})")
    if scales._ms_shape[0] != shape[axis]:
        raise RuntimeError(f"length of scales must equal to channel, expected {shape[axis]} got, {scales._ms_shape[0]}")
    floating = zero_points._ms_dtype.is_floating_point
    kinds = (float32, float32) if floating else (float64, int64)
    scale, point = (copying.clone(copying.to(views.detach(part), kind)) for part, kind in zip((scales, zero_points), kinds))
    return Quantizer(per_channel_affine_float_qparams if floating else per_channel_affine, scale, point, axis)


def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: dtype) -> Tensor:
    """Quantize ``input`` with a scale and a zero point for each slice along ``axis``."""
    _check("quantize_per_channel", input, dtype)
    own = channel_quantizer(scales, zero_points, axis, input._ms_shape)
    if own.scheme is per_channel_affine and scales._ms_shape[0]:
        low, high = (int(part.item()) for part in reduce.aminmax(own.point))
        _check_point("quantize_tensor_per_channel_affine", low, dtype)
        _check_point("quantize_tensor_per_channel_affine", high, dtype)
    return quantized(_in_rows(integers_for(input, own, dtype), input), own)


def _bounds(input: Tensor) -> tuple[float, float]:
    if not math.prod(input._ms_shape):
        raise RuntimeError(
            "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )
    low, high = (part.item() for part in reduce.aminmax(views.detach(input)))
    return low, high


def _choose_qparams_per_tensor(self: Tensor, reduce_range: bool = False) -> tuple[float, int]:
    """Return the scale and zero point with which integers from 0 to 255 (to 127 with ``reduce_range``) cover the tensor's range."""
    return choose_one(*_bounds(self), 0, 255, reduce_range=reduce_range)


def quantize_per_tensor_dynamic(input: Tensor, dtype: dtype, reduce_range: bool) -> Tensor:
    """Quantize ``input`` with the scale and zero point that cover its range; float16 is a cast."""
    if dtype is float16:
        return copying.to(input, float16)
    if dtype not in (qint8, quint8):
        raise RuntimeError(f"dtype {WORDS.get(dtype.name) or type_word(dtype)}not supported")
    _check("quantize_per_tensor_dynamic", input, dtype)
    scale, point = choose_one(*_bounds(input), *RANGES[dtype], reduce_range=reduce_range)
    return _one(input, scale, point, dtype)


def _empty(
    size: Sequence[int], own: Quantizer, kind: dtype | None, device: device | str | int | None, memory_format: memory_format | None = None
) -> Tensor:
    if not isinstance(kind, dtype) or kind not in INTEGERS:
        raise RuntimeError(_NEEDS_KIND)
    options = {} if memory_format is None else {"memory_format": memory_format}
    return quantized(creation.empty(tuple(size), dtype=INTEGERS[kind], device=device, **options), own)


def _empty_affine_quantized(
    size: Sequence[int], *, scale: float = 1.0, zero_point: int = 0, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None,
    pin_memory: bool = False, memory_format: memory_format | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return an uninitialized quantized tensor with one scale and zero point."""
    return _empty(size, Quantizer(per_tensor_affine, float(scale), int(zero_point)), dtype, device, memory_format)


def _empty_per_channel_affine_quantized(
    size: Any, *, scales: Any, zero_points: Any, axis: int, dtype: dtype | None = None, layout: layout | None = None,
    device: int | str | device | None = None,
    pin_memory: bool = False, memory_format: memory_format | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return an uninitialized quantized tensor with a scale and a zero point for each slice along ``axis``."""
    return _empty(size, channel_quantizer(scales, zero_points, axis, size), dtype, device, memory_format)


def empty_quantized(
    size: Any, qtensor: Any, *, dtype: dtype | None = None, device: device | str | int | None = None, requires_grad: bool = False,
    memory_format: memory_format | None = None, layout: layout | None = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return an uninitialized quantized tensor with another's quantizer."""
    if not is_quantized(qtensor):
        return _refuse_empty(size, qtensor)
    return _empty(size, qtensor._quantizer, qtensor._ms_dtype, device or qtensor.device, memory_format)


def _of_integers(input: Tensor, own: Quantizer) -> Tensor:
    if input._ms_dtype not in OF_INTEGERS:
        raise RuntimeError(_NEEDS_KIND)
    return quantized(copying.clone(input), own)


def _make_per_tensor_quantized_tensor(input: Tensor, scale: float, zero_point: int) -> Tensor:
    """Return a quantized tensor of the integers in ``input``, with one scale and zero point."""
    return _of_integers(input, Quantizer(per_tensor_affine, float(scale), int(zero_point)))


def _make_per_channel_quantized_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> Tensor:
    """Return a quantized tensor of the integers in ``input``, with a scale and a zero point for each slice along ``axis``."""
    return _of_integers(input, channel_quantizer(scale, zero_point, axis, input._ms_shape))

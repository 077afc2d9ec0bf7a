"""The class of quantized tensors: integers in memory, and a quantizer."""
from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from ... import _tensor_str
from ..._tensor import Tensor
from ..backend.arrays import Array
from ..core.above import above
from ..core.dtype import dtype, float32, float64, int8, int32, int64, qint8, qint32, quint8, uint8
from ..core.formats import memory_format
from ..core.naming import is_torch
from ..core.overriding import disabled
from ..core.storage import Counter
from ..core.tensor_base import TensorBase, array_of, tensor_of, window
from ..core.warned import warn_once
from ..namespace.process import (
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qscheme,
)
from ..ops.elementwise import compare, elementwise, math
from ..ops.memory import copying
from ..ops.shape import views
from ..quiet import quiet
from ..tape.ways import ways

INTEGERS = {qint8: int8, quint8: uint8, qint32: int32}
"""The dtype of the integers in memory."""
RANGES = {qint8: (-128, 127), quint8: (0, 255), qint32: (-(2**31), 2**31 - 1)}
WORDS = {"qint8": "QInt8", "quint8": "QUInt8", "qint32": "QInt32", "quint4x2": "QUInt4x2", "quint2x4": "QUInt2x4"}
OF_INTEGERS = {integers: kind for kind, integers in INTEGERS.items()}


class Quantizer(NamedTuple):
    """The parameters of quantization: one scale and zero point, or one for each slice along ``axis``."""

    scheme: qscheme
    scale: Any
    point: Any
    axis: int | None = None

    def shaped(self, rank: int) -> tuple[Any, Any]:
        """Return the float32 scale and the zero point, as numbers or in shapes that broadcast against a tensor of the given rank."""
        if self.axis is None:
            return float(np.float32(self.scale)), self.point
        shape = [-1 if place == self.axis else 1 for place in range(rank)]
        return views.reshape(copying.to(self.scale, float32), shape), views.reshape(self.point, shape)


class QuantizedTensor(Tensor):
    """A tensor whose integers represent floats by a scale and a zero point."""

    __module__, __qualname__ = Tensor.__module__, Tensor.__qualname__  # as torch shows it

    __slots__ = ("_quantizer",)
    _quantizer: Quantizer
    __torch_function__ = disabled

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("quantized tensors are made by torch.quantize_per_tensor and the like")

    is_quantized = property(lambda self: True, doc="True if the elements are quantized.")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return _text(self)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def numpy(self, *, force: bool = False) -> Array:
        """Raise TypeError: NumPy has no quantized dtype; use ``int_repr()`` or ``dequantize()`` first."""
        raise TypeError(f"Got unsupported ScalarType {WORDS[self._ms_dtype.name]}")

    def __array__(self, dtype: dtype | None = None, copy: bool | None = None) -> Array:
        return self.numpy()

    def tolist(self) -> Any:
        """Raise RuntimeError, as torch does."""
        raise RuntimeError("load_scalar: invalid type")

    def item(self) -> float:
        """Return the only element, dequantized, as a Python number."""
        if prod(self._ms_shape) != 1:
            raise RuntimeError(f"a Tensor with {prod(self._ms_shape)} elements cannot be converted to Scalar")
        return dequantize(self).item()

    def __bool__(self) -> bool:
        if prod(self._ms_shape) != 1:
            many = "more than one value" if prod(self._ms_shape) else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
        return bool(self.item())

    def __len__(self) -> int:
        if not self._ms_shape:
            raise TypeError("len() of a 0-d tensor")
        return self._ms_shape[0]

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))

    __hash__ = Tensor.__hash__

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Raise RuntimeError for True: integers have no gradients."""
        if requires_grad:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        return self

    def detach(self) -> Any:
        """Return a tensor over the same memory."""
        return quantized(integers_of(self), self._quantizer)

    @property
    def data(self) -> Any:
        """A tensor over the same memory."""
        return self.detach()

    def clone(self, *, memory_format: memory_format | None = None) -> Any:
        """Return a copy with its own memory."""
        return quantized(copying.clone(integers_of(self), memory_format=memory_format), self._quantizer)

    def __copy__(self) -> Tensor:
        made = self.detach()
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) not in memo:
            own = self._quantizer
            if own.axis is not None:
                own = own._replace(scale=copying.clone(own.scale), point=copying.clone(own.point))
            memo[id(self)] = quantized(copying.clone(integers_of(self)), own)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: int) -> tuple[Any, ...]:
        found = above.plain_pickles.reduced(self) if is_torch() else NotImplemented
        if found is not NotImplemented:
            return found
        own = self._quantizer
        return rebuilt, (copying.clone(integers_of(self)), own.scheme.name, own.scale, own.point, own.axis)


QuantizedTensor.__name__ = Tensor.__name__


def _text(tensor: Any) -> str:
    """Return the repr: the dequantized values, and the quantizer."""
    own, prefix = tensor._quantizer, "tensor("
    suffixes = [f"size={tuple(tensor._ms_shape)}", f"dtype={tensor._ms_dtype}", f"quantization_scheme={own.scheme}"]
    if tensor.device.type != "cpu":
        suffixes.insert(0, f"device='{tensor.device}'")
    suffixes += [f"scale={own.scale}", f"zero_point={own.point}"] + ([] if own.axis is None else [f"axis={own.axis}"])
    body = _tensor_str.values_text(np.asarray(array_of(dequantize(tensor))), len(prefix))
    return _tensor_str.close_text(prefix + body, suffixes, len(prefix))


SCHEMES = {
    scheme.name: scheme
    for scheme in (per_tensor_affine, per_channel_affine, per_tensor_symmetric, per_channel_symmetric, per_channel_affine_float_qparams)
}


def rebuilt(integers: Tensor, scheme: str, scale: Tensor | float, point: Tensor | int, axis: int | None) -> Tensor:
    """Rebuild an unpickled quantized tensor."""
    return quantized(integers, Quantizer(SCHEMES[scheme], scale, point, axis))


def is_quantized(value: Any) -> bool:
    """Return whether a value is a quantized tensor."""
    return isinstance(value, QuantizedTensor)


def integers_of(tensor: Tensor) -> Any:
    """Return the stored integers as a tensor over the same memory."""
    made = window(tensor._ms_storage, INTEGERS[tensor._ms_dtype], tensor._ms_shape, tensor._ms_stride, tensor._ms_offset)
    made._ms_counter = tensor._ms_counter
    return made


def quantized(integers: Any, quantizer: Quantizer, kind: dtype | None = None) -> Tensor:
    """Return a quantized tensor over the memory of integers."""
    warn_once(
        "torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation functions that produce tensors with "
        "dtype torch.quint8, torch.qint8, and torch.qint32 are deprecated and will be removed in a future PyTorch release. Please see "
        "https://github.com/pytorch/pytorch/issues/184982 for more information."
    )
    made: Any = object.__new__(QuantizedTensor)
    for name in TensorBase.__slots__[:-2]:
        setattr(made, name, getattr(integers, name))
    made._ms_dtype = kind or OF_INTEGERS[integers._ms_dtype]
    made._ms_array = made._ms_raw = made._ms_at = made._ms_node = made._ms_auto = None
    made._ms_number = 0
    made._quantizer = quantizer
    if made._ms_counter is not made._ms_storage and not isinstance(made._ms_counter, Counter):
        made._ms_counter = made._ms_storage
    return made


def same_quantizer(one: Quantizer, other: Quantizer) -> bool:
    """Return whether two quantizers have the same scheme, scales and zero points."""
    if one.scheme is not other.scheme or one.axis != other.axis:
        return False
    if one.axis is None:
        return bool(one.scale == other.scale and one.point == other.point)
    return bool(compare.equal(one.scale, other.scale) and compare.equal(one.point, other.point))


def dequantize(tensor: Any) -> Tensor:
    """Return a quantized tensor's values as float32."""
    integers, own = integers_of(tensor), tensor._quantizer
    scale, point = own.shaped(len(tensor._ms_shape))
    if tensor._ms_dtype is qint32:
        steps = copying.to(elementwise.sub(copying.to(integers, int64), point), float32)
    elif own.scheme is per_channel_affine_float_qparams:
        steps = elementwise.sub(copying.to(integers, float32), point)
    else:
        steps = copying.to(elementwise.sub(copying.to(integers, int32), point), float32)
    return _scaled(steps, scale, own)


def _scaled_on_host(steps: Tensor, scale: Tensor | float, own: Quantizer) -> Tensor | None:
    """Multiply in float64 and round once, as torch's per-channel kernel does."""
    if own.scheme is not per_channel_affine:
        return None
    shape = [-1 if place == own.axis else 1 for place in range(len(steps._ms_shape))]
    return tensor_of((array_of(steps) * array_of(own.scale).reshape(shape)).astype(np.float32))


@ways(host=_scaled_on_host)
def _scaled(steps: Tensor, scale: Tensor | float, own: Quantizer) -> Tensor:
    return elementwise.mul(steps, scale)


def integers_for(values: Any, quantizer: Quantizer, kind: dtype) -> Any:
    """Quantize float values to integers of a dtype."""
    scale, point = quantizer.shaped(len(values._ms_shape))
    low, high = RANGES[kind]
    values = views.detach(values)
    inverse = elementwise.reciprocal(scale) if isinstance(scale, TensorBase) else _inverse(scale)
    if quantizer.axis is None and kind is not qint32:
        steps = _steps(values, inverse, point)
    elif quantizer.scheme is per_channel_affine:
        steps = math.round(elementwise.mul(values, inverse))
        steps = elementwise.add(copying.to(steps, float64) if kind is qint32 else steps, point)
    else:
        steps = math.round(elementwise.add(elementwise.mul(values, inverse), point))
        steps = copying.to(steps, float64) if kind is qint32 else steps
    missing = low if kind is qint32 else high if quantizer.axis is None else point
    steps = compare.where(compare.isnan(steps), missing, compare.clamp(steps, low, high))
    return copying.to(steps, INTEGERS[kind])


def _steps_on_host(values: Tensor, inverse: float, point: int) -> Tensor:
    """Return ``values * inverse + point`` with one rounding, as processors with fused multiply-add compute it."""
    with quiet():
        return tensor_of(np.rint((array_of(values).astype(np.float64) * inverse + point).astype(np.float32)))


@ways(host=_steps_on_host)
def _steps(values: Any, inverse: float, point: int) -> Any:
    return math.round(elementwise.add(elementwise.mul(values, inverse), point))


def _inverse(scale: float) -> float:
    with quiet():
        return float(np.float32(1) / np.float32(scale))

"""Arithmetic of three operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Number
from ...backend.table import kernel
from ...core.dtype import dtype, float32
from ...core.one_device import OneDevice, found_two
from ...core.tensor_base import TensorBase, is_tracked
from ...tape.composite import record
from ...tape.ways import followed
from .._autocast import WIDEST_ON_DEVICES
from .._dispatch import binary, cpp_word, elementwise_in, finish, is_number, refuse_dtype, result_dtype
from .._forms import VALUE
from .._memory_order import in_order_of
from .._named import by_value, node_called
from .._numbers import fitting
from .._operation import operation
from .._overlaps import refuse_partly
from ..memory.copying import to_dtype
from .elementwise import abs as abs_of
from .elementwise import add, adds_in_one_kernel, all_halves, div, either, mul, sub, unkept

_lt, _lerp_scalar = kernel("lt"), kernel("lerp_scalar")


def _expect_number(name: str, value: object) -> None:
    """Raise torch's TypeError unless the value is a number, or a 0-d tensor that does not require grad."""
    if isinstance(value, TensorBase) and (value._ms_shape or value.requires_grad):
        raise TypeError(f"{name}(): argument 'value' must be Number, not Tensor")


@operation(forms=VALUE, autocast=WIDEST_ON_DEVICES, one_device=OneDevice(words=found_two, numbers=("tensor2",)))
@node_called("AddcmulBackward0")
def addcmul(input: TensorBase, tensor1: TensorBase, tensor2: TensorBase, *, value: Number = 1, out: TensorBase | None = None) -> TensorBase:
    """Return ``input + value * tensor1 * tensor2``, elementwise."""
    _expect_number("addcmul", value)
    refuse_partly(out, tensor1, tensor2)
    refuse_dtype("addcmul_cpu_out", result_dtype((input, tensor1, tensor2)), operands=(input, tensor1, tensor2))
    return _added(mul, input, tensor1, tensor2, value, out)


@operation(forms=VALUE, autocast=WIDEST_ON_DEVICES, one_device=OneDevice(words=found_two))
@node_called("AddcdivBackward0", "tensor2")
def addcdiv(input: TensorBase, tensor1: TensorBase, tensor2: TensorBase, *, value: Number = 1, out: TensorBase | None = None) -> TensorBase:
    """Return ``input + value * tensor1 / tensor2``, elementwise."""
    _expect_number("addcdiv", value)
    if tensor1._ms_dtype.is_integral and tensor2._ms_dtype.is_integral:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
            "tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2))."
            "to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv behavior "
            "is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes."
        )
    refuse_partly(out, tensor1, tensor2)
    return _added(div, input, tensor1, tensor2, value, out)


def _added(
    combine: Callable[..., Any], input: TensorBase, tensor1: TensorBase, tensor2: TensorBase, value: Number, out: TensorBase | None = None
) -> TensorBase:
    """Return ``input + value * combine(tensor1, tensor2)``, computed in the common dtype, for halves in float32."""
    if not input._ms_dtype is tensor1._ms_dtype is tensor2._ms_dtype:
        input, tensor1, tensor2 = _in_common(input, tensor1, tensor2)
        return finish(_added(combine, input, tensor1, tensor2, value), out)
    if all_halves(input, tensor1, tensor2):
        return finish(_added(combine, input.float(), tensor1.float(), tensor2.float(), value).to(input._ms_dtype), out)
    if adds_in_one_kernel(input, tensor1, value):
        return add(input, combine(tensor1, tensor2), alpha=value, out=out)
    return add(input, combine(_scaled_first(input, tensor1, tensor2, value), tensor2), out=out)


def _in_common(*tensors: TensorBase) -> list[TensorBase]:
    """Return tensors in the dtype that they have in common, in which torch computes from the first step on."""
    kind = result_dtype(tensors)
    return [to_dtype(tensor, kind) for tensor in tensors]


def _scaled_first(input: TensorBase, tensor1: TensorBase, tensor2: TensorBase, value: TensorBase | Number) -> TensorBase:
    """Return ``value * tensor1`` in the result's dtype; for integers torch truncates the value."""
    kind = result_dtype((input, tensor1, tensor2))
    if isinstance(value, TensorBase):
        return mul(tensor1, value)
    fitting(value, kind)
    if value == 1:
        return tensor1
    return mul(to_dtype(tensor1, kind), int(value) if isinstance(value, float) and kind.is_integral else value)


@operation(arguments_first=True, one_device=OneDevice(words=found_two, numbers=("weight",)))
@node_called(by_value("LerpBackward", 2, "weight"))
def lerp(input: Any, end: Any, weight: Any, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input + weight * (end - input)``, computed from the nearer end; a weight without dimensions may have another dtype."""
    _check_lerp_dtypes(input, end, weight)
    number = is_number(weight)
    promotes = isinstance(weight, TensorBase) and weight._ms_dtype is not input._ms_dtype
    kind = result_dtype((input, end, weight)) if promotes else input._ms_dtype
    refuse_dtype("lerp_kernel_scalar" if number else "lerp_kernel_tensor", kind, 2, (input, end, weight))
    if number:
        fitting(weight, float32 if kind.itemsize == 2 else kind)
    elif out is None and followed((input, end, weight)):
        result = lerp(input.detach(), end.detach(), weight.detach())
        kept = (0, 1, 2) if is_tracked(weight) else (2,)
        return record("LerpBackward1", _lerp_slopes, (input, end, weight), (result,), needed=(), kept=kept)[0]
    if promotes:
        return finish(lerp(*_in_common(input, end, weight)), out, input, end, weight)
    if adds_in_one_kernel(input, end, weight, "lerp_scalar") and abs(weight) < 0.5:  # the kernel computes from the first end
        return finish(elementwise_in(kind, _lerp_scalar, (input, end), (float(weight),), label="LerpBackward0"), out, input, end, weight)
    if all_halves(input, end):
        wide = weight.float() if isinstance(weight, TensorBase) else weight
        return finish(lerp(input.float(), end.float(), wide).to(input._ms_dtype), out, input, end, weight)
    result = _from_nearer_end(input, end, weight, number)
    operands = (input, end) if number else (input, end, weight)
    return finish(in_order_of(result, *operands), out, input, end, weight)


def _check_lerp_dtypes(input: Any, end: Any, weight: Any) -> None:
    """Raise RuntimeError unless all tensors have one dtype, but for a weight without dimensions."""
    for other, name in ((end, "end"), (weight, "weight")):
        if isinstance(other, TensorBase) and other._ms_dtype is not input._ms_dtype and (other is end or other._ms_shape):
            raise RuntimeError(f"expected dtype {cpp_word(input._ms_dtype)} for `{name}` but got dtype {cpp_word(other._ms_dtype)}")


def _from_nearer_end(input: Any, end: Any, weight: Any, number: bool) -> TensorBase:
    """Return the interpolation, computed from the end to which the weight is nearer, as torch does: at weight 1 it is exactly ``end``."""
    step = sub(end, input)
    if not number:
        near = binary(_lt, abs_of(weight), 0.5)
        return either(near, add(input, mul(step, weight)), sub(end, mul(step, sub(1, weight))))
    near = abs(weight) < 0.5
    if adds_in_one_kernel(input, end, weight):
        return add(input, step, alpha=weight) if near else sub(end, step, alpha=1 - weight)
    part = unkept(step, weight if near else _one_minus(weight, input._ms_dtype), "LerpBackward0")
    return add(input, part) if near else sub(end, part)


def _lerp_slopes(gradients: Sequence[TensorBase], outputs: Sequence[Any], inputs: Sequence[TensorBase]) -> Sequence[TensorBase | None]:
    """Return the gradients of both ends and the weight, which do not depend on which end is nearer."""
    (g,), (first, end, weight) = gradients, inputs
    if g is None:
        return None, None, None
    slopes = mul(g, sub(1, weight).conj_physical()), mul(g, weight.conj_physical()), mul(g, sub(end, first).conj_physical())
    return [_in_kind_of(own, slope) for own, slope in zip(inputs, slopes)]


def _in_kind_of(own: TensorBase, slope: TensorBase) -> TensorBase:
    real = slope._ms_dtype.is_complex and not own._ms_dtype.is_complex
    return to_dtype(slope.real if real else slope, own._ms_dtype)


def _one_minus(weight: float, kind: dtype) -> float:
    """Return ``1 - weight`` in torch's precision: float32, unless the tensor is wider."""
    if kind.name in ("float64", "complex128") or isinstance(weight, complex):
        return 1 - weight
    return float(np.float32(1) - np.float32(weight))

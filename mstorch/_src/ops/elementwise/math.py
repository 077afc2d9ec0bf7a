"""Exponentials, logarithms, trigonometric functions, rounding and the like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import return_types
from ...backend.arrays import Array
from ...backend.errors import not_for
from ...backend.table import Kernel, kernel
from ...core.dtype import float32, float64, get_default_dtype, int32
from ...core.one_device import OneDevice
from ...core.promotion import can_cast
from ...core.tensor_base import TensorBase, array_of, in_order, recording, tensor_of
from ...quiet import quiet
from ...tape.composite import record, refuse
from ...tape.ways import ways
from .._autocast import FLOAT32_ON_DEVICES, WIDEST_ON_DEVICES
from .._dispatch import (
    FOUND,
    binary,
    broadcast_shape,
    call,
    cast_tensor,
    cpp_word,
    deliver,
    expect_a_tensor,
    expect_out_dtype,
    expect_tensor,
    expect_tensors,
    finish,
    refuse_dtype,
    result_dtype,
    type_word,
    unary,
)
from .._forms import SELF
from .._fresh_out import no_derivative
from .._memory_order import kept_order, result_strides, row_major
from .._named import by_value, node_called
from .._numbers import refuse_tracked
from .._operation import operation
from .._parts import expect_parts
from .._scalars import scalar_array
from ..memory.copying import to_dtype
from ..shape.views import view
from .compare import clamp
from .elementwise import mul, pow, sub, unkept, with_args

_exp = kernel("exp")
_exp2 = kernel("exp2")
_expm1 = kernel("expm1")
_log = kernel("log")
_log2 = kernel("log2")
_log10 = kernel("log10")
_log1p = kernel("log1p")
_sin = kernel("sin")
_cos = kernel("cos")
_tan = kernel("tan")
_asin = kernel("asin")
_acos = kernel("acos")
_atan = kernel("atan")
_sinh = kernel("sinh")
_cosh = kernel("cosh")
_tanh = kernel("tanh")
_asinh = kernel("asinh")
_acosh = kernel("acosh")
_atanh = kernel("atanh")
_sinc = kernel("sinc")
_sigmoid = kernel("sigmoid")
_floor, _ceil, _trunc, _round, _frac = (kernel(op) for op in ("floor", "ceil", "trunc", "round", "frac"))
_clone = kernel("clone")
_atan2, _hypot, _copysign, _nextafter = (kernel(op) for op in ("atan2", "hypot", "copysign", "nextafter"))
_heaviside, _logaddexp, _logaddexp2, _xlogy = (kernel(op) for op in ("heaviside", "logaddexp", "logaddexp2", "xlogy"))
_angle, _frexp, _logit = kernel("angle"), kernel("frexp"), kernel("logit")


@operation(autocast=FLOAT32_ON_DEVICES)
def exp(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return e to the power of each element."""
    return unary(_exp, input, out, to_float=True)


def exp2(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return 2 to the power of each element."""
    return unary(_exp2, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES, keeps_zero=True)
def expm1(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``exp(x) - 1``, accurate for small x."""
    return unary(_expm1, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES)
def log(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the natural logarithm of each element."""
    return unary(_log, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES)
def log2(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the logarithm to base 2 of each element."""
    return unary(_log2, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES)
def log10(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the logarithm to base 10 of each element."""
    return unary(_log10, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES, keeps_zero=True)
def log1p(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``log(1 + x)``, accurate for small x."""
    return unary(_log1p, input, out, to_float=True)


@operation(keeps_zero=True)
def sin(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the sine of each element."""
    return unary(_sin, input, out, to_float=True)


def cos(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the cosine of each element."""
    return unary(_cos, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES, keeps_zero=True)
def tan(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the tangent of each element."""
    return unary(_tan, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES, keeps_zero=True)
def asin(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the arc sine of each element."""
    return unary(_asin, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES)
def acos(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the arc cosine of each element."""
    return unary(_acos, input, out, to_float=True)


@operation(keeps_zero=True)
def atan(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the arc tangent of each element."""
    return unary(_atan, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES, keeps_zero=True)
def sinh(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the hyperbolic sine of each element."""
    return unary(_sinh, input, out, to_float=True)


@operation(autocast=FLOAT32_ON_DEVICES)
def cosh(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the hyperbolic cosine of each element."""
    return unary(_cosh, input, out, to_float=True)


@operation(keeps_zero=True)
def tanh(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the hyperbolic tangent of each element."""
    return unary(_tanh, input, out, to_float=True)


@operation(keeps_zero=True, written="AsinhBackward1")
def asinh(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inverse hyperbolic sine of each element."""
    return unary(_asinh, input, out, to_float=True)


@operation(written="AcoshBackward1")
def acosh(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inverse hyperbolic cosine of each element."""
    return unary(_acosh, input, out, to_float=True)


@operation(keeps_zero=True, written="AtanhBackward1")
def atanh(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inverse hyperbolic tangent of each element."""
    return unary(_atanh, input, out, to_float=True)


def sinc(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``sin(pi x) / (pi x)``, 1 at 0."""
    return unary(_sinc, input, out, to_float=True)


def sigmoid(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``1 / (1 + exp(-x))`` of each element."""
    return unary(_sigmoid, input, out, to_float=True)


arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh


@operation(autocast=WIDEST_ON_DEVICES)
def atan2(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the angle of the point (``other``, ``input``) in radians."""
    expect_tensors("atan2", input, other)
    return binary(_atan2, input, other, out, to_float=True)


arctan2 = atan2


def hypot(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``sqrt(input**2 + other**2)``."""
    expect_tensors("hypot", input, other)
    refuse_dtype("hypot_cpu", result_dtype((input, other)), 2, (input, other))
    return binary(_hypot, input, other, out)


@node_called(by_value("CopysignBackward", 1, "other", number=1))
def copysign(input: TensorBase, other: TensorBase | float, *, out: TensorBase | None = None) -> TensorBase:
    """Return the magnitude of ``input`` with the sign of ``other``."""
    expect_tensor("copysign", input)
    return binary(_copysign, input, other, out, to_float=True)


def _next_half(first: Array, second: Array, bits: Array) -> Array:
    """Return the bits of the 16-bit floats next to ``first`` in the direction of ``second``; both are given as float32, ``first`` also in
    16 bits.
    """
    away = (first < second) == (first > 0)  # the magnitude increases
    moved = np.where(away, bits + 1, bits - 1)
    moved = np.where(first == 0, np.where(second > 0, 1, np.int16(-0x7FFF)), moved)
    moved = np.where(first == second, np.where(first == 0, np.where(np.signbit(second), np.int16(-0x8000), 0), bits), moved)
    return np.where(np.isnan(first) | np.isnan(second), 0x7FFF, moved).astype(np.int16)


@operation(one_device=OneDevice())
def nextafter(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the next floating-point number after ``input`` towards ``other``."""
    expect_tensors("nextafter", input, other)
    kind = result_dtype((input, other))
    refuse_dtype("nextafter_cpu", kind, 2, (input, other))
    if kind.itemsize == 2 and kind.is_floating_point:
        first, second = (cast_tensor(tensor, kind) for tensor in (input, other))
        shape = broadcast_shape(first._ms_shape, second._ms_shape)
        low, high = (np.broadcast_to(array_of(tensor.float()), shape) for tensor in (first, second))
        steps = _next_half(low, high, np.broadcast_to(array_of(first).view(np.int16), shape))
        return finish(view(tensor_of(steps), kind), out)
    return binary(_nextafter, input, other, out)


def heaviside(input: TensorBase, values: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return 0 where ``input`` is negative, 1 where positive, ``values`` where 0."""
    if 3 in (input._ms_dtype.category, values._ms_dtype.category, 0 if out is None else out._ms_dtype.category):
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input._ms_dtype is not values._ms_dtype or (out is not None and out._ms_dtype is not input._ms_dtype):
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    found = binary(_heaviside, input, values, out)
    if out is None:
        refuse("NotImplemented", "heaviside", input, found, RuntimeError("derivative for aten::heaviside is not implemented"), values)
    return found


@operation(one_device=OneDevice())
def logaddexp(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``log(exp(input) + exp(other))``, without overflow."""
    expect_tensors("logaddexp", input, other)
    return binary(_logaddexp, input, other, out)


@operation(one_device=OneDevice())
def logaddexp2(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``log2(2**input + 2**other)``, without overflow."""
    expect_tensors("logaddexp2", input, other)
    return binary(_logaddexp2, input, other, out)


def _xlogy_node(input: Any, other: Any, **given: Any) -> str:
    return f"XlogyBackward{2 if not isinstance(other, TensorBase) else int(not isinstance(input, TensorBase))}"


@operation(forms=SELF)
@node_called(_xlogy_node)
def xlogy(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input * log(other)``, 0 where ``input`` is 0."""
    expect_a_tensor("xlogy", input, other)
    return binary(_xlogy, input, other, out, to_float=True)


def ldexp(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``input * 2**other``; with an integer ``other`` the exponent is shifted, so that ``2**other`` itself may overflow or
    underflow.
    """
    expect_tensors("ldexp", input, other)
    moved = other._ms_dtype.is_integral and input._ms_dtype.is_floating_point
    if moved and other._ms_dtype.name not in ("uint8", "int8", "int16", "int32", "int64"):
        raise not_for("ldexp_cpu_exp", other._ms_dtype.name)
    return _exponents_moved(input, other, moved, out)


def _times_power(input: Any, other: Any, moved: bool, out: Any) -> Any:
    return mul(input, pow(2.0, to_dtype(other, input._ms_dtype) if moved else other), out=out)


@ways(captured=_times_power, absent=_times_power)
def _exponents_moved(input: TensorBase, other: TensorBase, moved: bool, out: TensorBase | None) -> TensorBase:
    if out is not None and recording((input, other, out)):
        raise no_derivative("ldexp")
    first, second = input.detach(), other.detach()
    found = _exponents_shifted(first, second) if moved else mul(first, pow(2.0, second))
    if out is not None and not can_cast(found._ms_dtype, out._ms_dtype):
        raise RuntimeError(f"ldexp can't be cast to the desired output type {type_word(out._ms_dtype)}")
    return finish(record("LdexpBackward0", _ldexp_backward, (input, other), (found,))[0], out, input, *((other,) if moved else ()))


def _moved_on_device(input: Any, other: Any) -> Any:
    """Return ``input * 2**other`` by powers of two within the range of float32, or float64."""
    double = input._ms_dtype.name == "float64"
    most, count = (1000, 3) if double else (120, 3)
    found, left = to_dtype(input, float64 if double else float32), clamp(to_dtype(other, int32), -most * count, most * count)
    for _ in range(count):
        step = clamp(left, -most, most)
        found = mul(found, pow(2.0, to_dtype(step, found._ms_dtype)))
        left = sub(left, step)
    return to_dtype(found, input._ms_dtype)


@ways(native=_moved_on_device)
def _exponents_shifted(input: TensorBase, other: TensorBase) -> TensorBase:
    """Return ``input * 2**other`` for an integer ``other`` by shifting the exponents; as in torch, only the lower 32 bits of an int64
    count."""
    kind = input._ms_dtype
    strides = result_strides((input, other), broadcast_shape(input._ms_shape, other._ms_shape))
    numbers = array_of(cast_tensor(input, float32) if kind.itemsize == 2 else input)
    with quiet():
        found = tensor_of(np.asarray(np.ldexp(numbers, array_of(other).astype(np.int32))))
    return in_order(found if found._ms_dtype is kind else cast_tensor(found, kind), strides)


def _ldexp_backward(gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> Any:
    """Return the gradients, computed from the exponents and the result."""
    (g,), (result,), (input, other) = gradients, outputs, inputs
    if g is None:
        return None, None
    first = to_dtype(ldexp(g, other.conj_physical()), input._ms_dtype) if not input._ms_dtype.is_integral else None
    if other._ms_dtype.is_integral:
        return first, None
    return first, to_dtype(mul(mul(g, result.conj_physical()), math.log(2)), other._ms_dtype)


def frexp(input: TensorBase, *, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return mantissa and exponent of each element, ``mantissa * 2**exponent`` with ``0.5 <= |mantissa| < 1``."""
    if not input._ms_dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    kind = input._ms_dtype
    expect_parts("frexp", out)
    if out is not None and out[0]._ms_dtype is not kind:
        raise RuntimeError(f"torch.frexp() expects mantissa to have dtype {cpp_word(kind)} but got {cpp_word(out[0]._ms_dtype)}")
    if out is not None and out[1]._ms_dtype.name != "int32":
        raise RuntimeError(f"torch.frexp() expects exponent to have int dtype but got {cpp_word(out[1]._ms_dtype)}")
    strides = result_strides((input,), input._ms_shape)
    wide = cast_tensor(input, float32) if kind.name == "bfloat16" else input
    mantissa, exponent = call(_frexp, (wide,))
    if wide is not input:
        mantissa = cast_tensor(mantissa, kind)
    result = return_types.frexp((in_order(mantissa, strides), exponent))
    return result if out is None else deliver(result, out)


def _rounding(kernel: Kernel, input: TensorBase, out: TensorBase | None, *args: Any) -> TensorBase:
    kind = input._ms_dtype
    if out is not None and (not kind.is_complex or kernel is _round):
        expect_out_dtype(out, kind, FOUND)
    if kind.is_floating_point:
        return with_args(kernel, input, *args, out=out)
    if kind.is_complex:
        raise NotImplementedError(f"{kernel.op} is not supported for complex inputs")
    if kind.category == 0:
        raise not_for(f"{kernel.op}_vml_cpu", kind.name)
    return finish(call(_clone, (input,), strides=result_strides((input,), input._ms_shape)), out, input)


@operation(keeps_zero=True)
def floor(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the largest integer not above each element."""
    return _rounding(_floor, input, out)


@operation(keeps_zero=True)
def ceil(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the smallest integer not below each element."""
    return _rounding(_ceil, input, out)


@operation(keeps_zero=True)
def trunc(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return each element truncated towards zero."""
    return _rounding(_trunc, input, out)


@operation(keeps_zero=True)
@node_called(lambda *args, decimals=0, **given: f"RoundBackward{int(decimals != 0)}")
def round(input: TensorBase, *, decimals: int = 0, out: TensorBase | None = None) -> TensorBase:
    """Return each element rounded to the nearest integer (ties to even), or to ``decimals`` decimals."""
    if input._ms_dtype.is_integral and decimals:
        raise not_for("round_cpu", input._ms_dtype.name)
    return _rounding(_round, input, out, decimals)


@operation(keeps_zero=True)
def frac(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the fractional part of each element."""
    if out is not None:
        expect_out_dtype(out, input._ms_dtype, FOUND)
    return unary(_frac, input, out)


fix = trunc


@operation(keeps_zero=True)
def deg2rad(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Convert degrees to radians."""
    if input._ms_dtype.is_complex:
        raise RuntimeError("deg2rad is not supported for complex tensors.")
    return finish(kept_order(unkept(input, math.pi / 180, "Deg2RadBackward0"), input), out, input)


@operation(keeps_zero=True)
def rad2deg(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Convert radians to degrees."""
    if input._ms_dtype.is_complex:
        raise RuntimeError("rad2deg is not supported for complex tensors.")
    return finish(kept_order(unkept(input, 180 / math.pi, "Rad2DegBackward0"), input), out, input)


def logit(input: TensorBase, eps: float | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``log(x / (1 - x))``, with x clamped to [eps, 1 - eps] if ``eps`` is given."""
    refuse_tracked(eps)
    if input._ms_dtype.is_integral:
        input = to_dtype(input, get_default_dtype())
    if eps is None or eps < 0:
        return with_args(_logit, input, None, None, out=out)
    # The bounds are rounded to the dtype, as in torch: 1 - 0.001 is 1 in bfloat16.
    one, low = scalar_array(1, input._ms_dtype), scalar_array(float(eps), input._ms_dtype)
    return with_args(_logit, input, float(low), float(one - low), out=out)


def angle(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the angle of each element in radians; for real elements 0 or pi."""
    if input._ms_dtype.is_complex and input._ms_stride is not None and out is None:
        return row_major(unary(_angle, input))
    return unary(_angle, input, out, to_float=True)

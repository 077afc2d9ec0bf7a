"""Exponentials, logarithms, trigonometry, rounding.

MindSpore's float32 Exp, Log, Tanh and Sigmoid are approximations (2.10 on CPU: relative error 2e-5 for Exp(88), 1e-4 for Tanh near 8), and
its Expm1 and Log1p are ``exp(x) - 1`` and ``log(1 + x)``, without a correct digit near 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from mindspore import ops

from ..arrays import Array
from ..cast import cast
from ..raw import NAME_OF, Raw, from_numpy
from ..table import COMPLEX, FLOATS, VIA_HALF, define
from ._nodes import (
    FLOAT32,
    chained,
    complex_div,
    constant,
    flat,
    imaginary_part,
    is_complex,
    mul,
    node,
    prim_add,
    prim_and,
    prim_conj,
    prim_div,
    prim_equal,
    prim_less,
    prim_mul,
    prim_neg,
    prim_or,
    prim_select,
    prim_sub,
    real_part,
    sum_to,
    through_numpy,
    zeros_like,
)  # fmt: skip
from .compare import numpy_signbit
from .elementwise import (
    composed_div,
    numpy_maximum,
    ops_reciprocal,
    ops_rsqrt,
    prim_rsqrt,
    prim_square,
    sgn,
)

Function = Callable[[Raw], Raw]

APPROXIMATE = "MindSpore's float32 kernel is an approximation: 2e-5 relative (2.10)"
CANCELS = "MindSpore's kernel has no correct digit near 0, in float64 too (2.10)"
NOT_EXACT = "MindSpore has no kernel, and a quotient of logarithms is not exact for powers of the base"

_sin, _cos, _tan, _asin, _acos, _atan = ops.Sin(), ops.Cos(), ops.Tan(), ops.Asin(), ops.ACos(), ops.Atan()
_sinh, _cosh, _asinh, _acosh, _atanh = ops.Sinh(), ops.Cosh(), ops.Asinh(), ops.Acosh(), ops.Atanh()
_exp, _log, _tanh, _sigmoid, _expm1, _log1p = ops.Exp(), ops.Log(), ops.Tanh(), ops.Sigmoid(), ops.Expm1(), ops.Log1p()
_atan2, _hypot, _pow = ops.Atan2(), ops.Hypot(), ops.Pow()
_floor, _ceil, _round, _trunc, _abs = ops.Floor(), ops.Ceil(), ops.Round(), ops.Trunc(), ops.Abs()


def _one_minus(raw: Raw) -> Raw:
    return prim_sub(constant(1, raw), raw)


def _one_plus(raw: Raw) -> Raw:
    return prim_add(raw, constant(1, raw))


def _in_float32(primitive: Callable[[Raw], Raw], function: Callable[..., Any]) -> Callable[[Raw], Raw]:
    """Return a kernel that uses NumPy's function for float32, and the primitive for other dtypes."""
    exact = through_numpy(function)

    def forward(raw: Raw) -> Raw:
        return exact(raw) if raw.dtype == FLOAT32 else primitive(raw)

    return forward


def _logistic(values: Array) -> Array:
    small = np.exp(-np.abs(values))
    one = np.ones((), values.dtype)
    return np.where(values >= 0, one, small).astype(values.dtype) / np.add(one, small)


exp = chained("ExpBackward0", _in_float32(_exp, np.exp), lambda x, y: y, _exp)
log = chained("LogBackward0", _in_float32(_log, np.log), lambda x, y: ops_reciprocal(x), _log)
tanh = chained("TanhBackward0", _in_float32(_tanh, np.tanh), lambda x, y: _one_minus(mul(y, y)), _tanh)
sigmoid = chained("SigmoidBackward0", _in_float32(_sigmoid, _logistic), lambda x, y: mul(y, _one_minus(y)), _sigmoid)
expm1 = chained("Expm1Backward0", through_numpy(np.expm1), lambda x, y: _one_plus(y), _expm1)
log1p = chained("Log1PBackward0", through_numpy(np.log1p), lambda x, y: ops_reciprocal(_one_plus(x)), _log1p)


def _scaled(raw: Raw, factor: float) -> Raw:
    return mul(raw, constant(factor, raw))


_LN2, _LN10 = math.log(2.0), math.log(10.0)
log2 = chained(
    "Log2Backward0", through_numpy(np.log2), lambda x, y: ops_reciprocal(_scaled(x, _LN2)), lambda x: _log(x) / _LN2
)
log10 = chained(
    "Log10Backward0", through_numpy(np.log10), lambda x, y: ops_reciprocal(_scaled(x, _LN10)), lambda x: _log(x) / _LN10
)


def _two_to(raw: Raw) -> Raw:
    return exp(_scaled(raw, _LN2)) if is_complex(raw) else _pow(constant(2, raw), raw)


exp2 = chained("Exp2Backward0", _two_to, lambda x, y: _scaled(y, _LN2))


def _row(name: str, primitive: Callable[[Raw], Raw], derivative: Callable[[Raw, Raw], Raw]) -> None:
    """Define a kernel by a primitive that has a correct gradient for real numbers and none for complex numbers."""
    complex_form = chained(f"{name.capitalize()}Backward0", primitive, derivative, primitive)

    def forward(raw: Raw) -> Raw:
        return complex_form(raw) if is_complex(raw) else primitive(raw)

    define(name, cpu=forward, dtypes=FLOATS + COMPLEX, via=VIA_HALF)


def _one_plus_square(raw: Raw) -> Raw:
    return _one_plus(mul(raw, raw))


def _one_minus_square(raw: Raw) -> Raw:
    return _one_minus(mul(raw, raw))


_row("sin", _sin, lambda x, y: cos(x))
_row("cos", _cos, lambda x, y: prim_neg(sin(x)))
_row("tan", _tan, lambda x, y: _one_plus_square(y))
_row("asin", _asin, lambda x, y: ops_rsqrt(_one_minus_square(x)))
_row("acos", _acos, lambda x, y: prim_neg(ops_rsqrt(_one_minus_square(x))))
_row("atan", _atan, lambda x, y: ops_reciprocal(_one_plus_square(x)))
_row("sinh", _sinh, lambda x, y: cosh(x))
_row("cosh", _cosh, lambda x, y: sinh(x))
_row("asinh", _asinh, lambda x, y: ops_rsqrt(_one_plus_square(x)))
_row("atanh", _atanh, lambda x, y: ops_reciprocal(_one_minus_square(x)))


def _acosh_slope(x: Raw, y: Raw) -> Raw:
    if is_complex(x):
        return mul(ops_rsqrt(_one_plus(x)), ops_rsqrt(prim_sub(x, constant(1, x))))
    return prim_rsqrt(prim_sub(prim_square(x), constant(1, x)))


acosh = chained("AcoshBackward0", _acosh, _acosh_slope)
sin: Function = chained("SinBackward0", _sin, lambda x, y: cos(x))
cos: Function = chained("CosBackward0", _cos, lambda x, y: prim_neg(sin(x)))
sinh: Function = chained("SinhBackward0", _sinh, lambda x, y: cosh(x))
cosh: Function = chained("CoshBackward0", _cosh, lambda x, y: sinh(x))


# sin(pi x) / (pi x)


def _sinc(raw: Raw) -> Raw:
    zero = prim_equal(raw, constant(0, raw))
    turned = _scaled(prim_select(zero, constant(1, raw), raw), math.pi)
    return prim_select(zero, constant(1, raw), complex_div(_sin(turned), turned))


def _sinc_slope(x: Raw, y: Raw) -> Raw:
    zero = prim_equal(x, constant(0, x))
    safe = prim_select(zero, constant(1, x), x)
    turned = _scaled(safe, math.pi)
    slope = complex_div(prim_sub(cos(turned), complex_div(sin(turned), turned)), safe)
    return prim_select(zero, constant(0, x), slope)


sinc = chained("SincBackward0", _sinc, _sinc_slope)


# log(x / (1 - x))


def _clamped(raw: Raw, low: float, high: float) -> Raw:
    """Return values not below ``low`` and else not above ``high``: a clamp would give ``high`` everywhere where ``low`` is above it."""
    bottom, top = constant(low, raw), constant(high, raw)
    return prim_select(prim_less(raw, bottom), bottom, prim_select(prim_less(top, raw), top, raw))


def _logit(raw: Raw, low: float | None, high: float | None) -> Raw:
    if low is not None and high is not None:
        raw = _clamped(raw, low, high)
    return log(composed_div(raw, _one_minus(raw)))


def _logit_backward(gradient: Raw, result: Raw, raw: Raw, low: float | None, high: float | None) -> tuple[Raw, None, None]:
    bottom, top = constant(0.0 if low is None else low, raw), constant(1.0 if high is None else high, raw)
    outside = prim_or(prim_less(raw, bottom), prim_less(top, raw))
    slope = composed_div(gradient, prim_mul(raw, _one_minus(raw)))
    return prim_select(outside, constant(math.nan if low is None else 0.0, raw), slope), None, None


logit = node("LogitBackward0", _logit, _logit_backward)


# Rounding functions, whose gradients are zero


floor = flat("FloorBackward0", _floor)
ceil = flat("CeilBackward0", _ceil)
trunc = flat("TruncBackward0", _trunc)


def _round_decimals(raw: Raw, decimals: int) -> Raw:
    if decimals == 0:
        return _round(raw)
    scale = constant(10.0 ** abs(decimals), raw)
    if decimals > 0:
        return prim_div(_round(prim_mul(raw, scale)), scale)
    return prim_mul(_round(prim_div(raw, scale)), scale)


round_ = flat("RoundBackward0", _round_decimals)


def composed_frac(raw: Raw) -> Raw:
    """Return the fractional part."""
    return prim_sub(raw, trunc(raw))


# Functions of two arguments


def _copysign(first: Raw, second: Raw) -> Raw:
    size = _abs(first)
    return prim_select(numpy_signbit(second), prim_neg(size), size)


def _copysign_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    turned = prim_mul(gradient, prim_mul(sgn(first), sgn(result)))
    return sum_to(turned, first.shape), sum_to(zeros_like(gradient), second.shape)


copysign = node("CopysignBackward0", _copysign, _copysign_backward)


def _heaviside(first: Raw, second: Raw) -> Raw:
    zero, one = constant(0, first), constant(1, first)
    step = prim_select(prim_less(zero, first), one, zero)
    return prim_select(prim_equal(first, zero), second, step)


def _larger_first(first: Raw, second: Raw) -> tuple[Raw, Raw, Raw]:
    larger = numpy_maximum(first, second)
    gap = prim_neg(_abs(prim_sub(first, second)))
    # The gap of two equal infinities is 0, not NaN.
    same = prim_equal(first, second)
    return larger, gap, same


def _logaddexp(first: Raw, second: Raw) -> Raw:
    if is_complex(first):
        return _complex_logaddexp(first, second)
    larger, gap, same = _larger_first(first, second)
    return prim_add(larger, log1p(exp(prim_select(same, constant(0, gap), gap))))


def _complex_logaddexp(first: Raw, second: Raw) -> Raw:
    swap = prim_less(real_part(first), real_part(second))
    larger, smaller = prim_select(swap, second, first), prim_select(swap, first, second)
    return prim_add(larger, log1p(exp(prim_sub(smaller, larger))))


def _logaddexp2(first: Raw, second: Raw) -> Raw:
    larger, gap, same = _larger_first(first, second)
    tail = log1p(exp2(prim_select(same, constant(0, gap), gap)))
    return prim_add(larger, _scaled(tail, 1 / _LN2))


def _hypot_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    share = prim_div(gradient, result)
    return sum_to(prim_mul(share, first), first.shape), sum_to(prim_mul(share, second), second.shape)


def _share(first: Raw, second: Raw, power: Callable[[Raw], Raw]) -> Raw:
    gap = prim_sub(second, first)
    return ops_reciprocal(_one_plus(power(prim_select(prim_equal(first, second), constant(0, gap), gap))))


def _logaddexp_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    conj = prim_conj if is_complex(first) else _plain
    return (
        sum_to(mul(gradient, conj(_share(first, second, exp))), first.shape),
        sum_to(mul(gradient, conj(_share(second, first, exp))), second.shape),
    )


def _logaddexp2_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    return (
        sum_to(prim_mul(gradient, _share(first, second, exp2)), first.shape),
        sum_to(prim_mul(gradient, _share(second, first, exp2)), second.shape),
    )


def _plain(raw: Raw) -> Raw:
    return raw


def _xlogy_with(inner: Callable[[Raw], Raw]) -> Callable[[Raw, Raw], Raw]:
    def forward(first: Raw, second: Raw) -> Raw:
        product = prim_mul(first, inner(second))
        nothing = prim_and(prim_equal(first, constant(0, first)), prim_equal(second, second))
        return prim_select(nothing, constant(0, first), product)

    return forward


def _xlogy_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    nothing = prim_and(
        prim_equal(first, constant(0, first)),
        prim_or(prim_less(second, constant(0, second)), prim_equal(second, constant(0, second))),
    )
    by_first = prim_mul(gradient, prim_select(nothing, constant(0, first), log(second)))
    by_second = prim_mul(gradient, composed_div(first, second))
    return sum_to(by_first, first.shape), sum_to(by_second, second.shape)


def _xlog1py_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    minus_one = constant(-1, second)
    nothing = prim_and(
        prim_equal(first, constant(0, first)), prim_or(prim_less(second, minus_one), prim_equal(second, minus_one))
    )
    by_first = prim_mul(gradient, prim_select(nothing, constant(0, first), log1p(second)))
    by_second = prim_mul(gradient, composed_div(first, _one_plus(second)))
    return sum_to(by_first, first.shape), sum_to(by_second, second.shape)


def _nextafter_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    zero = zeros_like(gradient)
    return sum_to(prim_select(prim_equal(first, second), zero, gradient), first.shape), sum_to(zero, second.shape)


# Angles


def _real_angle(raw: Raw) -> Raw:
    zero = constant(0, raw)
    turned = prim_select(prim_less(raw, zero), constant(math.pi, raw), zero)
    return prim_select(prim_equal(raw, raw), turned, raw)


def _complex_angle(raw: Raw) -> Raw:
    return _atan2(imaginary_part(raw), real_part(raw))


def _complex_angle_backward(gradient: Raw, result: Raw, raw: Raw) -> Raw:
    """Return the gradient of the angle, i z / |z|^2 times the gradient; zero at zero."""
    name = NAME_OF[raw.dtype]
    size = mul(raw, prim_conj(raw))
    zero = prim_equal(size, constant(0, size))
    turn = complex_div(mul(raw, constant(1j, raw)), prim_select(zero, constant(1, size), size))
    return mul(cast(gradient, name), prim_select(zero, constant(0, raw), turn))


_angle_of_real = flat("AngleBackward0", _real_angle)
_angle_of_complex = node("AngleBackward0", _complex_angle, _complex_angle_backward, _complex_angle)


def composed_angle(raw: Raw) -> Raw:
    """Return the angle of a complex number; 0 or pi for a real one."""
    return _angle_of_complex(raw) if is_complex(raw) else _angle_of_real(raw)


def _frexp_mantissa(raw: Raw) -> Raw:
    return from_numpy(np.asarray(np.frexp(raw.asnumpy())[0]))


def _frexp_backward(gradient: Raw, result: Raw, raw: Raw) -> Raw:
    exponent = cast(numpy_frexp_exponent(raw), NAME_OF[raw.dtype])
    return prim_mul(gradient, _pow(constant(2, raw), prim_neg(exponent)))


def numpy_frexp_exponent(raw: Raw) -> Raw:
    return from_numpy(np.asarray(np.frexp(raw.asnumpy())[1], np.int32))


_mantissa = node("FrexpBackward0", _frexp_mantissa, _frexp_backward)


def numpy_frexp(raw: Raw) -> tuple[Raw, Raw]:
    return _mantissa(raw), numpy_frexp_exponent(raw)


def define_numpy(op: str, function: Callable[..., Any], reason: str) -> None:
    """Define a row computed by NumPy on the CPU."""
    define(op, cpu=function, dtypes=FLOATS + COMPLEX, via=VIA_HALF, numpy_reason=reason)


define_numpy("exp", exp, APPROXIMATE)
define_numpy("log", log, APPROXIMATE)
define_numpy("tanh", tanh, APPROXIMATE)
define_numpy("sigmoid", sigmoid, APPROXIMATE)
define_numpy("expm1", expm1, CANCELS)
define_numpy("log1p", log1p, CANCELS)
define_numpy("log2", log2, NOT_EXACT)
define_numpy("log10", log10, NOT_EXACT)
define("logit", cpu=logit, dtypes=FLOATS, via=VIA_HALF)
define("exp2", cpu=exp2, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
define("acosh", cpu=acosh, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
define("sinc", cpu=sinc, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
define("floor", cpu=floor, dtypes=FLOATS + ("float16",), via=VIA_HALF)
define("ceil", cpu=ceil, dtypes=FLOATS + ("float16",), via=VIA_HALF)
define("trunc", cpu=trunc, dtypes=FLOATS + ("float16",), via=VIA_HALF)
define("round", cpu=round_, dtypes=FLOATS, via=VIA_HALF)
define("frac", cpu=composed_frac, dtypes=FLOATS, via=VIA_HALF)
define("atan2", cpu=_atan2, dtypes=FLOATS, via=VIA_HALF)
# Hypot's own gradient is computed in float32 (MindSpore 2.10).
define("hypot", cpu=node("HypotBackward0", _hypot, _hypot_backward, _hypot), dtypes=FLOATS, via=VIA_HALF)
define("copysign", cpu=copysign, dtypes=FLOATS, via=VIA_HALF)
define("heaviside", cpu=_heaviside, dtypes=FLOATS, via={
    **VIA_HALF, "bool": "float32", "uint8": "float32", "int8": "float32", "int16": "float32", "int32": "float64",
    "int64": "float64",
})  # fmt: skip
define(
    "logaddexp",
    cpu=node("LogaddexpBackward0", _logaddexp, _logaddexp_backward, _logaddexp),
    dtypes=FLOATS + COMPLEX,
    via=VIA_HALF,
)
define("logaddexp2", cpu=node("Logaddexp2Backward0", _logaddexp2, _logaddexp2_backward), dtypes=FLOATS, via=VIA_HALF)
define("xlogy", cpu=node("XlogyBackward0", _xlogy_with(log), _xlogy_backward), dtypes=FLOATS, via=VIA_HALF)
define(
    "xlog1py", cpu=node("SpecialXlog1PyBackward0", _xlogy_with(log1p), _xlog1py_backward), dtypes=FLOATS, via=VIA_HALF
)
define("angle", cpu=composed_angle, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
define(
    "nextafter", cpu=node("NextafterBackward0", through_numpy(np.nextafter), _nextafter_backward), dtypes=FLOATS,
    numpy_reason="MindSpore's NextAfter is wrong in float32 (2.10)",
)  # fmt: skip
define(
    "frexp",
    cpu=numpy_frexp,
    dtypes=FLOATS + ("float16",),
    numpy_reason="MindSpore has no kernel that takes a float apart",
)

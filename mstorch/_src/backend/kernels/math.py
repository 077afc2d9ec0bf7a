"""Exponentials, logarithms, trigonometry, rounding; their gradients are formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from mindspore import ops

from ..cast import cast
from ..formulas import elementwise as formulas
from ..raw import NAME_OF, Raw, from_numpy
from ..table import COMPLEX, FLOATS, VIA_HALF, define
from . import namespace as xp
from ._nodes import (
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
from .elementwise import composed_div, numpy_maximum, sgn
from .namespace import by_formula, exp, expm1, log, log1p, plus, sigmoid, tanh, times

APPROXIMATE = "MindSpore's float32 kernel is an approximation: 2e-5 relative (2.10)"
CANCELS = "MindSpore's kernel has no correct digit near 0, in float64 too (2.10)"
NOT_EXACT = "MindSpore has no kernel, and a quotient of logarithms is not exact for powers of the base"

_sin, _log = ops.Sin(), ops.Log()
_atan2, _hypot, _pow = ops.Atan2(), ops.Hypot(), ops.Pow()
_floor, _ceil, _round, _trunc, _abs = ops.Floor(), ops.Ceil(), ops.Round(), ops.Trunc(), ops.Abs()


_LN2, _LN10 = math.log(2.0), math.log(10.0)
log2 = by_formula("log2", through_numpy(np.log2), lambda x: _log(x) / _LN2)
log10 = by_formula("log10", through_numpy(np.log10), lambda x: _log(x) / _LN10)


def _two_to(raw: Raw) -> Raw:
    return exp(times(raw, _LN2)) if is_complex(raw) else _pow(constant(2, raw), raw)


exp2 = by_formula("exp2", _two_to)


def _row(name: str, primitive: Callable[[Raw], Raw]) -> None:
    """Define a kernel by a primitive that has a correct gradient for real numbers and none for complex numbers."""
    complex_form = by_formula(name, primitive)

    def forward(raw: Raw) -> Raw:
        return complex_form(raw) if is_complex(raw) else primitive(raw)

    define(name, cpu=forward, dtypes=FLOATS + COMPLEX, via=VIA_HALF)


for _name, _primitive in {
    "sin": _sin, "cos": ops.Cos(), "tan": ops.Tan(), "asin": ops.Asin(), "acos": ops.ACos(), "atan": ops.Atan(), "sinh": ops.Sinh(),
    "cosh": ops.Cosh(), "asinh": ops.Asinh(), "atanh": ops.Atanh(),
}.items():  # fmt: skip
    _row(_name, _primitive)
acosh = by_formula("acosh", ops.Acosh())


# sin(pi x) / (pi x)


def _sinc(raw: Raw) -> Raw:
    zero = prim_equal(raw, constant(0, raw))
    turned = times(prim_select(zero, constant(1, raw), raw), math.pi)
    return prim_select(zero, constant(1, raw), complex_div(_sin(turned), turned))


sinc = by_formula("sinc", _sinc)


# log(x / (1 - x))


def _clamped(raw: Raw, low: float, high: float) -> Raw:
    """Return values not below ``low`` and else not above ``high``: a clamp would give ``high`` everywhere where ``low`` is above it."""
    bottom, top = constant(low, raw), constant(high, raw)
    return prim_select(prim_less(raw, bottom), bottom, prim_select(prim_less(top, raw), top, raw))


def _logit(raw: Raw, low: float | None, high: float | None) -> Raw:
    if low is not None and high is not None:
        raw = _clamped(raw, low, high)
    return log(composed_div(raw, plus(prim_neg(raw), 1)))


def _logit_backward(gradient: Raw, result: Raw, raw: Raw, low: float | None, high: float | None) -> Raw:
    return formulas.logit_gradient(xp, gradient, raw, low, high)


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
    return prim_add(larger, times(tail, 1 / _LN2))


def _hypot_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    by_first, by_second = (formulas.hypot_gradient(xp, gradient, x, result) for x in (first, second))
    return sum_to(by_first, first.shape), sum_to(by_second, second.shape)


def _logaddexp_backward(base: float) -> Callable[..., tuple[Raw, Raw]]:
    def backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
        by_first = formulas.logaddexp_gradient(xp, gradient, first, second, math.log(base))
        by_second = formulas.logaddexp_gradient(xp, gradient, second, first, math.log(base))
        return sum_to(by_first, first.shape), sum_to(by_second, second.shape)

    return backward


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
    by_second = prim_mul(gradient, composed_div(first, plus(second, 1)))
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
    cpu=node("LogaddexpBackward0", _logaddexp, _logaddexp_backward(math.e), _logaddexp),
    dtypes=FLOATS + COMPLEX,
    via=VIA_HALF,
)
define("logaddexp2", cpu=node("Logaddexp2Backward0", _logaddexp2, _logaddexp_backward(2)), dtypes=FLOATS, via=VIA_HALF)
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

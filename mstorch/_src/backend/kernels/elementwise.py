"""Elementwise arithmetic kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mindspore import mint, ops

from ...quiet import quiet
from .. import tape
from ..arrays import Number
from ..cast import cast
from ..host.elementwise import numpy_integer_divide as host_integer_divide
from ..raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from ..table import COMPLEX, FLOATS, INTS, VIA_BFLOAT16, VIA_BOOL, VIA_HALF, define
from ._nodes import (
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
    prim_not,
    prim_or,
    prim_select,
    prim_sub,
    real_part,
    recorded,
    sum_to,
    through_numpy,
    zeros_like,
)  # fmt: skip

ARITHMETIC = FLOATS + ("float16",) + INTS + COMPLEX

ops_add = prim_add
ops_sub = prim_sub
prim_square = ops.Square()
prim_sqrt = ops.Sqrt()
prim_rsqrt = ops.Rsqrt()
prim_reciprocal = ops.Reciprocal()
prim_pow = ops.Pow()
prim_log = ops.Log()
prim_abs = ops.Abs()
prim_sign = ops.Sign()
prim_less_equal = ops.LessEqual()
prim_floor = ops.Floor()
prim_mod = ops.TruncateMod()
prim_hypot = ops.Hypot()


def composed_div(first: Raw, second: Raw) -> Raw:
    """Return the quotient. Where the divisor is 0, MindSpore's Reciprocal is used: its RealDiv treats -0.0 as 0.0."""
    if is_complex(first):
        return complex_div(first, second)
    if tape.tracing() is None and (second.asnumpy() == 0).any():
        zero = prim_equal(second, constant(0, second))
        one = constant(1, second)
        at_zero = prim_mul(first, prim_reciprocal(prim_select(zero, second, one)))
        return prim_select(zero, at_zero, prim_div(first, prim_select(zero, one, second)))
    return prim_div(first, second)


def neg(raw: Raw) -> Raw:
    """Return the negative; the gradient of MindSpore's Neg is correct for every dtype."""
    return prim_neg(raw)


# Powers


def _real_power_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    conj = prim_conj if is_complex(first) else _same
    zero = constant(0, second)
    slope = mul(second, composed_pow(first, prim_sub(second, constant(1, second))))
    by_base = prim_select(prim_equal(second, zero), zeros_like(gradient), mul(gradient, conj(slope)))
    growth = mul(result, composed_log(first))
    flat_ = prim_equal(first, constant(0, first))
    if not is_complex(second):
        flat_ = prim_and(flat_, prim_not(prim_less(second, zero)))
    by_exponent = prim_select(flat_, zeros_like(gradient), mul(gradient, conj(growth)))
    return sum_to(by_base, first.shape), sum_to(by_exponent, second.shape)


def _same(raw: Raw) -> Raw:
    return raw


_complex_power = node("PowBackward0", prim_pow, _real_power_backward, prim_pow)
composed_log = chained("LogBackward0", prim_log, lambda x, y: complex_reciprocal(x), prim_log)
complex_reciprocal: Callable[[Raw], Raw] = chained(
    "ReciprocalBackward0", prim_reciprocal, lambda x, y: prim_neg(mul(y, y)), prim_reciprocal
)


def composed_pow(first: Raw, second: Raw) -> Raw:
    """Return the power of floating-point or complex numbers."""
    return _complex_power(first, second) if is_complex(first) else prim_pow(first, second)


def composed_integer_power(base: Raw, exponent: Raw) -> Raw:
    """Return the power of integers by repeated squaring, wrapping as in C; MindSpore's Pow computes in floating point."""
    name = NAME_OF[base.dtype]
    powers = exponent.asnumpy()
    shape = np.broadcast_shapes(tuple(base.shape), powers.shape)
    result = from_numpy(np.ones(shape, NP_DTYPE[name]))
    bits = int(powers.max()).bit_length() if powers.size else 0
    one = from_numpy(np.ones((), NP_DTYPE[name]))
    for bit in range(bits):
        taken = from_numpy(np.asarray((powers >> bit) & 1, bool))
        result = prim_mul(result, prim_select(taken, base, one))
        base = prim_mul(base, base)
    return result


def composed_scalar_power(raw: Raw, exponent: Number) -> Raw:
    """Return the power with a Python number as exponent; frequent exponents have kernels of their own, as in torch."""
    if exponent == 2:
        return composed_square(raw)
    if exponent == 1:
        return mul(raw, constant(1, raw))
    if exponent == 3:
        return mul(mul(raw, raw), raw)
    if exponent == 0:
        return (
            prim_add(mul(zeros_like(raw), raw) if recorded(raw) else zeros_like(raw), constant(1, raw))
            if is_complex(raw)
            else _ones_flat(raw)
        )
    if not is_complex(raw):
        if exponent == 0.5:
            return prim_sqrt(raw)
        if exponent == -0.5:
            return prim_rsqrt(raw)
        if exponent == -1:
            return prim_reciprocal(raw)
        if exponent == -2:
            return prim_reciprocal(prim_square(raw))
    return composed_pow(raw, constant(exponent, raw))


_ones_flat = flat("PowBackward0", lambda raw: from_numpy(np.ones(raw.shape, raw.asnumpy().dtype)))


# Quotients of integers, remainders


def numpy_integer_divide(first: Raw, second: Raw, how: str) -> Raw:
    """Return a quotient (floor, trunc) or a remainder (remainder, fmod) of integers; divisors are nonzero."""
    a, b = first.asnumpy(), second.asnumpy()
    with quiet():
        return from_numpy(np.asarray(host_integer_divide(a, b, how), a.dtype, order="C"))


def _fmod_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    turns = prim_neg(trunc(composed_div(first, second)))
    return sum_to(gradient, first.shape), sum_to(prim_mul(gradient, turns), second.shape)


def _remainder_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    turns = prim_neg(composed_floor_divide(first, second))
    return sum_to(gradient, first.shape), sum_to(prim_mul(gradient, turns), second.shape)


def _remainder(first: Raw, second: Raw) -> Raw:
    rest = prim_mod(first, second)
    zero = constant(0, first)
    turned = prim_and(prim_not(prim_equal(rest, zero)), ops.not_equal(prim_less(second, zero), prim_less(rest, zero)))
    return prim_select(turned, prim_add(rest, second), rest)


composed_fmod = node("FmodBackward0", prim_mod, _fmod_backward, prim_mod)
composed_remainder = node("RemainderBackward0", _remainder, _remainder_backward, _remainder)


def _floor_divide(first: Raw, second: Raw) -> Raw:
    """Return Python's ``//``, computed from the exact remainder without rounding the quotient."""
    rest = prim_mod(first, second)
    zero, one = constant(0, first), constant(1, first)
    quotient = composed_div(prim_sub(first, rest), second)
    turned = prim_and(prim_not(prim_equal(rest, zero)), ops.not_equal(prim_less(second, zero), prim_less(rest, zero)))
    quotient = prim_select(turned, prim_sub(quotient, one), quotient)
    down = prim_floor(quotient)
    down = prim_select(prim_less(constant(0.5, first), prim_sub(quotient, down)), prim_add(down, one), down)
    plain = composed_div(first, second)
    signed_zero = prim_mul(plain, zero)
    down = prim_select(prim_equal(quotient, zero), signed_zero, down)
    return prim_select(prim_equal(second, zero), plain, down)


composed_floor_divide = flat("DivBackward0", _floor_divide)
trunc = flat("TruncBackward0", ops.Trunc())
composed_trunc_divide = flat("DivBackward0", lambda a, b: ops.Trunc()(composed_div(a, b)))


# Sign and size


def _modulus_backward(gradient: Raw, result: Raw, raw: Raw) -> Raw:
    return mul(cast(gradient, NAME_OF[raw.dtype]), sgn(raw))


def _modulus_forward(raw: Raw) -> Raw:
    """Return the absolute value of complex numbers in the real dtype; the result of MindSpore's Abs is complex."""
    return prim_hypot(real_part(raw), imaginary_part(raw))


_modulus = node("AbsBackward0", _modulus_forward, _modulus_backward)


def _sgn(raw: Raw) -> Raw:
    size = cast(_modulus(raw), NAME_OF[raw.dtype])
    zero = prim_equal(size, constant(0, size))
    return prim_select(zero, zeros_like(raw), complex_div(raw, prim_select(zero, constant(1, size), size)))


def sgn(raw: Raw) -> Raw:
    """Return the sign; a complex number is divided by its absolute value."""
    return _sgn(raw) if is_complex(raw) else sign(raw)


def _sign(raw: Raw) -> Raw:
    return prim_sign(raw)


sign = flat("SignBackward0", _sign)
composed_abs = chained("AbsBackward0", prim_abs, lambda x, y: sign(x), prim_abs)


def ops_abs(raw: Raw) -> Raw:
    """Return the absolute value; MindSpore's is not twice differentiable."""
    return _modulus(raw) if is_complex(raw) else composed_abs(raw)


def composed_square(raw: Raw) -> Raw:
    # MindSpore 2.10: the third derivative of Square ends in an error about the type of an exponent.
    return mul(raw, raw) if recorded(raw) or is_complex(raw) else prim_square(raw)


def _rsqrt_slope(x: Raw, y: Raw) -> Raw:
    return mul(constant(-0.5, y), mul(y, mul(y, y)))


complex_sqrt = chained("SqrtBackward0", prim_sqrt, lambda x, y: complex_div(constant(0.5, y), y), prim_sqrt)
complex_rsqrt = chained("RsqrtBackward0", prim_rsqrt, _rsqrt_slope, prim_rsqrt)


def ops_sqrt(raw: Raw) -> Raw:
    return complex_sqrt(raw) if is_complex(raw) else prim_sqrt(raw)


def ops_rsqrt(raw: Raw) -> Raw:
    return complex_rsqrt(raw) if is_complex(raw) else prim_rsqrt(raw)


def ops_reciprocal(raw: Raw) -> Raw:
    return complex_reciprocal(raw) if is_complex(raw) else prim_reciprocal(raw)


# Larger, smaller, clamp


def _larger_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    return _extremum_gradients(gradient, first, second, prim_less(first, second), prim_less(second, first))


def _smaller_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    return _extremum_gradients(gradient, first, second, prim_less(second, first), prim_less(first, second))


def _extremum_gradients(gradient: Raw, first: Raw, second: Raw, lost: Raw, won: Raw) -> tuple[Raw, Raw]:
    """Return the gradients of a maximum or minimum for both operands: ``gradient``, but 0 for the first operand where ``lost`` is True, and
    0 for the second where ``won`` is True; half of ``gradient`` for each where they are equal."""
    zero = zeros_like(gradient)
    shared = prim_select(prim_equal(first, second), prim_mul(gradient, constant(0.5, gradient)), gradient)
    return (
        sum_to(prim_select(lost, zero, shared), first.shape),
        sum_to(prim_select(won, zero, shared), second.shape),
    )


numpy_maximum = node("MaximumBackward0", through_numpy(np.maximum), _larger_backward, mint.maximum)
numpy_minimum = node("MinimumBackward0", through_numpy(np.minimum), _smaller_backward, mint.minimum)


def composed_fmax(first: Raw, second: Raw) -> Raw:
    """Return the larger operand, ignoring NaN."""
    return _ignoring_nan(first, second, numpy_maximum)


def composed_fmin(first: Raw, second: Raw) -> Raw:
    """Return the smaller operand, ignoring NaN."""
    return _ignoring_nan(first, second, numpy_minimum)


def _fmax_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    takes = prim_or(prim_not(prim_less(first, second)), ops.not_equal(second, second))
    takes = prim_and(takes, prim_or(prim_equal(first, first), ops.not_equal(second, second)))
    return _chosen(gradient, takes, first, second)


def _fmin_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    takes = prim_or(prim_not(prim_less(second, first)), ops.not_equal(second, second))
    takes = prim_and(takes, prim_or(prim_equal(first, first), ops.not_equal(second, second)))
    return _chosen(gradient, takes, first, second)


def _chosen(gradient: Raw, takes: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    zero = zeros_like(gradient)
    return (
        sum_to(prim_select(takes, gradient, zero), first.shape),
        sum_to(prim_select(takes, zero, gradient), second.shape),
    )


def _ignoring_nan(first: Raw, second: Raw, extremum: Any) -> Raw:
    return extremum(
        prim_select(prim_equal(first, first), first, second), prim_select(prim_equal(second, second), second, first)
    )


fmax = node("FmaxBackward0", composed_fmax, _fmax_backward, composed_fmax)
fmin = node("FminBackward0", composed_fmin, _fmin_backward, composed_fmin)


def _inside(raw: Raw, low: Any, high: Any) -> Raw | None:
    inside = None
    if low is not None:
        inside = prim_less_equal(low, raw)
    if high is not None:
        below = prim_less_equal(raw, high)
        inside = below if inside is None else prim_and(inside, below)
    return inside


def _clamp_forward(raw: Raw, low: Raw | None, high: Raw | None) -> Raw:
    values = raw.asnumpy()
    with quiet():
        if low is not None:
            values = np.maximum(values, low.asnumpy())
        if high is not None:
            values = np.minimum(values, high.asnumpy())
    return from_numpy(np.asarray(values, order="C"))


def _clamp_backward(gradient: Raw, result: Raw, raw: Raw, low: Raw | None, high: Raw | None) -> tuple[Any, ...]:
    zero = zeros_like(gradient)
    inside = _inside(raw, low, high)
    by_raw = sum_to(prim_select(inside, gradient, zero), raw.shape)
    by_low = by_high = None
    if low is not None:
        taken = prim_less(raw, low)
        if high is not None:
            taken = prim_and(taken, prim_less(low, high))
        by_low = sum_to(prim_select(taken, gradient, zero), low.shape)
    if high is not None:
        taken = prim_less(high, raw)
        if low is not None:
            taken = prim_or(taken, prim_less(high, low))
        by_high = sum_to(prim_select(taken, gradient, zero), high.shape)
    return by_raw, by_low, by_high


def traced_clamp(raw: Raw, low: Raw | None, high: Raw | None) -> Raw:
    if low is not None:
        raw = mint.maximum(raw, low)
    return raw if high is None else mint.minimum(raw, high)


numpy_clamp = node("ClampBackward0", _clamp_forward, _clamp_backward, traced_clamp)


def ops_where(condition: Raw, first: Raw, second: Raw) -> Raw:
    """Select from ``first`` where the condition holds, else from ``second``."""
    return _where(condition, first, second)


def _where_backward(gradient: Raw, result: Raw, condition: Raw, first: Raw, second: Raw) -> tuple[None, Raw, Raw]:
    zero = zeros_like(gradient)
    return (
        None,
        sum_to(prim_select(condition, gradient, zero), first.shape),
        sum_to(prim_select(condition, zero, gradient), second.shape),
    )


_where = node("WhereBackward0", prim_select, _where_backward, prim_select)


NAN_REASON = "MindSpore's Maximum and Minimum lose a NaN and refuse empty tensors (2.10)"
REAL = FLOATS + ("float16",) + INTS


define("add", cpu=ops_add, dtypes=ARITHMETIC, via={**VIA_BFLOAT16, **VIA_BOOL})
define("sub", cpu=ops_sub, dtypes=ARITHMETIC, via=VIA_BFLOAT16)
define("mul", cpu=mul, dtypes=ARITHMETIC + ("bool",), via=VIA_BFLOAT16)
define("div", cpu=composed_div, dtypes=FLOATS + ("float16",) + COMPLEX, via=VIA_BFLOAT16)
define("neg", cpu=neg, dtypes=ARITHMETIC, via=VIA_BFLOAT16)  # Neg takes no bfloat16 on MindSpore 2.7
define("pow", cpu=composed_pow, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
define("integer_power", cpu=composed_integer_power, dtypes=INTS, via=VIA_BOOL)
define("scalar_power", cpu=composed_scalar_power, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
define("floor_divide", cpu=composed_floor_divide, dtypes=FLOATS, via=VIA_HALF)
define("trunc_divide", cpu=composed_trunc_divide, dtypes=FLOATS, via=VIA_HALF)
define(
    "integer_divide", cpu=numpy_integer_divide, dtypes=INTS, via=VIA_BOOL,
    numpy_reason="MindSpore's FloorDiv and FloorMod round int64 through float64 (2.10)",
)  # fmt: skip
define("remainder", cpu=composed_remainder, dtypes=FLOATS, via=VIA_HALF)
define("fmod", cpu=composed_fmod, dtypes=FLOATS, via=VIA_HALF)
define("abs", cpu=ops_abs, dtypes=ARITHMETIC, via=VIA_BFLOAT16)
define("sign", cpu=sign, dtypes=FLOATS + ("float16", "int32", "int64"), via={
    **VIA_BFLOAT16, **VIA_BOOL, "bool": "int32", "uint8": "int32", "int8": "int32", "int16": "int32",
})  # fmt: skip
define("sgn", cpu=sgn, dtypes=FLOATS + ("float16", "int32", "int64") + COMPLEX, via={
    **VIA_BFLOAT16, "bool": "int32", "uint8": "int32", "int8": "int32", "int16": "int32",
})  # fmt: skip
define("square", cpu=composed_square, dtypes=ARITHMETIC, via=VIA_BFLOAT16)
define("sqrt", cpu=ops_sqrt, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
define("rsqrt", cpu=ops_rsqrt, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
define("reciprocal", cpu=ops_reciprocal, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
define(
    "maximum", cpu=numpy_maximum, dtypes=FLOATS + ("float16", "bool") + INTS, via=VIA_BFLOAT16,
    numpy_reason=NAN_REASON,
)  # fmt: skip
define(
    "minimum", cpu=numpy_minimum, dtypes=FLOATS + ("float16", "bool") + INTS, via=VIA_BFLOAT16,
    numpy_reason=NAN_REASON,
)  # fmt: skip
define("fmax", cpu=fmax, dtypes=REAL, via={**VIA_BFLOAT16, **VIA_BOOL})
define("fmin", cpu=fmin, dtypes=REAL, via={**VIA_BFLOAT16, **VIA_BOOL})
define("clamp", cpu=numpy_clamp, dtypes=REAL, via=VIA_BFLOAT16, numpy_reason=NAN_REASON)
define("where", cpu=ops_where, dtypes=REAL + COMPLEX + ("bool",), via=VIA_BFLOAT16)

"""Elementwise arithmetic on the host."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...quiet import quiet, silent
from ..arrays import Array
from ..halves import narrowed, widened
from ..table import define_direct, define_host
from ._ufunc import COMPLEX, FLOATS, HALF, INTS, REAL, beside_number, exact_two, number, one, two

_ALL = (*INTS, "float16", *FLOATS, *COMPLEX)
_BFLOAT16 = {"bfloat16": "float32"}

numpy_add, numpy_sub, numpy_mul, numpy_div = two(np.add), two(np.subtract), two(np.multiply), two(np.divide)
numpy_neg = one(np.negative)


_power = exact_two(np.power)


def numpy_pow(x: Array, y: Array) -> Array:
    """Return the power. NumPy takes the square root where one exponent is 0.5 for all numbers, which is wrong at -inf and -0."""
    if (y.size == 1 or 0 in y.strides or y.shape != x.shape) and (y == 0.5).any():
        shape = np.broadcast_shapes(x.shape, y.shape)
        if math.prod(shape) == 1:  # a single exponent is one for all, too
            return np.asarray(_power(np.full(2, x.item(), x.dtype), np.full(2, y.item(), y.dtype))[:1].reshape(shape))
        y = np.array(np.broadcast_to(y, shape))
    return _power(x, y)

_PASS = 32  # elements per vector of torch's kernel; for the remaining ones torch keeps a power's exponent in float64


def numpy_scalar_power(x: Array, exponent: float) -> Array:
    """Return the power with a Python number as exponent; for frequent exponents it is computed by arithmetic, as in torch."""
    if x.dtype.itemsize == 2:  # as in torch, the exponent is rounded to 16 bits
        rounded = float(np.float32(exponent).astype(x.dtype))
        wide = widened(x)
        if x.dtype == np.float16:
            return narrowed(numpy_pow(wide, np.asarray(np.float32(rounded))), x.dtype)
        if rounded in (3, -2, -0.5):  # torch rounds intermediate results
            inner = silent.sqrt(wide) if rounded == -0.5 else silent.multiply(wide, wide)
            inner = widened(narrowed(inner, x.dtype))
            found = silent.multiply(inner, wide) if rounded == 3 else silent.reciprocal(inner)
            return narrowed(np.asarray(found), x.dtype)
        return narrowed(numpy_scalar_power(wide, rounded), x.dtype)
    if exponent == 2:
        return np.asarray(silent.multiply(x, x))
    if exponent == 0.5:
        return np.asarray(silent.sqrt(x))
    if exponent == 3:
        return np.asarray(silent.multiply(silent.multiply(x, x), x))
    if exponent == -1:
        return np.asarray(silent.reciprocal(x))
    if exponent == -0.5:
        return np.asarray(silent.reciprocal(silent.sqrt(x)))
    if exponent == -2:
        return np.asarray(silent.reciprocal(silent.multiply(x, x)))
    if x.dtype.char == "f" and x.size < _PASS:
        found = np.empty(x.shape, np.float32)
        silent.power(x, float(exponent), found, dtype=np.float64, casting="same_kind")
        return found
    return numpy_pow(x, np.asarray(number(exponent, x)))


_BITS = {np.dtype(real): bits for size, bits in (("4", np.int32), ("8", np.int64)) for real in ("f" + size, "i" + size)}
_FEW = 1 << 10  # number of elements for which NumPy's where takes less time than three more calls
_MANY = 1 << 10  # number of elements that NumPy's clip takes less time for than two calls


def numpy_where(condition: Array, x: Array, y: Array) -> Array:
    """Select from ``x`` where the condition holds, else from ``y``."""
    bits = _BITS.get(x.dtype)
    if bits is None or x.dtype != y.dtype or max(condition.size, x.size, y.size) < _FEW:
        return np.where(condition, x, y)
    # By bit operations, without a branch: NumPy's where takes several times as long.
    mask = np.negative(condition.view(np.int8), dtype=bits)
    first, second = x.view(bits), y.view(bits)
    if y.ndim == 0 and not second:
        return np.asarray(np.bitwise_and(first, mask)).view(x.dtype)
    found = np.bitwise_and(np.bitwise_xor(first, second), mask)
    found ^= second
    return np.asarray(found).view(x.dtype)


def _bounded(function: Any, bound: Any, x: Array, out: Array | None) -> Any:
    if getattr(bound, "ndim", 1) == 0 and bound.dtype == x.dtype and x.__class__ is np.ndarray:
        return beside_number(function, bound, x, out)
    return function(bound, x, out=out)


_KEEPS_ZERO = bool(np.signbit(np.clip(np.full(1, -0.0), 0.0, 1.0))[0])  # NumPy 1's clip returns the bound, torch the element


def _suits_clip(bound: Any, x: Array) -> bool:
    """Return whether a bound is one number for which NumPy's clip returns what torch does."""
    return getattr(bound, "ndim", 1) == 0 and bound.dtype == x.dtype and (_KEEPS_ZERO or bool(bound))


def numpy_clamp(x: Array, low: Any, high: Any) -> Array:
    """Clamp between bounds, either of which may be None; NaN propagates, also from a bound."""
    if x.size >= _MANY and _suits_clip(low, x) and _suits_clip(high, x):
        with quiet():
            return np.asarray(np.clip(x, low, high))
    found = x
    if low is not None:  # for 0.0 and -0.0 NumPy returns the second
        found = _bounded(silent.maximum, low, found, None)
    if high is not None:
        into = found if found is not x and found.__class__ is np.ndarray and getattr(high, "ndim", 0) == 0 else None
        found = _bounded(silent.minimum, high, found, into)
    return np.array(found) if found is x else np.asarray(found)


def numpy_abs(x: Array) -> Array:
    """Return the absolute value, real for complex numbers."""
    return np.asarray(silent.absolute(x))


def numpy_rsqrt(x: Array) -> Array:
    """Return the reciprocal square root."""
    if x.dtype.itemsize == 2:
        root = np.asarray(silent.sqrt(x.astype(np.float32, order="C")))
        rest = root.reshape(-1)[x.size - x.size % _PASS :]  # for elements that do not fill a vector torch rounds the root too
        rest[...] = narrowed(rest, x.dtype)
        return narrowed(np.asarray(silent.reciprocal(root)), x.dtype)
    return np.asarray(silent.divide(number(1, x), silent.sqrt(x)))


def numpy_square(x: Array) -> Array:
    """Return the square."""
    return np.asarray(silent.multiply(x, x))


define_host("add", numpy_add, (*_ALL, "bool"), _BFLOAT16)
define_host("sub", numpy_sub, _ALL, _BFLOAT16)


def _in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that computes large float16 arrays in float32, because NumPy converts float16 numbers one by one."""

    def kernel(x: Array, y: Array) -> Array:
        return narrowed(function(widened(x), widened(y)), x.dtype)

    return kernel


define_direct("add", "float16", _in_single(numpy_add), 1 << 14)
define_direct("sub", "float16", _in_single(numpy_sub), 1 << 14)
# By way of float32, because the number is not rounded to 16 bits.
define_host("mul", numpy_mul, ("bool", *INTS, *FLOATS, *COMPLEX), HALF)
define_host("div", numpy_div, (*FLOATS, *COMPLEX), HALF)
define_host("neg", numpy_neg, _ALL, _BFLOAT16)
define_host("pow", numpy_pow, FLOATS, HALF)
define_host("scalar_power", numpy_scalar_power, (*HALF, *FLOATS))
define_host("where", numpy_where)
define_host("clamp", numpy_clamp, ("bool", *INTS, *FLOATS), HALF)
define_host("abs", numpy_abs, (*INTS, "float16", *FLOATS, *COMPLEX), _BFLOAT16)
define_host("square", numpy_square, _ALL, _BFLOAT16)
define_host("sqrt", one(np.sqrt), FLOATS, HALF)
define_host("rsqrt", numpy_rsqrt, (*FLOATS, *HALF))
define_host("reciprocal", one(np.reciprocal), FLOATS, HALF)
# Of two equal numbers, which are zeros if they differ, NumPy returns the second, except of float16; torch returns the first.
_maximum, _minimum = two(np.maximum), two(np.minimum)
define_host("maximum", lambda x, y: _maximum(x, y) if x.dtype.char == "e" else _maximum(y, x), REAL, _BFLOAT16)
define_host("minimum", lambda x, y: _minimum(x, y) if x.dtype.char == "e" else _minimum(y, x), REAL, _BFLOAT16)
define_host("conj", one(np.conjugate), COMPLEX)


def numpy_integer_power(x: Array, y: Array) -> Array:
    """Return the power of integers with nonnegative exponents, wrapping as in C."""
    return np.asarray(np.power(x, y))


_MOST = 2.0**29  # the product of a smaller integer and a float32 is exact in float64


def _fmod(x: Array, y: Array) -> Array:
    """Return the exact remainder with the sign of ``x``: of many float32 by float64's quotient, in a fifth of the time of C's ``fmod``."""
    if x.dtype != np.float32 or x.dtype != y.dtype or x.size < _FEW:
        return np.asarray(np.fmod(x, y))
    size, step = (np.abs(each).astype(np.float64) for each in (x, y))
    count = np.floor(size / step)
    if not (np.maximum.reduce(count, axis=None) < _MOST and np.maximum.reduce(step, axis=None) < np.inf):
        return np.asarray(np.fmod(x, y))
    count *= step
    rest = size - count
    np.add(rest, step, out=rest, where=rest < 0)  # the quotient was rounded up to an integer
    return np.copysign(rest.astype(np.float32), x)


def _counted(how: str) -> Callable[..., Any]:
    def kernel(x: Array, y: Array) -> Array:
        """Return the remainder with the sign of ``x`` (fmod) or, for "remainder", with the sign of ``y``."""
        with quiet():
            rest = _fmod(x, y)
            if how == "remainder":  # NumPy gives a zero the sign of the divisor
                rest = numpy_where((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)
            return np.asarray(rest)

    return kernel


def numpy_floor_divide(x: Array, y: Array) -> Array:
    """Return Python's ``//``, computed from the exact remainder without rounding the quotient."""
    with quiet():
        plain = np.divide(x, y)
        rest = _fmod(x, y)
        quotient = np.divide(np.subtract(x, rest), y)
        quotient = numpy_where((rest != 0) & ((y < 0) != (rest < 0)), quotient - number(1, x), quotient)
        down = np.floor(quotient)
        down = numpy_where(quotient - down > number(0.5, x), down + number(1, x), down)
        down = numpy_where(quotient == 0, plain * number(0, x), down)
        return np.asarray(np.where(y == 0, plain, down), x.dtype)


def numpy_trunc_divide(x: Array, y: Array) -> Array:
    """Return the quotient truncated toward zero."""
    with quiet():
        return np.asarray(np.trunc(np.divide(x, y)))


def _first_of_equal(function: np.ufunc) -> Callable[..., Any]:
    """Return a kernel that picks the first of two equal numbers (zeros of both signs). NumPy's own choice depends on its release and on the
    position.
    """
    kernel = two(function)

    def first(x: Array, y: Array) -> Array:
        found = kernel(x, y)
        if found.dtype.kind == "f":
            np.copyto(found, x, where=found == x)
        return found

    return first


def numpy_sign(x: Array) -> Array:
    """Return -1, 0 or 1; 0 for NaN, as in torch."""
    return np.asarray(np.subtract(x > 0, x < 0, dtype=np.int8)).astype(x.dtype)


def numpy_integer_divide(x: Array, y: Array, how: str) -> Array:
    """Return the integer quotient rounded by ``how`` (floor, trunc), or the remainder (remainder, fmod); divisors must be nonzero."""
    if how in ("remainder", "fmod"):
        return np.asarray((np.remainder if how == "remainder" else np.fmod)(x, y))
    quotient = silent.floor_divide(x, y)
    if how == "trunc" and x.dtype.kind == "i":
        quotient = quotient + ((np.fmod(x, y) != 0) & ((x < 0) != (y < 0)))
    return np.asarray(quotient, x.dtype)


def numpy_sgn(x: Array) -> Array:
    """Return a complex number divided by its absolute value; 0 for 0."""
    size = np.absolute(x)
    return np.asarray(silent.divide(x, np.where(size == 0, size.dtype.type(1), size)))


def numpy_signbit(x: Array) -> Array:
    """Return whether the sign bit is set, also for -0.0 and NaN."""
    return np.asarray(np.signbit(x) if x.dtype.kind == "f" else x < 0)


_SMALL = {**_BFLOAT16, "bool": "uint8"}
define_host("integer_divide", numpy_integer_divide, INTS, {"bool": "uint8"})
define_host("gcd", two(np.gcd), INTS, {"bool": "uint8"})
define_host("signbit", numpy_signbit, (*INTS, "float16", *FLOATS), _SMALL)
define_host("integer_power", numpy_integer_power, INTS, {"bool": "uint8"})
define_host("fmod", _counted("fmod"), FLOATS, HALF)
define_host("remainder", _counted("remainder"), FLOATS, HALF)
define_host("floor_divide", numpy_floor_divide, FLOATS, HALF)
define_host("trunc_divide", numpy_trunc_divide, FLOATS, HALF)
define_host("fmax", _first_of_equal(np.fmax), (*INTS, *FLOATS), {**HALF, **_SMALL})
define_host("fmin", _first_of_equal(np.fmin), (*INTS, *FLOATS), {**HALF, **_SMALL})
define_host("sign", numpy_sign, (*INTS, "float16", *FLOATS), _SMALL)
define_host("sgn", lambda x: numpy_sgn(x) if x.dtype.kind == "c" else numpy_sign(x), (*INTS, "float16", *FLOATS, *COMPLEX), _SMALL)

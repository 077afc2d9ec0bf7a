"""Box-Muller transform in single precision, bit by bit equal to torch's vectorized kernel.

torch evaluates the logarithm, sine and cosine with the polynomials of the Cephes library, in float32 with fused multiply-adds. NumPy has no
fused multiply-add, so it is computed as a product and a sum in float64, rounded to float32: the product of two float32 numbers is exact in
float64. The sum is then rounded twice, which could differ from rounding once; each function below has only 2^24 possible arguments, and for
all of them the results agree.

The passes over a chunk are written out one by one, in place, because the speed depends on their number.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
Floats = NDArray[np.float32]

_PAIRS_PER_CHUNK = 32768  # amortises the cost of a call and of passing the interpreter lock between two threads
_EIGHT_FLOATS = np.dtype("V32")  # NumPy moves items of 32 bytes faster than inner rows of eight floats


def _constant(value: float | np.floating[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """Return a 0-d array, which is cheaper as an operand than a scalar."""
    return np.array(value, dtype)


def _float32(value: float | np.floating[Any]) -> NDArray[np.float32]:
    return _constant(value, np.float32)


def _int32(value: int) -> NDArray[np.int32]:
    return _constant(value, np.int32)


def _float64(value: float | np.floating[Any]) -> NDArray[np.float64]:
    """Return a float32 value as a float64 constant."""
    return _constant(np.float32(value), np.float64)


UNIT_MASK = _constant(0xFFFFFF, np.uint32)  # a float32 uniform is the low 24 bits of a word
_UNIT_STEPS = _int32(1 << 24)
_ZERO = _float32(0.0)
_ONE = _float32(1.0)
_MINUS_TWO = _float32(-2.0)

# cephes logf: log(1 + x) = x - x²/2 + x³·P(x), and log 2 in two parts; all of it times -2, which changes no rounding
_LOG = tuple(
    _float64(-2.0 * np.float32(value))
    for value in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
)
_LOG_2_LOW = _float32(-2.0 * np.float32(-2.12194440e-4))
_LOG_2_HIGH = _float32(-2.0 * 0.693359375)
_SQRT_HALF_BITS = _int32(0x3F3504F3)
_SCALED_SQRT_HALF_BITS = _int32(0x3F3504F3 + (24 << 23))  # of sqrt(1/2) 2^24
_MANTISSA_MASK = _int32(0x7FFFFF)
_MANTISSA_BITS = _int32(23)

# cephes sinf and cosf on [-π/4, π/4]; π/4 in three parts, of which the sum of the first two is exact in float64
_RADIANS_PER_STEP = _float32(np.float32(2.0 * math.pi) * np.float32(2.0**-24))
_OCTANTS_PER_RADIAN = _float32(1.27323954473516)
_QUARTER_PI_HIGH = _constant(-0.78515625 - 2.4187564849853515625e-4, np.float64)
_QUARTER_PI_LOW = _float64(-3.77489497744594108e-8)
_SIN = tuple(map(_float64, (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)))
_COS = tuple(map(_float64, (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)))
_HALF_DOUBLE = _float64(0.5)
_INT_ONE = _int32(1)
_INT_TWO = _int32(2)
_EVEN_MASK = _int32(-2)
_SIGN_MASK = _int32(-(1 << 31))
_BIT_1_TO_SIGN = _int32(30)
_BIT_2_TO_SIGN = _int32(29)
_SPREAD_SIGN = _int32(31)


def _rounded_steps(coefficients: tuple[NDArray[np.float64], ...]) -> tuple[tuple[NDArray[Any], NDArray[Any]], ...]:
    """Return for each coefficient c but the first a pair (c + m, m). Adding c + m to a float64 product and then subtracting m rounds the
    sum to float32, as a fused multiply-add does.

    For 2^(e-1) <= abs(c) < 2^e, m is 1.5 · 2^(e+28) with the sign of c: float64 numbers near m have the spacing of float32 numbers near c.
    The method needs sums in the same range as c, which holds for both polynomials."""
    steps = []
    for coefficient in coefficients[1:]:
        value = float(coefficient)
        rounder = math.copysign(1.5 * 2.0 ** (math.frexp(value)[1] + 28), value)
        steps.append((_constant(value + rounder, np.float64), _constant(rounder, np.float64)))
    return tuple(steps)


_SIN_STEPS = _rounded_steps(_SIN)
_COS_STEPS = _rounded_steps(_COS)


def radius(words: Words) -> Floats:
    """Return sqrt(-2 log(1 - u)) for the uniforms u = (word mod 2^24) / 2^24 of a one-dimensional array of words."""
    n = words.size
    double = np.empty(n)
    x = np.empty(n, np.float32)
    exponent = np.empty(n, np.float32)
    # (1 - u) 2^24 is an integer, exact in float32: split it into mantissa in [sqrt(1/2), sqrt(2)) and exponent
    integer = np.bitwise_and(words, UNIT_MASK).view(np.int32)
    np.subtract(_UNIT_STEPS, integer, out=integer)
    x[...] = integer
    bits = x.view(np.int32)
    bits -= _SCALED_SQRT_HALF_BITS
    np.right_shift(bits, _MANTISSA_BITS, out=integer)
    exponent[...] = integer
    bits &= _MANTISSA_MASK
    bits += _SQRT_HALF_BITS
    x -= _ONE

    total = integer.view(np.float32)
    x_double = x.astype(np.float64)
    np.multiply(x_double, _LOG[0], out=double)
    for coefficient in _LOG[1:-1]:
        np.add(double, coefficient, out=total, casting="same_kind")
        np.multiply(total, x_double, out=double)
    np.add(double, _LOG[-1], out=total, casting="same_kind")
    total *= x
    square = np.multiply(x, x)
    x_double[...] = square
    np.multiply(total, x_double, out=double)
    np.multiply(exponent, _LOG_2_LOW, out=total)
    np.add(double, total, out=total, casting="same_kind")
    total += square
    x *= _MINUS_TWO
    x += total
    exponent *= _LOG_2_HIGH  # exact, as the constant has 14 bits: this sum needs no fused multiply-add
    x += exponent
    return np.sqrt(x, out=x)


def cosine_and_sine(words: Words) -> tuple[Floats, Floats]:
    """Return cos(2πu) and sin(2πu) for the uniforms u = (word mod 2^24) / 2^24 of a one-dimensional array of words."""
    n = words.size
    double = np.empty(n)
    cosine = np.empty(n, np.float32)
    angle = np.empty(n, np.float32)
    octant = np.bitwise_and(words, UNIT_MASK).view(np.int32)
    angle[...] = octant
    angle *= _RADIANS_PER_STEP
    np.multiply(angle, _OCTANTS_PER_RADIAN, out=cosine)
    octant[...] = cosine
    octant += _INT_ONE
    octant &= _EVEN_MASK

    # x = angle - octant·π/4: the high part is rounded once, the low part is a fused multiply-add
    octant_double = octant.astype(np.float64)
    x = angle.astype(np.float64)
    np.multiply(octant_double, _QUARTER_PI_HIGH, out=double)
    x += double
    angle[...] = x
    x[...] = angle
    octant_double *= _QUARTER_PI_LOW
    x += octant_double
    angle[...] = x
    x[...] = angle
    square = np.multiply(angle, angle)
    square_double = octant_double
    square_double[...] = square

    # sin x = x + x³·Q(x²)
    _evaluate_rounded(_SIN[0], _SIN_STEPS, square_double, double)
    sine = angle
    sine[...] = double
    sine *= square
    double[...] = sine
    double *= x
    double += x
    sine[...] = double

    # cos x = 1 - x²/2 + x⁴·P(x²)
    _evaluate_rounded(_COS[0], _COS_STEPS, square_double, double)
    cosine[...] = double
    cosine *= square
    double[...] = cosine
    double *= square_double
    square_double *= _HALF_DOUBLE
    double -= square_double
    cosine[...] = double
    cosine += _ONE

    # Octants 2 and 6 exchange the two, by exclusive or under an all-ones mask; then the signs.
    cosine_bits, sine_bits, mask = cosine.view(np.int32), sine.view(np.int32), square.view(np.int32)
    np.left_shift(octant, _BIT_1_TO_SIGN, out=mask)
    mask >>= _SPREAD_SIGN
    difference = cosine_bits ^ sine_bits
    difference &= mask
    sine_bits ^= difference
    cosine_bits ^= difference
    np.left_shift(octant, _BIT_2_TO_SIGN, out=mask)
    mask &= _SIGN_MASK
    sine_bits ^= mask
    octant += _INT_TWO
    octant <<= _BIT_2_TO_SIGN
    octant &= _SIGN_MASK
    cosine_bits ^= octant
    return cosine, sine


def _evaluate_rounded(
    first: NDArray[np.float64],
    steps: tuple[tuple[NDArray[Any], NDArray[Any]], ...],
    x: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Evaluate a polynomial at ``x`` by Horner's rule in float64 arrays, rounding each step as a float32 fused multiply-add; ``steps`` are
    the pairs of ``_rounded_steps``."""
    np.multiply(x, first, out=out)
    for number, (shifted_coefficient, rounder) in enumerate(steps):
        if number:
            out *= x
        out += shifted_coefficient
        out -= rounder


def transform(words: Words, out: Floats) -> None:
    """Write the standard normals of whole blocks of 16 words to `out`, which may share the words' memory.

    In each block words 0 to 7 give the radii and words 8 to 15 the angles; the cosines come first, then the sines.
    """
    halves = words.view(_EIGHT_FLOATS)
    out_halves = out.view(_EIGHT_FLOATS)
    step = _PAIRS_PER_CHUNK // 4
    for start in range(0, halves.size, step):
        chunk = slice(start, start + step)
        radii = radius(halves[chunk][::2].copy().view(np.uint32))
        cosine, sine = cosine_and_sine(halves[chunk][1::2].copy().view(np.uint32))
        cosine *= radii
        sine *= radii
        if not radii.min() > 0:  # torch adds the mean in the same step, which leaves no negative zero
            cosine += _ZERO
            sine += _ZERO
        out_halves[chunk][::2] = cosine.view(_EIGHT_FLOATS)
        out_halves[chunk][1::2] = sine.view(_EIGHT_FLOATS)

"""Fused multiply-adds and casts, rounded as in C++."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..quiet import quiet

Doubles = NDArray[np.float64]

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
UNSIGNED = ("uint16", "uint32", "uint64")
TORCH_NAMES = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "bool": "Bool",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}
"""Names of the dtypes in torch's messages."""

_SPLITTER = 134217729.0  # 2^27 + 1
_SAFE = 2.0**400  # with factors between its inverse and itself, splitting cannot overflow and the error term cannot underflow
_MIDPOINT_MASK = np.int64((1 << 29) - 1)  # the bits of a float64 that do not fit a float32
_MIDPOINT = np.int64(1 << 28)


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """Return NumPy's dtype for torch's name; bfloat16 values are held as float32."""
    return np.dtype("float32" if dtype == "bfloat16" else dtype)


def require_dtype(dtype: str, allowed: tuple[str, ...], kernel: str) -> None:
    """Raise torch's NotImplementedError if its kernel does not support a dtype."""
    if dtype not in allowed:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{TORCH_NAMES.get(dtype, dtype.capitalize())}'")


def round_to_bfloat16(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round finite float32 values to bfloat16, ties to even, in place."""
    bits = values.view(np.uint32)
    odd = bits >> np.uint32(16)
    odd &= np.uint32(1)
    odd += np.uint32(0x7FFF)
    bits += odd
    bits &= np.uint32(0xFFFF0000)
    return values


def cast(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Cast numbers as C++ does: to the 16-bit floats by way of float32, to bool by != 0."""
    if dtype == "bfloat16":
        narrow = np.asarray(values).astype(np.float32)  # always a copy: it is rounded in place
        finite = np.isfinite(narrow)
        return round_to_bfloat16(narrow) if finite.all() else np.where(finite, round_to_bfloat16(narrow.copy()), narrow)
    with quiet():
        if dtype == "float16":
            return values.astype(np.float32, copy=False).astype(np.float16)
        return values.astype(dtype, copy=False)


def _two_sum(x: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """Return x + y rounded, and its rounding error (Knuth)."""
    total = x + y
    y_part = total - x
    return total, (x - (total - y_part)) + (y - y_part)


def _split(x: Doubles) -> tuple[Doubles, Doubles]:
    """Split x into a sum of two 26-bit numbers (Veltkamp)."""
    scaled = x * _SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def _sum_rounded_to_odd(x: Doubles, y: Doubles) -> Doubles:
    """Return x + y rounded to odd: an inexact result gets an odd last bit."""
    total, error = _two_sum(x, y)
    even = (error != 0) & ((total.view(np.int64) & 1) == 0)
    return np.where(even, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)


def fma64(x: Doubles, factor: float, term: float) -> Doubles:
    """Return x · factor + term with one rounding, for a one-dimensional float64 array (Boldo and Melquiond, 2008)."""
    if term == 0.0:
        return x * factor + 0.0
    if factor == 1.0:
        return x + term
    if not (1 / _SAFE < abs(factor) < _SAFE and 1 / _SAFE < abs(term) < _SAFE):
        return np.array([_fma_exact(value, factor, term) for value in x.tolist()])
    factors, terms = np.full_like(x, factor), np.full_like(x, term)
    product = x * factors
    x_high, x_low = _split(x)
    f_high, f_low = _split(factors)
    product_error = x_low * f_low - (((product - x_high * f_high) - x_low * f_high) - x_high * f_low)
    low_sum, low_error = _two_sum(terms, product_error)
    high_sum, high_error = _two_sum(product, low_sum)
    return high_sum + _sum_rounded_to_odd(low_error, high_error)


def _fma_exact(x: float, factor: float, term: float) -> float:
    if not (math.isfinite(factor) and math.isfinite(term)) or factor == 0.0:
        return x * factor + term
    try:
        return float(Fraction(x) * Fraction(factor) + Fraction(term))
    except OverflowError:
        return math.copysign(math.inf, x * math.copysign(1.0, factor))


def fma64_to_float32(x: Doubles, factor: float, term: float) -> NDArray[np.float32]:
    """Return float32(fma64(x, factor, term)), computing the fused form only where it can differ."""
    product = x * factor
    total = product + term
    doubt = (np.abs(product) + np.abs(total)) * 2.0**-51
    with quiet():
        result: NDArray[np.float32] = (total - doubt).astype(np.float32)
        unsure = np.flatnonzero(~(result == (total + doubt).astype(np.float32)))
        if unsure.size:
            result[unsure] = fma64(x[unsure], factor, term)
    result += np.float32(0)  # a zero is positive
    return result


def fma32(exact_product: Doubles, term: np.float32) -> NDArray[np.float32]:
    """Return float32(exact_product + term) with one rounding, for products of two float32 numbers; overwrites the products."""
    double_term = np.float64(term)
    total = exact_product + double_term
    result: NDArray[np.float32] = total.astype(np.float32)
    # Rounding to float64 and then to float32 can only go wrong where the float64 lies midway between two float32.
    on_midpoint = (total.view(np.int64) & _MIDPOINT_MASK) == _MIDPOINT
    if on_midpoint.any():
        product = exact_product[on_midpoint]
        result[on_midpoint] = _sum_rounded_to_odd(product, np.full_like(product, double_term))
    return result

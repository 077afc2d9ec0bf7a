"""float8 dtypes and pairs of 4-bit numbers: NumPy and MindSpore hold them as bytes; tables convert them from and to float32.

NumPy lacks these dtypes: their arrays have a structured dtype of one byte, whose field is named after the dtype. It can be moved, compared
bytewise and viewed as ``uint8``, but NumPy does no arithmetic on it, so that codes are never computed with by mistake.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..quiet import quiet
from .arrays import Array
from .errors import not_for


class _Format(NamedTuple):
    """Bit layout of a float8 dtype: ``nan`` is the code of NaN without sign, ``limit`` the code of the largest finite number."""

    mantissa: int
    bias: int
    limit: int
    nan: int
    over: int  # code for numbers that are too large
    quiet: int  # float32 bits of NaN; e5m2 keeps its own mantissa bits
    infinite: int | None = None


_FORMATS = {
    "float8_e4m3fn": _Format(3, 7, 0x7E, 0x7F, 0x7E, 0x7FF00000),
    "float8_e5m2": _Format(2, 15, 0x7B, 0x7F, 0x7C, 0x7FC00000, 0x7C),
    "float8_e4m3fnuz": _Format(3, 8, 0x7F, 0x80, 0x80, 0x7F800001),
    "float8_e5m2fnuz": _Format(2, 16, 0x7F, 0x80, 0x80, 0x7F800001),
}
EXPONENTS = "float8_e8m0fnu"
"""A dtype of powers of two: a code is an exponent; there is no zero and no sign."""

PAIRS = "float4_e2m1fn_x2"
"""A dtype of two 4-bit numbers per byte, which torch copies but does not convert to other dtypes."""

COMPLEX_HALF = "complex32"
"""Complex numbers with float16 parts (four bytes), which NumPy also lacks."""

FLOAT8 = (*_FORMATS, EXPONENTS)
STORED = (*FLOAT8, PAIRS, COMPLEX_HALF)
HELD = {name: "uint32" if name == COMPLEX_HALF else "uint8" for name in STORED}
"""The unsigned integer dtype in which the codes of each dtype are stored."""
NP_STORED: dict[str, np.dtype[Any]] = {name: np.dtype([(name, HELD[name])]) for name in STORED}
NAME_OF_STORED: dict[Any, str] = {kind: name for name, kind in NP_STORED.items()}


_FILLS = ("pad",)
SIGNED = tuple(_FORMATS)
_HALF = (COMPLEX_HALF,)
COMPUTED: dict[str, tuple[str, ...]] = {
    "isnan": (*FLOAT8, COMPLEX_HALF), "mul": (*FLOAT8, COMPLEX_HALF), "abs": (*SIGNED, COMPLEX_HALF),
    "mm": SIGNED, "linear": SIGNED, "linear_bias": SIGNED, "addmm": SIGNED,
    "eq": STORED, "ne": STORED, "isinf": ("float8_e5m2", COMPLEX_HALF), "isfinite": ("float8_e5m2", EXPONENTS, COMPLEX_HALF),
    "add": _HALF, "sub": _HALF, "neg": _HALF, "sgn": _HALF, "conj": _HALF, "real": _HALF, "imag": _HALF, "addcmul": _HALF,
    "index_write": _HALF, "nonzero": _HALF, "any": _HALF, "all": _HALF, "triangle": _HALF, "linear_index": _HALF, "count_nonzero": _HALF,
}  # fmt: skip
"""For each operation, those of these dtypes that torch's CPU kernels support; they are computed in single precision."""


def as_bytes(array: Array) -> Array:
    """Return a uint8 view of an array of codes."""
    return array.view(array.dtype[0])


def typed(array: Array, kind: np.dtype[Any]) -> Array:
    """View an array of bytes from MindSpore as the NumPy dtype ``kind``."""
    return array.view(kind) if kind.names else array


@cache
def _values(name: str) -> Array:
    """Return the float32 values of the 256 codes of a dtype."""
    codes = np.arange(256)
    if name == EXPONENTS:
        powers = np.ldexp(np.ones(256), np.minimum(codes, 254) - 127).astype(np.float32)
        powers.view(np.uint32)[255] = 0x7F800001
        return powers
    form = _FORMATS[name]
    exponent, mantissa = (codes & 0x7F) >> form.mantissa, codes & ((1 << form.mantissa) - 1)
    scale = np.maximum(exponent, 1) - form.bias - form.mantissa
    found = np.ldexp((mantissa + np.where(exponent > 0, 1 << form.mantissa, 0)).astype(np.float64), scale)
    found = np.where(codes >= 0x80, -found, found).astype(np.float32)
    bits, plain = found.view(np.uint32), codes & 0x7F
    if form.nan == 0x80:
        bits[0x80] = form.quiet
        return found
    nothing = plain > form.limit
    bits[nothing] = form.quiet | ((codes & 0x80) << 24)[nothing]
    if form.infinite is not None:
        bits[nothing] |= ((codes & 3) << 21)[nothing].astype(np.uint32)
        found[form.infinite], found[form.infinite | 0x80] = np.inf, -np.inf
    return found


@cache
def _codes(name: str) -> Array:
    """Return a table of the float8 codes of all 2^16 bfloat16 bit patterns.

    A float32 number is looked up by its upper 16 bits, of which the last is set if any lower bit of the number is set. An odd pattern thus
    stands for an interval of float32 numbers that round to the same code, and rounding stays exact."""
    bits = np.arange(0x10000, dtype=np.uint32)
    with quiet():
        numbers = (bits << 16).view(np.float32)
    size = np.abs(numbers)
    if name == EXPONENTS:
        exponent, rest = (bits >> 7) & 0xFF, bits & 0x7F
        up = (rest >= 0x40) & ((exponent > 0) | (rest > 0x40))
        return np.where(exponent == 0xFF, 0xFF, exponent + up).astype(np.uint8)
    form = _FORMATS[name]
    steps = _values(name)[: form.limit + 1].astype(np.float64)
    after = 2 * steps[-1] - steps[-2]  # the value after the largest
    middles = (steps + np.append(steps[1:], after)) / 2
    middles[1::2] = np.nextafter(middles[1::2], 0)  # ties round to the even code
    with quiet():
        found = np.searchsorted(middles, size.astype(np.float64))
    found = np.where(found > form.limit, form.over, found)
    signed = numbers.view(np.uint32) >> 31 == 1
    if form.nan == 0x80:  # there is a single zero; the code of -0.0 is NaN
        found = np.where(signed & (found != 0) & (found != 0x80), found | 0x80, found)
        return np.where(np.isnan(numbers), 0x80, found).astype(np.uint8)
    found = np.where(np.isnan(numbers), form.nan, found)
    return np.where(signed, found | 0x80, found).astype(np.uint8)


def decoded(array: Array, name: str) -> Array:
    """Decode an array of codes to float32."""
    if name == COMPLEX_HALF:
        return halves_of(array).astype(np.float32).reshape(-1).view(np.complex64).reshape(array.shape)
    return _values(name)[as_bytes(array)]


def halves_of(array: Array) -> Array:
    """Return the parts of complex numbers of half precision, along a last dimension."""
    return np.ascontiguousarray(as_bytes(array)).reshape(-1).view(np.float16).reshape(*array.shape, 2)


def of_halves(parts: Array) -> Array:
    """Return complex numbers of half precision from their parts along the last dimension."""
    kind = NP_STORED[COMPLEX_HALF]
    return np.ascontiguousarray(parts, np.float16).reshape(-1).view(np.uint32).view(kind).reshape(parts.shape[:-1])


def turned(array: Array, conj: bool, neg: bool) -> Array:
    """Return half-precision complex numbers conjugated (``conj``), negated (``neg``) or both."""
    parts = halves_of(array).copy()
    if neg:
        parts = -parts
    if conj:
        parts[..., 1] = -parts[..., 1]
    return of_halves(parts)


def shown(array: Array) -> Array:
    """Return the values of codes for printing: float64, complex64 for half-precision complex numbers; for pairs of 4-bit numbers the bytes.
    """
    name = NAME_OF_STORED[array.dtype]
    if name == COMPLEX_HALF:
        return decoded(array, name)
    with quiet():  # signaling NaN raises a floating-point warning
        return (as_bytes(array) if name == PAIRS else decoded(array, name)).astype(np.float64)


def numbers(array: Array) -> Array:
    """Return the values of codes in float64, from which Python numbers are made. Raise torch's errors for pairs of 4-bit numbers."""
    if array.dtype == NP_STORED[PAIRS]:
        if array.ndim:
            raise RuntimeError("load_scalar: invalid type")
        raise not_for("_local_scalar_dense_cpu", "float4_e2m1fn_x2")
    return shown(array)


def encoded(array: Array, name: str) -> Array:
    """Encode a float32 array with torch's rounding, in row-major memory."""
    if name == COMPLEX_HALF:
        with quiet():
            parts = np.ascontiguousarray(array, np.complex64).reshape(-1).view(np.float32).astype(np.float16)
        return of_halves(parts.reshape(*array.shape, 2))
    bits = np.ascontiguousarray(array).view(np.uint32)
    places = (bits >> 16).astype(np.uint16)
    places |= (bits & np.uint32(0xFFFF)) != 0  # of the bits below the 16th it only matters whether one is set
    return _codes(name)[places].reshape(array.shape).view(NP_STORED[name])


@cache
def _values_in(name: str, target: np.dtype[Any], cast: Callable[..., Array]) -> Array:
    """Return the values of the 256 codes in another dtype; NaN of three of the dtypes casts to integer 0, as in torch's builds."""
    values = _values(name)
    if target == np.uint32:
        return cast(cast(values, np.dtype(np.int64)), target)  # NumPy's cast of NaN depends on the array's length
    if (target.kind in "iu" or target == np.float16) and name not in ("float8_e4m3fn", "float8_e5m2"):
        values = np.where(np.isnan(values), np.float32(0 if target.kind in "iu" else np.nan), values)
    if target.name == "bfloat16":
        values = np.where(np.isnan(values), np.float32(np.nan), values)  # torch's NaN has no sign; NumPy 2 would keep it
    return cast(values, target)


def cast_stored(array: Array, target: np.dtype[Any], cast: Callable[..., Array]) -> Array:
    """Cast an array from or to a dtype of codes; ``cast`` converts from and to float32."""
    source, name = NAME_OF_STORED.get(array.dtype), NAME_OF_STORED.get(target)
    if array.dtype == target:
        return array.copy()
    if PAIRS in (source, name):
        raise not_for("copy_kernel", "float4_e2m1fn_x2")
    if name is None and source == COMPLEX_HALF:
        return cast(decoded(array, source), target)
    if name == COMPLEX_HALF:
        return encoded(cast(array, np.dtype(np.complex64)) if source is None else decoded(array, source), name)
    if source == COMPLEX_HALF and name is not None:
        return encoded(decoded(array, source).real, name)
    if name is None:
        assert source is not None
        return _values_in(source, target, cast)[as_bytes(array)]
    return encoded(cast(array, np.dtype(np.float32)) if source is None else decoded(array, source), name)


def _with_conversions(
    function: Callable[..., Any], kind: np.dtype[Any], read: Callable[..., Any], write: Callable[..., Any]
) -> Callable[..., Any]:
    """Wrap a kernel: ``read`` converts each argument of the NumPy dtype ``kind``, ``write`` converts the results."""

    def shown(value: Any) -> Any:
        if value.__class__ is np.ndarray:
            return read(value) if value.dtype == kind else value
        if isinstance(value, (list, tuple)):
            return type(value)(map(shown, value))
        return value

    def turned(value: Array | list[Any] | tuple[Any, ...]) -> Any:
        return tuple(map(turned, value)) if isinstance(value, (list, tuple)) else write(value)

    return lambda *args: turned(function(*map(shown, args)))


def through_bytes(function: Callable[..., Any], op: str, name: str) -> Callable[..., Any]:
    """Wrap a uint8 kernel that only moves data for use on a dtype that is stored as bytes."""
    kind = NP_STORED[name]
    moved = _with_conversions(function, kind, as_bytes, lambda value: value.view(kind) if value.dtype == kind[0] else value)
    if op not in _FILLS:
        return moved

    def fill(*args: Any) -> Array:
        *given, number = args  # the fill value is the last argument
        return moved(*given, int(as_bytes(encoded(np.asarray(number, np.complex64 if name == COMPLEX_HALF else np.float32), name))))

    return fill


def refuses(op: str, name: str, args: tuple[Any, ...]) -> str:
    """Return the name of torch's kernel that rejects a call with these shapes; "" if torch computes it."""
    if name == COMPLEX_HALF and op not in ("flip", "gather"):
        return ""
    if op == "mul" and args[1].size == 1:
        return "mul_cpu_reduced_float"
    if op == "flip" and args[0].size:
        steps = {step: dim for dim, (step, length) in enumerate(zip(args[0].strides, args[0].shape)) if length > 1}
        return "flip_cpu" if steps and steps[min(steps)] in args[1] else ""  # the dimension along which elements are adjacent in memory
    if op == "pad_like" and args[2] != "circular":
        return f"{'reflection' if args[2] == 'reflect' else 'replication'}_pad{len(args[1]) // 2}d"
    if op == "gather" and args[2].size:
        return "scatter_gather_tensor_cpu"
    return ""


def _with_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a sum so that its second operand is multiplied by a complex 1, as torch multiplies by ``alpha``: infinite parts give NaN."""

    def call(first: Array, second: Array, *args: Any) -> Array:
        with quiet():
            return function(first, np.asarray(second, np.complex64) * np.complex64(1), *args)

    return call


def through_numbers(function: Callable[..., Any], op: str, name: str) -> Callable[..., Any]:
    """Wrap a float32 kernel as a kernel of a dtype that is held as bytes; float32 results are rounded to the dtype."""
    if name == COMPLEX_HALF and op in ("add", "sub"):
        function = _with_one(function)

    def rounded(value: Array) -> Array:
        if name == COMPLEX_HALF:
            with quiet():  # sizes and parts are in half precision
                return value.astype(np.float16) if value.dtype == np.float32 else encoded(value, name) if value.dtype.kind == "c" else value
        return encoded(value, name) if value.dtype == np.float32 else value

    return _with_conversions(function, NP_STORED[name], lambda array: decoded(array, name), rounded)

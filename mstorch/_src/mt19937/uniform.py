"""Uniform samples."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import pipeline
from .box_muller import UNIT_MASK
from .engine import Engine
from .rounding import FLOATS, TORCH_NAMES, cast, fma32, fma64, numpy_dtype, require_dtype

SMALL = 64
"""Maximum number of samples that are taken from the engine's tables."""

COMPLEX_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_C_NAMES = {"float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double"}
_LIMITS = {
    "float16": 65504.0,
    "bfloat16": 255 * 2.0**120,
    "float32": float(np.finfo(np.float32).max),
    "float64": float(np.finfo(np.float64).max),
}
_UNIT32 = np.array(2.0**-24, np.float32)
_UNIT64 = np.array(2.0**-53)
_MASK53 = np.array((1 << 53) - 1, np.uint64)


def units_from_words32(words: NDArray[np.uint32], out: NDArray[np.float32]) -> None:
    """Write the uniforms (word mod 2^24) / 2^24 to `out`; overwrites the words."""
    words &= UNIT_MASK
    out[...] = words.view(np.int32)
    out *= _UNIT32


def units_from_words64(words: NDArray[np.uint64], out: NDArray[np.float64]) -> None:
    """Write the uniforms (word mod 2^53) / 2^53 to `out`; overwrites the words."""
    words &= _MASK53
    out[...] = words.view(np.int64)
    out *= _UNIT64


def units32(engine: Engine, n: int) -> NDArray[np.float32]:
    """Return n float32 uniforms in [0, 1), one word each."""
    if n <= SMALL:
        start = engine.reserve(n)
        return engine.tables.units32[start : start + n].copy()
    return pipeline.fill(engine, np.empty(n, np.float32), 1, units_from_words32)


def units64(engine: Engine, n: int) -> NDArray[np.float64]:
    """Return n float64 uniforms in [0, 1), two words each."""
    if n <= SMALL:
        start = engine.reserve(2 * n)
        return engine.tables.units64[start : start + 2 * n : 2].copy()
    return pipeline.fill(engine, np.empty(n), 2, units_from_words64)


def unit64(engine: Engine) -> float:
    """Return the next float64 uniform in [0, 1)."""
    start = engine.reserve(2)
    return engine.tables.units64.item(start)


def transform_units64(
    engine: Engine, n: int, transform: Callable[[NDArray[np.float64]], NDArray[Any]], dtype: str
) -> NDArray[Any]:
    """Return n samples of a dtype, each made from one float64 uniform by `transform`, which may overwrite its argument."""
    out = np.empty(n, numpy_dtype(dtype))
    if n <= SMALL:
        out[...] = cast(transform(units64(engine, n)), dtype)
        return out

    def from_words(words: NDArray[np.uint64], part: NDArray[Any]) -> None:
        words &= _MASK53
        units = words.view(np.int64) * _UNIT64
        part[...] = cast(transform(units), dtype)

    return pipeline.fill(engine, out, 2, from_words, pipeline.BLOCK_BYTES // 4)


def uniform(
    engine: Engine, shape: tuple[int, ...], low: float = 0.0, high: float = 1.0, dtype: str = "float32"
) -> NDArray[Any]:
    """Return uniform samples in [low, high), in a floating-point or complex dtype.

    Draws one word per sample, two for float64; a complex sample draws its real part first, then the imaginary one.
    """
    if dtype in COMPLEX_PARTS:
        return uniform(engine, (*shape, 2), low, high, COMPLEX_PARTS[dtype]).view(dtype)[..., 0]
    _check(low, high, dtype)
    n = math.prod(shape)
    standard = low == 0.0 and high == 1.0
    if dtype == "float64":
        double = units64(engine, n)
        if not standard:
            double = fma64(double, float(high) - float(low), float(low))
            double[double == high] = low
        return double.reshape(shape)
    if standard:
        single = units32(engine, n)
    elif -low == high and high > 1e-30:
        single = _symmetric(engine, n, np.float32(high))
    else:
        single = _in_range(engine, n, np.float32(low), np.float32(high))
    if dtype == "float32":
        return single.reshape(shape)
    narrow = cast(single, dtype)
    narrow_low, narrow_high = cast(np.array([low, high], np.float32), dtype)
    narrow[narrow == narrow_high] = narrow_low
    return narrow.reshape(shape)


def _check(low: float, high: float, dtype: str) -> None:
    require_dtype(dtype, FLOATS, "check_uniform_bounds")
    limit = _LIMITS[dtype]
    for name, bound in (("from", low), ("to", high)):
        if not -limit <= bound <= limit:
            raise RuntimeError(f"{name} is out of bounds for {_C_NAMES[dtype]}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > limit:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{TORCH_NAMES[dtype]}>::max(), but found to={high:g} "
            f"and from={low:g} which result in to-from to exceed the limit"
        )


def _symmetric(engine: Engine, n: int, bound: np.float32) -> NDArray[np.float32]:
    """Return samples in [-bound, bound): fma(k 2^-24, 2 bound, -bound) equals (k - 2^23) (bound 2^-23), rounded once."""
    if n <= SMALL:
        samples = units32(engine, n)
        samples -= np.float32(0.5)  # exact, like the integers below
        samples *= np.float32(2) * bound
        return samples
    step = np.array(bound * np.float32(2.0**-23))
    middle = np.array(1 << 23, np.int32)

    def from_words(words: NDArray[np.uint32], out: NDArray[np.float32]) -> None:
        words &= UNIT_MASK
        steps = words.view(np.int32)
        steps -= middle
        out[...] = steps
        out *= step

    return _fill32(engine, n, from_words)


def _in_range(engine: Engine, n: int, low: np.float32, high: np.float32) -> NDArray[np.float32]:
    """Return samples in [low, high): fma(unit, high - low, low), with high itself replaced by low."""
    step = np.float64(np.float32(high - low)) * 2.0**-24

    def from_words(words: NDArray[np.uint32], out: NDArray[np.float32]) -> None:
        words &= UNIT_MASK
        product = words.view(np.int32).astype(np.float64)
        product *= step
        out[...] = fma32(product, low)
        out[out == high] = low

    return _fill32(engine, n, from_words)


def _fill32(
    engine: Engine, n: int, from_words: Callable[[NDArray[np.uint32], NDArray[np.float32]], None]
) -> NDArray[np.float32]:
    out = np.empty(n, np.float32)
    if n > SMALL:
        return pipeline.fill(engine, out, 1, from_words, pipeline.BLOCK_BYTES // 4)
    start = engine.reserve(n)
    from_words(engine.tables.words[start : start + n].copy(), out)
    return out

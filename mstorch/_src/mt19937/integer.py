"""Integer samples and permutations."""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import slaswp

from . import pipeline
from .engine import Engine
from .rounding import INTEGERS, UNSIGNED, cast, numpy_dtype, require_dtype
from .uniform import SMALL

FLOAT_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Bits of the mantissa: integers of magnitude up to 2^digits are exact."""

_NAMES_IN_MESSAGES = {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long",
    "bool": "bool",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
}
_BOUNDS: dict[str, tuple[float, float]] = {
    **{name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in (*INTEGERS, *UNSIGNED)},
    "bool": (0, 1),
    "float16": (-65504.0, 65504.0),
    **dict.fromkeys(("bfloat16", "float32", "float64"), (-math.inf, math.inf)),  # wider than int64
}
_RANDOM_ALL = (*INTEGERS, *FLOAT_DIGITS, "bool")
_INT64_MIN = -(1 << 63)
_WIDE_RANGE = 1 << 28  # from here on torch draws two words per sample
_WORD_MASK = (1 << 64) - 1
_PYTHON_PERMUTATION = 150  # up to here a loop in Python is faster than calling LAPACK
_INSIDE_OUT = 0xFFFFFFFF // 20  # from here on torch draws two words per step


def _samples(
    engine: Engine,
    shape: tuple[int, ...],
    words_per_sample: int,
    from_words: Callable[[NDArray[Any]], NDArray[Any]],
    dtype: str,
) -> NDArray[Any]:
    """Return samples of a dtype made from uint32 or uint64 words by `from_words`, which may overwrite its argument."""
    n = math.prod(shape)
    out = np.empty(n, numpy_dtype(dtype))
    convert = dtype in FLOAT_DIGITS or dtype == "bool"

    def transform(words: NDArray[Any], part: NDArray[Any]) -> None:
        integers = from_words(words)
        part[...] = cast(integers, dtype) if convert else integers

    if words_per_sample == 2:
        return pipeline.fill(engine, out, 2, transform).reshape(shape)
    if n <= SMALL:
        start = engine.reserve(n)
        transform(engine.tables.words[start : start + n].copy(), out)
        return out.reshape(shape)
    return pipeline.fill(engine, out, 1, transform, pipeline.BLOCK_BYTES // 4).reshape(shape)


def _remainder(words: NDArray[Any], divisor: int) -> NDArray[Any]:
    """Compute words %= divisor; NumPy vectorizes integer division by a scalar, but not the remainder."""
    if divisor & (divisor - 1) == 0:
        words &= words.dtype.type(divisor - 1)
        return words
    modulus = words.dtype.type(divisor)
    quotient = words // modulus
    quotient *= modulus
    words -= quotient
    return words


def _integers_below(engine: Engine, shape: tuple[int, ...], count: int, low: int, dtype: str) -> NDArray[Any]:
    """Return samples low + word % count: one word per sample, two if count is 2^28 or more."""
    if count >= _WIDE_RANGE:
        offset = np.uint64(low & _WORD_MASK)

        def from_pairs(words: NDArray[np.uint64]) -> NDArray[np.int64]:
            return (_remainder(words, count) + offset).view(np.int64)

        return _samples(engine, shape, 2, from_pairs, dtype)

    n = math.prod(shape)
    if n <= SMALL and (dtype in INTEGERS or dtype in UNSIGNED):
        start = engine.reserve(n)
        words = engine.tables.words[start : start + n].tolist()
        return np.array([low + word % count for word in words], dtype).reshape(shape)

    def from_words(words: NDArray[np.uint32]) -> NDArray[Any]:
        samples = _remainder(words, count).view(np.int32)  # below 2^28
        return samples + np.int64(low) if low else samples

    return _samples(engine, shape, 1, from_words, dtype)


def random_between(
    engine: Engine, shape: tuple[int, ...], low: int, high: int | None, dtype: str = "int64"
) -> NDArray[Any]:
    """Return integers in [low, high); if high is None, up to the dtype's largest (for floats, exactly representable) integer.

    This is torch's randint and random_(low, high). Draws one word per sample, two if there are 2^28 integers or more.
    """
    if dtype not in _BOUNDS:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if high is None and low == _INT64_MIN:
        return _samples(engine, shape, 2, lambda words: words.view(np.int64), dtype)
    if dtype in FLOAT_DIGITS:
        low = _round_inwards(low, 1, dtype)
        high = None if high is None else _round_inwards(high, -1, dtype)
        if high is not None and low >= high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                f"but got from={low} >= to={high}"
            )
    last = _last_integer(dtype) if high is None else high - 1
    _check_bounds(low, last, dtype)
    return _integers_below(engine, shape, (last - low + 1) & _WORD_MASK, low, dtype)


def _last_integer(dtype: str) -> int:
    if dtype in FLOAT_DIGITS:
        return 1 << FLOAT_DIGITS[dtype]
    return int(_BOUNDS[dtype][1])


def _check_bounds(first: int, last: int, dtype: str) -> None:
    lowest, highest = _BOUNDS[dtype]
    for name, value in (("from", first), ("to - 1", last)):
        if not lowest <= value <= highest:
            raise RuntimeError(f"{name} is out of bounds for {_NAMES_IN_MESSAGES[dtype]}")
        digits = FLOAT_DIGITS.get(dtype)
        if digits is not None and abs(value) > 1 << digits:
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
                f"{_NAMES_IN_MESSAGES[dtype]} can support discrete uniform distribution only within this range.",
                stacklevel=4,
            )


def _round_inwards(bound: int, direction: int, dtype: str) -> int:
    """Return a bound of the range of integers: ``bound``, or, where the next integer would be rounded to a float of the dtype outside the
    range, the nearest such float inside, as in torch. ``direction`` is 1 for the lower bound, -1 for the upper."""
    inner = bound + direction
    nearest = float(cast(np.array([inner], np.float64 if dtype == "float64" else np.float32), dtype)[0])
    if math.isinf(nearest):
        return bound  # which is out of bounds for the dtype, so that the caller raises
    rounded = int(nearest)
    outside = rounded < bound if direction > 0 else rounded >= bound
    if not outside:
        return bound
    return rounded + direction * (1 << (abs(inner).bit_length() - FLOAT_DIGITS[dtype]))


def random_all(engine: Engine, shape: tuple[int, ...], dtype: str = "int64") -> NDArray[Any]:
    """Return the integers of torch's random_(): from 0 to the dtype's maximum; for floats, as far as all integers are exact.

    Draws one word per sample, two for int64 and float64.
    """
    require_dtype(dtype, _RANDOM_ALL, "random_kernel_cpu")
    if dtype == "int64":
        mask = np.uint64((1 << 63) - 1)
        return _samples(engine, shape, 2, lambda words: (words & mask).view(np.int64), dtype)
    count = _last_integer(dtype) + 1
    if dtype == "float64":
        return _samples(engine, shape, 2, lambda words: _remainder(words, count), dtype)
    return _samples(engine, shape, 1, lambda words: _remainder(words, count), dtype)


def permutation(engine: Engine, n: int, dtype: str = "int64") -> NDArray[Any]:
    """Return torch.randperm: a permutation of 0 … n-1 (forward Fisher-Yates).

    Step i, from 0 to n-2, draws a word and swaps element i and element i + word % (n - i). Permutations of 2^32 / 20 elements or more draw
    a pair of words for each of n steps, and swap elements i and pair % (i + 1).
    """
    if n < 2:
        return np.arange(n, dtype=numpy_dtype(dtype))
    if n >= _INSIDE_OUT:
        return cast(_exchange_rows(_inside_out_partners(engine, n)), dtype)
    if n <= _PYTHON_PERMUTATION:
        start = engine.reserve(n - 1)
        offsets = engine.tables.words[start : start + n - 1] % np.arange(n, 1, -1, dtype=np.uint32)
        order = list(range(n))
        for i, offset in enumerate(offsets.tolist()):
            partner = i + offset
            order[i], order[partner] = order[partner], order[i]
        return cast(np.array(order), dtype)

    def to_partners(words: NDArray[np.uint32], partners: NDArray[np.int32]) -> None:
        words %= (np.int32(n) - partners).view(np.uint32)
        partners += words.view(np.int32)

    partners = np.arange(n, dtype=np.int32)  # the partner at each step; the last element has no step
    pipeline.fill(engine, partners[:-1], 1, to_partners, pipeline.BLOCK_BYTES // 4)
    return cast(_exchange_rows(partners), dtype)


def _inside_out_partners(engine: Engine, n: int) -> NDArray[np.int32]:
    if n > 1 << 31:
        raise NotImplementedError("mstorch: torch.randperm of more than 2^31 elements")

    def to_partners(words: NDArray[np.uint64], partners: NDArray[np.int32]) -> None:
        words %= partners.astype(np.uint64) + np.uint64(1)
        partners[...] = words

    return pipeline.fill(engine, np.arange(n, dtype=np.int32), 2, to_partners)


def _exchange_rows(partners: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return 0 … n-1 after swapping, for each i in order, elements i and partners[i].

    LAPACK's laswp does this to the rows of a matrix. It only moves the numbers, so int32 bits may pass as float32.
    """
    column = np.arange(partners.size, dtype=np.int32).view(np.float32).reshape(-1, 1)
    order: NDArray[np.float32] = slaswp(column, partners, overwrite_a=1)
    return order.view(np.int32).reshape(-1)

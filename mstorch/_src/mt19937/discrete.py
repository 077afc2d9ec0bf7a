"""Bernoulli, geometric and multinomial samples."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..quiet import quiet
from . import libm, pipeline, selection
from .continuous import exponential
from .engine import Engine
from .rounding import FLOATS, INTEGERS, TORCH_NAMES, cast, numpy_dtype, require_dtype
from .uniform import SMALL, transform_units64, units32, units64

_GEOMETRIC = (*FLOATS, *INTEGERS)
_BERNOULLI = (*_GEOMETRIC, "bool")
_MASK53 = np.array((1 << 53) - 1, np.uint64)


def bernoulli(
    engine: Engine, shape: tuple[int, ...], probability: float = 0.5, dtype: str = "float32"
) -> NDArray[Any]:
    """Return Bernoulli samples of one scalar probability. Draws one float64 uniform (two words) per sample."""
    require_dtype(dtype, _BERNOULLI, "bernoulli_scalar_cpu_")
    if not 0.0 <= probability <= 1.0:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={probability:g}")
    n = math.prod(shape)
    out = np.empty(n, numpy_dtype(dtype))
    # k 2^-53 < p if and only if k < ceil(p 2^53), which is exact
    threshold = np.array(math.ceil(probability * (1 << 53)), np.uint64)
    if n <= SMALL:
        start = engine.reserve(2 * n)
        np.less(engine.tables.bits53[start : start + 2 * n : 2], threshold, out=out)
        return out.reshape(shape)

    def from_words(words: NDArray[np.uint64], part: NDArray[Any]) -> None:
        words &= _MASK53
        np.less(words, threshold, out=part)

    return pipeline.fill(engine, out, 2, from_words).reshape(shape)


def dropout_mask(engine: Engine, n: int, keep_probability: float) -> NDArray[np.bool_]:
    """Return which of n elements a dropout keeps. Draws as `bernoulli`; nothing if all or none are kept, as in torch."""
    return bernoulli(engine, (n,), keep_probability, "bool")


def dropout_bits(engine: Engine, n: int, keep_probability: float) -> NDArray[np.uint8]:
    """Return `dropout_mask` as bits, eight a byte, from the lowest on."""
    return np.packbits(dropout_mask(engine, n, keep_probability), bitorder="little")


def bernoulli_each(
    engine: Engine, probabilities: NDArray[np.floating[Any]], dtype: str = "float32"
) -> NDArray[Any]:
    """Return samples that are 1 with an individual probability.

    Draws one float64 uniform (two words) per sample for float64 probabilities, one float32 uniform (one word) for others.
    """
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    if probabilities.dtype == np.float64:
        uniforms: NDArray[Any] = units64(engine, probabilities.size)
    else:
        uniforms = units32(engine, probabilities.size)
        probabilities = probabilities.astype(np.float32, copy=False)
    drawn: NDArray[np.bool_] = uniforms.reshape(probabilities.shape) < probabilities
    return drawn.astype(numpy_dtype(dtype))


def geometric(engine: Engine, shape: tuple[int, ...], probability: float, dtype: str = "float32") -> NDArray[Any]:
    """Return samples ceil(log u / log(1 - p)). Draws one float64 uniform u (two words) per sample."""
    require_dtype(dtype, _GEOMETRIC, "geometric_cpu")
    if not 0.0 < probability < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={probability:g}")
    log_failure = math.log1p(-probability)

    def transform(units: NDArray[np.float64]) -> NDArray[np.float64]:
        trials: NDArray[np.float64] = np.ceil(libm.log(units) / log_failure)
        return trials

    return transform_units64(engine, math.prod(shape), transform, dtype).reshape(shape)


def _in_order_of(rows: NDArray[Any], engine: Engine, dtype: str) -> NDArray[Any]:
    """Return one exponential sample for each element of ``rows``, drawn in the order of the elements in memory."""
    if abs(rows.strides[0]) < abs(rows.strides[1]) and len(rows) > 1:
        return exponential(engine, rows.shape[::-1], 1.0, dtype).T
    return exponential(engine, rows.shape, 1.0, dtype)


def multinomial(
    engine: Engine,
    weights: NDArray[np.floating[Any]],
    num_samples: int,
    replacement: bool = False,
    dtype: str | None = None,
) -> NDArray[np.int64]:
    """Return indices drawn with probabilities proportional to the weights, for each row of a matrix or for one vector.

    `dtype` is that of the weights (needed for bfloat16 only). Without replacement, or for one sample, these are the indices of the largest
    weight / exponential sample, with the draws of `exponential` for all weights. With replacement: a binary search in the cumulative
    weights for float64 uniforms (two words), row by row.
    """
    dtype = dtype or weights.dtype.name
    if dtype not in FLOATS:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {TORCH_NAMES[dtype]}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    rows = weights.reshape(-1, weights.shape[-1])
    result_shape = (*weights.shape[:-1], num_samples)
    if not replacement or num_samples == 1:
        if not (np.isfinite(rows) & (rows >= 0)).all():
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if (rows.sum(-1) == 0).any():
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        with quiet():
            scores = cast(rows / _in_order_of(rows, engine, dtype), dtype)
        if num_samples == 1:
            return np.asarray(scores.argmax(-1), np.int64).reshape(result_shape)
        return selection.largest(scores, num_samples).reshape(result_shape)
    result = np.empty((len(rows), num_samples), np.int64)
    for row, chosen in zip(rows, result, strict=True):
        chosen[:] = np.searchsorted(_cumulative(row), units64(engine, num_samples), side="left")
    return result.reshape(result_shape)


def _cumulative(weights: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return cumulative probabilities, summed one by one in the precision of the weights (at least float32)."""
    if (weights < 0).any():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not np.isfinite(weights).all():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    if weights.dtype != np.float64:
        weights = weights.astype(np.float32, copy=False)
    sums = np.cumsum(weights)
    if sums[-1] <= 0:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    sums /= sums[-1]
    sums[-1] = 1
    return np.asarray(sums, np.float64)

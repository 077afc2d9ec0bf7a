"""Bernoulli, geometric, multinomial, Poisson and binomial samples."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._quiet import quiet
from . import libm, pipeline, selection
from .continuous import exponential
from .engine import Engine
from .rounding import FLOATS, INTEGERS, TORCH_NAMES, cast, numpy_dtype, require_dtype
from .uniform import SMALL, transform_units64, unit64, units32, units64

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


def poisson(engine: Engine, rates: NDArray[np.floating[Any]], dtype: str | None = None) -> NDArray[Any]:
    """Return Poisson samples for each rate; `dtype` is that of the rates (needed for bfloat16 only).

    Draws float64 uniforms, element by element: for rates of 10 or more, two per candidate; below, until their product falls to exp(-rate);
    for rate 0, none.
    """
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    counts = np.array([_poisson_sample(engine, rate) for rate in rates.ravel().tolist()], np.float64)
    return cast(counts, dtype or rates.dtype.name).reshape(rates.shape)


def _poisson_sample(engine: Engine, rate: float) -> int:
    if rate == 0.0:
        return 0
    if rate < 10.0:  # Knuth's product of uniforms
        limit = math.exp(-rate)
        count = 0
        product = unit64(engine)
        while product > limit:
            count += 1
            product *= unit64(engine)
        return count
    # Hörmann's transformed rejection with squeeze (PTRS, 1993)
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = unit64(engine) - 0.5
        v = unit64(engine)
        us = 0.5 - abs(u)
        if us == 0.0:
            continue  # the candidate is minus infinity
        count = math.floor((2.0 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return count
        if count < 0 or (us < 0.013 and v > us):
            continue
        log_v = math.log(v) if v > 0.0 else -math.inf
        likelihood = -rate + count * log_rate - math.lgamma(count + 1)
        if log_v + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= likelihood:
            return count


def binomial(
    engine: Engine, counts: NDArray[np.floating[Any]], probabilities: NDArray[np.floating[Any]]
) -> NDArray[Any]:
    """Return binomial samples for float32 or float64 counts and probabilities of equal shape.

    Draws float64 uniforms, element by element: two per candidate if the expected number of the rarer outcome is 10 or more; else one per
    such outcome and one more; none if the result is certain.
    """
    if not (counts >= 0).all() or not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise RuntimeError("Expected count >= 0 and 0 <= prob <= 1")
    pairs = zip(counts.ravel(), probabilities.ravel(), strict=True)
    require_dtype(counts.dtype.name, ("float32", "float64"), "binomial_cpu")
    samples = np.array([_binomial_sample(engine, count, probability) for count, probability in pairs], counts.dtype)
    return samples.reshape(counts.shape)


def _binomial_sample(engine: Engine, count: np.floating[Any], probability: np.floating[Any]) -> float:
    if count <= 0 or probability <= 0:
        return 0.0
    if probability >= 1:
        return float(count)
    if probability > 0.5:
        return float(count) - _rarer_outcomes(engine, count, type(probability)(1) - probability)
    return _rarer_outcomes(engine, count, probability)


def _rarer_outcomes(engine: Engine, count: np.floating[Any], probability: np.floating[Any]) -> float:
    if count * probability >= 10.0:
        return _binomial_rejection(engine, count, probability)
    # Inversion: the gaps between successes are geometric.
    log_failure = float(type(probability)(libm.log1p(np.array([-float(probability)]))[0]))
    trials = 0.0
    successes = 0
    while True:
        u = unit64(engine)
        trials += math.ceil(math.log(u) / log_failure) if u > 0.0 else math.inf
        if trials > count:
            return float(successes)
        successes += 1


def _binomial_rejection(engine: Engine, count: np.floating[Any], probability: np.floating[Any]) -> float:
    """Return a binomial sample by Hörmann's transformed rejection with squeeze (BTRS, 1993).

    Values that depend on the arguments alone are computed in their precision, the rest in double precision.
    """
    one = type(count)(1)
    n, p = float(count), float(probability)
    deviation = float(np.sqrt(count * probability * (one - probability)))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = float(count * probability) + 0.5
    v_r = 0.92 - 4.2 / b
    odds = float(probability / (one - probability))
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((count + one) * probability)
    while True:
        u = unit64(engine) - 0.5
        v = unit64(engine)
        us = 0.5 - abs(u)
        if us == 0.0:
            continue  # the candidate is minus infinity
        k = math.floor((2.0 * a / us + b) * u + c)
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= v_r:
            return float(k)
        log_v = math.log(v * alpha / (a / (us * us) + b)) if v > 0.0 else -math.inf
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(n - mode)
            - _stirling_tail(k)
            - _stirling_tail(n - k)
        )
        if log_v <= bound:
            return float(k)


_STIRLING_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k: float) -> float:
    """Return log k! minus Stirling's approximation."""
    if k <= 9:
        return _STIRLING_TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)

"""Poisson and binomial samples, by inversion or by Hörmann's transformed rejection with squeeze (PTRS and BTRS, 1993)."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..quiet import quiet
from . import libm
from .ahead import FEW, taken_ahead
from .engine import Engine
from .rounding import cast, require_dtype
from .uniform import units64

Doubles = NDArray[np.float64]

_LARGE = 10.0  # expected number from which on samples are drawn by rejection
_MOST_PAIRS = 1 << 14


def poisson(engine: Engine, rates: NDArray[np.floating[Any]], dtype: str | None = None) -> NDArray[Any]:
    """Return Poisson samples for each rate; `dtype` is that of the rates (needed for bfloat16 only).

    Draws float64 uniforms, element by element: for rates of 10 or more, two per candidate; below, until their product falls to exp(-rate);
    for rate 0, none.
    """
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    double = rates.ravel().astype(np.float64)
    if double.size > FEW and double[0] >= _LARGE and (double == double[0]).all():
        counts = _equal_poissons(engine, float(double[0]), double.size)
    else:
        take, finish = taken_ahead(engine, double.size)
        counts = np.array(_poissons(take, double), np.float64)
        finish()
    return cast(counts, dtype or rates.dtype.name).reshape(rates.shape)


def _poissons(take: Callable[[], float], rates: Doubles) -> list[int]:
    samples = []
    constants = zip(*_constants(rates[rates >= _LARGE]), strict=True)
    for rate, limit in zip(rates.tolist(), libm.exp(-rates).tolist(), strict=True):
        if rate >= _LARGE:
            samples.append(_large_poisson(take, rate, *next(constants)))
            continue
        count = 0
        if rate:  # Knuth's product of uniforms
            product = take()
            while product > limit:
                count += 1
                product *= take()
        samples.append(count)
    return samples


def _constants(rates: Doubles) -> Iterable[list[float]]:
    """Return the constants a, b and v_r of each rate of 10 or more."""
    b = 0.931 + 2.53 * np.sqrt(rates)
    a = -0.059 + 0.02483 * b
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    return a.tolist(), b.tolist(), v_r.tolist()


def _candidate(take: Callable[[], float]) -> tuple[float, float, float]:
    """Draw u in [-0.5, 0.5), its distance to the nearer end, and v; pass over pairs with a distance of 0, which are minus infinity."""
    while True:
        u = take() - 0.5
        v = take()
        us = 0.5 - abs(u)
        if us != 0.0:
            return u, us, v


def _large_poisson(take: Callable[[], float], rate: float, a: float, b: float, v_r: float) -> int:
    while True:
        u, us, v = _candidate(take)
        count = math.floor((2.0 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return count
        if count >= 0 and (us >= 0.013 or v <= us) and _likely(rate, a, b, us, v, count):
            return count


def _likely(rate: float, a: float, b: float, us: float, v: float, count: int) -> bool:
    """Return whether a candidate is accepted that the squeeze did not decide."""
    log_v = math.log(v) if v > 0.0 else -math.inf
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    likelihood = -rate + count * math.log(rate) - math.lgamma(count + 1)
    return log_v + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= likelihood


def _equal_poissons(engine: Engine, rate: float, n: int) -> Doubles:
    """Return samples for one rate of 10 or more: many candidates are computed together."""
    a, b, v_r = (constant[0] for constant in _constants(np.array([rate])))
    samples = np.empty(n)
    done = 0
    while done < n:
        pairs = min((n - done) * 5 // 4 + 16, _MOST_PAIRS)
        u, v = units64(engine.clone(), 2 * pairs).reshape(pairs, 2).T
        u = u - 0.5
        us = 0.5 - np.abs(u)
        with quiet():
            counts = np.floor((2.0 * a / us + b) * u + rate + 0.43)
        accepted = (us >= 0.07) & (v <= v_r)
        for place in np.flatnonzero(~accepted & (us > 0.0) & (counts >= 0) & ((us >= 0.013) | (v <= us))).tolist():
            accepted[place] = _likely(rate, a, b, us.item(place), v.item(place), int(counts[place]))
        places = np.flatnonzero(accepted)[: n - done]
        samples[done : done + places.size] = counts[places]
        done += places.size
        engine.words32(4 * (int(places[-1]) + 1 if done == n else pairs))
    return samples


def binomial(
    engine: Engine, counts: NDArray[np.floating[Any]], probabilities: NDArray[np.floating[Any]]
) -> NDArray[Any]:
    """Return binomial samples for float32 or float64 counts and probabilities of equal shape.

    Draws float64 uniforms, element by element: two per candidate if the expected number of the rarer outcome is 10 or more; else one per
    such outcome and one more; none if the result is certain.
    """
    if not (counts >= 0).all() or not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise RuntimeError("Expected count >= 0 and 0 <= prob <= 1")
    require_dtype(counts.dtype.name, ("float32", "float64"), "binomial_cpu")
    count, probability = counts.ravel(), probabilities.ravel()
    take, finish = taken_ahead(engine, count.size)
    rarer = np.where(probability > 0.5, 1 - probability, probability)
    found = np.array(_rarer_outcomes(take, count, rarer), np.float64)
    finish()
    found = np.where(probability > 0.5, count - found, found)
    return found.astype(counts.dtype).reshape(counts.shape)


def _rarer_outcomes(
    take: Callable[[], float], counts: NDArray[np.floating[Any]], probabilities: NDArray[np.floating[Any]]
) -> list[float]:
    """Return samples for probabilities up to 0.5."""
    samples = []
    log_failure = libm.log1p(-probabilities.astype(np.float64)).astype(counts.dtype).tolist()
    expected = counts * probabilities
    large = expected >= _LARGE
    constants = zip(*_rejection_constants(counts[large], probabilities[large]), strict=True)
    log, ceil = math.log, math.ceil
    for n, p, rejects, failure in zip(counts.tolist(), probabilities.tolist(), large.tolist(), log_failure, strict=True):
        if rejects:
            samples.append(_binomial_rejection(take, n, p, *next(constants)))
            continue
        successes = 0
        if n > 0 and p > 0:  # inversion: the gaps between successes are geometric
            trials = 0.0
            while True:
                u = take()
                trials += ceil(log(u) / failure) if u > 0.0 else math.inf
                if trials > n:
                    break
                successes += 1
        samples.append(float(successes))
    return samples


def _rejection_constants(
    counts: NDArray[np.floating[Any]], probabilities: NDArray[np.floating[Any]]
) -> Iterable[list[float]]:
    """Return the standard deviation, the mean + 0.5, the odds and the mode of each distribution, computed in the arguments' precision."""
    failures = 1 - probabilities
    deviations = np.sqrt(counts * probabilities * failures)
    modes = np.floor((counts + 1) * probabilities)
    middle = (counts * probabilities).astype(np.float64) + 0.5
    return deviations.tolist(), middle.tolist(), (probabilities / failures).tolist(), modes.tolist()


def _binomial_rejection(
    take: Callable[[], float], n: float, p: float, deviation: float, middle: float, odds: float, mode: float
) -> float:
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    v_r = 0.92 - 4.2 / b
    while True:
        u, us, v = _candidate(take)
        k = math.floor((2.0 * a / us + b) * u + middle)
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= v_r:
            return float(k)
        alpha = (2.83 + 5.1 / b) * deviation
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

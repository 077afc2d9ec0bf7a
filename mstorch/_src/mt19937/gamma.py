"""Gamma and Dirichlet samples by Marsaglia and Tsang's rejection method (2000)."""
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
from .normal import polar_pairs
from .rounding import require_dtype
from .uniform import units64

Doubles = NDArray[np.float64]
Constants = tuple[float, float, float]

_TWO_PI = 2.0 * math.pi
_SQUEEZE = float(np.float32(0.0331))
_NO_POWER = 0.0  # for shape parameters of 1 or more
_NARROW = 1.0 / 3.0  # up to this c a candidate is too small once in 740 times
_MOST_PAIRS = 1 << 14


def standard_gamma(engine: Engine, concentration: NDArray[np.floating[Any]]) -> NDArray[Any]:
    """Return gamma samples of rate 1, one per element of a float32 or float64 array.

    The elements are drawn one after another: first a float64 uniform if the element is below 1; then, until a candidate is accepted, a
    cached normal and, unless the normal is too small, a float64 uniform.
    """
    require_dtype(concentration.dtype.name, ("float32", "float64"), "gamma_cpu")
    dtype = concentration.dtype
    samples: NDArray[Any] = _gammas(engine, concentration.ravel()).astype(dtype)
    np.maximum(samples, np.finfo(dtype).tiny, out=samples)
    return samples.reshape(concentration.shape)


def _gammas(engine: Engine, alpha: NDArray[np.floating[Any]]) -> Doubles:
    """Return samples in double precision. Constants are computed in the precision of the shape parameters ``alpha``."""
    if not alpha.all():  # a gamma sample of shape 0 is 0, without a draw
        samples = np.zeros(alpha.size)
        samples[alpha != 0] = _gammas(engine, alpha[alpha != 0])
        return samples
    boosted = alpha < 1
    with quiet():
        d = (np.where(boosted, alpha + alpha.dtype.type(1), alpha) - alpha.dtype.type(np.float32(1) / np.float32(3))).astype(np.float64)
        c = 1.0 / np.sqrt(9.0 * d)
        power = np.where(boosted, (1 / alpha).astype(np.float64), _NO_POWER)
    if alpha.size > FEW and not boosted[0] and c[0] <= _NARROW and (alpha == alpha[0]).all():
        return _equal_gammas(engine, float(d[0]), float(c[0]), alpha.size)
    constants = zip(d.tolist(), c.tolist(), power.tolist(), strict=True)
    take, finish = taken_ahead(engine, alpha.size)
    found, cached = _one_by_one(take, engine.cached_normal, constants)
    finish()
    engine.cached_normal = cached
    return np.array(found, np.float64)


def _one_by_one(
    take: Callable[[], float], cached: float | None, constants: Iterable[Constants]
) -> tuple[list[float], float | None]:
    """Return the samples and the cached normal after them. For a shape parameter below 1, a sample for the parameter + 1 is multiplied by
    u^(1 / parameter)."""
    sqrt, log, log1p, cos, sin = math.sqrt, math.log, math.log1p, math.cos, math.sin
    samples = []
    for d, c, power in constants:
        scale = 1.0 if power == _NO_POWER else math.pow(1.0 - take(), power)
        while True:
            if cached is None:
                angle = _TWO_PI * take()
                radius = sqrt(-2.0 * log1p(-take()))
                x, cached = radius * cos(angle), radius * sin(angle)
            else:
                x, cached = cached, None
            y = 1.0 + c * x
            if y <= 0.0:
                continue
            v = y * y * y
            u = 1.0 - take()
            square = x * x
            if u < 1.0 - _SQUEEZE * square * square or log(u) < 0.5 * square + d * (1.0 - v + log(v)):
                break
        samples.append(scale * d * v)
    return samples, cached


def _equal_gammas(engine: Engine, d: float, c: float, n: int) -> Doubles:
    """Return samples for one shape parameter of more than 4/3: candidates up to the first that is too small are computed together."""
    samples = np.empty(n)
    done = 0
    while done < n:
        cached = engine.cached_normal
        before = 0 if cached is None else 1  # number of candidates whose normal was drawn before
        pairs = min((n - done) * 17 // 32 + 8, _MOST_PAIRS)
        units = units64(engine.clone(), 4 * pairs + before)
        grid = units[before:].reshape(pairs, 4)  # angle, radius, and a uniform for each of the two normals
        x = polar_pairs(grid[:, 0], grid[:, 1])
        u = 1.0 - grid[:, 2:].ravel()
        if cached is not None:
            x, u = np.concatenate(([cached], x)), np.concatenate((1.0 - units[:1], u))
        y = 1.0 + c * x
        small = np.flatnonzero(y <= 0.0)
        end = int(small[0]) if small.size else x.size
        values = d * (y[:end] * y[:end] * y[:end])
        places = np.flatnonzero(_accepted(x[:end], y[:end], u[:end], d))[: n - done]
        samples[done : done + places.size] = values[places]
        done += places.size
        end = int(places[-1]) + 1 if done == n else end
        whole, half = divmod(end - before, 2)
        if end < before:  # the cached normal was too small
            engine.cached_normal = None
            continue
        engine.cached_normal = float(x[end]) if half else None
        engine.words32(2 * (before + 4 * whole + 3 * half))
        if done < n and small.size:
            _skip_normal(engine)
    return samples


def _skip_normal(engine: Engine) -> None:
    if engine.cached_normal is not None:
        engine.cached_normal = None
        return
    angle, radius = units64(engine, 2).reshape(2, 1)
    engine.cached_normal = float(polar_pairs(angle, radius)[1])


def _accepted(x: Doubles, y: Doubles, u: Doubles, d: float) -> NDArray[np.bool_]:
    square = x * x
    found = u < 1.0 - _SQUEEZE * square * square
    unsure = np.flatnonzero(~found)
    v = y[unsure] * y[unsure] * y[unsure]
    found[unsure] = libm.log(u[unsure]) < 0.5 * square[unsure] + d * (1.0 - v + libm.log(v))
    return found


def dirichlet(engine: Engine, concentration: NDArray[np.floating[Any]]) -> NDArray[Any]:
    """Return Dirichlet samples: gamma samples in float64 over their sum along the last dimension. Draws as `standard_gamma`."""
    require_dtype(concentration.dtype.name, ("float32", "float64"), "dirichlet")
    double = concentration.astype(np.float64)
    gammas = np.maximum(_gammas(engine, double.ravel()).reshape(double.shape), np.finfo(np.float64).tiny)
    dtype = concentration.dtype.type
    ratios: NDArray[Any] = (gammas / _sum_rows(gammas)[..., None]).astype(dtype)
    np.clip(ratios, np.finfo(dtype).tiny, np.nextafter(dtype(1), dtype(0)), out=ratios)
    return ratios


def _sum_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums along the last dimension in the order of torch.sum with vectors of four float64.

    Accumulator k of four adds the vectors 4 i + k. Every 2^power steps, the accumulators are added to those of the next of four levels, and
    set to zero. At the end the levels are summed, then the accumulators, then the elements after the last whole vector, and the four lanes
    of the vectors."""
    lanes = 4
    accumulators = 4
    levels = 4
    vectors = values.shape[-1] // lanes
    steps = vectors // accumulators
    rows = values.shape[:-1]
    grid = values[..., : vectors * lanes].reshape(*rows, vectors, lanes)
    power = max(4, max(steps - 1, 0).bit_length() // levels)
    partial = np.zeros((levels, *rows, accumulators, lanes))
    for step in range(steps):
        partial[0] += grid[..., step * accumulators : (step + 1) * accumulators, :]
        done = step + 1
        if done % (1 << power) == 0:
            for level in range(1, levels):
                partial[level] += partial[level - 1]
                partial[level - 1] = 0.0
                if done & (((1 << power) - 1) << (level * power)):
                    break
    total = partial[0]
    for level in range(1, levels):
        total += partial[level]
    for vector in range(steps * accumulators, vectors):
        total[..., 0, :] += grid[..., vector, :]
    lane_sums = total[..., 0, :]
    for accumulator in range(1, accumulators):
        lane_sums = lane_sums + total[..., accumulator, :]
    result = np.zeros(rows)
    for column in range(vectors * lanes, values.shape[-1]):
        result += values[..., column]
    if vectors:
        for lane in range(lanes):
            result += lane_sums[..., lane]
    return result

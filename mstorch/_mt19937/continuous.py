"""Exponential, Cauchy, log-normal, gamma and Dirichlet samples by torch's serial algorithms."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import libm
from .engine import Engine
from .normal import polar_sample, polar_samples
from .rounding import FLOATS, TORCH_NAMES, cast, fma64, require_dtype
from .uniform import SMALL, transform_units64, unit64, units64


def _require_continuous(dtype: str, distribution: str) -> None:
    if dtype not in FLOATS:
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {TORCH_NAMES[dtype]}"
        )


def exponential(engine: Engine, shape: tuple[int, ...], rate: float = 1.0, dtype: str = "float32") -> NDArray[Any]:
    """Return samples -log(1 - u) / rate. Draws one float64 uniform u (two words) per sample."""
    _require_continuous(dtype, "Exponential")
    if rate <= 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    factor = -1.0 / rate
    n = math.prod(shape)
    if n <= SMALL:
        samples = [math.log1p(-unit) * factor for unit in units64(engine, n).tolist()]
        return cast(np.array(samples, np.float64), dtype).reshape(shape)

    def transform(units: NDArray[np.float64]) -> NDArray[np.float64]:
        np.negative(units, out=units)
        if dtype == "float64":
            return libm.log1p(units) * factor
        return libm.log1p_for_float32(units, factor)

    return transform_units64(engine, n, transform, dtype).reshape(shape)


def cauchy(
    engine: Engine, shape: tuple[int, ...], median: float = 0.0, sigma: float = 1.0, dtype: str = "float32"
) -> NDArray[Any]:
    """Return samples median + sigma tan(π (u - 1/2)). Draws one float64 uniform u (two words) per sample."""
    _require_continuous(dtype, "Cauchy")
    if sigma <= 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")

    def transform(units: NDArray[np.float64]) -> NDArray[np.float64]:
        return fma64(libm.tan(math.pi * (units - 0.5)), float(sigma), float(median))

    return transform_units64(engine, math.prod(shape), transform, dtype).reshape(shape)


def log_normal(
    engine: Engine, shape: tuple[int, ...], mean: float = 1.0, std: float = 2.0, dtype: str = "float32"
) -> NDArray[Any]:
    """Return log-normal samples. However many they are, they are drawn in the way in which `normal` draws fewer than 16."""
    require_dtype(dtype, FLOATS, "log_normal_cpu")
    if std <= 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    normals = fma64(polar_samples(engine, math.prod(shape)), float(std), float(mean))
    return cast(libm.exp(normals), dtype).reshape(shape)


def _gamma_sample(engine: Engine, shape_parameter: np.floating[Any]) -> float:
    """Return a gamma sample by Marsaglia and Tsang's method. For a shape below 1, a sample for shape + 1 is multiplied by u^(1/shape).

    Constants are computed in the precision of the shape parameter, the rest in double precision."""
    scale = 1.0
    one = type(shape_parameter)(1)
    if shape_parameter < 1:
        if shape_parameter == 0:
            return 0.0
        scale = math.pow(1.0 - unit64(engine), float(one / shape_parameter))
        shape_parameter = shape_parameter + one
    d = float(shape_parameter - type(shape_parameter)(np.float32(1) / np.float32(3)))
    c = 1.0 / math.sqrt(9.0 * d)
    squeeze = float(np.float32(0.0331))
    while True:
        x = polar_sample(engine)
        y = 1.0 + c * x
        if y <= 0.0:
            continue
        v = y * y * y
        u = 1.0 - unit64(engine)
        square = x * x
        if u < 1.0 - squeeze * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def standard_gamma(engine: Engine, concentration: NDArray[np.floating[Any]]) -> NDArray[Any]:
    """Return gamma samples of rate 1, one per element of a float32 or float64 array.

    The elements are drawn one after another: first a float64 uniform if the element is below 1; then, until a candidate is accepted, a
    cached normal and, unless the normal is too small, a float64 uniform.
    """
    require_dtype(concentration.dtype.name, ("float32", "float64"), "gamma_cpu")
    dtype = concentration.dtype
    samples: NDArray[Any] = np.array([_gamma_sample(engine, value) for value in concentration.ravel()], dtype)
    np.maximum(samples, np.finfo(dtype).tiny, out=samples)
    return samples.reshape(concentration.shape)


def dirichlet(engine: Engine, concentration: NDArray[np.floating[Any]]) -> NDArray[Any]:
    """Return Dirichlet samples: gamma samples in float64 over their sum along the last dimension. Draws as `standard_gamma`."""
    require_dtype(concentration.dtype.name, ("float32", "float64"), "dirichlet")
    double = concentration.astype(np.float64)
    gammas = np.array([_gamma_sample(engine, value) for value in double.ravel()]).reshape(double.shape)
    gammas = np.maximum(gammas, np.finfo(np.float64).tiny)
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

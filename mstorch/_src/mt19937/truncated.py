"""Truncated normal samples, as drawn by torch.nn.init.trunc_normal_."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..quiet import quiet
from .engine import Engine
from .normal import normal
from .rounding import cast
from .uniform import uniform

_DIRECT_ACCEPTANCE = 0.3
"""With a larger part of the distribution than this between the bounds, torch rejects normal samples."""


def trunc_normal(
    engine: Engine,
    shape: tuple[int, ...],
    mean: float = 0.0,
    std: float = 1.0,
    low: float = -2.0,
    high: float = 2.0,
    dtype: str = "float32",
    contiguous: bool = True,
    like_contiguous: bool = True,
) -> NDArray[Any]:
    """Return normal samples that lie in [low, high], in a floating-point dtype.

    Draws, if the bounds contain more than 0.3 of the probability: normal samples for the whole shape, until every element has had one
    within the bounds. Otherwise: uniform candidates in [low, high), then uniforms that accept them, each time for the whole shape.
    The first samples are made in the tensor to fill, all others in one like it: `contiguous` and `like_contiguous` tell whether
    they are contiguous.

    Not bit by bit: the acceptance test compares float32 logarithms, whose last bit in torch depends on the processor; it matters for about
    one candidate in 10^7.
    """
    if _cumulative((high - mean) / std) - _cumulative((low - mean) / std) > _DIRECT_ACCEPTANCE:
        return _reject_normals(engine, shape, mean, std, low, high, dtype, contiguous, like_contiguous)
    return _reject_uniforms(engine, shape, mean, std, low, high, dtype)


def _cumulative(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _reject_normals(
    engine: Engine,
    shape: tuple[int, ...],
    mean: float,
    std: float,
    low: float,
    high: float,
    dtype: str,
    contiguous: bool,
    like_contiguous: bool,
) -> NDArray[Any]:
    lowest, highest = cast(np.array([low, high]), dtype)
    samples = normal(engine, shape, mean, std, dtype, contiguous)
    while True:
        outside = (samples < lowest) | (samples > highest)
        if not outside.any():
            return samples
        np.copyto(samples, normal(engine, shape, mean, std, dtype, like_contiguous), where=outside)


def _reject_uniforms(
    engine: Engine, shape: tuple[int, ...], mean: float, std: float, low: float, high: float, dtype: str
) -> NDArray[Any]:
    mode = max(low, min(mean, high))
    log_peak = -0.5 * ((mode - mean) / std) ** 2
    # Every operation is rounded to the dtype; those of the 16-bit types are done in float32.
    wide: type[np.floating[Any]] = np.float64 if dtype == "float64" else np.float32

    def log_density(candidates: NDArray[Any]) -> NDArray[Any]:
        values = cast(np.subtract(candidates, wide(mean), dtype=wide), dtype)
        values = cast(np.divide(values, wide(std), dtype=wide), dtype)
        values = cast(np.square(values, dtype=wide), dtype)
        values = cast(np.multiply(values, wide(-0.5), dtype=wide), dtype)
        return cast(np.subtract(values, wide(log_peak), dtype=wide), dtype)

    def rejected(candidates: NDArray[Any]) -> NDArray[np.bool_]:
        with quiet():
            logarithms = cast(np.log(uniform(engine, shape, dtype=dtype).astype(np.float64)), dtype)
        return logarithms > log_density(candidates)

    samples = uniform(engine, shape, low, high, dtype)
    pending = rejected(samples)
    while pending.any():
        candidates = uniform(engine, shape, low, high, dtype)
        np.copyto(samples, candidates, where=pending)
        pending &= rejected(candidates)
    return samples

"""Exponential, Cauchy and log-normal samples."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import libm
from .engine import Engine
from .normal import polar_samples
from .rounding import FLOATS, TORCH_NAMES, cast, fma64, require_dtype
from .uniform import SMALL, transform_units64, units64


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

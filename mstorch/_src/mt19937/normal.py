"""Normal samples by the Box-Muller transform, in torch's two variants."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import box_muller, libm, pipeline
from .engine import Engine
from .rounding import FLOATS, cast, fma32, fma64, fma64_to_float32, numpy_dtype, require_dtype
from .uniform import COMPLEX_PARTS, units64

_TABLE_LIMIT = 592  # up to this many samples, which take 16 words more, are computed from the engine's tables
_DTYPES = (*FLOATS, *COMPLEX_PARTS)
_BLOCK_WORDS = 131072  # words passed to a thread at a time
_TWO_PI = 2.0 * math.pi
_ZERO = np.array(0.0, np.float32)


def normal(
    engine: Engine,
    shape: tuple[int, ...],
    mean: float = 0.0,
    std: float = 1.0,
    dtype: str = "float32",
    contiguous: bool = True,
) -> NDArray[Any]:
    """Return normal samples of a floating-point or complex dtype (complex: std is that of the modulus).

    `contiguous`: whether the tensor to fill is contiguous. Draws:

    - fewer than 16 samples, or not contiguous: a pair of samples per two float64 uniforms, in double precision for
      every dtype; the second sample of an incomplete pair is cached for the next such draw.
    - otherwise one uniform per sample, in blocks of 16, without the cache; if the last block is incomplete, 16 more,
      from which the last 16 samples are recomputed. float16 and bfloat16 do not draw the uniforms of the incomplete block.
    """
    require_dtype(dtype, _DTYPES, "normal_kernel_cpu")
    if std < 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if dtype in COMPLEX_PARTS:
        parts = normal(engine, (*shape, 2), mean, std / math.sqrt(2.0), COMPLEX_PARTS[dtype], contiguous)
        return parts.view(dtype)[..., 0]
    n = math.prod(shape)
    if n == 0:
        return np.empty(shape, numpy_dtype(dtype))
    mean, std = float(mean), float(std)
    if n < 16 or not contiguous:
        samples = polar_samples(engine, n)
        if dtype == "float64":
            return fma64(samples, std, mean).reshape(shape)
        if std == 1.0:
            samples += mean
            single = samples.astype(np.float32)
        elif mean == 0.0:
            samples *= std
            samples += 0.0  # fma returns no negative zero
            single = samples.astype(np.float32)
        else:
            single = fma64_to_float32(samples, std, mean)
        return (single if dtype == "float32" else cast(single, dtype)).reshape(shape)
    if dtype == "float64":
        return _blocks64(engine, n, mean, std).reshape(shape)
    single = _blocks32(engine, n, mean, std, draws_unfull_block=dtype == "float32")
    return (single if dtype == "float32" else cast(single, dtype)).reshape(shape)


def polar_samples(engine: Engine, n: int) -> NDArray[np.float64]:
    """Return n standard normals in double precision.

    A pair of them is radius times cosine and radius times sine; the uniform for the angle is drawn before that for the radius.
    """
    samples: list[float] = []
    if n and engine.cached_normal is not None:
        samples.append(engine.cached_normal)
        engine.cached_normal = None
    pairs = (n - len(samples) + 1) // 2
    if pairs > 16:
        return _many_polar_samples(engine, n, samples, pairs)
    if pairs:
        start = engine.reserve(4 * pairs)
        uniforms = iter(engine.tables.units64[start : start + 4 * pairs : 2].tolist())
        for angle_uniform, radius_uniform in zip(uniforms, uniforms, strict=True):
            radius = math.sqrt(-2.0 * math.log1p(-radius_uniform))
            angle = _TWO_PI * angle_uniform
            samples.append(radius * math.cos(angle))
            samples.append(radius * math.sin(angle))
        if len(samples) > n:
            engine.cached_normal = samples.pop()
    return np.array(samples, np.float64)


def polar_pairs(angle_units: NDArray[np.float64], radius_units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return two normals for each pair of uniforms, cosine first."""
    radius = libm.log1p(-radius_units)
    radius *= -2.0
    np.sqrt(radius, out=radius)
    angle = angle_units * _TWO_PI
    samples = np.empty((radius.size, 2))
    np.multiply(radius, libm.cos(angle), out=samples[:, 0])
    np.multiply(radius, libm.sin(angle), out=samples[:, 1])
    return samples.reshape(-1)


def _many_polar_samples(engine: Engine, n: int, first: list[float], pairs: int) -> NDArray[np.float64]:
    uniforms = units64(engine, 2 * pairs)
    samples = polar_pairs(uniforms[::2], uniforms[1::2])
    if first:
        samples = np.concatenate((first, samples))
    if samples.size > n:
        engine.cached_normal = float(samples[-1])
    return samples[:n]


def _scale32(samples: NDArray[np.float32], mean: float, std: float) -> None:
    """Compute samples = fma(samples, float32(std), float32(mean)) in place."""
    if mean == 0.0:
        if std != 1.0:
            samples *= np.float32(std)
            samples += _ZERO  # fma returns no negative zero
    elif std == 1.0:
        samples += np.float32(mean)
    else:
        product = samples.astype(np.float64)
        product *= np.float64(np.float32(std))
        samples[...] = fma32(product, np.float32(mean))


def _blocks32(engine: Engine, n: int, mean: float, std: float, draws_unfull_block: bool) -> NDArray[np.float32]:
    """Return n >= 16 samples in blocks of 16, with the float32 polynomials."""
    full = n - n % 16
    if n <= _TABLE_LIMIT:
        drawn = n if draws_unfull_block else full
        extra = 16 if n % 16 else 0
        start = engine.reserve(drawn + extra)
        out = np.empty(n, np.float32)
        _from_tables(engine, start, out[:full])
        if extra:
            _from_tables(engine, start + drawn, out[-16:])
        out += _ZERO  # fma returns no negative zero
        _scale32(out, mean, std)
        return out

    def from_words(words: NDArray[np.uint32], part: NDArray[np.float32]) -> None:
        box_muller.transform(words, part)
        _scale32(part, mean, std)

    out = np.empty(n, np.float32)
    if n % 16 == 0:
        return pipeline.fill(engine, out, 1, from_words, 4 * _BLOCK_WORDS)
    if n > _BLOCK_WORDS:
        pipeline.fill(engine, out[:full], 1, from_words, 4 * _BLOCK_WORDS)
        words = np.empty(0, np.uint32)
    else:
        words = engine.words32(full)
    if draws_unfull_block:
        engine.words32(n % 16)
    words = np.concatenate((words, engine.words32(16)))
    samples = words.view(np.float32)
    from_words(words, samples)
    out[: samples.size - 16] = samples[:-16]
    out[-16:] = samples[-16:]
    return out


def _from_tables(engine: Engine, start: int, out: NDArray[np.float32]) -> None:
    """Write whole blocks of standard normals from the words at `start` of the engine's tables."""
    radii, cosines, sines = engine.tables.normals
    n = out.size
    if n == 16:
        length = radii[start : start + 8]
        np.multiply(length, cosines[start + 8 : start + 16], out=out[:8])
        np.multiply(length, sines[start + 8 : start + 16], out=out[8:])
        return
    blocks = out.reshape(-1, 2, 8)
    length = radii[start : start + n].reshape(-1, 2, 8)[:, 0]
    np.multiply(length, cosines[start : start + n].reshape(-1, 2, 8)[:, 1], out=blocks[:, 0])
    np.multiply(length, sines[start : start + n].reshape(-1, 2, 8)[:, 1], out=blocks[:, 1])


def _blocks64(engine: Engine, n: int, mean: float, std: float) -> NDArray[np.float64]:
    """Return n >= 16 samples in blocks of 16, with the C library's functions."""
    uniforms = units64(engine, n + (16 if n % 16 else 0))
    out = uniforms[:n]
    full = n - n % 16
    _transform64(out[:full], mean, std)
    if n % 16:
        last = uniforms[n:]
        _transform64(last, mean, std)
        out[-16:] = last
    return out.copy() if n % 16 else out  # a copy, so that the longer array can be freed


def _transform64(uniforms: NDArray[np.float64], mean: float, std: float) -> None:
    """Replace whole blocks of 16 uniforms by normals: 8 radii and 8 angles become 8 cosines and 8 sines."""
    blocks = uniforms.reshape(-1, 2, 8)
    chunk = 4096
    for start in range(0, len(blocks), chunk):
        part = blocks[start : start + chunk]
        radius = libm.log(1.0 - part[:, 0].ravel())
        radius *= -2.0
        np.sqrt(radius, out=radius)
        angle = part[:, 1].ravel() * _TWO_PI
        part[:, 0] = fma64(radius * libm.cos(angle), std, mean).reshape(-1, 8)
        part[:, 1] = fma64(radius * libm.sin(angle), std, mean).reshape(-1, 8)


def normal_around(
    engine: Engine,
    mean: NDArray[np.floating[Any]] | float,
    std: NDArray[np.floating[Any]] | float,
    dtype: str,
) -> NDArray[Any]:
    """Return normal samples with arrays as mean, standard deviation or both (bfloat16 in float32), broadcast.

    Draws as `normal` does for the broadcast shape. As in torch, the arithmetic on the arrays is not fused.
    """
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    if isinstance(std, np.ndarray) and (std < 0).any():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if not isinstance(std, np.ndarray):
        return cast(normal(engine, shape, 0.0, std, dtype) + mean, dtype)
    samples = cast(normal(engine, shape, 0.0, 1.0, dtype) * std, dtype)
    return cast(samples + (mean if isinstance(mean, np.ndarray) else samples.dtype.type(mean)), dtype)

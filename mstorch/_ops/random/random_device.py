"""Random numbers of an accelerator's stream, with the names and signatures of ``_mt19937``, as raw tensors.

The numbers differ from torch's; the distributions, dtypes and shapes are the same. MindSpore's uniform, normal, integer and permutation
kernels are used; other distributions are computed from them.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._backend.cast import cast
from ..._backend.device_random import DeviceStream
from ..._backend.raw import Raw, from_numpy
from ..._core.dtype import by_name
from ..._core.tensor_base import value_of, wrap
from ..elementwise import elementwise
from ..elementwise import math as mathematics
from ..elementwise.compare import clamp, lt
from ..reduce.sort import topk
from ..shape.views import reshape

PUBLIC_IN = "_ops.random.random"

_HALVES = ("float16", "bfloat16")
_LAST_INTEGER = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}


def _computed_in(dtype: str) -> str:
    return "float32" if dtype in _HALVES or by_name(dtype).is_integral else dtype


def _stored(tensor: Any, dtype: str) -> Raw:
    return cast(value_of(tensor), dtype)


def _unit(stream: DeviceStream, shape: tuple[int, ...], dtype: str) -> Any:
    return wrap(stream.uniform(shape, _computed_in(dtype)))


def uniform(stream: DeviceStream, shape: tuple[int, ...], low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> Raw:
    """Return uniform numbers in [low, high)."""
    return _stored(elementwise.add(elementwise.mul(_unit(stream, shape, dtype), high - low), low), dtype)


def normal(
    stream: DeviceStream, shape: tuple[int, ...], mean: float = 0.0, std: float = 1.0, dtype: str = "float32", contiguous: bool = True
) -> Raw:  # fmt: skip
    """Return normal numbers."""
    return _stored(_normal(stream, shape, mean, std, dtype), dtype)


def _normal(stream: DeviceStream, shape: tuple[int, ...], mean: float, std: float, dtype: str) -> Any:
    return elementwise.add(elementwise.mul(wrap(stream.normal(shape, _computed_in(dtype))), std), mean)


def normal_around(stream: DeviceStream, mean: Any, std: Any, dtype: str) -> Raw:
    """Return normal numbers with the given means and deviations, broadcast."""
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    mean, std = (wrap(from_numpy(np.array(value))) if isinstance(value, np.ndarray) else value for value in (mean, std))
    drawn = wrap(stream.normal(shape, _computed_in(dtype)))
    return _stored(elementwise.add(elementwise.mul(drawn, std), mean), dtype)


def random_between(stream: DeviceStream, shape: tuple[int, ...], low: int, high: int | None, dtype: str = "int64") -> Raw:
    """Return integers in [low, high), or from low up to the dtype's maximum."""
    if high is None:
        high = _limit(dtype)
    return cast(stream.integers(shape, low, high, "int64"), dtype)


def _limit(dtype: str) -> int:
    if dtype == "bool":
        return 2
    last = _LAST_INTEGER.get(dtype) or int(np.iinfo(dtype).max)
    return min(last + 1, (1 << 63) - 1)


def random_all(stream: DeviceStream, shape: tuple[int, ...], dtype: str) -> Raw:
    """Return integers from 0 up to the largest that the dtype represents exactly."""
    return random_between(stream, shape, 0, None, dtype)


def permutation(stream: DeviceStream, n: int, dtype: str = "int64") -> Raw:
    """Return a permutation of 0 to n - 1."""
    return cast(stream.permutation(n, "int64"), dtype)


def bernoulli(stream: DeviceStream, shape: tuple[int, ...], p: float, dtype: str) -> Raw:
    """Return 1 with probability p, else 0."""
    return _stored(lt(_unit(stream, shape, "float32"), p), dtype)


def _there(values: Any) -> Any:
    """Return an array or device tensor as a float32 device tensor."""
    return wrap(from_numpy(np.array(values, np.float32)) if isinstance(values, np.ndarray) else cast(value_of(values), "float32"))


def bernoulli_each(stream: DeviceStream, p: Any, dtype: str) -> Raw:
    """Return 1 with the probability at the same position in ``p``, else 0."""
    chances = _there(p)
    return _stored(lt(_unit(stream, tuple(chances._ms_shape), "float32"), chances), dtype)


def dropout_mask(stream: DeviceStream, n: int, keep: float) -> Raw:
    """Return n booleans, True with probability ``keep``."""
    return bernoulli(stream, (n,), keep, "bool")


def exponential(stream: DeviceStream, shape: tuple[int, ...], rate: float, dtype: str) -> Raw:
    """Return exponential numbers, by inversion of the CDF."""
    drawn = mathematics.log1p(elementwise.neg(_unit(stream, shape, dtype)))
    return _stored(elementwise.div(drawn, -rate), dtype)


def geometric(stream: DeviceStream, shape: tuple[int, ...], p: float, dtype: str) -> Raw:
    """Return the number of trials up to the first success, at least 1."""
    drawn = mathematics.log1p(elementwise.neg(_unit(stream, shape, dtype)))
    tries = mathematics.ceil(elementwise.div(drawn, math.log1p(-p)))
    return _stored(clamp(tries, 1), dtype)


def cauchy(stream: DeviceStream, shape: tuple[int, ...], median: float, sigma: float, dtype: str) -> Raw:
    """Return Cauchy numbers, by inversion of the CDF."""
    angle = elementwise.mul(elementwise.sub(_unit(stream, shape, dtype), 0.5), math.pi)
    return _stored(elementwise.add(elementwise.mul(mathematics.tan(angle), sigma), median), dtype)


def log_normal(stream: DeviceStream, shape: tuple[int, ...], mean: float, std: float, dtype: str) -> Raw:
    """Return log-normal numbers."""
    return _stored(mathematics.exp(_normal(stream, shape, mean, std, dtype)), dtype)


def multinomial(stream: DeviceStream, weights: Any, count: int, replacement: bool, dtype: str) -> Raw:
    """Return indices drawn with the given weights: the index of the largest quotient of a weight and an exponential number; with
    replacement, drawn anew for each sample.
    """
    flat = _there(weights)
    *outer, kinds = flat._ms_shape
    race = elementwise.div(
        reshape(flat, (-1, 1, kinds)), wrap(exponential(stream, (math.prod(outer), count if replacement else 1, kinds), 1.0, "float32"))
    )
    _, indices = topk(race, 1 if replacement else count, -1)
    return value_of(reshape(indices, (*outer, count)))

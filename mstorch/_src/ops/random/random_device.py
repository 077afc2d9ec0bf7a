"""Random numbers of an accelerator's stream, with the names and signatures of ``_mt19937``, as raw tensors.

The numbers differ from torch's; the distributions, dtypes and shapes are the same. MindSpore's uniform, normal, integer and permutation
kernels are used; other distributions are computed from them.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backend.cast import cast
from ...backend.device_memory import released
from ...backend.device_random import DeviceStream
from ...backend.raw import NAME_OF, Raw, from_numpy
from ...core.dtype import by_name, float32
from ...core.tensor_base import TensorBase, value_of, wrap
from ...mt19937.rounding import FLOATS, INTEGERS, require_dtype
from ..elementwise import elementwise
from ..elementwise import math as mathematics
from ..elementwise.compare import clamp, ge, lt, where
from ..elementwise.complex_views import complex as complex_of
from ..reduce.sort import topk
from ..shape.views import reshape, select

PUBLIC_IN = "_src.ops.random.random"

_HALVES = ("float16", "bfloat16")
_PARTS = {"complex64": "float32", "complex128": "float64"}
_LAST_INTEGER = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}
_DRAWN_IN = {
    "geometric": (*FLOATS, *INTEGERS), "bernoulli": (*FLOATS, *INTEGERS, "bool"), "bernoulli_each": (*FLOATS, *INTEGERS, "bool"),
    "random_all": (*FLOATS, *INTEGERS, "bool"), "log_normal": FLOATS,
}  # fmt: skip


def refuse(kernel: str, name: str, dtype: str) -> None:
    """Raise torch's NotImplementedError if it draws numbers of a distribution in no such dtype."""
    if name in _DRAWN_IN:
        require_dtype(dtype, _DRAWN_IN[name], kernel)


def _computed_in(dtype: str) -> str:
    return "float32" if dtype in _HALVES or by_name(dtype).is_integral else dtype


def _stored(drawn: TensorBase | Raw, dtype: str) -> Raw:
    """Return numbers, which the caller does not use again, in ``dtype``; those that have it already are not copied."""
    raw = value_of(drawn) if isinstance(drawn, TensorBase) else drawn
    return released(raw) if NAME_OF[raw.dtype] == dtype else cast(raw, dtype)


def _unit(stream: DeviceStream, shape: tuple[int, ...], dtype: str) -> Any:
    return wrap(stream.uniform(shape, _computed_in(dtype)))


def _scaled(drawn: TensorBase, factor: float, offset: float) -> TensorBase:
    """Return ``drawn * factor + offset``; a factor of 1 and an offset of 0 cost no kernel."""
    product = drawn if factor == 1 else elementwise.mul(drawn, factor)
    return product if offset == 0 else elementwise.add(product, offset)


def _rounds_up(low: float, high: float, dtype: str) -> bool:
    """Return whether the largest uniform number in [low, high) may be rounded to ``high``."""
    if dtype in _HALVES:
        return True
    number = np.dtype(dtype).type
    return bool(np.nextafter(number(1), number(0)) * number(high - low) + number(low) >= number(high))


def uniform(stream: DeviceStream, shape: tuple[int, ...], low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> Raw:
    """Return uniform numbers in [low, high); a number that is rounded up to ``high`` becomes ``low``."""
    if dtype in _PARTS:
        return _of_parts(wrap(uniform(stream, (*shape, 2), low, high, _PARTS[dtype])))
    drawn = _stored(_scaled(_unit(stream, shape, dtype), high - low, low), dtype)
    if not _rounds_up(low, high, dtype):
        return drawn
    whole = wrap(drawn)
    return _stored(where(ge(whole, high), low, whole), dtype)


def normal(
    stream: DeviceStream, shape: tuple[int, ...], mean: float = 0.0, std: float = 1.0, dtype: str = "float32", contiguous: bool = True
) -> Raw:  # fmt: skip
    """Return normal numbers."""
    if dtype in _PARTS:
        return _of_parts(_normal(stream, (*shape, 2), mean, std / math.sqrt(2), _PARTS[dtype]))
    return _stored(_normal(stream, shape, mean, std, dtype), dtype)


def _of_parts(parts: TensorBase) -> Raw:
    """Return complex numbers whose real and imaginary parts lie along the last dimension."""
    return value_of(complex_of(select(parts, -1, 0), select(parts, -1, 1)))


def _normal(stream: DeviceStream, shape: tuple[int, ...], mean: float, std: float, dtype: str) -> TensorBase:
    return _scaled(wrap(stream.normal(shape, _computed_in(dtype))), std, mean)


def normal_around(stream: DeviceStream, mean: Any, std: Any, dtype: str) -> Raw:
    """Return normal numbers with the given means and deviations, broadcast."""
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    mean, std = (wrap(from_numpy(np.array(value))) if isinstance(value, np.ndarray) else value for value in (mean, std))
    drawn = wrap(stream.normal(shape, _computed_in(dtype)))
    return _stored(elementwise.add(elementwise.mul(drawn, std), mean), dtype)


def random_between(stream: DeviceStream, shape: tuple[int, ...], low: int, high: int | None, dtype: str = "int64") -> Raw:
    """Return integers in [low, high), or from low up to the dtype's maximum."""
    if by_name(dtype).is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if high is None:
        high = _limit(dtype)
    return _stored(stream.integers(shape, low, high, "int64"), dtype)


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
    return _stored(stream.permutation(n, "int64"), dtype)


def bernoulli(stream: DeviceStream, shape: tuple[int, ...], p: float, dtype: str) -> Raw:
    """Return 1 with probability p, else 0."""
    return _stored(lt(_unit(stream, shape, "float32"), p), dtype)


def _on_device(values: Any) -> TensorBase:
    """Return an array or device tensor as a float32 device tensor."""
    if isinstance(values, np.ndarray):
        return wrap(from_numpy(np.array(values, np.float32)))
    return values if values._ms_dtype is float32 else wrap(cast(value_of(values), "float32"))


def bernoulli_each(stream: DeviceStream, p: Any, dtype: str) -> Raw:
    """Return 1 with the probability at the same position in ``p``, else 0."""
    chances = _on_device(p)
    return _stored(lt(_unit(stream, tuple(chances._ms_shape), "float32"), chances), dtype)


def dropout_mask(stream: DeviceStream, n: int, keep: float) -> Raw:
    """Return n booleans, True with probability ``keep``."""
    return bernoulli(stream, (n,), keep, "bool")


def dropout_bits(stream: DeviceStream, n: int, keep: float) -> Raw:
    """Return at least n / 8 bytes, whose bits are 1 with probability ``keep``."""
    return stream.bits(n, keep)


def _log_of_unit(stream: DeviceStream, shape: tuple[int, ...], dtype: str) -> TensorBase:
    """Return logarithms of uniform numbers in (0, 1]: 1 - u has no rounding error, since u is a multiple of half the dtype's epsilon."""
    return mathematics.log(elementwise.rsub(_unit(stream, shape, dtype), 1))


def exponential(stream: DeviceStream, shape: tuple[int, ...], rate: float, dtype: str) -> Raw:
    """Return exponential random numbers, by inversion of the CDF. They are positive, because ``multinomial`` divides by them: 0 is replaced
    by the smallest nonzero result, half the dtype's epsilon over the rate."""
    drawn = clamp(_log_of_unit(stream, shape, dtype), max=-np.finfo(_computed_in(dtype)).eps / 2)
    return _stored(elementwise.div(drawn, -rate), dtype)


def geometric(stream: DeviceStream, shape: tuple[int, ...], p: float, dtype: str) -> Raw:
    """Return the number of trials up to the first success, at least 1."""
    tries = mathematics.ceil(elementwise.div(_log_of_unit(stream, shape, dtype), math.log1p(-p)))
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
    flat = _on_device(weights)
    *outer, kinds = flat._ms_shape
    race = elementwise.div(
        reshape(flat, (-1, 1, kinds)), wrap(exponential(stream, (math.prod(outer), count if replacement else 1, kinds), 1.0, "float32"))
    )
    _, indices = topk(race, 1 if replacement else count, -1)
    return _stored(reshape(indices, (*outer, count)), "int64")

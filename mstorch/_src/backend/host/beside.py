"""Host kernels in place of MindSpore's CPU kernels, for processes in which those cannot be used: a forked process lacks MindSpore's
threads, and in a process with an Ascend they would run there.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...quiet import quiet
from ..arrays import Array
from ..table import COMPLEX, FLOATS, HALVES, define_host
from .fft import numpy_angle
from .index import numpy_index

Sizes = tuple[int, ...]


def numpy_linear_index(
    first: Array, shape: Sizes, dims: Sizes, indices: tuple[Array, ...], common: Sizes, adjacent: bool
) -> Array:
    """Return the flat positions, in an array of ``shape``, of the elements that an index selects."""
    return numpy_index(np.arange(math.prod(shape), dtype=np.int64).reshape(shape), dims, indices, common, adjacent)


def numpy_storage_gather(x: Array, index: Array) -> Array:
    """Gather elements at flat positions."""
    return np.asarray(x.reshape(-1)[index])


def numpy_storage_scatter(x: Array, index: Array, new: Array) -> Array:
    """Return a copy with elements written at flat positions."""
    found = np.array(x, order="C")
    found.reshape(-1)[index.reshape(-1)] = new.reshape(-1)
    return found


def numpy_slice(x: Array, dim: int, start: int, stop: int, step: int) -> Array:
    """Return every ``step``-th entry of a dimension from ``start`` to before ``stop``."""
    return np.array(x[(slice(None),) * dim + (slice(start, stop, step),)], order="C")


def _complex(function: Callable[..., Any]) -> Callable[..., Array]:
    def kernel(*args: Any) -> Array:
        with quiet():
            return np.asarray(function(*args), args[0].dtype)

    return kernel


def _sinc(x: Array) -> Array:
    turned = x * np.pi
    return np.where(x == 0, 1, np.sin(turned) / np.where(x == 0, 1, turned))


define_host("sinc", _complex(_sinc), COMPLEX, spare=True)
define_host("pow", _complex(np.power), COMPLEX, spare=True)
define_host("scalar_power", _complex(lambda x, exponent: np.power(x, x.dtype.type(exponent))), COMPLEX, spare=True)
define_host("sqrt", _complex(np.sqrt), COMPLEX, spare=True)
define_host("rsqrt", _complex(lambda x: 1 / np.sqrt(x)), COMPLEX, spare=True)
define_host("reciprocal", _complex(lambda x: 1 / x), COMPLEX, spare=True)
define_host("sin", _complex(np.sin), COMPLEX, spare=True)
define_host("cos", _complex(np.cos), COMPLEX, spare=True)
define_host("tan", _complex(np.tan), COMPLEX, spare=True)
define_host("asin", _complex(np.arcsin), COMPLEX, spare=True)
define_host("acos", _complex(np.arccos), COMPLEX, spare=True)
define_host("atan", _complex(np.arctan), COMPLEX, spare=True)
define_host("sinh", _complex(np.sinh), COMPLEX, spare=True)
define_host("cosh", _complex(np.cosh), COMPLEX, spare=True)
define_host("asinh", _complex(np.arcsinh), COMPLEX, spare=True)
define_host("acosh", _complex(np.arccosh), COMPLEX, spare=True)
define_host("atanh", _complex(np.arctanh), COMPLEX, spare=True)
define_host("exp2", _complex(lambda x: np.exp(x * math.log(2))), COMPLEX, spare=True)
define_host("silu", _complex(lambda x: x / (1 + np.exp(-x))), COMPLEX, spare=True)
define_host("storage_gather", numpy_storage_gather, spare=True)
define_host("storage_scatter", numpy_storage_scatter, spare=True)
define_host("linear_index", numpy_linear_index, spare=True)
define_host("angle", numpy_angle, (*FLOATS, *COMPLEX), dict.fromkeys(HALVES, "float32"), spare=True)
define_host("permute", lambda x, order: np.array(x.transpose(order), order="C"), spare=True)
define_host("reshape", lambda x, shape: x.reshape(shape).copy(), spare=True)
define_host("expand", lambda x, shape: np.array(np.broadcast_to(x, shape)), spare=True)
define_host("select", lambda x, dim, index: np.array(x.take(index, dim)), spare=True)
define_host("slice", numpy_slice, spare=True)

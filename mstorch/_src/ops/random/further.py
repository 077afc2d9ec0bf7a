"""Fills of a tensor with exponential, geometric, Cauchy and log-normal random numbers."""
from __future__ import annotations

from ...core.generator import Generator
from ...core.tensor_base import TensorBase
from ...core.writable import check_history, check_writable
from .._dispatch import type_word
from .._named import written_by
from .._numbers import refuse_tracked
from .._operation import IN_PLACE, operation
from .random import _cpp_int, _filled, _floating, _stream


@operation(draws=IN_PLACE)
@written_by("ExponentialBackward0")
def exponential_(self: TensorBase, lambd: float = 1, *, generator: Generator | None = None) -> TensorBase:
    """Fill with exponential random numbers of rate ``lambd``."""
    refuse_tracked(lambd)
    check_writable(self)
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    if not self._ms_dtype.is_floating_point and 0 not in self._ms_shape:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you specified "
            f"{type_word(self._ms_dtype)}"
        )
    return _filled(self, _stream(generator, self, "exponential"), "exponential", float(lambd))


@operation(draws=IN_PLACE)
@written_by("GeometricBackward0")
def geometric_(self: TensorBase, p: float, *, generator: Generator | None = None) -> TensorBase:
    """Fill with the number of trials up to the first success with probability ``p``."""
    refuse_tracked(p)
    check_writable(self)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return _filled(self, _stream(generator, self, "geometric"), "geometric", float(p))


@operation(draws=IN_PLACE)
@written_by("CauchyBackward0")
def cauchy_(self: TensorBase, median: float = 0, sigma: float = 1, *, generator: Generator | None = None) -> TensorBase:
    """Fill with Cauchy random numbers."""
    refuse_tracked(median, sigma)
    check_history(self)
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if not self._ms_dtype.is_floating_point:
        raise RuntimeError(
            f"Cauchy distribution is a continuous probability distribution. dtype must be a floating point "
            f"but you specified {_cpp_int(self._ms_dtype)}"
        )
    check_writable(self)
    return _filled(self, _stream(generator, self, "cauchy"), "cauchy", float(median), float(sigma))


@operation(draws=IN_PLACE)
@written_by("LogNormalBackward0")
def log_normal_(self: TensorBase, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> TensorBase:
    """Fill with log-normal random numbers."""
    refuse_tracked(mean, std)
    check_writable(self)
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    _floating(self._ms_dtype, None, "log_normal_cpu", self._ms_shape)
    return _filled(self, _stream(generator, self, "log_normal"), "log_normal", float(mean), float(std))

"""Activation functions on the host."""
from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...quiet import quiet, silent
from ..arrays import Array
from ..blocks import blocked
from ..formulas import activation as formulas
from ..geometry import rough_sum
from ..halves import BFLOAT16, widened
from ..onednn import elementwise
from ..processor import flags
from ..table import define_host
from . import bfloat16
from . import namespace as xp
from ._ufunc import FLOATS, HALF, INTS, number
from .elementwise import numpy_clamp, numpy_where
from .math import share_blocks
from .namespace import by_formula


def _by_onednn(kind: int, spare: Callable[[Array], Array], least: int = 0) -> Callable[[Array], Array]:
    """Return a kernel that uses oneDNN's activation for row-major float32 of at least ``least`` elements, and ``spare`` for other arrays.
    """

    def kernel(x: Array) -> Array:
        return elementwise.forward(kind, x, share_blocks, 1.0) if x.size >= least and elementwise.usable(x) else spare(x)

    return kernel


def activation_slope(kind: int, x: Array, g: Array) -> Array | None:
    """Return ``g`` times the derivative of a oneDNN activation at ``x``; None unless both are row-major float32 or bfloat16."""
    if g.dtype == BFLOAT16:
        return bfloat16.slope(kind, x, g)
    return elementwise.backward(kind, x, g, share_blocks, 1.0) if elementwise.usable(x, g) and x.shape == g.shape else None


_FEW = 1 << 12  # number of elements up to which NumPy takes less time than a call of the library


def relu_slope(result: Array, g: Array) -> Array | None:
    """Return ``g`` where the result of ReLU is positive, else 0. Return None for other dtypes, or if the result contains NaN, where torch
    passes ``g`` on.
    """
    if g.dtype == BFLOAT16:
        return bfloat16.relu_slope(result, g)
    if result.size < _FEW or not elementwise.usable(result, g) or result.shape != g.shape or math.isnan(rough_sum(result)):
        return None
    return elementwise.backward(elementwise.RELU, result, g, share_blocks)


def hardtanh_slope(x: Array, g: Array, low: float, high: float) -> Array | None:
    """Return ``g`` where ``x`` is between the bounds, else 0. Return None for few numbers or other dtypes, or if there is NaN, for which
    torch's vectors and its single numbers differ."""
    if not _are_many(x, g) or math.isnan(rough_sum(x)):
        return None
    return elementwise.backward(elementwise.CLIP, x, g, share_blocks, low, high)


def leaky_relu_slope(x: Array, g: Array, slope: float) -> Array | None:
    """Return ``g`` where ``x`` is positive, else ``slope * g``. Return None for few numbers or other dtypes, or if there is NaN."""
    if not _are_many(x, g) or math.isnan(rough_sum(x)):
        return None
    return elementwise.backward(elementwise.RELU, x, g, share_blocks, slope)


def _are_many(x: Array, g: Array) -> bool:
    return x.size >= _FEW and elementwise.usable(x, g) and x.shape == g.shape


def numpy_leaky_relu(x: Array, slope: float) -> Array:
    """Return ``x`` where positive, else ``slope * x``."""
    if x.size >= _FEW and slope and elementwise.usable(x):
        return elementwise.forward(elementwise.RELU, x, share_blocks, slope)
    falling = np.asarray(silent.multiply(x, number(slope, x)))
    if slope <= 0:  # infinity times 0 is NaN
        return numpy_where(x > 0, x, falling)
    return np.asarray((np.maximum if slope <= 1 else np.minimum)(x, falling))


# The upper tail of the normal distribution: exp(-z * z / 2) times a polynomial in 1 / (1 + 0.354 z), fitted to SciPy's erfcx.
# Its error is 3e-10; in float32 the rounding error is 1e-7. SciPy's erf takes 9 ns per element, in float64.
_ABOVE = [0.142586590499, 0.1229151627825, 0.2156744430835, -0.1740371834740, 0.4869433718025, -0.438430474511, 0.1698307182045,
          -0.0254827393131]  # fmt: skip
_REACH = 0.5 * 0.7071067811865476


def _tail(size: Array) -> tuple[Array, Array]:
    """Return the upper tail of the normal distribution at nonnegative float32 numbers, and ``exp(-size * size / 2)``."""
    inner = np.multiply(size, np.float32(_REACH))
    inner += np.float32(1)
    np.reciprocal(inner, out=inner)
    found = np.multiply(inner, np.float32(_ABOVE[-1]))
    for factor in reversed(_ABOVE[:-1]):
        found += np.float32(factor)
        found *= inner
    decay = silent.multiply(size, size)
    decay *= np.float32(-0.5)
    np.exp(decay, out=decay)
    found *= decay
    return found, decay


@blocked
def numpy_gelu(x: Array) -> Array:
    """Return ``x`` times the standard normal CDF at ``x``."""
    if x.dtype == np.float32 and x.ndim:
        size = np.absolute(x)
        tail = _tail(size)[0]
        tail *= np.minimum(size, np.float32(100), out=size)  # the tail is zero there, and NaN at infinity
        found = np.maximum(np.float32(0), x)  # of -0 and 0 NumPy returns the second
        found -= tail
        low = x == -np.inf
        if low.any():
            found[low] = np.nan  # as torch computes it
        return found
    return np.asarray(formulas.gelu(xp, x))


@blocked
def gelu_slope(x: Array, g: Array) -> Array:
    """Return ``g`` times the derivative of ``gelu`` where oneDNN does not compute it."""
    if x.dtype == np.float32:
        share, density = _tail(np.absolute(x))
        np.subtract(np.float32(0.5), share, out=share)
        np.copysign(share, x, out=share)
        share += np.float32(0.5)
        density *= np.float32(0.3989422804014327)
        silent.multiply(density, x, out=density)
        share += density
        share *= g
        return share
    return np.asarray(formulas.gelu_gradient(xp, g, x))


def _quiet_gelu(x: Array) -> Array:
    with quiet():
        return numpy_gelu(x)


_gelu_of_many = _by_onednn(elementwise.GELU, _quiet_gelu)


def _gelu(x: Array) -> Array:
    """Return GELU. oneDNN's is infinity of the largest numbers and NaN of infinity; torch has it for more than one number only."""
    return np.array(x) if x.size == 1 and x.item() > 1e38 else _gelu_of_many(x)


def gelu(x: Array) -> Array:
    """Return GELU. In float16, GELU of infinity is infinity, or NaN on processors with float16 arithmetic, where torch uses oneDNN."""
    if x.dtype != np.float16:
        return _gelu(x)
    wide = widened(x)
    found = _gelu(wide)
    if "avx512_fp16" not in flags():
        found[wide == np.inf] = np.inf
    with quiet():
        return found.astype(np.float16)


define_host("gelu", gelu, (*FLOATS, "float16"), HALF)
define_host("gelu_tanh", _by_onednn(elementwise.GELU_TANH, by_formula(formulas.gelu_tanh)), FLOATS, HALF)


_ZEROS = {np.dtype(name): np.zeros((), name) for name in (*FLOATS, *INTS)}
_ROW = 1 << 11  # number of elements from which on NumPy compares rows in less time than one number


def numpy_relu(x: Array) -> Array:
    """Return ``max(0, x)``."""
    if x.size >= _ROW:
        return xp.maximum(x, 0)
    found = np.maximum(_ZEROS[x.dtype], x)
    return found if found.__class__ is np.ndarray else np.asarray(found)


define_host("relu", numpy_relu, (*FLOATS, *INTS), HALF)
define_host("silu", _by_onednn(elementwise.SWISH, by_formula(formulas.silu), 1 << 10), FLOATS, HALF)
define_host("leaky_relu", numpy_leaky_relu, FLOATS, HALF)
def numpy_hardtanh(x: Array, low: float, high: float) -> Array:
    """Return ``x``, kept between the bounds."""
    return numpy_clamp(x, number(low, x), number(high, x)) if x.size >= _FEW and x.dtype.kind == "f" else _hardtanh(x, low, high)


_hardtanh = by_formula(formulas.hardtanh)
define_host("hardtanh", numpy_hardtanh, (*FLOATS, *INTS), HALF)
for _op in (
    "prelu", "elu", "mish", "softplus", "logsigmoid", "hardsigmoid", "hardswish", "softshrink", "hardshrink", "threshold", "tanhshrink",
    "softsign",
):  # fmt: skip
    define_host(_op, by_formula(getattr(formulas, _op)), FLOATS, HALF)
